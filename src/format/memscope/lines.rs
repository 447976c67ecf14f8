//! Small text files of one record a line, read whole lines at a time.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::source::{Counter, Host, InputFile, ReadError};

use super::rows::unreadable;

/// A line may be this long, in bytes.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// The lines of a file.
pub(super) struct Lines {
    reader: BufReader<Positioned>,
    number: u64,
    line: Vec<u8>,
}

/// Reads an input file from its start.
struct Positioned {
    file: InputFile,
    at: u64,
}

impl Read for Positioned {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.at)?;
        self.at += n as u64;
        Ok(n)
    }
}

impl Lines {
    /// Opens a file; `None` after a problem was reported in skip mode.
    pub(super) fn open(path: &Path, host: &dyn Host) -> Result<Option<Self>, ReadError> {
        let file = match InputFile::open(path) {
            Ok(file) => file,
            Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
        };
        host.count(Counter::FilesOpened, 1);
        host.count(Counter::BytesRead, file.len());
        let reader = BufReader::with_capacity(256 << 10, Positioned { file, at: 0 });
        Ok(Some(Self { reader, number: 0, line: vec![] }))
    }

    /// The next line and its number from 1, without its end; `None` at the end of the file.
    ///
    /// # Errors
    /// The I/O error of the system; `InvalidData` when the line is too long.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, &[u8])>> {
        self.line.clear();
        let n = self.reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut self.line)?;
        if n == 0 {
            return Ok(None);
        }
        self.number += 1;
        if n as u64 == MAX_LINE_BYTES {
            let text = format!("line {} is longer than {MAX_LINE_BYTES} bytes", self.number);
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        let line = self.line.strip_suffix(b"\n").unwrap_or(&self.line);
        Ok(Some((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

/// The last `N` cells of a line and what stands before them, which may hold commas.
pub(super) fn split_right<const N: usize>(line: &[u8]) -> Option<(&[u8], [&[u8]; N])> {
    let mut cells = [&b""[..]; N];
    let mut head = line;
    for cell in cells.iter_mut().rev() {
        let at = memchr::memrchr(b',', head)?;
        *cell = head.get(at + 1..)?;
        head = head.get(..at)?;
    }
    Some((head, cells))
}
