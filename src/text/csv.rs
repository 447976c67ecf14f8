//! CSV files in blocks that end between two records, so that blocks can be parsed in parallel.
//!
//! Where a record ends cannot be told from the middle of a file, because a quoted cell may hold line
//! breaks. [`CsvBlocks`] guesses by the parity of quotes and [`Records`] proves the guess: when a
//! block that starts at the start of a record has been read and no record is open at its end, the
//! next block starts at the start of a record too. A wrong guess (a stray quote in an unquoted
//! cell) is seen as an open record; [`CsvBlocks::give_back`] then takes the rest back.
//!
//! The dialect is that of Python's `csv` module with its defaults: `,` and `"`, a doubled quote
//! inside quotes, LF, CRLF or CR at the end of a line, empty lines skipped.

use std::io;

use memchr::{memchr, memchr_iter, memrchr};

use crate::source::InputFile;
use crate::text::blocks::{BLOCK, Block, equal_each};

/// Size of a block, in bytes, as long as records are not longer.
pub const BLOCK_BYTES: usize = 1 << 20;

/// A record may be this long, in bytes; what is longer is no CSV file.
pub const MAX_RECORD_BYTES: usize = 64 << 20;

/// A piece of a file that starts at the start of a record.
#[derive(Debug)]
pub struct CsvBlock {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Where they start in the file.
    pub offset: u64,
    /// The number of the first line, from 1.
    pub first_line: u64,
    /// Whether the file ends with this block.
    pub last: bool,
    /// Whether its end was guessed for a stray quote in its first record.
    stray: bool,
}

impl CsvBlock {
    /// The number of the line at a position in the block.
    pub fn line_at(&self, position: usize) -> u64 {
        self.first_line + count_lines(self.bytes.get(..position).unwrap_or(&self.bytes))
    }
}

/// Reads a file block by block.
#[derive(Debug)]
pub struct CsvBlocks {
    file: InputFile,
    /// Where the next read starts.
    read_to: u64,
    /// Bytes that were read and belong to the next block.
    rest: Vec<u8>,
    rest_line: u64,
    block_bytes: usize,
    /// A stray quote was met in the record that the next block starts with, so that ends of records
    /// in that block are preceded by an odd number of quotes.
    stray: bool,
    done: bool,
}

impl CsvBlocks {
    /// Reads this file in blocks of about `block_bytes`.
    pub fn new(file: InputFile, block_bytes: usize) -> Self {
        Self {
            file,
            read_to: 0,
            rest: Vec::new(),
            rest_line: 1,
            block_bytes: block_bytes.max(1),
            stray: false,
            done: false,
        }
    }

    /// The file.
    pub fn file(&self) -> &InputFile {
        &self.file
    }

    /// The next block; `None` at the end of the file.
    ///
    /// # Errors
    /// The I/O error of the system; `InvalidData` when a record is longer than [`MAX_RECORD_BYTES`].
    pub fn next_block(&mut self) -> io::Result<Option<CsvBlock>> {
        if self.done {
            return Ok(None);
        }
        let mut bytes = std::mem::take(&mut self.rest);
        let offset = self.read_to - bytes.len() as u64;
        let first_line = self.rest_line;
        let mut grow = self.block_bytes;
        let end = loop {
            let start = bytes.len();
            // Room for what is left and one byte more, so that the end is seen. A file that has grown since
            // is read on in whole steps.
            let room = match self.file.len().saturating_sub(self.read_to) {
                0 => grow,
                left => usize::try_from(left).map_or(grow, |left| left.saturating_add(1).min(grow)),
            };
            bytes.resize(start + room, 0);
            let n = self.file.read_at(bytes.get_mut(start..).unwrap_or_default(), self.read_to)?;
            bytes.truncate(start + n);
            self.read_to += n as u64;
            if n < room {
                self.done = true;
                break bytes.len();
            }
            if let Some(end) = boundary(&bytes, self.stray, bytes.len() >= 4 * self.block_bytes) {
                break end;
            }
            if bytes.len() > MAX_RECORD_BYTES {
                let text =
                    format!("a record that starts at byte {offset} is longer than {MAX_RECORD_BYTES} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            grow = bytes.len();
        };
        let stray = std::mem::take(&mut self.stray);
        self.rest = bytes.split_off(end);
        self.rest_line = first_line + count_lines(&bytes);
        if bytes.is_empty() && self.done {
            return Ok(None);
        }
        Ok(Some(CsvBlock { bytes, offset, first_line, last: self.done, stray }))
    }

    /// Takes back everything from `position` in `block` on, because a record is open there at the
    /// end of the block. The blocks read after it are dropped by the caller and read again.
    /// The next block will be longer, so that this ends.
    ///
    /// # Errors
    /// `InvalidData` when the open record is longer than [`MAX_RECORD_BYTES`].
    pub fn give_back(&mut self, block: &CsvBlock, position: usize) -> io::Result<()> {
        let open = block.bytes.len() - position.min(block.bytes.len());
        if open > MAX_RECORD_BYTES {
            let line = block.line_at(position);
            let text = format!(
                "the record at line {line} is longer than {MAX_RECORD_BYTES} bytes: is a quote left open?"
            );
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.read_to = block.offset + position as u64;
        self.rest = Vec::new();
        self.rest_line = block.line_at(position);
        if position == 0 {
            // The guess was wrong from the first record on: turn it around, and look further.
            self.stray = !block.stray;
            self.block_bytes = self.block_bytes.max(open).saturating_mul(2);
        }
        self.done = false;
        Ok(())
    }
}

/// Where the last complete record of `bytes` ends: after a line break that is preceded by an even
/// number of quotes, not counting a stray one. With `any`, after the last line break if there is no
/// such one.
fn boundary(bytes: &[u8], stray: bool, any: bool) -> Option<usize> {
    let mut even = memchr_iter(b'"', bytes).count().is_multiple_of(2) != stray;
    let mut end = bytes.len();
    loop {
        let head = bytes.get(..end)?;
        let Some(at) = memrchr(b'\n', head).or_else(|| memrchr(b'\r', head.get(..end.checked_sub(1)?)?))
        else {
            return if any { memrchr(b'\n', bytes).map(|at| at + 1) } else { None };
        };
        even ^= memchr_iter(b'"', head.get(at..)?).count() % 2 == 1;
        if even {
            return Some(at + 1);
        }
        end = at;
    }
}

/// Line ends in `bytes`: LF, CRLF, or CR alone.
fn count_lines(bytes: &[u8]) -> u64 {
    let lone = |at: usize| bytes.get(at + 1) != Some(&b'\n');
    (memchr_iter(b'\n', bytes).count() + memchr_iter(b'\r', bytes).filter(|at| lone(*at)).count()) as u64
}

/// What [`Records::advance`] found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// A record that starts at this position in the block; its cells can be asked for.
    Record(usize),
    /// A record is open at the end of the block; it starts at this position.
    Open(usize),
    /// The block ends between two records.
    End,
}

/// The records of one block. Cells are slices of it; only a quoted cell that holds a quote is copied.
#[derive(Debug)]
pub struct Records<'a> {
    bytes: &'a [u8],
    last: bool,
    /// Where the next record starts, or the line break before it.
    position: usize,
    delimiters: Delimiters<'a>,
    cells: Vec<Cell>,
    /// Texts of the cells that had to be copied.
    copied: Vec<u8>,
}

/// A cell of the current record.
#[derive(Debug, Clone, Copy)]
struct Cell {
    start: usize,
    end: usize,
    copied: bool,
}

impl<'a> Records<'a> {
    /// The records of a block.
    pub fn new(block: &'a CsvBlock) -> Self {
        let bytes = block.bytes.as_slice();
        let delimiters = Delimiters::new(bytes);
        Self {
            bytes,
            last: block.last,
            position: 0,
            delimiters,
            cells: Vec::with_capacity(16),
            copied: vec![],
        }
    }

    /// Goes to the next record.
    pub fn advance(&mut self) -> Step {
        while matches!(self.bytes.get(self.position), Some(b'\r' | b'\n')) {
            self.position += 1;
        }
        self.cells.clear();
        self.copied.clear();
        let start = self.position;
        if start >= self.bytes.len() {
            return Step::End;
        }
        loop {
            let end = match self.bytes.get(self.position) {
                Some(b'"') => self.quoted(),
                _ => self.plain(self.position),
            };
            match end.map(|end| (end, self.bytes.get(end))) {
                Some((end, Some(b','))) => self.position = end + 1,
                Some((end, _)) => {
                    // CRLF is one line break.
                    self.position =
                        if self.bytes.get(end..end + 2) == Some(b"\r\n") { end + 2 } else { end + 1 };
                    return Step::Record(start);
                }
                None if self.last => {
                    self.position = self.bytes.len();
                    return Step::Record(start);
                }
                None => return Step::Open(start),
            }
        }
    }

    /// A cell without quotes around it: up to the next delimiter, which is given; `None` at the end
    /// of the block.
    #[inline]
    fn plain(&mut self, start: usize) -> Option<usize> {
        let end = self.delimiters.next(start);
        self.cells.push(Cell { start, end: end.unwrap_or(self.bytes.len()), copied: false });
        end
    }

    /// A quoted cell: to the quote that closes it, where two quotes stand for one, and whatever
    /// follows up to the delimiter.
    fn quoted(&mut self) -> Option<usize> {
        let start = self.position + 1;
        let quote = |from: usize| {
            let at = memchr(b'"', self.bytes.get(from..).unwrap_or_default());
            at.map_or(self.bytes.len(), |at| from + at)
        };
        let close = quote(start);
        if matches!(self.bytes.get(close + 1), Some(b',' | b'\r' | b'\n')) {
            self.cells.push(Cell { start, end: close, copied: false });
            return Some(close + 1);
        }
        let from = self.copied.len();
        let (mut part, mut close) = (start, close);
        loop {
            self.copied.extend_from_slice(self.bytes.get(part..close).unwrap_or_default());
            if self.bytes.get(close + 1) != Some(&b'"') {
                break;
            }
            self.copied.push(b'"');
            part = close + 2;
            close = quote(part);
        }
        // What follows the closing quote belongs to the cell, as Python reads it.
        let tail = (close + 1).min(self.bytes.len());
        let end = if close < self.bytes.len() { self.delimiters.next(tail) } else { None };
        let tail = self.bytes.get(tail..end.unwrap_or(self.bytes.len())).unwrap_or_default();
        self.copied.extend_from_slice(tail);
        self.cells.push(Cell { start: from, end: self.copied.len(), copied: true });
        end
    }

    /// Bytes of the block behind the current record.
    pub fn remaining(&self) -> usize {
        self.bytes.len().saturating_sub(self.position)
    }

    /// Number of cells of the current record.
    pub fn cells(&self) -> usize {
        self.cells.len()
    }

    /// A cell of the current record, without its quotes; `None` when there is no such cell.
    #[inline]
    pub fn cell(&self, index: usize) -> Option<&[u8]> {
        let cell = self.cells.get(index)?;
        let text = if cell.copied { &self.copied } else { self.bytes };
        text.get(cell.start..cell.end)
    }
}

/// Finds commas and line breaks, 64 bytes at a time.
#[derive(Debug)]
struct Delimiters<'a> {
    bytes: &'a [u8],
    /// Where the block of the mask starts.
    base: usize,
    /// The delimiters of the block that were not passed yet.
    mask: u64,
}

impl<'a> Delimiters<'a> {
    fn new(bytes: &'a [u8]) -> Self {
        let mut new = Self { bytes, base: 0, mask: 0 };
        new.load(0);
        new
    }

    fn load(&mut self, base: usize) {
        let text = self.bytes.get(base..).unwrap_or_default();
        let mask_of = |block: &Block| {
            let [commas, feeds, returns] = equal_each(block, 0, [b',', b'\n', b'\r']);
            commas | feeds | returns
        };
        self.base = base;
        self.mask = match text.first_chunk::<BLOCK>() {
            Some(block) => mask_of(block),
            None => {
                let mut block = [0; BLOCK];
                for (to, from) in block.iter_mut().zip(text) {
                    *to = *from;
                }
                mask_of(&block)
            }
        };
    }

    /// The first delimiter at or behind `from`. Never asked for a place before the last one.
    #[inline]
    fn next(&mut self, from: usize) -> Option<usize> {
        if from >= self.base + BLOCK {
            self.load(from);
        } else {
            // Zero when `from` was passed already.
            self.mask &= u64::MAX << from.saturating_sub(self.base);
        }
        while self.mask == 0 {
            if self.base + BLOCK >= self.bytes.len() {
                return None;
            }
            self.load(self.base + BLOCK);
        }
        Some(self.base + self.mask.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn rows(content: &[u8], block_bytes: usize) -> Vec<(u64, Vec<String>)> {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let mut blocks = CsvBlocks::new(InputFile::open(file.path()).unwrap(), block_bytes);
        let mut out = vec![];
        while let Some(block) = blocks.next_block().unwrap() {
            let mut records = Records::new(&block);
            loop {
                match records.advance() {
                    Step::Record(at) => {
                        let cells = (0..records.cells())
                            .map(|i| String::from_utf8_lossy(records.cell(i).unwrap()).into_owned());
                        out.push((block.line_at(at), cells.collect()));
                    }
                    Step::Open(at) => {
                        blocks.give_back(&block, at).unwrap();
                        break;
                    }
                    Step::End => break,
                }
            }
        }
        out
    }

    #[test]
    fn any_block_size_gives_the_same_records_and_lines() {
        let samples: [&[u8]; 10] = [
            b"a,b\r\n1,2\r\n3,4\r\n",
            b"a,b\n1,2\n\n\n3,4",
            b"a\rb\rc\r",
            b"name,x\n\"a\nb\",1\n\"c\"\"\n\",2\nd,3\n",
            b"stray\"quote,1\nnext,2\nand,3\nmore,4\n",
            b"x\n\"open to the end\n1,2\n3,4\n",
            b"",
            b"\n\n",
            b"one",
            b"\"q\"tail,1\n \"not quoted\",2\n,\n,,\n",
        ];
        for content in samples {
            let want = rows(content, 1 << 20);
            for block_bytes in 1..content.len() + 2 {
                assert_eq!(
                    rows(content, block_bytes),
                    want,
                    "{:?} in blocks of {block_bytes}",
                    String::from_utf8_lossy(content)
                );
            }
        }
    }

    /// The records as a library reads them, whose dialect is the same.
    fn library_rows(content: &[u8]) -> Vec<Vec<String>> {
        let mut reader = csv_core::Reader::new();
        let (mut input, mut text, mut ends) = (content, vec![0; 1 << 16], vec![0; 1 << 10]);
        let mut out = vec![];
        let (mut written, mut cells) = (0, 0);
        loop {
            let (result, n, o, e) = reader.read_record(input, &mut text[written..], &mut ends[cells..]);
            input = &input[n..];
            written += o;
            cells += e;
            match result {
                csv_core::ReadRecordResult::InputEmpty => {}
                csv_core::ReadRecordResult::Record => {
                    let starts = std::iter::once(0).chain(ends[..cells].iter().copied());
                    let cell = |(a, b): (usize, &usize)| String::from_utf8_lossy(&text[a..*b]).into_owned();
                    out.push(starts.zip(&ends[..cells]).map(cell).collect());
                    (written, cells) = (0, 0);
                }
                csv_core::ReadRecordResult::End => return out,
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn random_files_are_read_as_a_library_reads_them() {
        let mut state = 11u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for _ in 0..4000 {
            let parts: [&[u8]; 9] =
                [b",", b"\n", b"\r\n", b"\"", b"\"\"", b"a", b"cell of some length", b"\"q\"", b" "];
            let content: Vec<u8> = (0..random(40)).flat_map(|_| parts[random(9)]).copied().collect();
            let want = library_rows(&content);
            for block_bytes in [1, 7, 64, 1 << 20] {
                let got: Vec<Vec<String>> = rows(&content, block_bytes).into_iter().map(|r| r.1).collect();
                assert_eq!(got, want, "{:?} in blocks of {block_bytes}", String::from_utf8_lossy(&content));
            }
        }
    }

    #[test]
    fn lines_are_counted_over_quoted_line_breaks() {
        assert_eq!(
            rows(b"a\n\"x\ny\"\r\n\r\nb\n", 1 << 20).iter().map(|r| r.0).collect::<Vec<_>>(),
            [1, 2, 5]
        );
    }

    #[test]
    fn wide_records_and_long_cells_fit() {
        let wide = format!("{}\n{}\n", vec!["c"; 500].join(","), "y".repeat(100_000));
        let got = rows(wide.as_bytes(), 64);
        assert_eq!((got[0].1.len(), got[1].1[0].len()), (500, 100_000));
    }
}
