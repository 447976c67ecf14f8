//! `ascend_pytorch_profiler[_N].db`: the profiler's SQLite export, what verl writes by default.
//!
//! The tables hold bytes and nanoseconds where the text export has KB, MB and microseconds; read
//! here, both give the same allocations, levels and ops. The file is opened immutable: it is not
//! locked, and nothing is ever created beside it.

mod chains;
mod memory;
mod op_log;
mod strings;
mod table;
#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::fmt;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, ErrorCode};

use crate::source::{Counter, Degree, Finding, Host, Kind, ReadError, check_database, connect_database};

use super::allocations::Allocation;
use super::ops::{Detail, OpLog};
use super::records::LevelRecord;

/// A profiler database, open for reading.
pub struct ProfilerDb {
    conn: Connection,
    path: PathBuf,
    bytes: u64,
    /// Whether the size of the file has been counted as read.
    counted: Cell<bool>,
    strings: strings::Strings,
    allocations: memory::Allocations,
    levels: memory::Levels,
}

impl ProfilerDb {
    /// Opens a database. `None` when it is none or is damaged, and the host takes that in skip mode.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when the host does not take it.
    pub fn open(path: &Path, host: &dyn Host) -> Result<Option<Self>, ReadError> {
        // The profiler itself keeps no log: one beside its file is that of a viewer.
        let Some(bytes) = check_database(path, Degree::Problem, host)? else { return Ok(None) };
        match connect_database(path) {
            Ok(conn) => Ok(Some(Self {
                conn,
                path: path.to_path_buf(),
                bytes,
                counted: Cell::new(false),
                strings: strings::Strings::default(),
                allocations: memory::Allocations::default(),
                levels: memory::Levels::default(),
            })),
            Err(e) => absorb(path, host, Err(e.into())).map(|()| None),
        }
    }

    /// The rank that RANK_DEVICE_MAP names, when it names exactly one. A single-process profile does
    /// not have it in its file name. Never fails: without a usable table it is `None`.
    pub fn rank(&self) -> Option<i64> {
        /// A map of more devices than that is none.
        const ROWS: &str = "1024";
        let table::Found::Table(shape) = table::find(&self.conn, "RANK_DEVICE_MAP").ok()? else {
            return None;
        };
        if !shape.has("rankId") {
            return None;
        }
        let sql = format!("SELECT rankId FROM main.RANK_DEVICE_MAP NOT INDEXED LIMIT {ROWS}");
        let mut stmt = self.conn.prepare(&sql).ok()?;
        let ranks = stmt.query_map([], |row| Ok(row.get_ref(0)?.as_i64().unwrap_or(-1))).ok()?;
        let mut ranks = ranks.collect::<rusqlite::Result<Vec<i64>>>().ok()?;
        ranks.retain(|rank| *rank >= 0);
        ranks.sort_unstable();
        ranks.dedup();
        match ranks.as_slice() {
            [one] => Some(*one),
            _ => None,
        }
    }

    /// The role in META_DATA, which holds JSON: a text as it is, a number or truth value as it is
    /// spelled, text that is no JSON as it stands. `None` for anything else and for the empty text.
    pub fn role(&self) -> Option<String> {
        let raw = strings::meta_data(&self.conn, "role")?;
        let role = match serde_json::from_str(&raw) {
            Ok(serde_json::Value::String(text)) => text,
            Ok(value @ (serde_json::Value::Number(_) | serde_json::Value::Bool(_))) => value.to_string(),
            Ok(_) => return None,
            Err(_) => raw.trim().to_owned(),
        };
        (!role.is_empty()).then_some(role)
    }

    /// Reads ops and call stacks from PYTORCH_API and PYTORCH_CALLCHAINS, in the order of the table.
    ///
    /// An op counts as in the trace: [`Detail::Stacks`] takes those with a call chain only. What is
    /// wrong is reported to the host; after damage to the file the ops before it are returned.
    ///
    /// # Errors
    /// [`ReadError::Refused`] for a problem that the host does not take, [`ReadError::Stopped`],
    /// [`ReadError::Memory`].
    pub fn op_log(&self, detail: Detail, host: &dyn Host) -> Result<OpLog, ReadError> {
        let mut log = OpLog::default();
        let outcome = op_log::collect(&self.access(host), detail, &mut log);
        absorb(&self.path, host, outcome)?;
        Ok(log)
    }

    /// Hands the next rows of OP_MEMORY to `on_row`, in the order of the table: `max` of them (at
    /// least 1), fewer only at the end. False at the end: there are no more, and a further call hands
    /// out nothing. Rows that are wrong are reported and left out.
    ///
    /// # Errors
    /// As [`ProfilerDb::op_log`].
    pub fn next_allocations(
        &mut self,
        max: usize,
        host: &dyn Host,
        on_row: &mut dyn FnMut(&Allocation<'_>),
    ) -> Result<bool, ReadError> {
        let db = access(&self.conn, &self.path, self.bytes, &self.counted, host);
        let outcome = self.allocations.next(&db, &mut self.strings, max.max(1), on_row);
        absorb(&self.path, host, outcome)?;
        Ok(!self.allocations.is_done())
    }

    /// Hands the next rows of MEMORY_RECORD to `on_row`, as [`ProfilerDb::next_allocations`] does.
    ///
    /// # Errors
    /// As [`ProfilerDb::op_log`].
    pub fn next_records(
        &mut self,
        max: usize,
        host: &dyn Host,
        on_row: &mut dyn FnMut(&LevelRecord<'_>),
    ) -> Result<bool, ReadError> {
        let db = access(&self.conn, &self.path, self.bytes, &self.counted, host);
        let outcome = self.levels.next(&db, &mut self.strings, max.max(1), on_row);
        absorb(&self.path, host, outcome)?;
        Ok(!self.levels.is_done())
    }

    fn access<'a>(&'a self, host: &'a dyn Host) -> Access<'a> {
        access(&self.conn, &self.path, self.bytes, &self.counted, host)
    }
}

impl fmt::Debug for ProfilerDb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProfilerDb")
            .field("path", &self.path)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

/// What every part of the reader needs at hand.
struct Access<'a> {
    conn: &'a Connection,
    path: &'a Path,
    host: &'a dyn Host,
    bytes: u64,
    counted: &'a Cell<bool>,
}

/// Apart from `self`, so that the parts that change can be borrowed beside it.
fn access<'a>(
    conn: &'a Connection,
    path: &'a Path,
    bytes: u64,
    counted: &'a Cell<bool>,
    host: &'a dyn Host,
) -> Access<'a> {
    Access { conn, path, host, bytes, counted }
}

impl Access<'_> {
    /// Asks every few thousand records whether anybody still wants them.
    fn poll(&self, records: i64) -> Result<(), ReadError> {
        if records % 4096 == 1 && self.host.stopped() { Err(ReadError::Stopped) } else { Ok(()) }
    }

    /// Counts the file as read, once, when a table has been read to its end.
    fn read_through(&self) {
        if !self.counted.replace(true) {
            self.host.count(Counter::BytesRead, self.bytes);
        }
    }
}

/// Memory that has been reserved for something that grows.
#[derive(Debug, Default)]
struct Budget {
    reserved: usize,
}

impl Budget {
    const STEP: usize = 64 << 10;

    /// Reserves as much as is missing for `used` bytes, in whole steps.
    fn cover(&mut self, used: usize, host: &dyn Host) -> Result<(), ReadError> {
        if used > self.reserved {
            let more = (used - self.reserved).div_ceil(Self::STEP) * Self::STEP;
            host.reserve(more)?;
            self.reserved += more;
        }
        Ok(())
    }
}

/// Why reading a table ended early.
#[derive(Debug)]
enum Fault {
    /// SQLite cannot go on.
    Sqlite(rusqlite::Error),
    /// The file is damaged in a way that SQLite does not see.
    Structure(String),
    /// The host does not want to go on.
    Read(ReadError),
}

impl From<rusqlite::Error> for Fault {
    fn from(e: rusqlite::Error) -> Self {
        Fault::Sqlite(e)
    }
}

impl From<ReadError> for Fault {
    fn from(e: ReadError) -> Self {
        Fault::Read(e)
    }
}

/// Reports a fault of the file, after which what was read so far is all there is.
fn absorb(path: &Path, host: &dyn Host, outcome: Result<(), Fault>) -> Result<(), ReadError> {
    let (kind, cause) = match outcome {
        Ok(()) => return Ok(()),
        Err(Fault::Read(e)) => return Err(e),
        Err(Fault::Structure(message)) => (Kind::BadStructure, message),
        Err(Fault::Sqlite(e)) => match e.sqlite_error_code() {
            Some(ErrorCode::OperationInterrupted) => return Err(ReadError::Stopped),
            Some(ErrorCode::OutOfMemory) => return Err(ReadError::Memory(Box::new(e))),
            Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
                (Kind::Unreadable, e.to_string())
            }
            _ => (Kind::BadStructure, e.to_string()),
        },
    };
    let message = format!("{cause}; expected an undamaged SQLite database: copy or export it again");
    host.report(Finding::problem(kind, path, message))
}
