//! Dump databases: opened so that they are only read, whatever is in them, and read row by row.

use std::ffi::OsStr;
use std::fmt::Write;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags, Row};

use crate::source::{Counter, Finding, Host, InputFile, Kind, Place, ReadError};
use crate::text::json::escape::text_of;
use crate::text::json::pull::{Kind as JsonKind, Pull};

use super::number;
use super::record::{Record, unquoted};

/// The first bytes of every SQLite 3 file.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

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
pub(super) fn open(path: &Path, host: &dyn Host) -> Result<Option<Connection>, ReadError> {
    let refuse =
        |kind: Kind, message: String| host.report(Finding::problem(kind, path, message)).map(|()| None);
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => {
            let kind = if e.kind() == ErrorKind::NotFound { Kind::Missing } else { Kind::Unreadable };
            return refuse(kind, format!("cannot be opened: {e}; expected a SQLite database"));
        }
    };
    host.count(Counter::FilesOpened, 1);
    if file.is_empty() {
        return refuse(Kind::Empty, "the file has zero bytes, expected a SQLite database".into());
    }
    let mut head = [0; 16];
    match file.read_at(&mut head, 0) {
        Ok(_) if head == MAGIC => {}
        Ok(_) => {
            return refuse(
                Kind::BadStructure,
                "not a SQLite database: it does not start with 'SQLite format 3'".into(),
            );
        }
        Err(e) => return refuse(Kind::Unreadable, format!("cannot be read: {e}")),
    }
    host.count(Counter::BytesRead, file.len());
    journals(path, host)?;
    match connect(path) {
        Ok(connection) => Ok(Some(connection)),
        Err(e) => host.report(broken(path, &e)).map(|()| None),
    }
}

/// Looks at what lies beside a database: an immutable one is read without it.
///
/// The tool commits every row by itself and leaves the log behind when it is killed, so rows in the
/// log are the last ones of the run: leaving them out must not go unnoticed.
fn journals(path: &Path, host: &dyn Host) -> Result<(), ReadError> {
    for (suffix, what) in [("-wal", "the newest rows are still in"), ("-journal", "a write was interrupted:")]
    {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let beside = PathBuf::from(name);
        if beside.metadata().is_ok_and(|m| m.is_file() && m.len() > 0) {
            let message = format!(
                "{what} {}, which is not read because that would change the files; \
                 copy the database with it, and open and close the copy once with sqlite3",
                beside.file_name().map(OsStr::to_string_lossy).unwrap_or_default()
            );
            host.report(Finding::problem(Kind::Unused, path, message))?;
        }
    }
    Ok(())
}

/// Connects to a database that is neither locked, changed nor given any file beside it. What its
/// schema could make run is switched off.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(immutable_uri(path), flags)?;
    for (config, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
        (DbConfig::SQLITE_DBCONFIG_DQS_DDL, false),
    ] {
        conn.set_db_config(config, on)?;
    }
    conn.execute_batch(
        "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA temp_store = MEMORY;
         PRAGMA mmap_size = 0; PRAGMA query_only = ON;",
    )?;
    // Opening is lazy: only this reads the file, and with it the whole schema.
    conn.query_row("SELECT count(*) FROM main.sqlite_schema", [], |_| Ok(()))?;
    Ok(conn)
}

/// The path as a `file:` URI with everything but plain characters percent-encoded.
fn immutable_uri(path: &Path) -> String {
    let bytes = path_bytes(path.as_os_str());
    // An empty authority keeps a path that starts with two slashes from being read as one.
    let mut uri = String::from(if bytes.first() == Some(&b'/') { "file://" } else { "file:" });
    for b in bytes {
        if b.is_ascii_alphanumeric() || matches!(b, b'/' | b'.' | b'-' | b'_' | b'~') {
            uri.push(char::from(b));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(uri, "%{b:02X}");
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

#[cfg(unix)]
fn path_bytes(path: &OsStr) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path).to_vec()
}

/// With `/` for `\`, and `/C:/...` for a path with a drive, as SQLite wants it in a URI.
#[cfg(windows)]
fn path_bytes(path: &OsStr) -> Vec<u8> {
    let text = path.to_string_lossy().replace('\\', "/");
    let drive = text.as_bytes().get(1) == Some(&b':');
    format!("{}{text}", if drive { "/" } else { "" }).into_bytes()
}

/// An error of SQLite as a problem of the file.
pub(super) fn broken(path: &Path, error: &rusqlite::Error) -> Finding {
    Finding::problem(Kind::BadStructure, path, format!("cannot be read as a database: {error}"))
}

/// Names of the tables of a database.
pub(super) fn tables(connection: &Connection) -> rusqlite::Result<Vec<String>> {
    let mut statement =
        connection.prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")?;
    statement.query_map([], |row| row.get(0))?.collect()
}

/// Names of the columns of a table.
fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    // Not from a statement: that panics at a name that is not UTF-8.
    let mut statement = connection.prepare("SELECT name FROM pragma_table_info(?1, 'main') ORDER BY cid")?;
    statement.query_map([table], |row| row.get(0))?.collect()
}

/// A name as SQL writes it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The rows of a dump, page by page.
#[derive(Debug)]
pub(super) struct DumpRows {
    connection: Connection,
    query: String,
    after: i64,
}

/// Which columns that cost much are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Needs {
    /// `Attr`
    pub(super) attributes: bool,
    /// The call stacks.
    pub(super) stacks: bool,
}

impl DumpRows {
    /// The dump of this database; `None` after a problem was reported in skip mode.
    pub(super) fn open(path: &Path, needs: Needs, host: &dyn Host) -> Result<Option<Self>, ReadError> {
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
        let mut list = String::from("rowid");
        let mut missing = vec![];
        for (at, column) in DUMP_COLUMNS.iter().enumerate() {
            let needed = match at {
                9 => needs.attributes,
                10.. => needs.stacks,
                _ => true,
            };
            match known.iter().find(|k| k.eq_ignore_ascii_case(column)) {
                Some(name) if needed => {
                    let _ = write!(list, ", {}", quoted(name));
                }
                Some(_) => list.push_str(", NULL"),
                None => missing.push(*column),
            }
        }
        if !missing.is_empty() {
            let message = format!("the table {table} lacks the columns {}", missing.join(", "));
            return refuse(
                Finding::problem(Kind::Columns, path, message).at(Place::Key((*table).to_owned())),
            );
        }
        let query =
            format!("SELECT {list} FROM main.{} WHERE rowid > ?1 ORDER BY rowid LIMIT ?2", quoted(table));
        Ok(Some(Self { connection, query, after: i64::MIN }))
    }

    /// Hands the next rows to `row`, at most so many; a row that is no record as its rowid. Returns
    /// whether there may be more.
    pub(super) fn next(
        &mut self,
        most: usize,
        row: &mut dyn FnMut(Result<&Record<'_>, i64>),
    ) -> rusqlite::Result<bool> {
        let mut statement = self.connection.prepare_cached(&self.query)?;
        let mut rows = statement.query((self.after, i64::try_from(most).unwrap_or(i64::MAX)))?;
        let mut n = 0;
        let mut scratch = Scratch::default();
        while let Some(next) = rows.next()? {
            n += 1;
            self.after = next.get(0)?;
            match record(next, &mut scratch)? {
                Some(record) => row(Ok(&record)),
                None => row(Err(self.after)),
            }
        }
        Ok(n == most)
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
        out.clear();
        assert!(!braces(br#"{"size":"5""#, &mut out));
    }

    #[test]
    fn a_uri_holds_only_plain_characters() {
        let uri = |path: &str| immutable_uri(Path::new(path));
        assert_eq!(uri("a/b.db"), "file:a/b.db?mode=ro&immutable=1");
        assert_eq!(uri("/x y/100%?#é.db"), "file:///x%20y/100%25%3F%23%C3%A9.db?mode=ro&immutable=1");
    }
}
