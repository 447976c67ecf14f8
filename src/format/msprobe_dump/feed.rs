//! A JSON file, read member by member with a bounded window of it in memory.

use std::io;
use std::path::Path;

use crate::source::{Counter, Finding, Host, InputFile, Kind, Place, ReadError};
use crate::text::json::window::Window;

use crate::text::json::cursor::{Cursor, Stop};

/// How much is read at once. Large enough to hold hundreds of entries, small enough for the cache.
const STEP: usize = 256 << 10;

/// No member of a sane file is larger; it would have to be held in memory as a whole.
const MAX_MEMBER_BYTES: usize = 1 << 30;

/// An open JSON file.
#[derive(Debug)]
pub(super) struct Feed {
    file: InputFile,
    window: Window,
    reserved: usize,
}

/// Why a file cannot be read on.
#[derive(Debug)]
pub(super) enum FeedError {
    /// It is not JSON at this place.
    Broken {
        /// Byte offset in the file.
        at: u64,
        /// What should stand there.
        expected: &'static str,
    },
    /// The system says no.
    Io(io::Error),
    /// One member is larger than what may be held in memory; it starts at this offset.
    TooLarge(u64),
    /// It has nothing to do with the file.
    Host(ReadError),
}

impl FeedError {
    /// As a finding about the file, or the error of the host.
    pub(super) fn into_finding(self, path: &Path) -> Result<Finding, ReadError> {
        Ok(match self {
            FeedError::Broken { at, expected } => {
                Finding::problem(Kind::BadStructure, path, format!("broken JSON: expected {expected}"))
                    .at(Place::Byte(at))
            }
            FeedError::Io(e) => Finding::problem(Kind::Unreadable, path, format!("cannot be read: {e}")),
            FeedError::TooLarge(at) => {
                let message = format!("a member is larger than {} MB", MAX_MEMBER_BYTES >> 20);
                Finding::problem(Kind::BadStructure, path, message).at(Place::Byte(at))
            }
            FeedError::Host(e) => return Err(e),
        })
    }
}

impl Feed {
    /// Opens a file.
    ///
    /// # Errors
    /// [`FeedError::Io`] or [`FeedError::Host`].
    pub(super) fn open(path: &Path, host: &dyn Host) -> Result<Self, FeedError> {
        let file = InputFile::open(path).map_err(FeedError::Io)?;
        host.opened(&file).map_err(FeedError::Host)?;
        Ok(Self::at(file, 0))
    }

    /// Reads an open file from some offset on.
    fn at(file: InputFile, offset: u64) -> Self {
        Self { file, window: Window::new(offset, STEP), reserved: 0 }
    }

    /// Size of the file when it was opened, in bytes.
    pub(super) fn len(&self) -> u64 {
        self.file.len()
    }

    /// Reads all that is left, which must be known to be little.
    ///
    /// # Errors
    /// [`FeedError::Io`] or [`FeedError::Host`].
    pub(super) fn whole(&mut self, host: &dyn Host) -> Result<&[u8], FeedError> {
        while !self.window.ended() {
            self.fill(host)?;
        }
        Ok(self.window.bytes())
    }

    /// Offset in the file of what was not passed yet.
    pub(super) fn offset(&self) -> u64 {
        self.window.offset()
    }

    /// Starts again at some offset.
    pub(super) fn seek(&mut self, offset: u64) {
        self.window = Window::new(offset, STEP);
    }

    /// Passes what `parse` passes. When the bytes in memory are not enough it reads on and calls
    /// `parse` again from the same place, so `parse` must forget what it did before.
    pub(super) fn step<T>(
        &mut self,
        host: &dyn Host,
        mut parse: impl FnMut(&mut Cursor<'_>) -> Result<T, Stop>,
    ) -> Result<T, FeedError> {
        loop {
            let mut cursor = Cursor::new(self.window.bytes(), self.window.ended());
            match parse(&mut cursor) {
                Ok(value) => {
                    let passed = cursor.at();
                    self.window.consume(passed);
                    return Ok(value);
                }
                Err(Stop::Broken { at, expected }) => {
                    return Err(FeedError::Broken { at: self.window.offset() + at as u64, expected });
                }
                Err(Stop::More) => self.fill_twice(host)?,
            }
        }
    }

    /// Passes a byte-order mark, if there is one.
    pub(super) fn byte_order_mark(&mut self, host: &dyn Host) -> Result<bool, FeedError> {
        self.fill(host)?;
        let marked = self.window.bytes().starts_with(b"\xEF\xBB\xBF");
        self.window.consume(if marked { 3 } else { 0 });
        Ok(marked)
    }

    /// Reads until there is twice as much in memory. What was parsed in vain is parsed again, and with
    /// one read at a time that would be the square of the size of a large member.
    fn fill_twice(&mut self, host: &dyn Host) -> Result<(), FeedError> {
        let wanted = 2 * self.window.bytes().len();
        loop {
            self.fill(host)?;
            if self.window.ended() || self.window.bytes().len() >= wanted {
                return Ok(());
            }
        }
    }

    fn fill(&mut self, host: &dyn Host) -> Result<(), FeedError> {
        if host.stopped() {
            return Err(FeedError::Host(ReadError::Stopped));
        }
        let kept = self.window.bytes().len();
        if kept > MAX_MEMBER_BYTES {
            return Err(FeedError::TooLarge(self.window.offset()));
        }
        let offset = self.window.offset() + kept as u64;
        let file = &self.file;
        let mut got = 0;
        let filled = self.window.fill(|room| {
            got = file.read_at(room, offset)?;
            Ok::<_, io::Error>(got)
        });
        filled.map_err(FeedError::Io)?;
        host.count(Counter::BytesRead, got as u64);
        let grown = self.window.allocated().saturating_sub(self.reserved);
        self.reserved += grown;
        host.reserve(grown).map_err(FeedError::Host)
    }
}
