//! The CSV tables of one profile, read block by block and in parallel.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};

use datafusion::arrow::array::RecordBatch;

use crate::source::{Counter, Finding, Host, InputFile, Kind, ReadError};
use crate::text::csv::{BLOCK_BYTES, CsvBlock, CsvBlocks};

use super::columns::number_rows;
use super::table_csv::BlockFaults;

/// A kind of CSV table: how its header is read, and how a block becomes a batch.
pub(super) trait CsvTable: Sync {
    /// What is known of one file after its header was read.
    type Open: Send + Sync;

    /// Reads the header from the first block and cuts it off; `None` when the file is left out.
    fn start(
        &self,
        path: &Path,
        first: &mut CsvBlock,
        host: &dyn Host,
    ) -> Result<Option<Self::Open>, ReadError>;

    /// Reads one block. Called in parallel, and again for a block that ended inside a record.
    fn build(&self, open: &Self::Open, block: &CsvBlock) -> Result<Built, ReadError>;
}

/// What one block gave.
pub(super) struct Built {
    /// Its rows; `row_no` counts from 1 within the block.
    pub(super) batch: RecordBatch,
    /// What was found in it.
    pub(super) faults: BlockFaults,
    /// Where a record is open at the end of the block, if one is.
    pub(super) open: Option<usize>,
}

/// The files of one table, one after the other.
#[derive(Debug)]
pub(super) struct CsvFiles<Open> {
    files: VecDeque<PathBuf>,
    current: Option<Current<Open>>,
    /// Rows that stand before the next block, over all files.
    rows_before: i64,
}

#[derive(Debug)]
struct Current<Open> {
    blocks: CsvBlocks,
    open: Open,
    first: Option<CsvBlock>,
}

impl<Open: Sync> CsvFiles<Open> {
    /// Reads these files in this order, as one table.
    pub(super) fn new(files: impl Iterator<Item = PathBuf>) -> Self {
        Self { files: files.collect(), current: None, rows_before: 0 }
    }

    /// Reads up to `threads` blocks in parallel and gives their batches in order; `None` at the end.
    /// `row_no` is the position of that column in the projection's schema.
    pub(super) fn next_round<T: CsvTable<Open = Open>>(
        &mut self,
        table: &T,
        threads: usize,
        projection: &[usize],
        row_no: usize,
        host: &dyn Host,
    ) -> Result<Option<Vec<RecordBatch>>, ReadError> {
        let Some(mut current) = self.current.take() else {
            let Some(path) = self.files.pop_front() else { return Ok(None) };
            self.current = open_file(table, &path, host)?;
            return Ok(Some(vec![]));
        };
        let (round, broken) = current.take_blocks(threads, host);
        let mut more = broken.is_none() && round.last().is_some_and(|b| !b.last);
        let built = build_all(table, &current.open, &round);
        let mut batches = Vec::with_capacity(built.len());
        for (built, block) in built.into_iter().zip(&round) {
            let Built { batch, faults, open } = built?;
            let rows_read = faults.rows_read;
            faults.report(host)?;
            batches.push(number_rows(batch, projection, row_no, self.rows_before)?);
            self.rows_before += rows_read;
            if let Some(position) = open {
                // The block ended inside a record: read on from there, and forget the blocks behind it.
                more = match current.blocks.give_back(block, position) {
                    Ok(()) => true,
                    Err(e) => {
                        let path = current.blocks.file().path();
                        host.report(Finding::problem(Kind::BadStructure, path, e.to_string()))?;
                        false
                    }
                };
                break;
            }
        }
        if let Some(e) = broken {
            host.report(unreadable(current.blocks.file().path(), &e))?;
        }
        if more {
            self.current = Some(current);
        }
        Ok(Some(batches))
    }
}

impl<Open> Current<Open> {
    /// The next blocks, at most so many, and the error that ended them early.
    fn take_blocks(&mut self, most: usize, host: &dyn Host) -> (Vec<CsvBlock>, Option<io::Error>) {
        let mut round: Vec<CsvBlock> = self.first.take().into_iter().collect();
        while round.len() < most.max(1) && round.last().is_none_or(|b| !b.last) {
            match self.blocks.next_block() {
                Ok(Some(block)) => {
                    host.count(Counter::BytesRead, block.bytes.len() as u64);
                    round.push(block);
                }
                Ok(None) => break,
                Err(e) => return (round, Some(e)),
            }
        }
        (round, None)
    }
}

fn build_all<T: CsvTable>(table: &T, open: &T::Open, round: &[CsvBlock]) -> Vec<Result<Built, ReadError>> {
    match round {
        [] => vec![],
        [one] => vec![table.build(open, one)],
        [first, rest @ ..] => std::thread::scope(|scope| {
            let running: Vec<_> = rest.iter().map(|b| scope.spawn(move || table.build(open, b))).collect();
            // This thread takes a share of the work too.
            let mut built = vec![table.build(open, first)];
            // A panic in a reader is a fault of ours; it must not look like an end of data.
            built.extend(
                running.into_iter().map(|t| t.join().unwrap_or_else(|p| std::panic::resume_unwind(p))),
            );
            built
        }),
    }
}

fn unreadable(path: &Path, e: &io::Error) -> Finding {
    let kind = if e.kind() == io::ErrorKind::InvalidData { Kind::BadStructure } else { Kind::Unreadable };
    Finding::problem(kind, path, format!("cannot be read: {e}"))
}

/// Opens one file and reads its header; `None` when it is left out.
fn open_file<T: CsvTable>(
    table: &T,
    path: &Path,
    host: &dyn Host,
) -> Result<Option<Current<T::Open>>, ReadError> {
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    };
    host.opened(&file)?;
    let mut blocks = CsvBlocks::new(file, BLOCK_BYTES);
    let mut first = match blocks.next_block() {
        Ok(Some(block)) => block,
        Ok(None) => {
            let note = Finding::note(Kind::Empty, path, "the file is empty: no header and no rows");
            return host.report(note).map(|()| None);
        }
        Err(e) => return host.report(unreadable(path, &e)).map(|()| None),
    };
    host.count(Counter::BytesRead, first.bytes.len() as u64);
    let open = table.start(path, &mut first, host)?;
    Ok(open.map(|open| Current { blocks, open, first: Some(first) }))
}
