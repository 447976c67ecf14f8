//! From blocks to the columns of `memscope_blocks`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{Condition, ReadError};
use crate::text::interner::{Interner, stable_id};

use super::block::{BlockRow, NONE};
use super::columns::{UnitColumns, batch_of, some_numbered};
use super::event_columns::role;
use super::schema::Block;

/// The columns on which blocks are left out before their texts are made.
pub(super) const CONDITION_COLUMNS: [usize; 13] = [
    Block::Pid as usize,
    Block::AllocationId as usize,
    Block::Device as usize,
    Block::DeviceId as usize,
    Block::Pool as usize,
    Block::Ptr as usize,
    Block::Size as usize,
    Block::MallocId as usize,
    Block::MallocTs as usize,
    Block::FreeId as usize,
    Block::FreeTs as usize,
    Block::FreedBy as usize,
    Block::Tid as usize,
];

/// Builds batches of blocks.
#[derive(Debug)]
pub(super) struct BlockColumns {
    /// The projected schema.
    pub(super) schema: SchemaRef,
    /// Indices of the columns.
    pub(super) projection: Vec<usize>,
    /// What must hold for a block.
    pub(super) conditions: Vec<Condition>,
    /// What is the same in all rows.
    pub(super) unit: UnitColumns,
    /// What the files are called.
    pub(super) names: Vec<String>,
}

impl BlockColumns {
    /// The batch of some blocks, whose texts are in `texts`.
    pub(super) fn batch(&self, blocks: &[BlockRow], texts: &Interner) -> Result<RecordBatch, ReadError> {
        let wanted = self.projection.iter().filter_map(|at| Block::ALL.get(*at));
        let columns = wanted.map(|c| self.column(*c, blocks, texts)).collect::<Result<Vec<_>, _>>()?;
        batch_of(&self.schema, columns, blocks.len())
    }

    /// Leaves out the blocks for which a condition does not hold.
    pub(super) fn keep_wanted(&self, blocks: &mut Vec<BlockRow>, texts: &Interner) {
        if !self.conditions.is_empty() {
            blocks.retain(|block| self.conditions.iter().all(|c| holds(c, block, texts)));
        }
    }

    fn column(&self, column: Block, blocks: &[BlockRow], texts: &Interner) -> Result<ArrayRef, ReadError> {
        let int = |value: fn(&BlockRow) -> i64| -> Result<ArrayRef, ReadError> {
            let values = blocks.iter().map(value).map(|n| (n != NONE).then_some(n));
            Ok(Arc::new(values.collect::<Int64Array>()))
        };
        let text = |value: fn(&BlockRow) -> u32| -> Result<ArrayRef, ReadError> {
            some_numbered(texts, &blocks.iter().map(value).collect::<Vec<_>>())
        };
        // Made from another text column, once for each row; the texts are few and short.
        let made = |value: fn(&BlockRow) -> u32, make: fn(&str) -> Option<&str>| -> ArrayRef {
            let values = blocks.iter().map(|b| texts.get(value(b)).and_then(make));
            Arc::new(values.collect::<StringViewArray>())
        };
        Ok(match column {
            Block::Pid => int(|b| b.pid)?,
            Block::AllocationId => int(|b| b.allocation)?,
            Block::Device => text(|b| b.device)?,
            Block::DeviceId => int(|b| b.device_id)?,
            Block::Pool => text(|b| b.pool)?,
            Block::Ptr => int(|b| b.ptr)?,
            Block::Size => int(|b| b.size)?,
            Block::MallocId => int(|b| b.malloc.id)?,
            Block::MallocTs => int(|b| b.malloc.ts)?,
            Block::FreeId => int(|b| b.free.id)?,
            Block::FreeTs => int(|b| b.free.ts)?,
            Block::FreedBy => {
                Arc::new(StringViewArray::from_iter_values(blocks.iter().map(BlockRow::freed_by)))
            }
            Block::Owner => text(|b| b.owner)?,
            Block::Role => made(|b| b.owner, |owner| role(owner.as_bytes())),
            Block::OnlineInefficient => text(|b| b.inefficient)?,
            Block::Accesses => int(|b| i64::try_from(b.accesses).unwrap_or(i64::MAX))?,
            Block::FirstAccessTs => int(|b| b.first_access)?,
            Block::LastAccessTs => int(|b| b.last_access)?,
            Block::PyStack => text(|b| b.py_stack)?,
            Block::PyStackTop => made(|b| b.py_stack, |stack| stack.lines().next()),
            Block::PyStackId => {
                let ids = blocks.iter().map(|b| texts.get(b.py_stack).map(stable_id));
                Arc::new(ids.collect::<Int64Array>())
            }
            Block::CStack => text(|b| b.c_stack)?,
            Block::Tid => int(|b| b.tid)?,
            Block::PoolTotal => int(|b| b.malloc.total)?,
            Block::PoolUsed => int(|b| b.malloc.used)?,
            Block::FreePoolTotal => int(|b| b.free.total)?,
            Block::FreePoolUsed => int(|b| b.free.used)?,
            Block::PageType => text(|b| b.page_type)?,
            Block::AllocType => text(|b| b.alloc_type)?,
            Block::ToolFreeId => int(|b| b.tool_free)?,
            Block::RunDir => self.unit.run_dir(blocks.len())?,
            Block::RunPid => self.unit.run_pid(blocks.len()),
            Block::File => {
                let name = |b: &BlockRow| self.names.get(b.file as usize).map_or("", String::as_str);
                let values = StringViewArray::from_iter_values(blocks.iter().map(name));
                debug_assert_eq!(values.null_count(), 0);
                Arc::new(values)
            }
            Block::SourcePath => self.unit.source_path(blocks.len())?,
        })
    }
}

/// Whether a condition holds for a block; for columns that none can be set on, it does.
fn holds(condition: &Condition, block: &BlockRow, texts: &Interner) -> bool {
    let number = |n: i64| condition.holds_for_number((n != NONE).then_some(n));
    let text = |n: u32| condition.holds_for_text(texts.get(n).map(str::as_bytes));
    match Block::ALL.get(condition.column) {
        Some(Block::Pid) => number(block.pid),
        Some(Block::AllocationId) => number(block.allocation),
        Some(Block::Device) => text(block.device),
        Some(Block::DeviceId) => number(block.device_id),
        Some(Block::Pool) => text(block.pool),
        Some(Block::Ptr) => number(block.ptr),
        Some(Block::Size) => number(block.size),
        Some(Block::MallocId) => number(block.malloc.id),
        Some(Block::MallocTs) => number(block.malloc.ts),
        Some(Block::FreeId) => number(block.free.id),
        Some(Block::FreeTs) => number(block.free.ts),
        Some(Block::FreedBy) => condition.holds_for_text(Some(block.freed_by().as_bytes())),
        Some(Block::Tid) => number(block.tid),
        _ => true,
    }
}
