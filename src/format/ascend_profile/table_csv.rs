//! What `operator_memory.csv` and `memory_record.csv` have in common: cells found by column name,
//! numbers with their varieties, and a log of what is odd in them.

use std::borrow::Cow;
use std::path::Path;

use crate::source::{Counter, Finding, FindingLog, Host, Kind, Place, ReadError};
use crate::text::csv::{CsvBlock, Records};
use crate::text::{decimal, encoding};

/// What some editors put at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Where a column stands in a file, and what its cells are divided by to get the table's unit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Source {
    index: usize,
    divisor: f64,
}

/// A column that a file may have: its names, each with the divisor that leads to the table's unit.
#[derive(Debug)]
pub(super) struct Expected {
    /// Names by which files call it.
    pub(super) names: &'static [(&'static str, f64)],
    /// Whether rows make no sense without it.
    pub(super) required: bool,
}

/// The header of a file: for each expected column, where it is.
#[derive(Debug, Clone)]
pub(super) struct Header {
    columns: Vec<Option<Source>>,
    cells: usize,
}

impl Header {
    /// Reads the header from the first block and cuts it off.
    ///
    /// `None` when the file cannot be read as this table and the host goes on without it.
    pub(super) fn take(
        first: &mut CsvBlock,
        path: &Path,
        expected: &[Expected],
        host: &dyn Host,
    ) -> Result<Option<Self>, ReadError> {
        let marks = first.bytes.chunks(BYTE_ORDER_MARK.len()).take_while(|c| *c == BYTE_ORDER_MARK).count();
        if marks > 0 {
            host.report(Finding::note(Kind::Encoding, path, "the file starts with a byte-order mark"))?;
            cut_off(first, marks * BYTE_ORDER_MARK.len());
        }
        let Some((header, end)) = Self::read(first, path, expected, host)? else { return Ok(None) };
        cut_off(first, end);
        Ok(Some(header))
    }

    /// Reads the first record of the first block, and says where it ends.
    fn read(
        block: &CsvBlock,
        path: &Path,
        expected: &[Expected],
        host: &dyn Host,
    ) -> Result<Option<(Self, usize)>, ReadError> {
        if let Some(name) = wide_encoding(&block.bytes) {
            host.report(Finding::problem(
                Kind::Encoding,
                path,
                format!("the file is encoded as {name}, expected UTF-8; save it again as UTF-8"),
            ))?;
            return Ok(None);
        }
        let mut records = Records::new(block);
        if !matches!(records.advance(), crate::text::csv::Step::Record(_)) {
            host.report(Finding::note(Kind::Empty, path, "the file holds no header and no rows"))?;
            return Ok(None);
        }
        let name = |i: usize| {
            let text = String::from_utf8_lossy(records.cell(i).unwrap_or_default());
            clean(&text).to_owned()
        };
        let names: Vec<String> = (0..records.cells()).map(name).collect();
        let find = |expected: &Expected| {
            // As with Python's DictReader, the last of several columns with one name counts.
            let at = |name: &str| names.iter().rposition(|n| n == name);
            expected
                .names
                .iter()
                .find_map(|(name, divisor)| at(name).map(|index| Source { index, divisor: *divisor }))
        };
        let columns: Vec<_> = expected.iter().map(find).collect();
        let name_of = |e: &Expected| e.names.first().map_or("", |n| n.0);
        let lost = |required: bool| {
            let absent =
                expected.iter().zip(&columns).filter(move |(e, c)| c.is_none() && e.required == required);
            absent.map(|(e, _)| name_of(e)).collect::<Vec<_>>()
        };
        let missing = lost(true);
        if !missing.is_empty() {
            let hint = if names.len() == 1 && names.iter().any(|n| n.contains(';')) {
                "; its cells seem to be separated by ';': save it with ','"
            } else {
                ""
            };
            let message = format!(
                "the header lacks {}; it has {}{hint}",
                missing.join(", "),
                if names.is_empty() { "nothing".into() } else { shown(&names) }
            );
            host.report(Finding::problem(Kind::BadStructure, path, message).at(Place::Line(1)))?;
            return Ok(None);
        }
        let optional = lost(false);
        if !optional.is_empty() {
            let message = format!("columns that this file does not have are NULL: {}", optional.join(", "));
            host.report(Finding::note(Kind::Columns, path, message).at(Place::Line(1)))?;
        }
        let known = |n: &String| n.is_empty() || expected.iter().any(|e| e.names.iter().any(|(k, _)| k == n));
        let unknown: Vec<_> = names.iter().filter(|n| !known(n)).map(String::as_str).collect();
        if !unknown.is_empty() {
            let message = format!("columns that are not read: {}", shown(&unknown));
            host.report(Finding::note(Kind::Columns, path, message).at(Place::Line(1)))?;
        }
        let again = |(at, name): (usize, &String)| names.iter().skip(at + 1).any(|n| n == name);
        let twice: Vec<_> =
            names.iter().enumerate().filter(|n| known(n.1) && again(*n)).map(|n| n.1.as_str()).collect();
        if !twice.is_empty() {
            let message = format!("of columns with the same name the last is read: {}", shown(&twice));
            host.report(Finding::note(Kind::Columns, path, message).at(Place::Line(1)))?;
        }
        let end = block.bytes.len() - records.remaining();
        Ok(Some((Self { columns, cells: names.len() }, end)))
    }

    /// Whether the file has this column.
    pub(super) fn has(&self, column: usize) -> bool {
        self.columns.get(column).is_some_and(Option::is_some)
    }
}

/// Takes the first bytes away from a block.
fn cut_off(block: &mut CsvBlock, bytes: usize) {
    let rest = block.bytes.split_off(bytes.min(block.bytes.len()));
    block.first_line = block.line_at(block.bytes.len());
    block.offset += block.bytes.len() as u64;
    block.bytes = rest;
}

/// A byte-order mark of UTF-16 or UTF-32, or the zero bytes that they leave between ASCII letters.
fn wide_encoding(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => Some("UTF-16"),
        [a, 0, b, 0, ..] | [0, a, 0, b, ..] if a.is_ascii_graphic() && b.is_ascii_graphic() => Some("UTF-16"),
        _ => None,
    }
}

/// Without the white space that Python's `str.strip` removes.
pub(super) fn clean(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || ('\x1c'..='\x1f').contains(&c))
}

/// Why a cell cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BadCell {
    column: &'static str,
    found: String,
    expected: &'static str,
}

impl BadCell {
    pub(super) fn new(column: &'static str, found: &[u8], expected: &'static str) -> Self {
        let mut found = String::from_utf8_lossy(found).into_owned();
        if found.chars().count() > 60 {
            found = found.chars().take(57).chain("...".chars()).collect();
        }
        Self { column, found, expected }
    }

    pub(super) fn message(&self) -> String {
        if self.found.trim().is_empty() {
            format!("{} is empty, expected {}", self.column, self.expected)
        } else {
            format!("\"{}\" is not {} in column {}", self.found.escape_debug(), self.expected, self.column)
        }
    }
}

/// Varieties that were met in cells; each becomes one note per file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Varieties {
    /// Cells that say `N/A`.
    pub(super) not_available: u64,
    /// Texts whose invalid UTF-8 was replaced.
    pub(super) replaced: u64,
    /// Times in exponent form, as spreadsheets write them.
    pub(super) exponents: u64,
    /// Rows with nothing but white space.
    pub(super) blank_rows: u64,
    /// Release-only rows.
    pub(super) release_only: u64,
    /// Sizes that bytes cannot be counted in: NaN, infinite, or beyond 64 bits.
    pub(super) uncountable: u64,
    /// Rows with empty cells beyond the header.
    pub(super) long_rows: u64,
}

impl Varieties {
    /// Adds a note for each variety that was met.
    fn log(&self, path: &Path, log: &mut FindingLog) {
        let mut note = |count: u64, kind, message: &str| {
            if count > 0 {
                log.push(Finding::note(kind, path, message).times(count));
            }
        };
        note(self.not_available, Kind::BadValue, "N/A is read as NULL");
        note(
            self.replaced,
            Kind::Encoding,
            "characters that are not UTF-8 are replaced by U+FFFD; save the file as UTF-8",
        );
        note(
            self.exponents,
            Kind::Time,
            "times are in exponent form and have lost their precision; was the file saved by a spreadsheet?",
        );
        note(self.blank_rows, Kind::BadRow, "lines of white space are skipped");
        note(
            self.release_only,
            Kind::BadRow,
            "release-only rows have no allocation time: start_time_ns is NULL",
        );
        note(
            self.uncountable,
            Kind::BadValue,
            "sizes are no numbers of bytes (NaN, infinite or too large): questions that count bytes leave them out",
        );
        note(self.long_rows, Kind::Columns, "empty cells beyond the header are ignored");
    }
}

/// One row, seen through its header.
pub(super) struct Row<'a> {
    header: &'a Header,
    records: &'a Records<'a>,
    varieties: &'a std::cell::Cell<Varieties>,
}

impl<'a> Row<'a> {
    /// The current record of `records`.
    pub(super) fn new(
        header: &'a Header,
        records: &'a Records<'a>,
        varieties: &'a std::cell::Cell<Varieties>,
    ) -> Self {
        Self { header, records, varieties }
    }

    /// Whether the row is one: false for a line of white space, an error when its cells do not fit
    /// the header.
    pub(super) fn shape(&self) -> Result<bool, String> {
        let (cells, expected) = (self.records.cells(), self.header.cells);
        if cells == expected {
            return Ok(true);
        }
        let blank =
            |i: usize| self.records.cell(i).is_none_or(|c| clean(&String::from_utf8_lossy(c)).is_empty());
        if cells < expected && (0..cells).all(blank) {
            self.count(|v| v.blank_rows += 1);
            return Ok(false);
        }
        if cells > expected && (expected..cells).all(blank) {
            self.count(|v| v.long_rows += 1);
            return Ok(true);
        }
        let cut = if cells < expected { "is cut off: it" } else { "does not fit: it" };
        Err(format!("the row {cut} has {cells} cells, expected {expected} as in the header"))
    }

    pub(super) fn count(&self, change: impl FnOnce(&mut Varieties)) {
        let mut v = self.varieties.get();
        change(&mut v);
        self.varieties.set(v);
    }

    fn source(&self, column: usize) -> Option<(&'a [u8], f64)> {
        let source = (*self.header.columns.get(column)?)?;
        Some((self.records.cell(source.index)?, source.divisor))
    }

    /// A number cell with its divisor; `None` when it is empty or says `N/A`, or there is no such column.
    fn filled(&self, column: usize) -> Option<(&'a [u8], f64)> {
        let (cell, divisor) = self.source(column)?;
        let cell = cell.trim_ascii();
        if cell.is_empty() {
            return None;
        }
        if cell == b"N/A" {
            self.count(|v| v.not_available += 1);
            return None;
        }
        Some((cell, divisor))
    }

    /// A cell as text, cleaned.
    pub(super) fn text(&self, column: usize) -> Cow<'a, str> {
        let cell = self.source(column).map_or(&b""[..], |s| s.0);
        match encoding::replace_invalid(cell) {
            Cow::Borrowed(text) => Cow::Borrowed(clean(text)),
            Cow::Owned(text) => {
                self.count(|v| v.replaced += 1);
                Cow::Owned(clean(&text).to_owned())
            }
        }
    }

    /// A number in the table's unit.
    pub(super) fn number(&self, column: usize, name: &'static str) -> Result<Option<f64>, BadCell> {
        let Some((cell, divisor)) = self.filled(column) else { return Ok(None) };
        match decimal::float(cell) {
            // Dividing by 1 changes no value, NaN and -0.0 included.
            Some(value) => Ok(Some(value / divisor)),
            None => Err(BadCell::new(name, cell, "a number")),
        }
    }

    /// A number without which there is no row: neither empty nor `N/A`.
    pub(super) fn required_number(&self, column: usize, name: &'static str) -> Result<f64, BadCell> {
        let (cell, divisor) = self.source(column).unwrap_or((b"", 1.0));
        let value = decimal::float(cell).ok_or_else(|| BadCell::new(name, cell.trim_ascii(), "a number"))?;
        Ok(value / divisor)
    }

    /// Checks that a number cell holds a number, without making it.
    pub(super) fn check_number(&self, column: usize, name: &'static str) -> Result<(), BadCell> {
        let plain = self.source(column).is_some_and(|(cell, _)| is_plain_number(cell));
        if plain { Ok(()) } else { self.number(column, name).map(|_| ()) }
    }

    /// A time in exact nanoseconds, and as the reference's float of milliseconds.
    pub(super) fn time(&self, column: usize, name: &'static str) -> Result<Option<(i64, f64)>, BadCell> {
        let Some((cell, _)) = self.filled(column) else { return Ok(None) };
        let time = decimal::micros(cell).ok_or_else(|| BadCell::new(name, cell, "a time in microseconds"))?;
        let (nanos, micros) = time;
        if cell.iter().any(|b| matches!(b, b'e' | b'E')) {
            self.count(|v| v.exponents += 1);
        }
        Ok(Some((nanos, micros / 1000.0)))
    }

    /// An integer; pointers above the range of a signed number wrap, as a debugger shows them.
    pub(super) fn integer(&self, column: usize, name: &'static str) -> Result<Option<i64>, BadCell> {
        let Some((cell, _)) = self.filled(column) else { return Ok(None) };
        let text = std::str::from_utf8(cell).map(str::trim).unwrap_or_default();
        let value = text.parse::<i64>().ok().or_else(|| text.parse::<u64>().ok().map(u64::cast_signed));
        value.map(Some).ok_or_else(|| BadCell::new(name, cell, "an integer"))
    }
}

/// Digits with at most one point, and nothing else: what nearly every cell is.
fn is_plain_number(cell: &[u8]) -> bool {
    let (mut digits, mut points) = (0usize, 0usize);
    for byte in cell {
        match byte {
            b'0'..=b'9' => digits += 1,
            b'.' => points += 1,
            _ => return false,
        }
    }
    digits > 0 && points <= 1
}

/// What is wrong in one block, collected: a block may have to be read again, and only the reading
/// that counts is reported.
#[derive(Debug)]
pub(super) struct RowFaults<'a> {
    block: &'a CsvBlock,
    path: &'a Path,
    log: FindingLog,
    left_out: u64,
}

impl<'a> RowFaults<'a> {
    pub(super) fn new(block: &'a CsvBlock, path: &'a Path) -> Self {
        Self { block, path, log: FindingLog::default(), left_out: 0 }
    }

    /// A row is left out because of this.
    pub(super) fn leave_out(&mut self, at: usize, kind: Kind, message: String) {
        self.left_out += 1;
        self.log.push(Finding::problem(kind, self.path, message).at(Place::Line(self.block.line_at(at))));
    }

    /// A cell of an optional column is left out; the row stays.
    pub(super) fn leave_out_cell(&mut self, at: usize, bad: &BadCell) {
        let message = format!("{}; the cell is read as NULL", bad.message());
        self.log.push(
            Finding::problem(Kind::BadValue, self.path, message).at(Place::Line(self.block.line_at(at))),
        );
    }

    /// Everything that was found, varieties included.
    pub(super) fn finish(mut self, varieties: &Varieties, rows_read: i64) -> BlockFaults {
        varieties.log(self.path, &mut self.log);
        BlockFaults { findings: self.log.into_findings(), rows_read, rows_left_out: self.left_out }
    }
}

/// What reading a block found, to be told to the host once the block counts.
#[derive(Debug)]
pub(super) struct BlockFaults {
    findings: Vec<Finding>,
    /// All rows met, also those that were left out.
    pub(super) rows_read: i64,
    rows_left_out: u64,
}

impl BlockFaults {
    /// Adds something that was found besides.
    pub(super) fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    /// Tells the host.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when there is a problem and the host is strict.
    pub(super) fn report(self, host: &dyn Host) -> Result<(), ReadError> {
        host.count(Counter::RowsRead, self.rows_read.unsigned_abs());
        host.count(Counter::RowsLeftOut, self.rows_left_out);
        self.findings.into_iter().try_for_each(|f| host.report(f))
    }
}

/// The value of an optional cell; a bad one is told and read as NULL.
pub(super) fn or_null<T>(value: Result<Option<T>, BadCell>, bad: &mut dyn FnMut(&BadCell)) -> Option<T> {
    value.unwrap_or_else(|cell| {
        bad(&cell);
        None
    })
}

/// Names for a message. A file that is no csv may hold megabytes without a comma or line break.
fn shown<T: std::borrow::Borrow<str>>(names: &[T]) -> String {
    const MOST: usize = 400;
    let all = names.join(", ");
    match all.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}...", all.get(..end).unwrap_or_default()),
        None => all,
    }
}
