//! SQLite files among the inputs: opened so that they are only read, whatever is in them.

use std::fmt::Write;
#[cfg(unix)]
use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
#[cfg(unix)]
use std::sync::mpsc::{self, RecvTimeoutError};
#[cfg(unix)]
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};

use super::file::{InputFile, file_name};
use super::{Degree, Finding, Host, Kind, ReadError};

/// The first bytes of every SQLite 3 file that is not encrypted.
const MAGIC: &[u8] = b"SQLite format 3\0";

/// First bytes of a rollback journal that still has something to undo.
const HOT_JOURNAL: &[u8] = &[0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// What can be told from a database file alone, before SQLite sees it: its size in bytes, or `None`
/// after a problem was reported in skip mode.
///
/// SQLite would refuse the same files, but with a message that names neither cause nor remedy. `log`
/// is how much a write-ahead log beside it matters, for it is not read: a problem where the tool
/// that records leaves its newest rows there, a note where it is a mere possibility.
///
/// # Errors
/// [`ReadError::Refused`] when the host does not take a problem.
pub fn check_database(path: &Path, log: Degree, host: &dyn Host) -> Result<Option<u64>, ReadError> {
    let refuse =
        |kind: Kind, message: String| host.report(Finding::problem(kind, path, message)).map(|()| None);
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => {
            let kind = if e.kind() == ErrorKind::NotFound { Kind::Missing } else { Kind::Unreadable };
            let hint = if e.kind() == ErrorKind::PermissionDenied {
                ": read it as the user who owns it, or chmod it"
            } else {
                ""
            };
            return refuse(kind, format!("cannot be opened: {e}; expected a SQLite database{hint}"));
        }
    };
    host.opened(&file)?;
    if file.is_empty() {
        return refuse(
            Kind::Empty,
            "the file has zero bytes, expected a SQLite database; export it again".into(),
        );
    }
    let mut head = [0; 100];
    let n = match file.read_at(&mut head, 0) {
        Ok(n) => n,
        Err(e) => {
            return refuse(Kind::Unreadable, format!("cannot be read: {e}; expected a SQLite database"));
        }
    };
    if !head.starts_with(MAGIC) {
        let message = "not a SQLite database, or an encrypted one: it does not start with 'SQLite format 3'";
        return refuse(Kind::BadStructure, message.into());
    }
    let stated = stated_size(&head);
    if n < head.len() || file.len() < stated {
        let message = format!(
            "the file is cut off: it has {} bytes, expected {}; copy or export it again",
            file.len(),
            stated.max(512)
        );
        return refuse(Kind::BadStructure, message);
    }
    beside(path, log, host)?;
    Ok(Some(file.len()))
}

/// The size that the header states, in bytes; 0 when the header is too old to be trusted about it.
fn stated_size(head: &[u8; 100]) -> u64 {
    let number = |at: usize| {
        head.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, |b| u64::from(u32::from_be_bytes(b)))
    };
    let page = match number(16) >> 16 {
        1 => 65536,
        bytes => bytes,
    };
    if number(24) == number(92) { number(28) * page } else { 0 }
}

/// Looks at the journals beside a database: an immutable database is read without them.
fn beside(path: &Path, log: Degree, host: &dyn Host) -> Result<(), ReadError> {
    let wal = with_suffix(path, "-wal");
    if wal.metadata().is_ok_and(|m| m.is_file() && m.len() > 0) {
        let name = file_name(&wal);
        host.report(match log {
            Degree::Note => Finding::note(
                Kind::Unused,
                path,
                format!("not checkpointed: the newest rows may be in {name}, which is not read"),
            ),
            Degree::Problem => Finding::problem(
                Kind::Unused,
                path,
                format!(
                    "the newest rows are still in {name}, which is not read because that would change the \
                     files; copy the database with it, and open and close the copy once with sqlite3"
                ),
            ),
        })?;
    }
    let journal = with_suffix(path, "-journal");
    let mut head = [0; 8];
    let hot = InputFile::open(&journal).and_then(|f| f.read_at(&mut head, 0)).is_ok_and(|n| n == head.len());
    if hot && head == HOT_JOURNAL {
        let message = format!(
            "a write was interrupted or is still going on: {} lies beside it; rows may be half written; \
             wait for the writer to end, or open and close a copy of both once with sqlite3",
            file_name(&journal)
        );
        host.report(Finding::problem(Kind::BadStructure, path, message))?;
    }
    Ok(())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Connects to a database that is neither locked, changed nor given any file beside it.
///
/// The schema of a file from elsewhere can hold views, triggers and expressions that run functions;
/// none of them is of use here, so they are switched off rather than trusted.
///
/// # Errors
/// The error of SQLite, also for a schema that is damaged, and for a file without bytes.
pub fn connect_database(path: &Path) -> rusqlite::Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = past_fifos(path, || Connection::open_with_flags(immutable_uri(path), flags))?;
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
    // A file without bytes is a database without tables to SQLite. It had some when it was looked at.
    let pages: i64 = conn.query_row("PRAGMA main.page_count", [], |row| row.get(0))?;
    if pages == 0 {
        let message =
            "it has become empty while it was opened: it is being written anew; run the query again";
        let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_NOTADB);
        return Err(rusqlite::Error::SqliteFailure(code, Some(message.into())));
    }
    Ok(conn)
}

/// How long the opening of a file may take before it is looked at again.
#[cfg(unix)]
const PATIENCE: Duration = Duration::from_millis(500);

/// Lets SQLite open a file, which it does by its name. A FIFO that has taken the place of the file since it
/// was looked at would keep it waiting for a writer for ever: it gets one, and then finds nothing to read.
#[cfg(unix)]
fn past_fifos<T>(path: &Path, open: impl FnOnce() -> T) -> T {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};

    let (opened, waits) = mpsc::channel::<()>();
    let watched = path.to_path_buf();
    let watch = std::thread::Builder::new().name("opening".into()).spawn(move || {
        while waits.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            if std::fs::metadata(&watched).is_ok_and(|meta| meta.file_type().is_fifo()) {
                let writer = OpenOptions::new().write(true).custom_flags(libc::O_NONBLOCK).open(&watched);
                drop(writer);
            }
        }
    });
    let done = open();
    drop(opened);
    if let Ok(watch) = watch {
        // It cannot panic, and if it did nothing would be lost.
        let _ = watch.join();
    }
    done
}

#[cfg(not(unix))]
fn past_fifos<T>(_: &Path, open: impl FnOnce() -> T) -> T {
    open()
}

/// A name from a file as SQL writes it.
pub fn quoted_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// The path as a `file:` URI with everything but plain characters percent-encoded.
fn immutable_uri(path: &Path) -> String {
    let bytes = path_bytes(path);
    let mut uri = String::with_capacity(bytes.len() + 40);
    // An empty authority keeps a path that starts with two slashes from being read as one.
    uri.push_str(if bytes.first() == Some(&b'/') { "file://" } else { "file:" });
    for b in bytes {
        match b {
            b'/' | b'.' | b'-' | b'_' | b'~' => uri.push(char::from(b)),
            b if b.is_ascii_alphanumeric() => uri.push(char::from(b)),
            b => {
                // Writing to a String cannot fail.
                let _ = write!(uri, "%{b:02X}");
            }
        }
    }
    uri.push_str("?mode=ro&immutable=1");
    uri
}

#[cfg(unix)]
fn path_bytes(path: &Path) -> Vec<u8> {
    std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()).to_vec()
}

/// With `/` for `\`, and `/C:/...` for a path with a drive, as SQLite wants it in a URI.
#[cfg(windows)]
fn path_bytes(path: &Path) -> Vec<u8> {
    let text = path.to_string_lossy().replace('\\', "/");
    let drive = text.as_bytes().get(1) == Some(&b':');
    format!("{}{text}", if drive { "/" } else { "" }).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uri_holds_only_plain_characters() {
        let uri = |path: &str| immutable_uri(Path::new(path));
        assert_eq!(uri("a/b.db"), "file:a/b.db?mode=ro&immutable=1");
        assert_eq!(uri("/x y/100%?#é.db"), "file:///x%20y/100%25%3F%23%C3%A9.db?mode=ro&immutable=1");
        assert_eq!(uri("//host/b.db"), "file:////host/b.db?mode=ro&immutable=1");
    }

    /// As it is when a file is emptied after [`check_database`] has looked at it.
    #[test]
    fn a_file_without_bytes_is_no_database_without_tables() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let error = connect_database(file.path()).unwrap_err();
        assert!(error.to_string().contains("it has become empty while it was opened"), "{error}");
    }
}
