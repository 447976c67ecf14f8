//! From blocks to the columns of `memscope_blocks`.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::ReadError;
use crate::text::interner::{Interner, stable_id};

use super::block::{BlockRow, NONE};
use super::columns::{UnitColumns, batch_of, some_numbered};
use super::event_columns::role;
use super::schema::Block;

/// Builds batches of blocks.
#[derive(Debug)]
pub(super) struct BlockColumns {
    /// The projected schema.
    pub(super) schema: SchemaRef,
    /// Indices of the columns.
    pub(super) projection: Vec<usize>,
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
