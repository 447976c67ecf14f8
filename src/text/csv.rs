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

use csv_core::{ReadRecordResult, Reader};
use memchr::{memchr_iter, memrchr};

use crate::source::InputFile;

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
    done: bool,
}

impl CsvBlocks {
    /// Reads this file in blocks of about `block_bytes`.
    pub fn new(file: InputFile, block_bytes: usize) -> Self {
        Self { file, read_to: 0, rest: Vec::new(), rest_line: 1, block_bytes: block_bytes.max(1), done: false }
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
            bytes.resize(start + grow, 0);
            let n = self.file.read_at(bytes.get_mut(start..).unwrap_or_default(), self.read_to)?;
            bytes.truncate(start + n);
            self.read_to += n as u64;
            if n < grow {
                self.done = true;
                break bytes.len();
            }
            if let Some(end) = boundary(&bytes, bytes.len() >= 4 * self.block_bytes) {
                break end;
            }
            if bytes.len() > MAX_RECORD_BYTES {
                let text = format!("a record that starts at byte {offset} is longer than {MAX_RECORD_BYTES} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, text));
            }
            grow = bytes.len();
        };
        self.rest = bytes.split_off(end);
        self.rest_line = first_line + count_lines(&bytes);
        if bytes.is_empty() && self.done {
            return Ok(None);
        }
        Ok(Some(CsvBlock { bytes, offset, first_line, last: self.done }))
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
            let text = format!("the record at line {line} is longer than {MAX_RECORD_BYTES} bytes: is a quote left open?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, text));
        }
        self.read_to = block.offset + position as u64;
        self.rest = Vec::new();
        self.rest_line = block.line_at(position);
        self.block_bytes = self.block_bytes.max(2 * open);
        self.done = false;
        Ok(())
    }
}

/// Where the last complete record of `bytes` ends: after a line break that is preceded by an even
/// number of quotes. With `any`, after the last line break if there is no such one.
fn boundary(bytes: &[u8], any: bool) -> Option<usize> {
    let mut even = memchr_iter(b'"', bytes).count() % 2 == 0;
    let mut end = bytes.len();
    loop {
        let head = bytes.get(..end)?;
        let Some(at) = memrchr(b'\n', head).or_else(|| memrchr(b'\r', head.get(..end.checked_sub(1)?)?)) else {
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

/// The records of one block.
#[derive(Debug)]
pub struct Records<'a> {
    core: Reader,
    bytes: &'a [u8],
    position: usize,
    last: bool,
    text: Vec<u8>,
    ends: Vec<usize>,
    cells: usize,
}

impl<'a> Records<'a> {
    /// The records of a block.
    pub fn new(block: &'a CsvBlock) -> Self {
        let (text, ends) = (vec![0; 4096], vec![0; 64]);
        Self { core: Reader::new(), bytes: &block.bytes, position: 0, last: block.last, text, ends, cells: 0 }
    }

    /// Goes to the next record.
    pub fn advance(&mut self) -> Step {
        while matches!(self.bytes.get(self.position), Some(b'\r' | b'\n')) {
            self.position += 1;
        }
        let start = self.position;
        let (mut written, mut cells) = (0, 0);
        loop {
            let input = self.bytes.get(self.position..).unwrap_or_default();
            if input.is_empty() && !self.last {
                return if self.position == start { Step::End } else { Step::Open(start) };
            }
            let (text, ends) = (self.text.get_mut(written..), self.ends.get_mut(cells..));
            let (result, n_in, n_out, n_ends) =
                self.core.read_record(input, text.unwrap_or_default(), ends.unwrap_or_default());
            self.position += n_in;
            written += n_out;
            cells += n_ends;
            match result {
                ReadRecordResult::InputEmpty => {}
                ReadRecordResult::OutputFull => self.text.resize(2 * self.text.len(), 0),
                ReadRecordResult::OutputEndsFull => self.ends.resize(2 * self.ends.len(), 0),
                ReadRecordResult::Record => {
                    self.cells = cells;
                    return Step::Record(start);
                }
                ReadRecordResult::End => return Step::End,
            }
        }
    }

    /// Bytes of the block behind the current record.
    pub fn remaining(&self) -> usize {
        self.bytes.len() - self.position
    }

    /// Number of cells of the current record.
    pub fn cells(&self) -> usize {
        self.cells
    }

    /// A cell of the current record, without its quotes; `None` when there is no such cell.
    pub fn cell(&self, index: usize) -> Option<&[u8]> {
        if index >= self.cells {
            return None;
        }
        let start = index.checked_sub(1).map_or(Some(0), |before| self.ends.get(before).copied())?;
        self.text.get(start..*self.ends.get(index)?)
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
                        let cells = (0..records.cells()).map(|i| String::from_utf8_lossy(records.cell(i).unwrap()).into_owned());
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
                assert_eq!(rows(content, block_bytes), want, "{:?} in blocks of {block_bytes}", String::from_utf8_lossy(content));
            }
        }
    }

    #[test]
    fn lines_are_counted_over_quoted_line_breaks() {
        assert_eq!(rows(b"a\n\"x\ny\"\r\n\r\nb\n", 1 << 20).iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2, 5]);
    }

    #[test]
    fn wide_records_and_long_cells_fit() {
        let wide = format!("{}\n{}\n", vec!["c"; 500].join(","), "y".repeat(100_000));
        let got = rows(wide.as_bytes(), 64);
        assert_eq!((got[0].1.len(), got[1].1[0].len()), (500, 100_000));
    }
}
