//! The records of all dump files of one unit, chunk by chunk and in parallel.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use crate::source::{Counter, Finding, Host, InputFile, Kind, Place, ReadError, Unit};

use super::chunks::{CHUNK_BYTES, Chunk, Chunks};
use super::database::{self, DumpRows, Needs};
use super::faults::{Faults, Varieties};
use super::layout::{DUMP_CSV, DUMP_DB};
use super::record::{self, Flaw, Found, Record};

/// What is made of the records of a piece. Pieces are parsed in parallel, and their outputs come in
/// the order in which they stand in the unit.
pub(super) trait Collect: Sync {
    /// What grows record by record.
    type Part: Send;
    /// What becomes of it at the end of the piece.
    type Output: Send;

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
pub(super) struct UnitRows {
    files: VecDeque<(usize, PathBuf, bool)>,
    current: Option<Current>,
    chunk_bytes: usize,
}

#[derive(Debug)]
struct Current {
    number: usize,
    path: PathBuf,
    rows_before: i64,
    source: Source,
}

#[derive(Debug)]
enum Source {
    Csv { chunks: Chunks, first: Option<(Chunk, usize)> },
    Db(Box<DumpRows>),
}

/// Rows that are taken from a database at a time.
const DB_ROWS: usize = 8192;

impl UnitRows {
    /// The dump files of a unit.
    pub(super) fn new(unit: &Unit) -> Self {
        let dumps = unit.files.iter().filter(|f| f.part == DUMP_CSV || f.part == DUMP_DB).enumerate();
        let files = dumps.map(|(at, f)| (at, f.path.clone(), f.part == DUMP_DB)).collect();
        Self { files, current: None, chunk_bytes: CHUNK_BYTES }
    }

    /// The same in chunks of another size, for tests.
    #[cfg(test)]
    pub(super) fn with_chunk_bytes(mut self, bytes: usize) -> Self {
        self.chunk_bytes = bytes;
        self
    }

    /// Parses up to `threads` pieces in parallel; `None` at the end.
    ///
    /// # Errors
    /// As [`crate::source::UnitReader::next_batch`].
    pub(super) fn next_round<C: Collect>(
        &mut self,
        collect: &C,
        threads: usize,
        host: &dyn Host,
    ) -> Result<Option<Vec<Piece<C::Output>>>, ReadError> {
        if host.stopped() {
            return Err(ReadError::Stopped);
        }
        let Some(mut current) = self.current.take() else {
            let Some((number, path, db)) = self.files.pop_front() else { return Ok(None) };
            let source = if db {
                DumpRows::open(&path, collect.needs(), host)?.map(|rows| Source::Db(Box::new(rows)))
            } else {
                open_csv(&path, self.chunk_bytes, host)?
            };
            self.current = source.map(|source| Current { number, path, rows_before: 0, source });
            return Ok(Some(vec![]));
        };
        let (pieces, more) = match &mut current.source {
            Source::Db(_) => current.db_round(collect, host)?,
            Source::Csv { .. } => current.csv_round(collect, threads, host)?,
        };
        if more {
            self.current = Some(current);
        }
        Ok(Some(pieces))
    }
}

type Round<T> = (Vec<Piece<T>>, bool);

impl Current {
    fn csv_round<C: Collect>(
        &mut self,
        collect: &C,
        threads: usize,
        host: &dyn Host,
    ) -> Result<Round<C::Output>, ReadError> {
        let Source::Csv { chunks, first } = &mut self.source else { return Ok((vec![], false)) };
        let mut round: Vec<(Chunk, usize)> = first.take().into_iter().collect();
        let mut broken = None;
        while round.len() < threads.max(1) && round.last().is_none_or(|(b, _)| !b.last) {
            match chunks.next_chunk() {
                Ok(Some(chunk)) => {
                    host.count(Counter::BytesRead, chunk.bytes.len() as u64);
                    round.push((chunk, 0));
                }
                Ok(None) => break,
                Err(e) => {
                    broken = Some(e);
                    break;
                }
            }
        }
        let more = broken.is_none() && round.last().is_some_and(|(b, _)| !b.last);
        let mut pieces = Vec::with_capacity(round.len());
        for (parsed, (chunk, _)) in parse_all(collect, &round).into_iter().zip(&round) {
            let (output, faults) = parsed?;
            faults.report(&self.path, |at| Place::Line(chunk.line_at(at)), host)?;
            pieces.push(Piece { file: self.number, rows_before: self.rows_before, output });
            self.rows_before = self.rows_before.saturating_add_unsigned(faults.rows);
        }
        if let Some(e) = broken {
            host.report(unreadable(&self.path, &e))?;
        }
        Ok((pieces, more))
    }

    fn db_round<C: Collect>(&mut self, collect: &C, host: &dyn Host) -> Result<Round<C::Output>, ReadError> {
        let Source::Db(rows) = &mut self.source else { return Ok((vec![], false)) };
        let (mut part, mut faults) = (collect.begin(), Faults::default());
        let read = rows.next(DB_ROWS, &mut |row| {
            match row {
                Ok(record) => {
                    collect.record(&mut part, record, faults.rows);
                    faults.varieties.microseconds += u64::from(record.in_microseconds());
                }
                Err(rowid) => faults.add(Flaw::Fields, usize::try_from(rowid).unwrap_or(0), true),
            }
            faults.rows += 1;
        });
        let output = collect.finish(part, &mut faults.varieties)?;
        faults.report(&self.path, |at| Place::Key(format!("rowid {at}")), host)?;
        let piece = Piece { file: self.number, rows_before: self.rows_before, output };
        self.rows_before = self.rows_before.saturating_add_unsigned(faults.rows);
        let more = match read {
            Ok(more) => more,
            Err(e) => {
                let mut finding = database::broken(&self.path, &e);
                finding.message.push_str("; the rows behind the broken place are left out");
                host.report(finding)?;
                false
            }
        };
        Ok((vec![piece], more))
    }
}

type Parsed<T> = Result<(T, Faults), ReadError>;

fn parse_all<C: Collect>(collect: &C, round: &[(Chunk, usize)]) -> Vec<Parsed<C::Output>> {
    match round {
        [] => vec![],
        [(chunk, from)] => vec![parse(collect, chunk, *from)],
        [(first, from), rest @ ..] => std::thread::scope(|scope| {
            let running: Vec<_> =
                rest.iter().map(|(c, from)| scope.spawn(move || parse(collect, c, *from))).collect();
            // This thread takes a share of the work too.
            let mut parsed = vec![parse(collect, first, *from)];
            // A panic in a reader is a fault of ours; it must not look like an end of data.
            parsed.extend(
                running.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))),
            );
            parsed
        }),
    }
}

/// Parses a chunk from a position on.
fn parse<C: Collect>(collect: &C, chunk: &Chunk, from: usize) -> Parsed<C::Output> {
    let (mut part, mut faults) = (collect.begin(), Faults::default());
    let mut at = from;
    let text = |at: usize| chunk.bytes.get(at..).unwrap_or_default();
    // Only behind a header can there be something that starts no record.
    if !record::starts(text(at)) {
        let end = record::end_of(text(at));
        if !text(at).get(..end).unwrap_or_default().trim_ascii().is_empty() {
            faults.add(Flaw::Stray, at, true);
            faults.rows += 1;
        }
        at += end;
    }
    while at < chunk.bytes.len() {
        let (found, used) = record::read(text(at));
        match found {
            Found::Record(record, flaw) => {
                collect.record(&mut part, &record, faults.rows);
                faults.varieties.microseconds += u64::from(record.in_microseconds());
                if let Some(flaw) = flaw {
                    faults.add(flaw, at, false);
                }
            }
            Found::Broken(flaw) => faults.add(flaw, at, true),
        }
        faults.rows += 1;
        at += used.max(1);
    }
    faults.varieties.unended = u64::from(chunk.last && faults.rows > 0 && !chunk.bytes.ends_with(b"\n"));
    let output = collect.finish(part, &mut faults.varieties)?;
    Ok((output, faults))
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

/// Opens a csv and reads its header; `None` when it is left out.
fn open_csv(path: &Path, chunk_bytes: usize, host: &dyn Host) -> Result<Option<Source>, ReadError> {
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    };
    host.count(Counter::FilesOpened, 1);
    let mut chunks = Chunks::new(file, chunk_bytes);
    let first = match chunks.next_chunk() {
        Ok(Some(chunk)) => chunk,
        Ok(None) => {
            let note = Finding::note(Kind::Empty, path, "the file is empty: no header and no rows");
            return host.report(note).map(|()| None);
        }
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    };
    host.count(Counter::BytesRead, first.bytes.len() as u64);
    let Some(from) = header(&first.bytes, path, host)? else { return Ok(None) };
    debug_assert_eq!(chunks.file().path(), path);
    Ok(Some(Source::Csv { chunks, first: Some((first, from)) }))
}

/// What some editors put at the start of a UTF-8 file.
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();

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
    let known = names.len() == super::database::DUMP_COLUMNS.len()
        && names.iter().zip(super::database::DUMP_COLUMNS).all(|(n, known)| n.eq_ignore_ascii_case(known));
    if !known {
        let found: String = line.trim().chars().take(120).collect();
        let message = format!(
            "not a dump of msMemScope: the first line is \"{}\", expected {}",
            found.escape_debug(),
            super::database::DUMP_COLUMNS.join(",")
        );
        host.report(Finding::problem(Kind::BadStructure, path, message).at(Place::Line(1)))?;
        return Ok(None);
    }
    Ok(Some(start + (end + 1).min(text.len())))
}
