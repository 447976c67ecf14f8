//! `memory_events`: the allocations of a profiler tree, each with its call stack.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};
use crate::text::csv::CsvBlock;

use super::allocations::AllocationBlock;
use super::columns::{Matches, UnitColumns, event_batch};
use super::csv_files::{Built, CsvTable};
use super::layout::{self, DB, OPERATOR_MEMORY, PROFILER_DB, TRACE_VIEW};
use super::matching::{MatchRule, Matcher};
use super::operator_memory::{BlockRows, OperatorMemory};
use super::ops::Detail;
use super::profiler_db::ProfilerDb;
use super::reader::{ProfileReader, ProfileTable};
use super::schema::{Event, KEY_COLUMNS, Wanted, event_schema};
use super::trace_view::read_trace;

/// The format behind `memory_events`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryEvents {
    rule: MatchRule,
}

impl MemoryEvents {
    /// Allocations that find their call stack by this rule.
    pub fn new(rule: MatchRule) -> Self {
        Self { rule }
    }
}

impl Format for MemoryEvents {
    fn name(&self) -> &'static str {
        "memory_events"
    }

    fn schema(&self) -> SchemaRef {
        event_schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        layout::discover(self.name(), roots, OPERATOR_MEMORY)
    }

    fn known_problems(&self, unit: &Unit, projection: &[usize]) -> Vec<Finding> {
        let output = layout::output_directory(unit);
        let mut problems: Vec<Finding> = unit.problems().collect();
        if unit.form == DB {
            return problems;
        }
        if unit.file(OPERATOR_MEMORY).is_none() {
            let message =
                "file not found: there are no allocations (was the job recorded with profile_memory=True?)";
            problems.push(layout::missing_table(output, "operator_memory.csv", message));
        } else if unit.file(TRACE_VIEW).is_none() && Wanted::new(projection).ops() {
            let message = "file not found: it holds the call stacks that the query asks for";
            problems.push(Finding::problem(Kind::Missing, output.join("trace_view.json"), message));
        }
        problems
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let table = Allocations {
            rule: self.rule,
            wanted: Wanted::new(&request.projection),
            schema: Arc::new(event_schema().project(&request.projection)?),
            projection: request.projection.clone(),
            columns: UnitColumns::new(unit),
            matcher: None,
            trace: unit
                .file(TRACE_VIEW)
                .or_else(|| unit.file(PROFILER_DB))
                .map(|f| f.path.clone())
                .unwrap_or_default(),
            times_fit: OnceLock::new(),
        };
        Ok(Box::new(ProfileReader::new(unit, request, table, host)))
    }
}

/// What turns allocations into batches: the columns that are wanted and the index of call stacks.
struct Allocations {
    rule: MatchRule,
    wanted: Wanted,
    schema: SchemaRef,
    projection: Vec<usize>,
    columns: UnitColumns,
    matcher: Option<Matcher>,
    /// Where the ops come from, for messages.
    trace: PathBuf,
    /// Whether the times of ops and allocations fit together, once that is known.
    times_fit: OnceLock<bool>,
}

impl Allocations {
    /// Compares the times of ops with the first times of allocations, once, and tells when they
    /// cannot belong together.
    ///
    /// A trace can be written with times relative to its start while the table has times since the
    /// epoch; then every allocation would match the last op of its name. A recording is far shorter
    /// than the gap that is tolerated.
    fn check_times(&self, block: &AllocationBlock) -> Option<Finding> {
        const TOLERATED_GAP_NS: i64 = 24 * 3600 * 1_000_000_000;
        if self.times_fit.get().is_some() {
            return None;
        }
        let Some((from, to)) = self.matcher.as_ref().and_then(Matcher::time_range) else {
            self.times_fit.get_or_init(|| true);
            return None;
        };
        let times = || block.start_ns.iter().flatten().copied();
        let (first, last) = (times().min()?, times().max()?);
        let gap = from.saturating_sub(last).max(first.saturating_sub(to));
        if *self.times_fit.get_or_init(|| gap <= TOLERATED_GAP_NS) {
            return None;
        }
        let message = format!(
            "its ops lie between {from} and {to} ns, but the allocations start at {first} ns: \
             one of the two has relative times, so no call stack can be matched"
        );
        Some(Finding::problem(Kind::Time, &self.trace, message))
    }

    /// Matches the allocations of a block and builds their batch.
    fn batch(&self, block: AllocationBlock) -> Result<RecordBatch, ReadError> {
        let matcher = self.matcher.as_ref().filter(|_| self.times_fit.get() != Some(&false));
        let matches = matcher.map(|m| Matches { found: m.block(&block), stacks: &m.stacks });
        event_batch(&self.schema, &self.projection, block, matches.as_ref(), &self.columns)
    }
}

impl CsvTable for Allocations {
    type Open = OperatorMemory;

    fn start(
        &self,
        path: &Path,
        first: &mut CsvBlock,
        host: &dyn Host,
    ) -> Result<Option<OperatorMemory>, ReadError> {
        OperatorMemory::start(path, first, self.wanted, host)
    }

    fn build(&self, open: &OperatorMemory, block: &CsvBlock) -> Result<Built, ReadError> {
        let BlockRows { allocations, mut faults, open } = open.rows(block);
        faults.extend(self.check_times(&allocations));
        Ok(Built { batch: self.batch(allocations)?, faults, open })
    }
}

impl ProfileTable for Allocations {
    const PART: &'static str = OPERATOR_MEMORY;
    const ROW_NO: usize = Event::RowNo as usize;

    /// Builds the index of call stacks, if anything needs it.
    fn prepare(
        &mut self,
        unit: &Unit,
        db: Option<&ProfilerDb>,
        threads: usize,
        host: &dyn Host,
    ) -> Result<(), ReadError> {
        if !self.wanted.ops() {
            return Ok(());
        }
        let owners = self.wanted.event(Event::MatchKind) || self.rule == MatchRule::Inside;
        let detail = if owners { Detail::Owners } else { Detail::Stacks };
        let log = match (db, unit.file(TRACE_VIEW)) {
            (Some(db), _) => db.op_log(detail, host)?,
            (None, Some(trace)) => read_trace(&trace.path, detail, threads, host)?,
            (None, None) => return Ok(()),
        };
        self.matcher = Some(Matcher::new(log, self.rule, owners, host)?);
        Ok(())
    }

    /// One block at a time until the times are known to fit.
    fn may_run_ahead(&self) -> bool {
        self.times_fit.get().is_some()
    }

    fn next_of_db(
        &self,
        db: &mut ProfilerDb,
        most: usize,
        host: &dyn Host,
    ) -> Result<(RecordBatch, bool), ReadError> {
        let mut block = AllocationBlock::new(self.wanted, 0);
        let more = db.next_allocations(most, host, &mut |a| block.push(a))?;
        if let Some(finding) = self.check_times(&block) {
            host.report(finding)?;
        }
        Ok((self.batch(block)?, more))
    }
}
