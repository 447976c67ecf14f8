//! The records of all dump files of one unit, piece by piece and in parallel.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::Connection;

use crate::source::{Counter, Finding, Host, InputFile, Kind, Place, ReadError, Unit};

use super::chunks::{Buffer, CHUNK_BYTES, Chunk, Chunks};
use super::database::{self, DUMP_COLUMNS, Dump, Needs};
use super::faults::{Faults, Varieties};
use super::in_order::{InOrder, Worker};
use super::layout::{DUMP_CSV, DUMP_DB};
use super::misfit;
use super::record::{self, Flaw, Found, Record};

/// What is made of the records of a piece. Pieces are parsed in parallel, and their outputs come in
/// the order in which they stand in the unit.
pub(super) trait Collect: Send + Sync + 'static {
    /// What grows record by record.
    type Part: Send;
    /// What becomes of it at the end of the piece.
    type Output: Send + 'static;

    /// Which costly fields are needed.
    fn needs(&self) -> Needs;

    /// Starts a piece.
    fn begin(&self) -> Self::Part;

    /// Takes a record; `row` is its number in the piece, counted from 0 over all records.
    fn record(&self, part: &mut Self::Part, record: &Record<'_>, row: u64);

    /// Ends a piece.
    ///
    /// # Errors
    /// [`ReadError::Arrow`] for a fault of ours.
    fn finish(&self, part: Self::Part, varieties: &mut Varieties) -> Result<Self::Output, ReadError>;
}

/// What one piece gave.
#[derive(Debug)]
pub(super) struct Piece<T> {
    /// Number of the file in the unit.
    pub(super) file: usize,
    /// Records of the file that stand before it.
    pub(super) rows_before: i64,
    /// What was collected.
    pub(super) output: T,
}

/// The dump files of a unit, one after the other.
#[derive(Debug)]
pub(super) struct UnitRows<T> {
    files: VecDeque<(usize, PathBuf, bool)>,
    current: Option<Current<T>>,
    chunk_bytes: u64,
}

/// The file that is read.
#[derive(Debug)]
struct Current<T> {
    number: usize,
    path: PathBuf,
    rows_before: i64,
    pieces: InOrder<Parsed<T>>,
    places: Places,
}

/// How a position in a piece is told as a place in its file.
#[derive(Debug)]
enum Places {
    /// By its line; with an offset whose line is known.
    Lines(Arc<Chunks>, (u64, u64)),
    /// By its row number.
    RowIds,
}

/// What came of one piece.
struct Parsed<T> {
    /// What was collected, if anything could be read.
    output: Option<Result<T, ReadError>>,
    faults: Faults,
    /// Where in the file it starts, and how many bytes it has.
    start: u64,
    bytes: u64,
    /// What ended the file early.
    broken: Option<Finding>,
    /// Whether it was the last one, whatever the number of pieces.
    last: bool,
}

impl<T> Parsed<T> {
    /// No piece: there are no more.
    fn end() -> Self {
        Self { output: None, faults: Faults::default(), start: 0, bytes: 0, broken: None, last: true }
    }

    /// A piece that cannot be read.
    fn broken(finding: Finding) -> Self {
        Self { broken: Some(finding), ..Self::end() }
    }
}

impl<T: Send + 'static> UnitRows<T> {
    /// The dump files of a unit.
    pub(super) fn new(unit: &Unit) -> Self {
        let dumps = unit.files.iter().filter(|f| f.part == DUMP_CSV || f.part == DUMP_DB).enumerate();
        let files = dumps.map(|(at, f)| (at, f.path.clone(), f.part == DUMP_DB)).collect();
        Self { files, current: None, chunk_bytes: CHUNK_BYTES }
    }

    /// The same in chunks of another size, for tests.
    #[cfg(test)]
    pub(super) fn with_chunk_bytes(mut self, bytes: u64) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// The next piece; `None` at the end. With several threads the pieces behind it are being parsed
    /// meanwhile.
    ///
    /// # Errors
    /// As [`crate::source::UnitReader::next_batch`].
    pub(super) fn next_piece<C: Collect<Output = T>>(
        &mut self,
        collect: &Arc<C>,
        threads: usize,
        host: &dyn Host,
    ) -> Result<Option<Piece<T>>, ReadError> {
        loop {
            if host.stopped() {
                return Err(ReadError::Stopped);
            }
            let Some(current) = &mut self.current else {
                let Some((number, path, db)) = self.files.pop_front() else { return Ok(None) };
                let opened = if db {
                    open_database(&path, collect, threads, host)?
                } else {
                    open_csv(&path, self.chunk_bytes, collect, threads, host)?
                };
                self.current =
                    opened.map(|(pieces, places)| Current { number, path, rows_before: 0, pieces, places });
                continue;
            };
            let Some(parsed) = current.pieces.next() else {
                self.current = None;
                continue;
            };
            let piece = current.account(parsed, host);
            if !matches!(piece, Ok((_, true))) {
                self.current = None;
            }
            if let (Some(piece), _) = piece? {
                return Ok(Some(piece));
            }
        }
    }
}

impl<T: Send + 'static> Current<T> {
    /// Tells the host what came of a piece; gives the piece, and whether there may be more.
    fn account(&mut self, parsed: Parsed<T>, host: &dyn Host) -> Result<(Option<Piece<T>>, bool), ReadError> {
        let Parsed { output, faults, start, bytes, broken, last } = parsed;
        host.count(Counter::BytesRead, bytes);
        let places = &mut self.places;
        let place = |at: usize| match places {
            Places::RowIds => Place::Key(format!("rowid {at}")),
            // Only of what is read again to count its lines can a line not be told.
            Places::Lines(chunks, known) => match chunks.line_at(start + at as u64, known) {
                Ok(line) => Place::Line(line),
                Err(_) => Place::Byte(start + at as u64),
            },
        };
        faults.report(&self.path, place, host)?;
        let more = broken.is_none() && !last;
        if let Some(finding) = broken {
            host.report(finding)?;
        }
        let rows_before = self.rows_before;
        self.rows_before = rows_before.saturating_add_unsigned(faults.rows);
        let piece = |output| Piece { file: self.number, rows_before, output };
        Ok((output.transpose()?.map(piece), more))
    }
}

type Opened<T> = Option<(InOrder<Parsed<T>>, Places)>;

/// Opens a csv and reads its header; `None` when it is left out.
fn open_csv<C: Collect>(
    path: &Path,
    chunk_bytes: u64,
    collect: &Arc<C>,
    threads: usize,
    host: &dyn Host,
) -> Result<Opened<C::Output>, ReadError> {
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    };
    host.opened(&file)?;
    let mut head = vec![0; HEAD_BYTES];
    match file.read_at(&mut head, 0) {
        Ok(0) => {
            let note = Finding::note(Kind::Empty, path, "the file is empty: no header and no rows");
            return host.report(note).map(|()| None);
        }
        Ok(n) => head.truncate(n),
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    }
    let Some(start) = header(&head, path, host)? else { return Ok(None) };
    host.count(Counter::BytesRead, start as u64);
    let chunks = Arc::new(Chunks::new(file, start as u64, chunk_bytes));
    let worker = || -> Worker<Parsed<C::Output>> {
        let (chunks, collect) = (Arc::clone(&chunks), Arc::clone(collect));
        let (mut buffer, path) = (Buffer::default(), path.to_path_buf());
        Box::new(move |number| match chunks.read(number, &mut buffer) {
            Ok(chunk) => parse(collect.as_ref(), &chunk, number == 0),
            Err(e) => Parsed::broken(unreadable(&path, &e)),
        })
    };
    let count = chunks.count();
    let pieces = InOrder::new(count, (0..workers(count, threads)).map(|_| worker()).collect());
    Ok(Some((pieces, Places::Lines(chunks, (0, 1)))))
}

/// How many threads are of use for so many pieces.
fn workers(pieces: u64, threads: usize) -> u64 {
    pieces.min(threads as u64).max(1)
}

/// Opens a database; `None` when it is left out.
fn open_database<C: Collect>(
    path: &Path,
    collect: &Arc<C>,
    threads: usize,
    host: &dyn Host,
) -> Result<Opened<C::Output>, ReadError> {
    let Some((dump, connection)) = Dump::open(path, collect.needs(), host)? else { return Ok(None) };
    let pieces = dump.pieces().filter(|_| threads > 1);
    let dump = Arc::new(dump);
    let Some(count) = pieces else {
        let (collect, path, mut next) = (Arc::clone(collect), path.to_path_buf(), Some(dump.all()));
        let worker: Worker<Parsed<C::Output>> = Box::new(move |_| {
            let Some((from, to)) = next.take() else { return Parsed::end() };
            let (mut parsed, more) = rows(collect.as_ref(), &dump, &connection, (from, to), &path);
            next = more.map(|from| (from, to));
            parsed.last = more.is_none();
            parsed
        });
        return Ok(Some((InOrder::new(u64::MAX, vec![worker]), Places::RowIds)));
    };
    let mut first = Some(connection);
    let mut worker = || -> Worker<Parsed<C::Output>> {
        let (dump, collect, path) = (Arc::clone(&dump), Arc::clone(collect), path.to_path_buf());
        let mut connection = first.take();
        Box::new(move |number| {
            let connected = match connection.take() {
                Some(connection) => Ok(connection),
                None => dump.connect(),
            };
            match connected {
                Ok(open) => {
                    let parsed = rows(collect.as_ref(), &dump, &open, dump.piece(number), &path).0;
                    connection = Some(open);
                    parsed
                }
                Err(e) => Parsed::broken(database::broken(&path, &e)),
            }
        })
    };
    let workers = (0..workers(count, threads)).map(|_| worker()).collect();
    Ok(Some((InOrder::new(count, workers), Places::RowIds)))
}

/// Collects rows of a database; tells where to go on when there may be more between these two.
fn rows<C: Collect>(
    collect: &C,
    dump: &Dump,
    connection: &Connection,
    between: (i64, i64),
    path: &Path,
) -> (Parsed<C::Output>, Option<i64>) {
    let (mut part, mut faults) = (collect.begin(), Faults::default());
    let read = dump.read(connection, between, &mut |row| {
        match row {
            Ok(record) => {
                collect.record(&mut part, record, faults.rows);
                faults.varieties.microseconds += u64::from(record.in_microseconds());
            }
            Err(rowid) => faults.add(Flaw::Fields, usize::try_from(rowid).unwrap_or(0), true),
        }
        faults.rows += 1;
    });
    let output = Some(collect.finish(part, &mut faults.varieties));
    let (more, broken) = match read {
        Ok(more) => (more, None),
        Err(e) => (None, Some(e.finding(path))),
    };
    (Parsed { output, faults, start: 0, bytes: 0, broken, last: false }, more)
}

/// Parses the records of a chunk.
fn parse<C: Collect>(collect: &C, chunk: &Chunk<'_>, first: bool) -> Parsed<C::Output> {
    let (mut part, mut faults) = (collect.begin(), Faults::default());
    let mut at = 0;
    let text = |at: usize| chunk.text.get(at..).unwrap_or_default();
    // Only behind a header can there be something that starts no record.
    if first && !record::starts(text(at)) {
        let end = record::end_of(text(at));
        if !text(at).get(..end).unwrap_or_default().trim_ascii().is_empty() {
            faults.add(Flaw::Stray, at, true);
            faults.rows += 1;
        }
        at += end;
    }
    while at < chunk.text.len() {
        let (found, used) = record::read(text(at));
        match found {
            Found::Record(record, flaw) => {
                collect.record(&mut part, &record, faults.rows);
                faults.varieties.microseconds += u64::from(record.in_microseconds());
                if let Some(flaw) = flaw {
                    faults.add(flaw, at, false);
                }
            }
            Found::Broken(Flaw::Fields) => match misfit::find(text(at)) {
                Some((field, found)) => faults.add_field(field, found, at),
                None => faults.add(Flaw::Fields, at, true),
            },
            Found::Broken(flaw) => faults.add(flaw, at, true),
        }
        faults.rows += 1;
        at += used.max(1);
    }
    faults.varieties.unended = u64::from(chunk.last && faults.rows > 0 && !chunk.text.ends_with(b"\n"));
    let output = Some(collect.finish(part, &mut faults.varieties));
    let bytes = chunk.text.len() as u64;
    Parsed { output, faults, start: chunk.start, bytes, broken: None, last: false }
}

/// A file that cannot be read, as a problem.
pub(super) fn unreadable(path: &Path, e: &io::Error) -> Finding {
    let kind = match e.kind() {
        io::ErrorKind::InvalidData => Kind::BadStructure,
        io::ErrorKind::NotFound => Kind::Missing,
        _ => Kind::Unreadable,
    };
    let hint = if e.kind() == io::ErrorKind::PermissionDenied {
        "; the tool writes files that only their owner may read: read them as that user, or chmod them"
    } else {
        ""
    };
    Finding::problem(kind, path, format!("cannot be read: {e}{hint}"))
}

/// In so many bytes stands the header of a file that has one.
const HEAD_BYTES: usize = 64 << 10;

/// What some editors put at the start of a UTF-8 file.
pub(super) const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

/// Where the rows start behind the header; `None` when the file is no dump and is left out.
fn header(bytes: &[u8], path: &Path, host: &dyn Host) -> Result<Option<usize>, ReadError> {
    let mut text = bytes;
    if let Some(rest) = text.strip_prefix(BYTE_ORDER_MARK) {
        host.report(Finding::note(Kind::Encoding, path, "the file starts with a byte-order mark"))?;
        text = rest;
    }
    let start = bytes.len() - text.len();
    if record::starts(text) {
        host.report(Finding::note(
            Kind::Columns,
            path,
            "there is no header; the columns are taken to be in their order",
        ))?;
        return Ok(Some(start));
    }
    let end = memchr::memchr(b'\n', text).unwrap_or(text.len());
    let line = String::from_utf8_lossy(text.get(..end).unwrap_or_default());
    let names: Vec<&str> = line.trim().split(',').map(|n| n.trim().trim_matches('"')).collect();
    let known = names.len() == DUMP_COLUMNS.len()
        && names.iter().zip(DUMP_COLUMNS).all(|(n, known)| n.eq_ignore_ascii_case(known));
    if !known {
        let found: String = line.trim().chars().take(120).collect();
        let message = format!(
            "not a dump of msMemScope: the first line is \"{}\", expected {}",
            found.escape_debug(),
            DUMP_COLUMNS.join(",")
        );
        host.report(Finding::problem(Kind::BadStructure, path, message).at(Place::Line(1)))?;
        return Ok(None);
    }
    Ok(Some(start + (end + 1).min(text.len())))
}
