//! From record batches to rows of a trend database.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Float64Array, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::compute::kernels::cmp::distinct;
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, SchemaRef};
use datafusion::arrow::util::display::array_value_to_string;

use crate::format::msprobe_dump::Metric;

use super::super::SinkError;
use super::database::{TrendDatabase, TrendRow};

/// Columns without which there is no trend.
const NEEDED: [&str; 4] = ["rank", "step", "metric_name", "target_name"];

/// Columns of numbers, of which at least one must be there.
const STATISTICS: [&str; 4] = ["norm", "max", "min", "mean"];

/// Columns that are looked at when they are there.
const OPTIONAL: [&str; 6] =
    ["vpp_stage", "target_micro_step", "role", "source_path", "source_step", "entry_no"];

/// Finds rows in the batches of a query, and where the rows of an entry and of a file end.
///
/// The numbers of targets depend on these ends. They are those of the reference when the query keeps
/// the columns `source_path` and `entry_no` of `dump_trend`; without them a file ends where the rank
/// or the column `source_step` changes, and every row is an entry.
#[derive(Debug)]
pub struct TrendRows {
    needed: [usize; NEEDED.len()],
    statistics: [Option<usize>; STATISTICS.len()],
    vpp_stage: Option<usize>,
    micro_step: Option<usize>,
    source_path: Option<usize>,
    source_step: Option<usize>,
    entry_no: Option<usize>,
    role: Option<usize>,
    /// The role of all rows, once there was one; `Some(None)` is the role NULL.
    only_role: Option<Option<String>>,
    /// The file and the entry of the row before.
    path: String,
    place: Option<(i64, i64, i64)>,
    without_metric: u64,
}

impl TrendRows {
    /// The columns that matter, if they are there.
    pub const COLUMNS: [&'static str; NEEDED.len() + STATISTICS.len() + OPTIONAL.len()] = {
        let [a, b, c, d] = NEEDED;
        let [e, f, g, h] = STATISTICS;
        let [i, j, k, l, m, n] = OPTIONAL;
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n]
    };

    /// Finds the columns of a query.
    ///
    /// # Errors
    /// A message that names the columns that are missing.
    pub fn new(schema: &SchemaRef) -> Result<Self, String> {
        let find = |name: &str| schema.index_of(name).ok();
        let missing: Vec<&str> = NEEDED.into_iter().filter(|n| find(n).is_none()).collect();
        let statistics = STATISTICS.map(find);
        if !missing.is_empty() || statistics.iter().all(Option::is_none) {
            let missing =
                if missing.is_empty() { "all of the latter".to_owned() } else { missing.join(", ") };
            return Err(format!(
                "a trend database needs the columns {} and at least one of {}; missing: {missing}",
                NEEDED.join(", "),
                STATISTICS.join(", "),
            ));
        }
        Ok(Self {
            needed: NEEDED.map(|n| find(n).unwrap_or_default()),
            statistics,
            vpp_stage: find("vpp_stage"),
            micro_step: find("target_micro_step"),
            source_path: find("source_path"),
            source_step: find("source_step"),
            entry_no: find("entry_no"),
            role: find("role"),
            only_role: None,
            path: String::new(),
            place: None,
            without_metric: 0,
        })
    }

    /// Rows that have no metric and were therefore not stored.
    pub fn without_metric(&self) -> u64 {
        self.without_metric
    }

    /// Writes the rows of a batch.
    ///
    /// # Errors
    /// When a column has another type or a NULL where there must be none, or the database cannot be
    /// written.
    pub fn write(&mut self, database: &mut TrendDatabase, batch: &RecordBatch) -> Result<(), SinkError> {
        let fault = |message: String| SinkError::rows(database.target(), message);
        self.check_role(batch).map_err(fault)?;
        let [rank, step, metric, target] = self.needed;
        let rank = ints(batch, rank).map_err(fault)?;
        let step = ints(batch, step).map_err(fault)?;
        let metric = texts(batch, metric).map_err(fault)?;
        let target = texts(batch, target).map_err(fault)?;
        let optional = |column: Option<usize>| column.map(|c| ints(batch, c)).transpose();
        let vpp_stage = optional(self.vpp_stage).map_err(fault)?;
        let micro_step = optional(self.micro_step).map_err(fault)?;
        let source_step = optional(self.source_step).map_err(fault)?;
        let entry_no = optional(self.entry_no).map_err(fault)?;
        let path = self.source_path.map(|c| texts(batch, c)).transpose().map_err(fault)?;
        let [norm, max, min, mean] = self.statistics.map(|c| c.map(|c| floats(batch, c)).transpose());
        let statistics =
            [norm.map_err(fault)?, max.map_err(fault)?, min.map_err(fault)?, mean.map_err(fault)?];
        let mut known_metric: Option<(u128, Metric)> = None;
        let mut known_path = None;
        for row in 0..batch.num_rows() {
            let value = |column: &Option<Int64Array>, default| {
                column.as_ref().filter(|c| c.is_valid(row)).map_or(default, |c| c.value(row))
            };
            if rank.is_null(row) || step.is_null(row) || target.is_null(row) {
                let message = "rank, step and target_name must not be NULL".to_owned();
                return Err(SinkError::rows(database.target(), message));
            }
            // The same view is the same text; only another one has to be compared.
            let view = path.as_ref().map(|p| p.views().get(row).copied().unwrap_or_default());
            let mut new_file = false;
            if let Some(path) = &path
                && view != known_path
            {
                known_path = view;
                let text = if path.is_valid(row) { path.value(row) } else { "" };
                if self.path != text {
                    new_file = self.place.is_some();
                    self.path = text.to_owned();
                }
            }
            let place = (rank.value(row), value(&source_step, 0), value(&entry_no, row as i64));
            if let Some(before) = self.place.replace(place) {
                new_file |= path.is_none() && (before.0, before.1) != (place.0, place.1);
                if new_file {
                    database.end_file()?;
                } else if before.2 != place.2 {
                    database.end_entry()?;
                }
            }
            if metric.is_null(row) {
                self.without_metric += 1;
                continue;
            }
            let view = metric.views().get(row).copied().unwrap_or_default();
            let metric = match known_metric {
                Some((known, metric)) if known == view => metric,
                _ => {
                    let name = metric.value(row);
                    let Some(found) = Metric::from_name(name) else {
                        let names = Metric::ALL.map(Metric::name).join(", ");
                        let message = format!("metric_name is '{name}', expected one of {names}");
                        return Err(SinkError::rows(database.target(), message));
                    };
                    known_metric = Some((view, found));
                    found
                }
            };
            let statistics = statistics
                .each_ref()
                .map(|column| column.as_ref().filter(|c| c.is_valid(row)).map(|c| c.value(row)));
            database.push(&TrendRow {
                rank: rank.value(row),
                step: step.value(row),
                metric,
                target: target.value(row),
                vpp_stage: value(&vpp_stage, 0),
                micro_step: value(&micro_step, 0),
                statistics,
            });
        }
        Ok(())
    }
}

impl TrendRows {
    /// A trend database has no roles: rows of two would mix their series.
    fn check_role(&mut self, batch: &RecordBatch) -> Result<(), String> {
        let Some(column) = self.role else { return Ok(()) };
        let roles = texts(batch, column)?;
        let mut known = None;
        for row in 0..roles.len() {
            let view = roles.is_valid(row).then(|| roles.views().get(row).copied().unwrap_or_default());
            if known == Some(view) {
                continue;
            }
            known = Some(view);
            let role = roles.is_valid(row).then(|| roles.value(row));
            let only = self.only_role.get_or_insert_with(|| role.map(str::to_owned));
            if only.as_deref() != role {
                let name = |role: Option<&str>| role.map_or("NULL".to_owned(), |r| format!("'{r}'"));
                return Err(format!(
                    "rows of the roles {} and {}, but a trend database holds one series for each rank; \
                     write one file for each role, with WHERE role = ...",
                    name(only.as_deref()),
                    name(role)
                ));
            }
        }
        Ok(())
    }
}

/// A column as this type. Values that do not fit are an error: a cast that makes something else of them
/// would put a wrong number into the database.
fn as_type(
    batch: &RecordBatch,
    column: usize,
    kind: &DataType,
    takes: fn(&DataType) -> bool,
) -> Result<ArrayRef, String> {
    let array = batch.columns().get(column).ok_or_else(|| format!("there is no column {column}"))?;
    if array.data_type() == kind {
        return Ok(Arc::clone(array));
    }
    let schema = batch.schema();
    let name = schema.fields().get(column).map_or("", |f| f.name());
    let found = match array.data_type() {
        DataType::Dictionary(_, values) => values.as_ref(),
        other => other,
    };
    if !takes(found) {
        return Err(format!("the column {name} is {found}, expected {kind}"));
    }
    let strict = CastOptions { safe: false, ..CastOptions::default() };
    let fault = |e| format!("the column {name} is {found}, expected {kind}: {e}");
    let wanted = cast_with_options(array, kind, &strict).map_err(fault)?;
    if found.is_floating() && kind.is_integer() {
        // A fraction would be cut off.
        let back = cast_with_options(&wanted, found, &strict).map_err(fault)?;
        let differs = distinct(array, &back).map_err(fault)?;
        if let Some(row) = (0..differs.len()).find(|row| differs.value(*row)) {
            let value = array_value_to_string(array, row).unwrap_or_default();
            return Err(format!("the column {name} has the value {value}, expected a whole number"));
        }
    }
    Ok(wanted)
}

/// Numbers, and what can be read as one.
fn number_like(kind: &DataType) -> bool {
    kind.is_numeric() || text_like(kind)
}

fn text_like(kind: &DataType) -> bool {
    kind.is_string() || matches!(kind, DataType::Null)
}

fn ints(batch: &RecordBatch, column: usize) -> Result<Int64Array, String> {
    let array = as_type(batch, column, &DataType::Int64, number_like)?;
    array.as_any().downcast_ref().cloned().ok_or_else(|| "not integers".to_owned())
}

fn floats(batch: &RecordBatch, column: usize) -> Result<Float64Array, String> {
    let array = as_type(batch, column, &DataType::Float64, number_like)?;
    array.as_any().downcast_ref().cloned().ok_or_else(|| "not numbers".to_owned())
}

fn texts(batch: &RecordBatch, column: usize) -> Result<StringViewArray, String> {
    let array = as_type(batch, column, &DataType::Utf8View, text_like)?;
    array.as_any().downcast_ref().cloned().ok_or_else(|| "not texts".to_owned())
}
