//! The one place where input files and directories are opened.
//!
//! Inputs are only ever read. A path that is not a regular file (a FIFO, a device, a directory) is
//! refused before it is opened, because opening a FIFO would wait for ever.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

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
        let file = File::open(path)?;
        let len = file.metadata()?.len();
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
    /// The I/O error of the system.
    pub fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buf.get_mut(done..).filter(|r| !r.is_empty()) {
            match read_some_at(&self.file, rest, offset.saturating_add(done as u64)) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(done)
    }

    /// Reads the whole file, at most `limit` bytes of it.
    ///
    /// # Errors
    /// The I/O error of the system, or `FileTooLarge` when it holds more than `limit` bytes.
    pub fn read_all(self, limit: u64) -> io::Result<Vec<u8>> {
        let mut out = Vec::with_capacity(usize::try_from(self.len.min(limit)).unwrap_or(0));
        let n = self.file.take(limit.saturating_add(1)).read_to_end(&mut out)?;
        if n as u64 > limit {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("more than {limit} bytes")));
        }
        Ok(out)
    }
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
