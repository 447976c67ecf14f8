//! `dump_trend`: the statistics of the tensors of an msprobe dump.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};

use super::layout::{self, CONSTRUCT_PART, DUMP_PART, Plan};
use super::mapping::Mapping;
use super::quiet::Quiet;
use super::reader::DumpReader;
use super::schema::{MICRO_STEP_KEYS, WHOLE_STEP_KEYS, trend_schema};

/// Which tensors become rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Scope {
    /// Those that the reference, `msprobe data2db`, takes.
    #[default]
    Reference,
    /// All of them; the column `reference_skip` says why the reference leaves one out.
    All,
}

impl Scope {
    /// Both by the name they have in SQL.
    pub const ALL: [(&'static str, Scope); 2] = [("reference", Scope::Reference), ("all", Scope::All)];
}

/// What a call of `dump_trend` asks for besides the path.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TrendOptions {
    /// Whether steps are counted in micro-steps, which needs `construct.json`.
    pub micro_step: bool,
    /// A file with texts to replace in the keys.
    pub mapping: Option<PathBuf>,
    /// Which tensors become rows.
    pub scope: Scope,
    /// Whether to look at all tensors, hand out the rows of the reference, and tell of all others and
    /// of values that a trend database changes. All columns must be asked for.
    pub audit: bool,
}

impl Default for TrendOptions {
    fn default() -> Self {
        Self { micro_step: true, mapping: None, scope: Scope::Reference, audit: false }
    }
}

impl TrendOptions {
    /// With steps counted in micro-steps or not.
    pub fn with_micro_step(mut self, micro_step: bool) -> Self {
        self.micro_step = micro_step;
        self
    }

    /// With a mapping file, or without.
    pub fn with_mapping(mut self, mapping: Option<PathBuf>) -> Self {
        self.mapping = mapping;
        self
    }

    /// With an audit, or without.
    pub fn with_audit(mut self, audit: bool) -> Self {
        self.audit = audit;
        self
    }

    /// With this scope.
    pub fn with_scope(mut self, scope: Scope) -> Self {
        self.scope = scope;
        self
    }
}

/// The steps and ranks that a trend database offers to choose from; they are those of the dumps,
/// also of dumps without rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// The largest rank; at least 0.
    pub max_rank: i64,
    /// The first step.
    pub min_step: i64,
    /// The last step.
    pub max_step: i64,
}

/// What the latest listing found out, shared by all readers.
#[derive(Debug, Default)]
struct Listed {
    plan: Plan,
    mapping: Arc<Mapping>,
}

/// The format behind `dump_trend`.
///
/// Listing also makes the plan from which the readers get the offsets of their steps, see the module
/// `series`; it is the only state, and a new listing replaces it.
#[derive(Debug, Default)]
pub struct DumpTrend {
    options: TrendOptions,
    listed: Mutex<Arc<Listed>>,
}

impl DumpTrend {
    /// Dumps read with these options.
    pub fn new(options: TrendOptions) -> Self {
        Self { options, listed: Mutex::default() }
    }

    fn listed(&self) -> Arc<Listed> {
        self.listed
            .lock()
            .map_or_else(|poisoned| Arc::clone(&poisoned.into_inner()), |listed| Arc::clone(&listed))
    }

    /// What a trend database says about these units as a whole; nothing without units. With
    /// micro-steps the `construct.json` files that no reader has counted yet are read.
    pub fn extent(&self, units: &[Unit]) -> Option<Extent> {
        self.extent_of(units, &Quiet).ok().flatten()
    }

    fn extent_of(&self, units: &[Unit], host: &dyn Host) -> Result<Option<Extent>, ReadError> {
        let listed = self.listed();
        let mut extent: Option<Extent> = None;
        for unit in units {
            let (step, rank) = layout::place_of(unit);
            let (first, last) = match listed.plan.get(&unit.source_path).filter(|_| self.options.micro_step) {
                Some(series) => {
                    (series.offset(step, host)?.steps, series.end(step, host)?.steps.saturating_sub(1))
                }
                None => (step, step),
            };
            let known = extent.unwrap_or(Extent { max_rank: 0, min_step: first, max_step: last });
            extent = Some(Extent {
                max_rank: known.max_rank.max(rank),
                min_step: known.min_step.min(first),
                max_step: known.max_step.max(last),
            });
        }
        Ok(extent)
    }
}

impl Format for DumpTrend {
    fn name(&self) -> &'static str {
        "dump_trend"
    }

    fn schema(&self) -> SchemaRef {
        trend_schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        if self.options.micro_step { &MICRO_STEP_KEYS } else { &WHOLE_STEP_KEYS }
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let mapping = match &self.options.mapping {
            None => Mapping::default(),
            Some(path) => match Mapping::read(path, &Quiet) {
                Ok(Ok(mapping)) => mapping,
                Ok(Err(finding)) => {
                    let hint = "the mapping is a JSON object of texts and their replacements";
                    return Err(DataError::new(self.name(), vec![finding], hint));
                }
                Err(_) => Mapping::default(),
            },
        };
        let (layout, plan) = layout::discover(self.name(), roots, self.options.micro_step)?;
        let new = Arc::new(Listed { plan, mapping: Arc::new(mapping) });
        match self.listed.lock() {
            Ok(mut listed) => *listed = new,
            Err(poisoned) => *poisoned.into_inner() = new,
        }
        Ok(layout)
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        if unit.file(DUMP_PART).is_none() {
            return vec![Finding::problem(Kind::Missing, &unit.source_path, "file not found")];
        }
        if self.options.micro_step && unit.file(CONSTRUCT_PART).is_none() {
            let message = "file not found: it says which call is in which micro-step \
                           (it is not written with extra_info=false); micro_step => false does without it";
            return vec![Finding::problem(Kind::Missing, layout::construct_path(unit), message)];
        }
        // Of files that could not be looked at.
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let listed = self.listed();
        let series = if self.options.micro_step { listed.plan.get(&unit.source_path).cloned() } else { None };
        let mapping = Arc::clone(&listed.mapping);
        Ok(Box::new(TrendReader {
            reader: DumpReader::new(unit, request, &self.options, mapping, series, host)?,
            most: request.batch_rows.max(1),
            ready: VecDeque::new(),
        }))
    }
}

/// Reads one dump file.
struct TrendReader {
    reader: DumpReader,
    most: usize,
    /// Batches that were read and not yet handed out.
    ready: VecDeque<RecordBatch>,
}

impl UnitReader for TrendReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                if batch.num_rows() > self.most {
                    self.ready.push_front(batch.slice(self.most, batch.num_rows() - self.most));
                    return Ok(Some(batch.slice(0, self.most)));
                }
                return Ok(Some(batch));
            }
            if !self.reader.read(&mut self.ready)? {
                return Ok(None);
            }
        }
    }
}
