//! From allocations and their matches to record batches with exactly the projected columns.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, RecordBatchOptions,
    StringViewArray, UInt32Array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::{Int64Type, SchemaRef};

use crate::source::{KeyValue, ReadError, Unit};
use crate::text::interner::Interner;

use super::allocations::AllocationBlock;
use super::matching::{Match, MatchKind, StackColumns};
use super::ops::NO_STACK;
use super::records::RecordBlock;
use super::schema::{Event, Record};

/// What is the same in every row of a unit.
#[derive(Debug, Clone)]
pub struct UnitColumns {
    role: Arc<StringViewArray>,
    rank: i64,
    source_path: Arc<StringViewArray>,
}

impl UnitColumns {
    /// Role, rank and path of a unit.
    pub fn new(unit: &Unit) -> Self {
        let role = match unit.keys.first() {
            Some(KeyValue::Text(role)) => role.as_str(),
            _ => "",
        };
        let rank = match unit.keys.get(1) {
            Some(KeyValue::Int(rank)) => *rank,
            _ => -1,
        };
        let one = |text: &str| Arc::new(StringViewArray::from_iter_values([text]));
        Self { role: one(role), rank, source_path: one(&unit.source_path) }
    }

    /// The role, `rows` times.
    pub fn role(&self, rows: usize) -> Result<ArrayRef, ReadError> {
        repeat(&self.role, rows)
    }

    /// The rank, `rows` times.
    pub fn rank(&self, rows: usize) -> ArrayRef {
        Arc::new(Int64Array::from_value(self.rank, rows))
    }

    /// The path, `rows` times.
    pub fn source_path(&self, rows: usize) -> Result<ArrayRef, ReadError> {
        repeat(&self.source_path, rows)
    }
}

fn repeat(value: &StringViewArray, rows: usize) -> Result<ArrayRef, ReadError> {
    Ok(take(value, &UInt32Array::from_value(0, rows), None)?)
}

/// Texts by their numbers in an interner.
pub(super) fn texts(set: &Interner, numbers: &[u32]) -> Result<ArrayRef, ReadError> {
    Ok(take(set.to_array().as_ref(), &UInt32Array::from_iter_values(numbers.iter().copied()), None)?)
}

/// Numbers the rows of a block on, from the rows of the file that stand before it. `column` is the
/// position of `row_no` in the format's schema.
pub(super) fn number_rows(
    batch: RecordBatch,
    projection: &[usize],
    column: usize,
    before: i64,
) -> Result<RecordBatch, ReadError> {
    if before == 0 || !projection.contains(&column) {
        return Ok(batch);
    }
    let (schema, mut columns, rows) = batch.into_parts();
    for (array, _) in columns.iter_mut().zip(projection).filter(|(_, index)| **index == column) {
        if let Some(numbers) = array.as_any().downcast_ref::<Int64Array>() {
            *array = Arc::new(numbers.unary::<_, Int64Type>(|n| n + before));
        }
    }
    batch_of(&schema, columns, rows)
}

/// A batch of these columns; only a number of rows when there is no column.
pub(super) fn batch_of(
    schema: &SchemaRef,
    columns: Vec<ArrayRef>,
    rows: usize,
) -> Result<RecordBatch, ReadError> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
}

/// Matches of a block, with the columns of the stacks they point to.
#[derive(Debug)]
pub struct Matches<'a> {
    /// One per allocation.
    pub found: Vec<Match>,
    /// The stacks.
    pub stacks: &'a StackColumns,
}

/// Builds the batch of a block; `row_no` counts from the start of the block.
///
/// # Errors
/// [`ReadError::Arrow`] when the columns do not fit the schema, a fault of ours.
pub fn event_batch(
    schema: &SchemaRef,
    projection: &[usize],
    mut block: AllocationBlock,
    matches: Option<&Matches<'_>>,
    unit: &UnitColumns,
) -> Result<RecordBatch, ReadError> {
    let rows = block.rows();
    let mut columns = Vec::with_capacity(projection.len());
    let stack_indices = matches.map(|m| {
        let none = m.stacks.id.len().saturating_sub(1) as u32;
        UInt32Array::from_iter_values(
            m.found.iter().map(|f| if f.stack == NO_STACK { none } else { f.stack }),
        )
    });
    let by_stack = |array: &dyn Fn(&StackColumns) -> ArrayRef| -> Result<ArrayRef, ReadError> {
        match (&stack_indices, matches) {
            (Some(indices), Some(m)) => Ok(take(array(m.stacks).as_ref(), indices, None)?),
            _ => Ok(take(array(&StackColumns::none()).as_ref(), &UInt32Array::from_value(0, rows), None)?),
        }
    };
    for index in projection {
        let Some(column) = Event::ALL.get(*index).copied() else { continue };
        columns.push(match column {
            Event::Name => texts(&block.names, &block.name)?,
            Event::Role => unit.role(rows)?,
            Event::RankId => unit.rank(rows),
            Event::CallStack => by_stack(&|s| s.text.clone() as ArrayRef)?,
            Event::CallStackTop => by_stack(&|s| s.top.clone() as ArrayRef)?,
            Event::CallStackId => by_stack(&|s| s.id.clone() as ArrayRef)?,
            Event::DeviceType => texts(&block.devices, &block.device)?,
            Event::StartTimeNs => Arc::new(Int64Array::from(block.start_ns.clone())),
            Event::Released => {
                let released: BooleanArray = block.released.finish();
                Arc::new(released)
            }
            Event::MatchKind => match_kinds(matches, rows)?,
            Event::MatchLagUs => {
                let lag = |m: &Match| m.lag_ns.map(|ns| ns as f64 / 1000.0);
                let none = || Float64Array::new_null(rows);
                Arc::new(matches.map_or_else(none, |m| m.found.iter().map(lag).collect()))
            }
            Event::SourcePath => unit.source_path(rows)?,
            other => match (block.int(other).map(|b| b.finish()), block.float(other).map(|b| b.finish())) {
                (Some(ints), _) => Arc::new(ints) as ArrayRef,
                (None, Some(floats)) => Arc::new(floats),
                (None, None) => continue,
            },
        });
    }
    batch_of(schema, columns, rows)
}

fn match_kinds(matches: Option<&Matches<'_>>, rows: usize) -> Result<ArrayRef, ReadError> {
    const KINDS: [MatchKind; 4] = [MatchKind::Inside, MatchKind::Queue, MatchKind::After, MatchKind::None];
    let names = StringViewArray::from_iter_values(KINDS.map(MatchKind::name));
    let number = |kind: MatchKind| KINDS.iter().position(|k| *k == kind).unwrap_or(KINDS.len() - 1) as u32;
    let numbers = match matches {
        Some(m) => UInt32Array::from_iter_values(m.found.iter().map(|f| number(f.kind))),
        None => UInt32Array::from_value(number(MatchKind::None), rows),
    };
    Ok(take(&names, &numbers, None)?)
}

/// Builds the batch of a block of records; `row_no` counts from the start of the block.
///
/// # Errors
/// As [`event_batch`].
pub fn record_batch(
    schema: &SchemaRef,
    projection: &[usize],
    mut block: RecordBlock,
    unit: &UnitColumns,
) -> Result<RecordBatch, ReadError> {
    let rows = block.rows();
    let mut columns = Vec::with_capacity(projection.len());
    for index in projection {
        let Some(column) = Record::ALL.get(*index).copied() else { continue };
        columns.push(match column {
            Record::Component => texts(&block.components, &block.component)?,
            Record::DeviceType => texts(&block.devices, &block.device)?,
            Record::Role => unit.role(rows)?,
            Record::RankId => unit.rank(rows),
            Record::SourcePath => unit.source_path(rows)?,
            other => match (block.int(other).map(|b| b.finish()), block.float(other).map(|b| b.finish())) {
                (Some(ints), _) => Arc::new(ints) as ArrayRef,
                (None, Some(floats)) => Arc::new(floats),
                (None, None) => continue,
            },
        });
    }
    batch_of(schema, columns, rows)
}
