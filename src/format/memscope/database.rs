//! Dump databases, read row by row.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::source::{
    Counter, Degree, Finding, Host, Kind, Place, ReadError, check_database, connect_database, quoted_name,
};
use crate::text::json::escape::text_of;
use crate::text::json::pull::{Kind as JsonKind, Pull};

use super::number;
use super::record::{Record, unquoted};

/// Names of the table with the events, the newest first.
pub(super) const DUMP_TABLES: [&str; 2] = ["memscope_dump", "leaks_dump"];

/// The columns of a dump, in the order in which a csv has them.
pub(super) const DUMP_COLUMNS: [&str; 12] = [
    "ID",
    "Event",
    "Event Type",
    "Name",
    "Timestamp(ns)",
    "Process Id",
    "Thread Id",
    "Device Id",
    "Ptr",
    "Attr",
    "Call Stack(Python)",
    "Call Stack(C)",
];

/// Opens a database; `None` after a problem was reported in skip mode.
///
/// The tool commits every row by itself and leaves the log behind when it is killed, so rows in the
/// log are the last ones of the run: leaving them out must not go unnoticed.
pub(super) fn open(path: &Path, host: &dyn Host) -> Result<Option<Connection>, ReadError> {
    let Some(bytes) = check_database(path, Degree::Problem, host)? else { return Ok(None) };
    host.count(Counter::BytesRead, bytes);
    match connect_database(path) {
        Ok(connection) => Ok(Some(connection)),
        Err(e) => host.report(broken(path, &e)).map(|()| None),
    }
}

/// An error of SQLite as a problem of the file.
pub(super) fn broken(path: &Path, error: &rusqlite::Error) -> Finding {
    Finding::problem(Kind::BadStructure, path, format!("cannot be read as a database: {error}"))
}

/// Names of the tables of a database; a virtual table is none.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement = connection
        .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Names of what can be selected from like a table but holds no rows of its own, with what it is: views and
/// virtual tables.
pub(super) fn no_tables(connection: &Connection) -> rusqlite::Result<Vec<(String, &'static str)>> {
    let mut statement = connection.prepare(
        "SELECT name, type FROM main.sqlite_schema
         WHERE type = 'view' OR type = 'table' AND rootpage IS NOT NULL AND rootpage <= 0 ORDER BY name",
    )?;
    let found = statement.query_map([], |row| {
        let kind: String = row.get(1)?;
        Ok((row.get(0)?, if kind == "view" { "a view" } else { "a virtual table" }))
    })?;
    found.collect()
}

/// Names of the columns of a table.
pub(super) fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    // Not from a statement: that panics at a name that is not UTF-8.
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1, 'main') ORDER BY cid")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// Which columns that cost much are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs {
    /// `Attr`
    pub(super) attributes: bool,
    /// The call stacks.
    pub(super) stacks: bool,
}

/// The table of a dump, and which of its rows there are.
#[derive(Debug)]
pub(super) struct Dump {
    path: PathBuf,
    /// What is selected from what, with the row number first.
    select: String,
    /// The first and the last row number.
    span: Option<(i64, i64)>,
    bytes: u64,
}

/// Rows that are taken at a time.
const ROWS: i64 = 8192;

/// A row takes at least so many bytes of a file.
const LEAST_ROW_BYTES: u64 = 16;

impl Dump {
    /// The dump of this database; `None` after a problem was reported in skip mode.
    pub(super) fn open(
        path: &Path,
        needs: Needs,
        host: &dyn Host,
    ) -> Result<Option<(Self, Connection)>, ReadError> {
        let Some(connection) = open(path, host)? else { return Ok(None) };
        let refuse = |f: Finding| host.report(f).map(|()| None);
        let names = match tables(&connection) {
            Ok(names) => names,
            Err(e) => return refuse(broken(path, &e)),
        };
        let Some(table) = DUMP_TABLES.iter().find(|t| names.iter().any(|n| n == **t)) else {
            let message = format!(
                "no table {}; the tables are: {}",
                DUMP_TABLES.join(" or "),
                if names.is_empty() { "none".into() } else { names.join(", ") }
            );
            return refuse(Finding::problem(Kind::BadStructure, path, message));
        };
        let known = match columns(&connection, table) {
            Ok(known) => known,
            Err(e) => return refuse(broken(path, &e)),
        };
        let mut select = String::from("SELECT rowid");
        let mut missing = vec![];
        for (at, column) in DUMP_COLUMNS.iter().enumerate() {
            let needed = match at {
                9 => needs.attributes,
                10.. => needs.stacks,
                _ => true,
            };
            match known.iter().find(|k| k.eq_ignore_ascii_case(column)) {
                Some(name) if needed => {
                    let _ = write!(select, ", {}", quoted_name(name));
                }
                Some(_) => select.push_str(", NULL"),
                None => missing.push(*column),
            }
        }
        if !missing.is_empty() {
            let message = format!("the table {table} lacks the columns {}", missing.join(", "));
            return refuse(
                Finding::problem(Kind::Columns, path, message).at(Place::Key((*table).to_owned())),
            );
        }
        let _ = write!(select, " FROM main.{}", quoted_name(table));
        let span =
            format!("SELECT (SELECT min(rowid) FROM main.{table}), (SELECT max(rowid) FROM main.{table})");
        let span = connection
            .query_row(&span, [], |row| Ok(row.get::<_, Option<i64>>(0)?.zip(row.get::<_, Option<i64>>(1)?)));
        let span = match span {
            Ok(span) => span,
            Err(e) => return refuse(broken(path, &e)),
        };
        let bytes = path.metadata().map_or(0, |m| m.len());
        Ok(Some((Self { path: path.to_path_buf(), select, span, bytes }, connection)))
    }

    /// In how many pieces of consecutive row numbers it can be read, each of at most 8192 rows. `None`
    /// when numbers are missing in masses: the tool leaves out none.
    pub(super) fn pieces(&self) -> Option<u64> {
        let Some((first, last)) = self.span else { return Some(0) };
        let numbers = last.abs_diff(first).saturating_add(1);
        (numbers <= self.bytes / LEAST_ROW_BYTES).then(|| numbers.div_ceil(ROWS.unsigned_abs()))
    }

    /// The row numbers of a piece, both included.
    pub(super) fn piece(&self, number: u64) -> (i64, i64) {
        let (first, last) = self.span.unwrap_or((1, 0));
        let from = first.saturating_add_unsigned(number.saturating_mul(ROWS.unsigned_abs()));
        (from, last.min(from.saturating_add(ROWS - 1)))
    }

    /// All row numbers from the first one on.
    pub(super) fn all(&self) -> (i64, i64) {
        self.span.unwrap_or((1, 0))
    }

    /// A connection of its own for another thread.
    pub(super) fn connect(&self) -> rusqlite::Result<Connection> {
        connect_database(&self.path)
    }

    /// Hands the rows between two row numbers to `row`, at most 8192 of them; a row that is no record
    /// as its number. Returns where to go on, when there may be more.
    pub(super) fn read(
        &self,
        connection: &Connection,
        (from, to): (i64, i64),
        row: &mut dyn FnMut(Result<&Record<'_>, i64>),
    ) -> Result<Option<i64>, DumpError> {
        if from > to {
            return Ok(None);
        }
        let sql = format!("{} WHERE rowid BETWEEN ?1 AND ?2 ORDER BY rowid LIMIT {ROWS}", self.select);
        let mut statement = connection.prepare_cached(&sql)?;
        let mut rows = statement.query((from, to))?;
        let (mut next, mut n) = (from, 0);
        let mut scratch = Scratch::default();
        while let Some(found) = rows.next()? {
            n += 1;
            let number: i64 = found.get(0)?;
            // In a damaged file a page can be linked to again and again: that would never end.
            if number < next {
                return Err(DumpError::OutOfOrder(number));
            }
            match record(found, &mut scratch)? {
                Some(record) => row(Ok(&record)),
                None => row(Err(number)),
            }
            let Some(behind) = number.checked_add(1) else { return Ok(None) };
            next = behind;
        }
        Ok((n == ROWS && next <= to).then_some(next))
    }
}

/// Why the rows of a database cannot be read on.
#[derive(Debug)]
pub(super) enum DumpError {
    /// What SQLite says.
    Sqlite(rusqlite::Error),
    /// A row number that is smaller than the one before.
    OutOfOrder(i64),
}

impl From<rusqlite::Error> for DumpError {
    fn from(e: rusqlite::Error) -> Self {
        Self::Sqlite(e)
    }
}

impl DumpError {
    /// As a problem of the file.
    pub(super) fn finding(&self, path: &Path) -> Finding {
        let mut finding = match self {
            Self::Sqlite(e) => broken(path, e),
            Self::OutOfOrder(number) => {
                let message =
                    format!("cannot be read as a database: rows are out of order at rowid {number}");
                Finding::problem(Kind::BadStructure, path, message)
            }
        };
        finding.message.push_str("; the rows behind the broken place are left out");
        finding
    }
}

/// Room for texts that are made from a row.
#[derive(Debug, Default)]
struct Scratch {
    attributes: Vec<u8>,
    device: String,
    pointer: String,
}

fn record<'r>(row: &'r Row<'_>, scratch: &'r mut Scratch) -> rusqlite::Result<Option<Record<'r>>> {
    let value = |at: usize| row.get_ref(at + 1);
    let (Some(id), Some(time)) = (integer(value(0)?), integer(value(4)?)) else { return Ok(None) };
    scratch.attributes.clear();
    let attributes = text(value(9)?);
    let attributes = if attributes.starts_with(b"{\"") && braces(attributes, &mut scratch.attributes) {
        scratch.attributes.as_slice()
    } else {
        attributes
    };
    Ok(Some(Record {
        id,
        event: text(value(1)?),
        event_type: text(value(2)?),
        name: match value(3)? {
            ValueRef::Null => b"N/A",
            other => unquoted(text(other)),
        },
        time,
        pid: integer(value(5)?),
        tid: integer(value(6)?),
        device: text_or_number(value(7)?, &mut scratch.device),
        pointer: text_or_number(value(8)?, &mut scratch.pointer),
        attributes,
        py_stack: unquoted(text(value(10)?)),
        c_stack: unquoted(text(value(11)?)),
    }))
}

fn integer(value: ValueRef<'_>) -> Option<i64> {
    match value {
        ValueRef::Integer(n) => Some(n),
        ValueRef::Text(text) => number::integer(text),
        _ => None,
    }
}

fn text(value: ValueRef<'_>) -> &[u8] {
    match value {
        ValueRef::Text(text) | ValueRef::Blob(text) => text,
        _ => b"",
    }
}

fn text_or_number<'a>(value: ValueRef<'a>, scratch: &'a mut String) -> &'a [u8] {
    match value {
        ValueRef::Integer(n) => {
            *scratch = n.to_string();
            scratch.as_bytes()
        }
        other => text(other),
    }
}

/// A flat JSON object in the spelling of a csv; false when it is none.
fn braces(json: &[u8], out: &mut Vec<u8>) -> bool {
    if plain_braces(json, out).is_some() {
        return true;
    }
    out.clear();
    any_braces(json, out)
}

/// The same for what the tool writes: texts only, without escapes or spaces between them.
fn plain_braces(json: &[u8], out: &mut Vec<u8>) -> Option<()> {
    if memchr::memchr(b'\\', json).is_some() || std::str::from_utf8(json).is_err() {
        return None;
    }
    let text = |text: &[u8], out: &mut Vec<u8>| -> Option<usize> {
        let inner = text.strip_prefix(b"\"")?;
        let end = memchr::memchr(b'"', inner)?;
        out.extend_from_slice(inner.get(..end)?);
        Some(end + 2)
    };
    let mut rest = json.strip_prefix(b"{")?;
    out.push(b'{');
    loop {
        rest = rest.get(text(rest, out)?..)?.strip_prefix(b":")?;
        out.push(b':');
        rest = rest.get(text(rest, out)?..)?;
        match rest {
            b"}" => break,
            [b',', more @ ..] => rest = more,
            _ => return None,
        }
        out.push(b',');
    }
    out.push(b'}');
    Some(())
}

fn any_braces(json: &[u8], out: &mut Vec<u8>) -> bool {
    let mut pull = Pull::new(json);
    out.push(b'{');
    let passed = pull.object(|value, key| {
        if out.len() > 1 {
            out.push(b',');
        }
        push_text(key, out);
        out.push(b':');
        let value = value.value()?;
        match value.kind {
            JsonKind::String => push_text(value.raw, out),
            _ => out.extend_from_slice(value.raw),
        }
        Ok(())
    });
    out.push(b'}');
    passed.is_ok()
}

fn push_text(raw: &[u8], out: &mut Vec<u8>) {
    match text_of(raw) {
        // Bytes that are not UTF-8 are left for the reader of the value.
        Some((text, odd)) if !odd.not_utf8 => out.extend_from_slice(text.as_bytes()),
        _ => out.extend_from_slice(raw),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_attributes_get_the_spelling_of_a_csv() {
        let mut out = vec![];
        assert!(braces(br#"{"size":"5","owner":"a \"b\"","n":7}"#, &mut out));
        assert_eq!(out, br#"{size:5,owner:a "b",n:7}"#);
        for broken in [r#"{"size":"5""#, r#"{"size":"5",}"#, r#"{"size"}"#, "{"] {
            out.clear();
            assert!(!braces(broken.as_bytes(), &mut out), "{broken}");
        }
        for (json, csv) in [
            (r#"{"size":"5","shape":"[1, 2,]"}"#, "{size:5,shape:[1, 2,]}"),
            (r#"{ "size" : "5" }"#, "{size:5}"),
            (r#"{"size":"","owner":"PTA@ä"}"#, "{size:,owner:PTA@ä}"),
        ] {
            let (mut plain, mut any) = (vec![], vec![]);
            assert!(braces(json.as_bytes(), &mut plain) && any_braces(json.as_bytes(), &mut any), "{json}");
            assert_eq!((plain.as_slice(), any.as_slice()), (csv.as_bytes(), csv.as_bytes()), "{json}");
        }
    }
}
