//! A dump file in chunks of whole records, each found without the others, so that they can be read
//! and parsed in parallel.
//!
//! A line that starts a record is known by its own text alone. A chunk has a place of `bytes` bytes in
//! the file, and holds the records that start in it; the last of them may end far behind it.
//!
//! ```text
//! file   head│··········│··········│··········│
//! records    ├──┬───┬──────┬────────────────┬───┤
//! chunks     0          1 (0 ends here)     3 (2 is empty)
//! ```

use std::io;

use memchr::{memchr, memchr_iter};

use crate::source::InputFile;

use super::record;

/// Size of a chunk's place, in bytes.
pub(super) const CHUNK_BYTES: u64 = 1 << 20;

/// A record may be this long, in bytes; what is longer is no dump of msMemScope.
const MAX_RECORD_BYTES: usize = 64 << 20;

/// More bytes than it takes to tell that a record starts.
const LOOK: usize = record::START_BYTES + 1;

/// A file and its places.
#[derive(Debug)]
pub(super) struct Chunks {
    file: InputFile,
    /// Where the first chunk starts, with a record or not.
    start: u64,
    bytes: u64,
}

/// The records of a chunk.
#[derive(Debug)]
pub(super) struct Chunk<'a> {
    /// Their bytes.
    pub(super) text: &'a [u8],
    /// Where in the file they start.
    pub(super) start: u64,
    /// Whether the file ends with them.
    pub(super) last: bool,
}

impl Chunks {
    /// The chunks of a file, from `start` on, each with a place of so many bytes.
    pub(super) fn new(file: InputFile, start: u64, bytes: u64) -> Self {
        Self { file, start, bytes: bytes.max(1) }
    }

    /// How many there are. What is written to the file from now on is in none of them.
    pub(super) fn count(&self) -> u64 {
        self.file.len().saturating_sub(self.start).div_ceil(self.bytes)
    }

    /// Reads a chunk into a buffer, which may be that of another one.
    ///
    /// # Errors
    /// The I/O error of the system; `InvalidData` when a record is longer than [`MAX_RECORD_BYTES`].
    pub(super) fn read<'a>(&self, number: u64, buffer: &'a mut Buffer) -> io::Result<Chunk<'a>> {
        let from = self.start + number * self.bytes;
        let to = from + self.bytes;
        // With the line break in front of it, which tells whether a record starts right there.
        let base = if number == 0 { from } else { from - 1 };
        let place = usize::try_from(to - base).unwrap_or(usize::MAX);
        buffer.start(base, place);
        buffer.fill(&self.file, place.saturating_add(LOOK.max(place / 64)))?;
        let begin = if number == 0 { Some(0) } else { buffer.next_start(&self.file, 0, to)? };
        let Some(begin) = begin else { return Ok(Chunk { text: b"", start: from, last: false }) };
        let end = buffer.next_start(&self.file, place - 1, u64::MAX)?.unwrap_or(buffer.filled);
        let text = buffer.bytes.get(begin..end).unwrap_or_default();
        Ok(Chunk { text, start: base + begin as u64, last: buffer.ended && end == buffer.filled })
    }

    /// The number of the line at an offset, from 1. `known` is one that was asked for before.
    ///
    /// # Errors
    /// The I/O error of the system.
    pub(super) fn line_at(&self, offset: u64, known: &mut (u64, u64)) -> io::Result<u64> {
        if offset < known.0 {
            *known = (0, 1);
        }
        let mut buffer = vec![0; 64 << 10];
        while known.0 < offset {
            let most = usize::try_from(offset - known.0).map_or(buffer.len(), |n| n.min(buffer.len()));
            let n = self.file.read_at(buffer.get_mut(..most).unwrap_or_default(), known.0)?;
            if n == 0 {
                break;
            }
            known.0 += n as u64;
            known.1 += memchr_iter(b'\n', buffer.get(..n).unwrap_or_default()).count() as u64;
        }
        Ok(known.1)
    }
}

/// Bytes of a file from an offset on.
#[derive(Debug, Default)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    filled: usize,
    base: u64,
    ended: bool,
}

impl Buffer {
    /// Starts anew at an offset. A buffer that a long record has made large gives its memory back.
    fn start(&mut self, base: u64, usual: usize) {
        if self.bytes.len() > usual.saturating_mul(4) {
            self.bytes = vec![];
        }
        (self.filled, self.base, self.ended) = (0, base, false);
    }

    /// Reads until there are so many bytes, or all.
    fn fill(&mut self, file: &InputFile, most: usize) -> io::Result<()> {
        while self.filled < most && !self.ended {
            // Room for what is left and one byte more, so that the end is seen.
            let left = file.len().saturating_sub(self.base + self.filled as u64).saturating_add(1);
            let room = usize::try_from(left).unwrap_or(usize::MAX).max(LOOK).min(most - self.filled);
            if self.bytes.len() < self.filled + room {
                self.bytes.resize(self.filled + room, 0);
            }
            let free = self.bytes.get_mut(self.filled..self.filled + room).unwrap_or_default();
            let n = file.read_at(free, self.base + self.filled as u64)?;
            self.filled += n;
            self.ended = n < room;
        }
        Ok(())
    }

    /// Makes it larger, when that is possible.
    fn grow(&mut self, file: &InputFile) -> io::Result<()> {
        if self.filled > MAX_RECORD_BYTES.saturating_add(2 * CHUNK_BYTES as usize) {
            let text = format!(
                "a record that reaches over byte {} is longer than {MAX_RECORD_BYTES} bytes; \
                 expected lines that start with `id,EVENT,`",
                self.base + self.filled as u64
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.fill(file, self.filled.saturating_mul(2).max(LOOK))
    }

    /// Where the next record starts that follows a line break at `from` or behind it, as long as that
    /// is before the offset `to`.
    fn next_start(&mut self, file: &InputFile, mut from: usize, to: u64) -> io::Result<Option<usize>> {
        loop {
            let known = self.bytes.get(..self.filled).unwrap_or_default();
            match memchr(b'\n', known.get(from..).unwrap_or_default()) {
                Some(at) if self.base + (from + at) as u64 + 1 >= to => return Ok(None),
                Some(at) => {
                    from += at;
                    let behind = known.get(from + 1..).unwrap_or_default();
                    if self.ended || behind.len() >= LOOK {
                        from += 1;
                        if record::starts(behind) {
                            return Ok(Some(from));
                        }
                        continue;
                    }
                }
                None if self.ended || self.base + self.filled as u64 >= to => return Ok(None),
                None => from = known.len(),
            }
            self.grow(file)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, SeekFrom, Write};

    use super::*;

    /// A file with a hole that takes no room on the disk.
    #[test]
    fn records_are_found_beyond_32_bits() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("memscope_dump_1.csv");
        let (at, text) = ((9u64 << 29) + 12_345, b"7,MSTX,Mark,m,1790000000000001000,1,1,0,N/A,,,\n");
        let mut file = File::create(&path).unwrap();
        file.seek(SeekFrom::Start(at - 1)).unwrap();
        file.write_all(b"\n").unwrap();
        file.write_all(text).unwrap();
        drop(file);
        let chunks = Chunks::new(InputFile::open(&path).unwrap(), 100, CHUNK_BYTES);
        assert_eq!(chunks.count(), (at + text.len() as u64 - 100).div_ceil(CHUNK_BYTES));
        let mut buffer = Buffer::default();
        let number = (at - 100) / CHUNK_BYTES;
        let chunk = chunks.read(number, &mut buffer).unwrap();
        assert_eq!((chunk.text, chunk.start, chunk.last), (&text[..], at, true));
        assert_eq!(chunks.line_at(at, &mut (at - 500, 40)).unwrap(), 41);
    }
}
