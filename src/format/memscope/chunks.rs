//! A dump file in chunks that start at the start of a record, so that chunks can be parsed in parallel.
//!
//! A line that starts a record is known by its own text alone, so a chunk can end in front of any of
//! them, and no chunk needs to know what stands in another.

use std::io;

use memchr::{memchr_iter, memrchr};

use crate::source::InputFile;

use super::record;

/// Size of a chunk, in bytes, as long as records are not longer.
pub(super) const CHUNK_BYTES: usize = 1 << 20;

/// A record may be this long, in bytes; what is longer is no dump of msMemScope.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// A piece of a file.
#[derive(Debug)]
pub(super) struct Chunk {
    /// The bytes.
    pub(super) bytes: Vec<u8>,
    /// The number of the first line, from 1.
    pub(super) first_line: u64,
    /// Whether the file ends with it.
    pub(super) last: bool,
}

impl Chunk {
    /// The number of the line at a position.
    pub(super) fn line_at(&self, position: usize) -> u64 {
        self.first_line + lines(self.bytes.get(..position).unwrap_or(&self.bytes))
    }
}

/// Reads a file chunk by chunk.
#[derive(Debug)]
pub(super) struct Chunks {
    file: InputFile,
    read_to: u64,
    /// Bytes that were read and belong to the next chunk.
    rest: Vec<u8>,
    rest_line: u64,
    chunk_bytes: usize,
    done: bool,
}

impl Chunks {
    /// Reads this file in chunks of about `chunk_bytes`.
    pub(super) fn new(file: InputFile, chunk_bytes: usize) -> Self {
        Self { file, read_to: 0, rest: vec![], rest_line: 1, chunk_bytes: chunk_bytes.max(1), done: false }
    }

    /// The file.
    pub(super) fn file(&self) -> &InputFile {
        &self.file
    }

    /// The next chunk; `None` at the end of the file.
    ///
    /// # Errors
    /// The I/O error of the system; `InvalidData` when a record is longer than [`MAX_RECORD_BYTES`].
    pub(super) fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        if self.done {
            return Ok(None);
        }
        let first_line = self.rest_line;
        let mut bytes = std::mem::take(&mut self.rest);
        let mut grow = self.chunk_bytes;
        let end = loop {
            let start = bytes.len();
            // Room for what is left and one byte more, so that the end is seen; a file may also grow.
            let left = self.file.len().saturating_sub(self.read_to).saturating_add(1);
            let room = usize::try_from(left).map_or(grow, |left| left.min(grow));
            bytes.resize(start + room, 0);
            let n = self.file.read_at(bytes.get_mut(start..).unwrap_or_default(), self.read_to)?;
            bytes.truncate(start + n);
            self.read_to += n as u64;
            if n < room {
                self.done = true;
                break bytes.len();
            }
            if let Some(end) = boundary(&bytes) {
                break end;
            }
            if bytes.len() > MAX_RECORD_BYTES {
                let text = format!(
                    "the record at line {first_line} is longer than {MAX_RECORD_BYTES} bytes; \
                     expected lines that start with `id,EVENT,`"
                );
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            grow = bytes.len();
        };
        self.rest = bytes.get(end..).unwrap_or_default().to_vec();
        bytes.truncate(end);
        if bytes.is_empty() && self.done {
            return Ok(None);
        }
        self.rest_line = first_line + lines(&bytes);
        Ok(Some(Chunk { bytes, first_line, last: self.done }))
    }
}

/// Where the last record of the bytes starts, unless that is at their start.
fn boundary(bytes: &[u8]) -> Option<usize> {
    let mut head = bytes;
    loop {
        let at = memrchr(b'\n', head)?;
        if record::starts(bytes.get(at + 1..)?) {
            return Some(at + 1);
        }
        head = bytes.get(..at)?;
    }
}

fn lines(bytes: &[u8]) -> u64 {
    memchr_iter(b'\n', bytes).count() as u64
}
