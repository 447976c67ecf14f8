//! Columns that grow row by row, and how they become arrays.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanBuilder, Float64Builder, Int64Array, Int64Builder, RecordBatch, RecordBatchOptions,
    StringViewArray, UInt32Array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{KeyValue, ReadError, Unit};
use crate::text::encoding::replace_invalid;
use crate::text::interner::Interner;

use super::schema::{ColumnKind, ColumnSpec};

/// The number that stands for NULL in a column of text numbers.
pub(super) const NO_TEXT: u32 = u32::MAX;

/// A text column: distinct texts, and the number of one for each row.
#[derive(Debug, Default)]
pub(super) struct TextColumn {
    set: Interner,
    rows: Vec<u32>,
    last: u32,
    /// Texts in which invalid UTF-8 was replaced.
    pub(super) replaced: u64,
}

impl TextColumn {
    /// Adds a row.
    #[inline]
    pub(super) fn push(&mut self, text: Option<&[u8]>) {
        let number = match text {
            Some(text) => self.number(text),
            None => NO_TEXT,
        };
        self.rows.push(number);
    }

    /// The number of a text, without adding a row.
    #[inline]
    pub(super) fn number(&mut self, text: &[u8]) -> u32 {
        // Neighbours are often equal.
        if self.set.get(self.last).is_some_and(|last| last.as_bytes() == text) {
            return self.last;
        }
        self.last = match std::str::from_utf8(text) {
            Ok(text) => self.set.intern(text),
            Err(_) => {
                self.replaced += 1;
                self.set.intern(&replace_invalid(text))
            }
        };
        self.last
    }

    /// Changes a row that was added.
    pub(super) fn set(&mut self, row: usize, text: &str) {
        let number = self.set.intern(text);
        if let Some(place) = self.rows.get_mut(row) {
            *place = number;
        }
    }

    /// The rows as an array.
    pub(super) fn finish(self) -> Result<ArrayRef, ReadError> {
        numbered(&self.set, &self.rows)
    }
}

/// Texts by their numbers; [`NO_TEXT`] is NULL.
pub(super) fn numbered(set: &Interner, rows: &[u32]) -> Result<ArrayRef, ReadError> {
    let indices: UInt32Array = rows.iter().map(|n| (*n != NO_TEXT).then_some(*n)).collect();
    Ok(take(set.to_array().as_ref(), &indices, None)?)
}

/// The same, where only few texts of a large set are used.
pub(super) fn some_numbered(set: &Interner, rows: &[u32]) -> Result<ArrayRef, ReadError> {
    let mut used = Interner::new();
    let mut known: HashMap<u32, u32> = HashMap::new();
    let numbers: Vec<u32> = rows
        .iter()
        .map(|n| match set.get(*n) {
            Some(text) => *known.entry(*n).or_insert_with(|| used.intern(text)),
            None => NO_TEXT,
        })
        .collect();
    numbered(&used, &numbers)
}

/// A column that is built value by value.
#[derive(Debug)]
pub(super) enum Column {
    Text(TextColumn),
    Int(Int64Builder),
    Float(Float64Builder),
    Bool(BooleanBuilder),
}

impl Column {
    /// An empty column.
    pub(super) fn new(kind: ColumnKind) -> Self {
        match kind {
            ColumnKind::Text => Column::Text(TextColumn::default()),
            ColumnKind::Int => Column::Int(Int64Builder::new()),
            ColumnKind::Float => Column::Float(Float64Builder::new()),
            ColumnKind::Bool => Column::Bool(BooleanBuilder::new()),
        }
    }

    /// Adds a text row; nothing for a column of another kind.
    #[inline]
    pub(super) fn text(&mut self, value: Option<&[u8]>) {
        if let Column::Text(column) = self {
            column.push(value);
        }
    }

    /// Adds an integer row.
    #[inline]
    pub(super) fn int(&mut self, value: Option<i64>) {
        if let Column::Int(column) = self {
            column.append_option(value);
        }
    }

    /// Adds a float row.
    #[inline]
    pub(super) fn float(&mut self, value: Option<f64>) {
        if let Column::Float(column) = self {
            column.append_option(value);
        }
    }

    /// Adds a boolean row.
    #[inline]
    pub(super) fn bool(&mut self, value: Option<bool>) {
        if let Column::Bool(column) = self {
            column.append_option(value);
        }
    }

    /// Texts in which invalid UTF-8 was replaced.
    pub(super) fn replaced(&self) -> u64 {
        if let Column::Text(column) = self { column.replaced } else { 0 }
    }

    /// The rows as an array.
    pub(super) fn finish(self) -> Result<ArrayRef, ReadError> {
        Ok(match self {
            Column::Text(column) => column.finish()?,
            Column::Int(mut column) => Arc::new(column.finish()),
            Column::Float(mut column) => Arc::new(column.finish()),
            Column::Bool(mut column) => Arc::new(column.finish()),
        })
    }
}

/// What is the same in every row of a unit.
#[derive(Debug, Clone)]
pub(super) struct UnitColumns {
    run_dir: String,
    run_pid: Option<i64>,
    source_path: String,
}

impl UnitColumns {
    /// Keys and path of a unit.
    pub(super) fn new(unit: &Unit) -> Self {
        let run_dir = match unit.keys.first() {
            Some(KeyValue::Text(name)) => name.clone(),
            _ => String::new(),
        };
        let run_pid = match unit.keys.get(1) {
            Some(KeyValue::Int(pid)) => Some(*pid),
            _ => None,
        };
        Self { run_dir, run_pid, source_path: unit.source_path.clone() }
    }

    /// `run_dir`, `rows` times.
    pub(super) fn run_dir(&self, rows: usize) -> Result<ArrayRef, ReadError> {
        repeated(&self.run_dir, rows)
    }

    /// `run_pid`, `rows` times.
    pub(super) fn run_pid(&self, rows: usize) -> ArrayRef {
        Arc::new(match self.run_pid {
            Some(pid) => Int64Array::from_value(pid, rows),
            None => Int64Array::new_null(rows),
        })
    }

    /// `source_path`, `rows` times.
    pub(super) fn source_path(&self, rows: usize) -> Result<ArrayRef, ReadError> {
        repeated(&self.source_path, rows)
    }
}

/// Rows of one unit that are built value by value; `C` names the columns of their table.
#[derive(Debug)]
pub(super) struct RowColumns<C> {
    rows: usize,
    columns: Vec<(C, Built)>,
}

/// Where the values of a column come from.
#[derive(Debug)]
enum Built {
    ByRow(Column),
    RunDir,
    RunPid,
    SourcePath,
}

impl<C: Copy> RowColumns<C> {
    /// No rows yet, for these of all columns.
    pub(super) fn new(projection: &[usize], all: &[C], specs: &[ColumnSpec]) -> Self {
        let column = |at: &usize| {
            let spec = specs.get(*at)?;
            let built = match spec.name {
                "run_dir" => Built::RunDir,
                "run_pid" => Built::RunPid,
                "source_path" => Built::SourcePath,
                _ => Built::ByRow(Column::new(spec.kind)),
            };
            Some((*all.get(*at)?, built))
        };
        Self { rows: 0, columns: projection.iter().filter_map(column).collect() }
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// Adds a row: `value` adds to each column that is not the same for the whole unit.
    pub(super) fn push(&mut self, mut value: impl FnMut(C, &mut Column)) {
        for (column, built) in &mut self.columns {
            if let Built::ByRow(builder) = built {
                value(*column, builder);
            }
        }
        self.rows += 1;
    }

    /// The rows as a batch of the projected schema.
    pub(super) fn finish(self, unit: &UnitColumns, schema: &SchemaRef) -> Result<RecordBatch, ReadError> {
        let rows = self.rows;
        let column = |(_, built): (C, Built)| -> Result<ArrayRef, ReadError> {
            match built {
                Built::ByRow(column) => column.finish(),
                Built::RunDir => unit.run_dir(rows),
                Built::RunPid => Ok(unit.run_pid(rows)),
                Built::SourcePath => unit.source_path(rows),
            }
        };
        let columns = self.columns.into_iter().map(column).collect::<Result<Vec<_>, _>>()?;
        batch_of(schema, columns, rows)
    }
}

/// A text, `rows` times.
pub(super) fn repeated(text: &str, rows: usize) -> Result<ArrayRef, ReadError> {
    let one = StringViewArray::from_iter_values([text]);
    Ok(take(&one, &UInt32Array::from_value(0, rows), None)?)
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
