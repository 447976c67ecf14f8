//! The one place where input files and directories are opened.
//!
//! Inputs are only ever read. A path that is not a regular file (a FIFO, a device, a directory) is
//! refused before it is opened, because opening a FIFO would wait for ever.
//!
//! A file may change while it is read. That it grows is harmless; where it ends before the size that it
//! had, bytes are missing that nobody can tell from a shorter file, so that is an error and never an end.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

/// How much is read at a time of a file that is longer than it was when it was opened, in bytes.
const GROWN: usize = 64 << 10;

/// An input file, opened for reading.
#[derive(Debug)]
pub struct InputFile {
    file: File,
    path: PathBuf,
    len: u64,
}

impl InputFile {
    /// Opens a regular file (or a symbolic link to one).
    ///
    /// # Errors
    /// The I/O error of the system, or `InvalidInput` when it is not a regular file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let meta = fs::metadata(path)?;
        if !meta.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let file = open_at_once(path)?;
        // It may be another one than a moment ago.
        let meta = file.metadata()?;
        if !meta.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
        }
        let len = meta.len();
        Ok(Self { file, path: path.to_path_buf(), len })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its size when it was opened, in bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether it was empty when it was opened.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Reads at an offset without moving a cursor, so that several threads can share the file.
    /// Returns less than `buf.len()` only at the end of the file.
    ///
    /// # Errors
    /// The I/O error of the system with the place where it occurred; `UnexpectedEof` when the file ends
    /// before the size that it had when it was opened.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|r| !r.is_empty()) {
            let at = offset.saturating_add(done as u64);
            match read_some_at(&self.file, rest, at) {
                Ok(0) if at < self.len => {
                    let message = format!(
                        "it ends at byte {at} and had {} bytes when it was opened: it was cut off or written \
                         anew meanwhile; run the query again",
                        self.len
                    );
                    return Err(io::Error::new(io::ErrorKind::UnexpectedEof, message));
                }
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(io::Error::new(e.kind(), format!("{e} at byte {at}"))),
            }
        }
        Ok(done)
    }

    /// Reads the whole file, at most `limit` bytes of it.
    ///
    /// # Errors
    /// As [`InputFile::read_at`], or `FileTooLarge` when it holds more than `limit` bytes.
    pub fn read_all(self, limit: u64) -> io::Result<Vec<u8>> {
        let too_large = || io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes"));
        if self.len > limit {
            return Err(too_large());
        }
        let mut out = Vec::new();
        // One byte more, so that the end is seen.
        let mut room = usize::try_from(self.len).map_err(|_| too_large())?.saturating_add(1);
        loop {
            let start = out.len();
            out.resize(start + room, 0);
            let n = self.read_at(out.get_mut(start..).unwrap_or_default(), start as u64)?;
            out.truncate(start + n);
            if out.len() as u64 > limit {
                return Err(too_large());
            }
            if n < room {
                return Ok(out);
            }
            room = GROWN;
        }
    }
}

/// Opens a file without waiting for anybody, should a FIFO have taken its place.
#[cfg(unix)]
fn open_at_once(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

#[cfg(windows)]
fn open_at_once(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}

#[cfg(unix)]
fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buf, offset)
}

#[cfg(windows)]
fn read_some_at(file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buf, offset)
}

/// The last part of a path, for messages.
pub fn file_name(path: &Path) -> String {
    path.file_name().map(OsStr::to_string_lossy).unwrap_or_default().into_owned()
}

/// Names in a directory, sorted, so that results never depend on the file system's order.
///
/// # Errors
/// The I/O error of the system.
pub fn list_directory(path: &Path) -> io::Result<Vec<fs::DirEntry>> {
    let mut entries = fs::read_dir(path)?.collect::<io::Result<Vec<_>>>()?;
    entries.sort_by_key(fs::DirEntry::file_name);
    Ok(entries)
}

/// Whether a path, links followed, leads to a directory. What is not there is none, nor is a link that
/// leads nowhere or in a circle.
///
/// # Errors
/// The I/O error of the system: then nobody knows what data may be behind it.
pub fn is_directory(path: &Path) -> io::Result<bool> {
    look_at(path).map(|meta| meta.is_some_and(|m| m.is_dir()))
}

/// What a path leads to, links followed; `None` when it leads nowhere.
///
/// # Errors
/// As [`is_directory`].
pub fn look_at(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match fs::metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(e) if leads_nowhere(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

/// The path without links, for telling whether two paths lead to the same place; `None` when it leads
/// nowhere.
///
/// # Errors
/// As [`is_directory`].
pub fn real_path(path: &Path) -> io::Result<Option<PathBuf>> {
    match fs::canonicalize(path) {
        Ok(real) => Ok(Some(real)),
        Err(e) if leads_nowhere(&e) => Ok(None),
        Err(e) => Err(e),
    }
}

fn leads_nowhere(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) || is_loop(error)
}

#[cfg(unix)]
fn is_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(windows)]
fn is_loop(_: &io::Error) -> bool {
    false
}
