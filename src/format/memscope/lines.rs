//! Small text files of one record a line, read whole lines at a time.

use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::source::{Counter, Finding, Host, InputFile, Kind, Place, ReadError};

use super::rows::{BYTE_ORDER_MARK, unreadable};

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
    fn open(path: &Path, host: &dyn Host) -> Result<Option<Self>, ReadError> {
        let file = match InputFile::open(path) {
            Ok(file) => file,
            Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
        };
        host.opened(&file)?;
        host.count(Counter::BytesRead, file.len());
        let reader = BufReader::with_capacity(256 << 10, Positioned { file, at: 0 });
        Ok(Some(Self { reader, number: 0, line: vec![] }))
    }

    /// The lines behind the header of a file; `None` when there are none, after it was reported.
    pub(super) fn behind_header(
        header: &str,
        path: &Path,
        host: &dyn Host,
    ) -> Result<Option<Self>, ReadError> {
        let Some(mut lines) = Self::open(path, host)? else { return Ok(None) };
        Ok(lines.pass_header(header, path, host)?.then_some(lines))
    }

    /// Passes the header, so that the next line is the first row; false when the file holds something
    /// else, which was reported. A file without a header has its columns in the usual order.
    fn pass_header(&mut self, header: &str, path: &Path, host: &dyn Host) -> Result<bool, ReadError> {
        // The buffer is larger than any header.
        let front = match self.reader.fill_buf() {
            Ok(front) => front,
            Err(e) => return host.report(unreadable(path, &e)).map(|()| false),
        };
        if front.is_empty() {
            let note = Finding::note(Kind::Empty, path, "the file is empty: no header and no rows");
            return host.report(note).map(|()| false);
        }
        let marked = front.strip_prefix(BYTE_ORDER_MARK);
        let text = marked.unwrap_or(front);
        let line = text.split(|b| *b == b'\n').next().unwrap_or_default().trim_ascii();
        let first_name = header.split(',').next().unwrap_or_default();
        let (is_header, resembles) =
            (line == header.as_bytes(), line.starts_with(first_name.as_bytes()) || line.is_empty());
        let found: String = String::from_utf8_lossy(line).chars().take(120).collect();
        if marked.is_some() {
            self.reader.consume(BYTE_ORDER_MARK.len());
            host.report(Finding::note(Kind::Encoding, path, "the file starts with a byte-order mark"))?;
        }
        if is_header {
            return match self.next() {
                Ok(_) => Ok(true),
                Err(e) => host.report(unreadable(path, &e)).map(|()| false),
            };
        }
        if resembles {
            let message = format!("the first line is \"{}\", expected {header}", found.escape_debug());
            let problem = Finding::problem(Kind::BadStructure, path, message).at(Place::Line(1));
            return host.report(problem).map(|()| false);
        }
        let message = "there is no header; the columns are taken to be in their order";
        host.report(Finding::note(Kind::Columns, path, message)).map(|()| true)
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

/// Says that a line holds bytes which cannot be shown.
pub(super) fn check_text(line: &[u8], number: u64, path: &Path, host: &dyn Host) -> Result<(), ReadError> {
    if std::str::from_utf8(line).is_ok() {
        return Ok(());
    }
    let message = "characters that are not UTF-8 are replaced by U+FFFD";
    host.report(Finding::note(Kind::Encoding, path, message).at(Place::Line(number)))
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
