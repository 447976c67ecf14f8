//! `memscope_blocks`: one row for each allocation, from its MALLOC to its FREE.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use hashbrown::HashMap;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};
use crate::text::interner::Interner;

use super::block::BlockRow;
use super::block_collect::{BlockCollect, BlockPart};
use super::block_columns::{BlockColumns, CONDITION_COLUMNS};
use super::columns::{NO_TEXT, UnitColumns};
use super::events::take_ready;
use super::layout;
use super::loose_blocks::{self, Unmatched};
use super::rows::{Piece, UnitRows};
use super::schema::{Block, KEY_COLUMNS, Wanted};

/// The format behind `memscope_blocks`.
///
/// A unit is a process: numbers of blocks are counted per process. A block leaves the reader as soon
/// as its FREE was met, so memory is needed only for those that are open; they come last, in the
/// order of their first rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeBlocks;

impl Format for MemscopeBlocks {
    fn name(&self) -> &'static str {
        "memscope_blocks"
    }

    fn schema(&self) -> SchemaRef {
        Block::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn condition_columns(&self) -> &'static [usize] {
        &CONDITION_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        layout::discover_dumps(self.name(), roots)
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        Ok(Box::new(BlockReader::new(unit, request, UnitRows::new(unit), host)?))
    }
}

/// Reads the blocks of one process.
pub(super) struct BlockReader {
    rows: UnitRows<BlockPart>,
    collect: Arc<BlockCollect>,
    columns: BlockColumns,
    paths: Vec<PathBuf>,
    threads: usize,
    most: usize,
    host: Arc<dyn Host>,
    texts: Interner,
    open: HashMap<(i64, i64), BlockRow>,
    loose: Vec<BlockRow>,
    closed: Closed,
    /// Blocks that were met so far.
    met: u64,
    /// Memory that was reserved, in bytes.
    reserved: usize,
    /// Complete blocks that wait for their batch.
    complete: Vec<BlockRow>,
    ready: VecDeque<RecordBatch>,
    done: bool,
}

impl BlockReader {
    pub(super) fn new(
        unit: &Unit,
        request: &ReadRequest,
        rows: UnitRows<BlockPart>,
        host: Arc<dyn Host>,
    ) -> Result<Self, ReadError> {
        let conditions: Vec<usize> = request.conditions.iter().map(|c| c.column).collect();
        let columns = BlockColumns {
            schema: Arc::new(Block::schema().project(&request.projection)?),
            projection: request.projection.clone(),
            conditions: request.conditions.clone(),
            unit: UnitColumns::new(unit),
            names: layout::file_names(unit),
        };
        Ok(Self {
            rows,
            collect: Arc::new(BlockCollect::new(
                Wanted::new(&[request.projection.as_slice(), &conditions].concat()),
                &request.conditions,
            )),
            columns,
            paths: unit.files.iter().map(|f| f.path.clone()).collect(),
            threads: if request.limit.is_some() { 1 } else { request.threads },
            most: request.batch_rows.max(1),
            host,
            texts: Interner::new(),
            open: HashMap::new(),
            loose: vec![],
            closed: Closed::default(),
            met: 0,
            reserved: 0,
            complete: vec![],
            ready: VecDeque::new(),
            done: false,
        })
    }

    /// Adds the blocks of a piece to those of the pieces before it.
    fn add(&mut self, piece: Piece<BlockPart>) -> Result<(), ReadError> {
        let Piece { file, output: part, .. } = piece;
        let texts = &mut self.texts;
        let mut numbers = vec![NO_TEXT; part.texts.len()];
        let mut number = |local: u32| match numbers.get_mut(local as usize) {
            Some(known) => {
                if *known == NO_TEXT {
                    *known = texts.intern(part.texts.get(local).unwrap_or_default());
                }
                *known
            }
            None => NO_TEXT,
        };
        let mut late = 0;
        for mut block in part.blocks {
            block.renumber(&mut number);
            (block.file, block.order) = (file as u32, self.met);
            self.met += 1;
            let key = (block.pid, block.allocation);
            if let Some(open) = self.open.get_mut(&key) {
                open.merge(&block);
                if open.is_complete() {
                    self.complete.extend(self.open.remove(&key));
                    self.closed.insert(key);
                }
            } else if self.closed.contains(key) {
                late += 1;
            } else if block.is_complete() {
                self.complete.push(block);
                self.closed.insert(key);
            } else {
                self.open.insert(key, block);
            }
        }
        for mut event in part.loose {
            event.renumber(&mut number);
            event.file = file as u32;
            self.loose.push(event);
        }
        if late > 0 {
            let message = "rows of a block stand far behind its FREE and are not counted to it: \
                           was the file sorted anew? expected the order in which the tool wrote it";
            let path = self.paths.get(file).cloned().unwrap_or_default();
            self.host.report(Finding::problem(Kind::BadRow, path, message).times(late))?;
        }
        self.reserve()
    }

    /// Reserves what has grown.
    fn reserve(&mut self) -> Result<(), ReadError> {
        let rows = self.open.capacity() + self.loose.capacity();
        let bytes = rows * (size_of::<BlockRow>() + 16) + self.texts.allocated() + self.closed.allocated();
        if bytes > self.reserved {
            self.host.reserve(bytes - self.reserved)?;
            self.reserved = bytes;
        }
        Ok(())
    }

    /// What is open at the end is never freed, as far as the files tell.
    fn conclude(&mut self) -> Result<(), ReadError> {
        let mut rest: Vec<BlockRow> = std::mem::take(&mut self.open).into_values().collect();
        // What was met first is first, and then those without a block's number, as they were met.
        rest.sort_unstable_by_key(|b| b.order);
        let Unmatched { blocks, accesses } = loose_blocks::matched(std::mem::take(&mut self.loose));
        rest.extend(blocks);
        rest.sort_by_key(|b| (b.order, b.pid, b.ptr));
        self.complete.extend(rest);
        if accesses > 0 {
            let message = "accesses belong to no block that is alive at their time and are left out";
            let path = self.paths.first().cloned().unwrap_or_default();
            self.host.report(Finding::note(Kind::Unused, path, message).times(accesses))?;
        }
        Ok(())
    }

    fn hand_out(&mut self, least: usize) -> Result<(), ReadError> {
        self.columns.keep_wanted(&mut self.complete, &self.texts);
        while self.complete.len() >= least.max(1) {
            let rest = self.complete.split_off(self.most.min(self.complete.len()));
            let batch = self.columns.batch(&self.complete, &self.texts)?;
            self.ready.push_back(batch);
            self.complete = rest;
        }
        Ok(())
    }
}

impl UnitReader for BlockReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if let Some(batch) = take_ready(&mut self.ready, self.most) {
                return Ok(Some(batch));
            }
            if self.done {
                return Ok(None);
            }
            let host = Arc::clone(&self.host);
            match self.rows.next_piece(&self.collect, self.threads, host.as_ref())? {
                Some(piece) => {
                    self.add(piece)?;
                    self.hand_out(self.most)?;
                }
                None => {
                    self.conclude()?;
                    self.hand_out(1)?;
                    self.done = true;
                }
            }
        }
    }
}

/// Numbers of blocks that have left the reader. They are counted up from 1, so bits in pages do.
#[derive(Debug, Default)]
struct Closed {
    pages: HashMap<(i64, i64), Box<[u64; 64]>>,
}

impl Closed {
    fn place((pid, allocation): (i64, i64)) -> ((i64, i64), usize, u64) {
        ((pid, allocation >> 12), (allocation >> 6 & 63) as usize, 1 << (allocation & 63))
    }

    fn insert(&mut self, key: (i64, i64)) {
        let (page, word, bit) = Self::place(key);
        if let Some(word) = self.pages.entry(page).or_insert_with(|| Box::new([0; 64])).get_mut(word) {
            *word |= bit;
        }
    }

    fn contains(&self, key: (i64, i64)) -> bool {
        let (page, word, bit) = Self::place(key);
        self.pages.get(&page).and_then(|p| p.get(word)).is_some_and(|w| w & bit != 0)
    }

    fn allocated(&self) -> usize {
        self.pages.len() * (512 + 32)
    }
}
