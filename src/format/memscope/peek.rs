//! A look at the beginning and the end of a file.

use std::path::Path;
use std::sync::Mutex;

use rusqlite::Connection;

use crate::source::{Counter, Finding, Host, InputFile, ReadError, UnitFile};

use super::database;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Peek {
    /// Whether it could be opened and read.
    pub(super) readable: bool,
    /// Text of the beginning and the end.
    pub(super) text: Vec<u8>,
    /// About how many rows there are.
    pub(super) rows: Option<i64>,
    /// What is odd.
    pub(super) remark: Option<String>,
}

/// Bytes that are looked at on each side.
const SIDE: u64 = 64 << 10;

/// Looks at a text file, in which `is_row` tells the lines that start a row. `listed` are the files as they
/// were when they were listed.
pub(super) fn text(path: &Path, listed: &[UnitFile], is_row: impl Fn(&[u8]) -> bool) -> Peek {
    let mut shrunk = None;
    let mut read = || -> std::io::Result<(Vec<u8>, Vec<u8>, u64)> {
        let file = InputFile::open(path)?;
        shrunk = UnitFile::shrunk(listed, &file).map(|finding| finding.message);
        let side = |at: u64, most: u64| {
            let mut bytes = vec![0; usize::try_from(most).unwrap_or(0)];
            let n = file.read_at(&mut bytes, at)?;
            bytes.truncate(n);
            Ok::<_, std::io::Error>(bytes)
        };
        let head = side(0, SIDE)?;
        let tail_at = file.len().saturating_sub(SIDE).max(SIDE);
        Ok((head, side(tail_at, SIDE)?, file.len()))
    };
    match read() {
        Ok((head, tail, len)) => {
            let body = memchr::memchr(b'\n', &head).map_or(0, |at| at + 1);
            let sample = head.get(body..).unwrap_or_default();
            let rows = sample.split(|b| *b == b'\n').filter(|line| is_row(line)).count() as u64;
            let all = if sample.is_empty() { 0 } else { rows * (len - body as u64) / sample.len() as u64 };
            let mut text = head;
            text.push(b'\n');
            text.extend_from_slice(&tail);
            let remark = if len == 0 {
                Some("empty")
            } else if text.iter().rev().find(|b| **b != b'\r') != Some(&b'\n') {
                Some("the last line is not ended: the file may be cut off")
            } else {
                None
            };
            let remark = shrunk.or_else(|| remark.map(str::to_owned));
            Peek { readable: true, text, rows: i64::try_from(all).ok(), remark }
        }
        Err(e) => Peek { remark: Some(e.to_string()), ..Peek::default() },
    }
}

/// Keeps the first thing that is reported.
#[derive(Debug, Default)]
struct FirstFinding {
    first: Mutex<Option<String>>,
    listed: Vec<UnitFile>,
}

impl Host for FirstFinding {
    fn stopped(&self) -> bool {
        false
    }

    fn reserve(&self, _: usize) -> Result<(), ReadError> {
        Ok(())
    }

    fn count(&self, _: Counter, _: u64) {}

    fn opened(&self, file: &InputFile) -> Result<(), ReadError> {
        UnitFile::shrunk(&self.listed, file).map_or(Ok(()), |finding| self.report(finding))
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        if let Ok(mut first) = self.first.lock() {
            first.get_or_insert(finding.message);
        }
        Ok(())
    }
}

/// Looks at a database: its first and last rows, spelled as in a csv.
pub(super) fn database(path: &Path, listed: &[UnitFile]) -> Peek {
    let host = FirstFinding { listed: listed.to_vec(), ..FirstFinding::default() };
    let connection = database::open(path, &host);
    let mut peek = Peek { remark: host.first.lock().ok().and_then(|mut f| f.take()), ..Peek::default() };
    let Ok(Some(connection)) = connection else { return peek };
    peek.readable = true;
    match look_into(&connection, &mut peek) {
        Ok(true) => {}
        Ok(false) => {
            peek.remark.get_or_insert(format!("no table {}", database::DUMP_TABLES.join(" or ")));
        }
        Err(e) => {
            peek.readable = false;
            peek.remark.get_or_insert(database::broken(path, &e).message);
        }
    }
    peek
}

/// Looks at the rows; false when there is no table with them.
fn look_into(connection: &Connection, peek: &mut Peek) -> rusqlite::Result<bool> {
    let tables = database::tables(connection)?;
    let Some(table) = database::DUMP_TABLES.iter().find(|t| tables.iter().any(|n| n == **t)) else {
        return Ok(false);
    };
    let last = format!("SELECT max(rowid) FROM main.{table}");
    peek.rows = connection.query_row(&last, [], |row| row.get::<_, Option<i64>>(0))?.or(Some(0));
    // Without them the version cannot be told.
    let columns = database::columns(connection, table)?;
    if !["Event", "Event Type", "Attr"].iter().all(|name| columns.iter().any(|c| c == name)) {
        return Ok(true);
    }
    for order in ["ASC", "DESC"] {
        let sql = format!(
            "SELECT ',' || \"Event\" || ',' || \"Event Type\" || ',' || replace(\"Attr\", '\"', '') \
             FROM main.{table} ORDER BY rowid {order} LIMIT 400"
        );
        let mut statement = connection.prepare(&sql)?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            // What is no text tells no version.
            if let Ok(text) = row.get_ref(0)?.as_bytes() {
                peek.text.extend_from_slice(text);
                peek.text.push(b'\n');
            }
        }
    }
    Ok(true)
}
