//! Why an export failed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// Why a file could not be written. The file that was there before, if any, is untouched.
#[derive(Debug)]
#[non_exhaustive]
pub enum SinkError {
    /// The system says no.
    Io {
        /// The file that was to be written.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// The error of the system.
        source: io::Error,
    },
    /// SQLite says no: a full disk, for example.
    Sqlite {
        /// The file that was to be written.
        path: PathBuf,
        /// The error of SQLite.
        source: rusqlite::Error,
    },
    /// The rows do not fit into the database.
    Rows {
        /// The file that was to be written.
        path: PathBuf,
        /// What was found and what was expected.
        message: String,
    },
}

impl SinkError {
    /// Makes errors of the system about this file.
    pub(super) fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |source| SinkError::Io { path: path.to_owned(), action, source }
    }

    /// Makes errors of SQLite about this file.
    pub(super) fn sqlite(path: &Path) -> impl Fn(rusqlite::Error) -> Self {
        move |source| SinkError::Sqlite { path: path.to_owned(), source }
    }

    /// An error about rows.
    pub(super) fn rows(path: &Path, message: impl Into<String>) -> Self {
        SinkError::Rows { path: path.to_owned(), message: message.into() }
    }
}

impl fmt::Display for SinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SinkError::Io { path, action, source } => {
                write!(f, "{}: cannot {action}: {source}", path.display())
            }
            SinkError::Sqlite { path, source } => {
                write!(f, "{}: cannot be written: {source}", path.display())
            }
            SinkError::Rows { path, message } => write!(f, "{}: {message}", path.display()),
        }
    }
}

impl std::error::Error for SinkError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            SinkError::Io { source, .. } => Some(source),
            SinkError::Sqlite { source, .. } => Some(source),
            SinkError::Rows { .. } => None,
        }
    }
}
