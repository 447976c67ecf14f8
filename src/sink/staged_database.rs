//! A SQLite database that is there as a whole or not at all.

use std::fs::File;
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::{SinkError, StagedFile};

/// How the file is written. It is nobody else's before it is complete and on the disk, so a journal
/// would protect nothing. The SQLite inside this program enforces foreign keys unless told not to, and
/// one of the trend database's leads nowhere.
const PRAGMAS: &str = "PRAGMA page_size = 4096;
    PRAGMA encoding = 'UTF-8';
    PRAGMA auto_vacuum = NONE;
    PRAGMA foreign_keys = OFF;
    PRAGMA journal_mode = OFF;
    PRAGMA synchronous = OFF;
    PRAGMA temp_store = MEMORY;
    PRAGMA cache_size = -8192;";

/// A database that is being written, in one transaction. Dropped before [`StagedDatabase::publish`] it
/// leaves nothing.
#[derive(Debug)]
pub(super) struct StagedDatabase {
    // Closed before the file is removed or published.
    db: Connection,
    staged: StagedFile,
}

impl StagedDatabase {
    /// Begins an empty database that will take the place of the target.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub(super) fn create(target: &Path) -> Result<Self, SinkError> {
        let staged = StagedFile::create(target)?;
        // One thread at a time owns the connection, so SQLite need not lock anything.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let db = Connection::open_with_flags(staged.path(), flags).map_err(SinkError::sqlite(target))?;
        db.execute_batch(PRAGMAS).map_err(SinkError::sqlite(target))?;
        db.execute_batch("BEGIN").map_err(SinkError::sqlite(target))?;
        Ok(Self { db, staged })
    }

    /// Ends the transaction and gives the file, for pages that are added by hand. Until
    /// [`StagedDatabase::resume`] the connection must not be used.
    ///
    /// # Errors
    /// When something cannot be stored.
    pub(super) fn pause(&self) -> Result<File, SinkError> {
        self.db.execute_batch("COMMIT").map_err(|e| self.error(e))?;
        let file = File::options().read(true).write(true).open(self.staged.path());
        file.map_err(SinkError::io(self.target(), "open the file beside it"))
    }

    /// Goes on with a transaction; SQLite finds out by itself what was changed in the file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(super) fn resume(&self) -> Result<(), SinkError> {
        self.db.execute_batch("BEGIN").map_err(|e| self.error(e))
    }

    /// The connection to write with; a transaction is open.
    pub(super) fn connection(&self) -> &Connection {
        &self.db
    }

    /// The file that it will be.
    pub(super) fn target(&self) -> &Path {
        self.staged.target()
    }

    /// Makes an error of SQLite one about the target.
    pub(super) fn error(&self, error: rusqlite::Error) -> SinkError {
        SinkError::sqlite(self.target())(error)
    }

    /// Commits, closes, and puts the file in the place of the target.
    ///
    /// # Errors
    /// When something cannot be stored. Then the target is as it was before.
    pub(super) fn publish(self) -> Result<(), SinkError> {
        let Self { db, staged } = self;
        let error = |e| SinkError::sqlite(staged.target())(e);
        db.execute_batch("COMMIT").map_err(error)?;
        db.flush_prepared_statement_cache();
        db.close().map_err(|(_, e)| error(e))?;
        staged.publish()
    }
}
