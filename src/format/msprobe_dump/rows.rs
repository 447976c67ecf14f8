//! Rows on their way to a record batch.

use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, Float64Array, Int64Array, Int64Builder, RecordBatch, RecordBatchOptions, StringViewArray,
    StringViewBuilder, UInt32Array,
};
use datafusion::arrow::compute::take;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{KeyValue, ReadError, Unit};
use crate::text::interner::Interner;
use crate::text::json::escape::text_of;

use super::layout::place_of;
use super::schema::{Trend, Wanted};
use super::section::{Section, Skip};
use super::target::Metric;
use super::tensor::Tensor;

/// What is the same in every row of a unit.
#[derive(Debug, Clone)]
pub(super) struct UnitValues {
    role: Option<String>,
    rank: i64,
    source_step: i64,
    source_path: String,
}

impl UnitValues {
    /// From the keys of a unit, which are role, source step and rank, whatever lies between them.
    pub(super) fn new(unit: &Unit) -> Self {
        let (source_step, rank) = place_of(unit);
        let role = match unit.keys.first() {
            Some(KeyValue::Text(role)) => Some(role.clone()),
            _ => None,
        };
        Self { role, rank, source_step, source_path: unit.source_path.clone() }
    }

    /// The number of the step directory.
    pub(super) fn source_step(&self) -> i64 {
        self.source_step
    }
}

/// What is the same in all rows of an entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct EntryValues<'a> {
    /// The metric, if the key names one.
    pub(super) metric: Option<Metric>,
    /// Micro-step inside the file, if it is known.
    pub(super) micro: Option<i64>,
    /// The call index.
    pub(super) index: i64,
    /// The name of the module without marker and index.
    pub(super) stem: &'a str,
    /// The key as it stands in the file.
    pub(super) key: &'a str,
    /// Number of the entry, counted from 1.
    pub(super) entry_no: i64,
    /// Why the reference leaves out all of it.
    pub(super) skip: Option<Skip>,
}

/// Texts of a file that repeat, as they are written.
#[derive(Debug, Default)]
pub(super) struct Words {
    kinds: Interner,
    dtypes: Interner,
    shapes: Interner,
}

/// Rows with the columns that are asked for.
#[derive(Debug)]
pub(super) struct RowBlock {
    wanted: Wanted,
    rows: usize,
    micro: Int64Builder,
    step: Vec<i64>,
    metric: Vec<u32>,
    target: StringViewBuilder,
    name: String,
    /// Bytes of the texts above.
    texts: usize,
    index: Vec<i64>,
    statistics: [Vec<Option<f64>>; 4],
    entry_no: Vec<i64>,
    tensor_no: Vec<i64>,
    keys: StringViewBuilder,
    key: Vec<u32>,
    section: Vec<u32>,
    kind: Vec<Option<u32>>,
    dtype: Vec<Option<u32>>,
    shape: Vec<Option<u32>>,
    skip: Vec<Option<u32>>,
}

impl Words {
    /// Memory in use, in bytes.
    pub(super) fn allocated(&self) -> usize {
        [&self.kinds, &self.dtypes, &self.shapes].map(Interner::allocated).iter().sum()
    }
}

impl RowBlock {
    /// An empty block.
    pub(super) fn new(wanted: Wanted) -> Self {
        Self {
            wanted,
            rows: 0,
            micro: Int64Builder::new(),
            step: vec![],
            metric: vec![],
            target: StringViewBuilder::new().with_fixed_block_size(64 << 10),
            name: String::new(),
            texts: 0,
            index: vec![],
            statistics: Default::default(),
            entry_no: vec![],
            tensor_no: vec![],
            keys: StringViewBuilder::new().with_fixed_block_size(32 << 10),
            key: vec![],
            section: vec![],
            kind: vec![],
            dtype: vec![],
            shape: vec![],
            skip: vec![],
        }
    }

    /// How many rows it has.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// About how much memory its rows take, in bytes.
    pub(super) fn allocated(&self) -> usize {
        // The columns of fixed width, and the views of texts.
        self.rows * 160 + self.texts
    }

    /// Adds the rows of an entry; returns how many there are.
    pub(super) fn push<'a>(
        &mut self,
        entry: &EntryValues<'_>,
        tensors: impl Iterator<Item = (&'a Tensor<'a>, &'a str)>,
        words: &mut Words,
    ) -> usize {
        let wanted = self.wanted;
        let before = self.rows;
        // The name of the section before, to which only the label is new.
        let mut prefix = None;
        for (tensor, label) in tensors {
            self.rows += 1;
            if wanted.has(Trend::TargetName) {
                if prefix.is_none_or(|(section, _)| section != tensor.section) {
                    self.name.clear();
                    self.name.push_str(entry.stem);
                    self.name.push_str(tensor.section.infix());
                    prefix = Some((tensor.section, self.name.len()));
                }
                self.push_target(prefix.map_or(0, |(_, length)| length), label);
            }
            if wanted.statistics() {
                for (values, value) in self.statistics.iter_mut().zip(tensor.statistics) {
                    values.push(value);
                }
            }
            if wanted.has(Trend::IoKind) {
                self.section.push(tensor.section as u32);
            }
            let word = |column, raw: Option<&[u8]>, set: &mut Interner, out: &mut Vec<Option<u32>>| {
                if wanted.has(column) {
                    out.push(raw.map(|raw| set.intern(&String::from_utf8_lossy(raw))));
                }
            };
            word(Trend::TensorType, tensor.kind, &mut words.kinds, &mut self.kind);
            word(Trend::Dtype, tensor.dtype, &mut words.dtypes, &mut self.dtype);
            word(Trend::Shape, tensor.shape, &mut words.shapes, &mut self.shape);
            if wanted.has(Trend::ReferenceSkip) {
                self.skip.push(entry.skip.or(tensor.skip).map(|s| s as u32));
            }
        }
        let new = self.rows - before;
        self.push_shared(entry, new);
        new
    }

    /// Adds what is the same in all rows of an entry.
    fn push_shared(&mut self, entry: &EntryValues<'_>, new: usize) {
        if new == 0 {
            return;
        }
        let (wanted, rows) = (self.wanted, self.rows);
        if wanted.has(Trend::Step) {
            self.step.resize(rows, entry.micro.unwrap_or(0));
        }
        if wanted.has(Trend::LocalMicroStep) {
            match entry.micro {
                Some(micro) => self.micro.append_value_n(micro, new),
                None => self.micro.append_nulls(new),
            }
        }
        if wanted.has(Trend::MetricName) {
            let metric = entry.metric.map_or(Metric::ALL.len(), Metric::index) as u32;
            self.metric.resize(rows, metric);
        }
        if wanted.has(Trend::TargetMicroStep) {
            self.index.resize(rows, entry.index);
        }
        if wanted.has(Trend::EntryNo) {
            self.entry_no.resize(rows, entry.entry_no);
        }
        if wanted.has(Trend::TensorNo) {
            self.tensor_no.extend(1..=new as i64);
        }
        if wanted.has(Trend::ModuleKey) {
            let key = self.keys_so_far();
            self.key.resize(rows, key);
            self.keys.append_value(entry.key);
            self.texts += entry.key.len();
        }
    }

    fn keys_so_far(&self) -> u32 {
        self.key.last().map_or(0, |last| last + 1)
    }

    /// Adds the name that is being built, of which the front stays, with a label.
    fn push_target(&mut self, front: usize, label: &str) {
        self.name.truncate(front);
        if !label.is_empty() {
            self.name.push('.');
            self.name.push_str(label);
        }
        self.texts += self.name.len();
        self.target.append_value(&self.name);
    }

    /// Builds the batch and leaves the block empty. The step is still without its offset.
    ///
    /// # Errors
    /// [`ReadError::Arrow`] when the columns do not fit the schema, a fault of ours.
    pub(super) fn finish(
        &mut self,
        schema: &SchemaRef,
        projection: &[usize],
        unit: &UnitValues,
        words: &Words,
    ) -> Result<RecordBatch, ReadError> {
        let rows = std::mem::take(&mut self.rows);
        self.texts = 0;
        let ints = |values: &mut Vec<i64>| {
            Arc::new(Int64Array::from(std::mem::replace(values, Vec::with_capacity(rows)))) as ArrayRef
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(projection.len());
        let [norm, max, min, mean] = &mut self.statistics;
        for index in projection {
            let Some(column) = Trend::ALL.get(*index).copied() else { continue };
            columns.push(match column {
                Trend::Rank => Arc::new(Int64Array::from_value(unit.rank, rows)),
                Trend::SourceStep => Arc::new(Int64Array::from_value(unit.source_step, rows)),
                Trend::VppStage => Arc::new(Int64Array::from_value(0, rows)),
                Trend::Step => ints(&mut self.step),
                Trend::TargetMicroStep => ints(&mut self.index),
                Trend::EntryNo => ints(&mut self.entry_no),
                Trend::TensorNo => ints(&mut self.tensor_no),
                Trend::LocalMicroStep => Arc::new(self.micro.finish()),
                Trend::Norm => floats(norm),
                Trend::Max => floats(max),
                Trend::Min => floats(min),
                Trend::Mean => floats(mean),
                Trend::TargetName => Arc::new(self.target.finish()),
                Trend::ModuleKey => {
                    let keys = self.keys.finish();
                    take(&keys, &UInt32Array::from(std::mem::take(&mut self.key)), None)?
                }
                Trend::MetricName => {
                    let names =
                        Metric::ALL.iter().map(|m| Some(m.name())).chain([None]).collect::<StringViewArray>();
                    take(&names, &UInt32Array::from(std::mem::take(&mut self.metric)), None)?
                }
                Trend::IoKind => {
                    let names = StringViewArray::from_iter_values(Section::ALL.map(Section::name));
                    take(&names, &UInt32Array::from(std::mem::take(&mut self.section)), None)?
                }
                Trend::ReferenceSkip => {
                    let names = StringViewArray::from_iter_values(Skip::ALL.map(Skip::name));
                    take(&names, &UInt32Array::from(std::mem::take(&mut self.skip)), None)?
                }
                Trend::TensorType => pick(&words.kinds, &mut self.kind, text_as_written)?,
                Trend::Dtype => pick(&words.dtypes, &mut self.dtype, text_as_written)?,
                Trend::Shape => pick(&words.shapes, &mut self.shape, shape_on_one_line)?,
                Trend::Role => repeat(unit.role.as_deref(), rows)?,
                Trend::SourcePath => repeat(Some(&unit.source_path), rows)?,
            });
        }
        // Statistics of which only some are asked for are all collected.
        self.statistics.iter_mut().for_each(Vec::clear);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        Ok(RecordBatch::try_new_with_options(Arc::clone(schema), columns, &options)?)
    }
}

fn floats(values: &mut Vec<Option<f64>>) -> ArrayRef {
    let next = Vec::with_capacity(values.len());
    Arc::new(Float64Array::from(std::mem::replace(values, next)))
}

fn repeat(value: Option<&str>, rows: usize) -> Result<ArrayRef, ReadError> {
    let one: StringViewArray = [value].into_iter().collect();
    Ok(take(&one, &UInt32Array::from_value(0, rows), None)?)
}

/// Texts by their numbers in a set of texts as they are written.
fn pick(
    set: &Interner,
    numbers: &mut Vec<Option<u32>>,
    text: fn(&str) -> String,
) -> Result<ArrayRef, ReadError> {
    let numbers = std::mem::take(numbers);
    if set.len() > numbers.len() {
        // Of many texts each batch needs few.
        let texts = numbers.iter().map(|number| number.and_then(|n| set.get(n)).map(text));
        return Ok(Arc::new(texts.collect::<StringViewArray>()));
    }
    let texts = StringViewArray::from_iter_values(set.iter().map(text));
    Ok(take(&texts, &UInt32Array::from(numbers), None)?)
}

fn text_as_written(raw: &str) -> String {
    text_of(raw.as_bytes()).map_or_else(|| raw.to_owned(), |(text, _)| text.into_owned())
}

/// `[2, 4096]` whatever white space stands between the numbers.
fn shape_on_one_line(raw: &str) -> String {
    let mut out: String = raw.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    out = out.replace(',', ", ");
    out
}

/// Adds the offset of a unit to its steps.
pub(super) fn shift_steps(
    batch: RecordBatch,
    projection: &[usize],
    offset: i64,
) -> Result<RecordBatch, ReadError> {
    if offset == 0 || !projection.contains(&Trend::Step.index()) {
        return Ok(batch);
    }
    let (schema, mut columns, rows) = batch.into_parts();
    for (column, _) in columns.iter_mut().zip(projection).filter(|(_, index)| **index == Trend::Step.index())
    {
        if let Some(steps) = column.as_any().downcast_ref::<Int64Array>() {
            *column =
                Arc::new(steps.iter().flatten().map(|s| s.saturating_add(offset)).collect::<Int64Array>());
        }
    }
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema, columns, &options)?)
}
