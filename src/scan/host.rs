//! The scan's side of reading: cancellation, memory, metrics, and what becomes of problems.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use datafusion::execution::TaskContext;
use datafusion::execution::memory_pool::{MemoryConsumer, MemoryPool, MemoryReservation};
use datafusion::physical_plan::metrics::{Count, ExecutionPlanMetricsSet, MetricBuilder};

use crate::source::{Counter, Finding, FindingLog, Host, InputFile, ReadError, Unit, UnitFile};

use super::OnError;

/// Name of the metric that counts problems which were left out; the shell looks for it.
pub const PROBLEMS_LEFT_OUT: &str = "problems_left_out";

/// Name of the metric for [`Counter::MarkersLost`]; the shell looks for it, too.
pub const MARKERS_LOST: &str = "markers_lost";

/// Small reservations are gathered until they are worth a call to the memory pool.
const RESERVE_STEP: usize = 64 << 10;

/// Makes the hosts of the readers of one partition: each has its own memory and findings, all of them
/// stop and count together.
pub(super) struct HostMaker {
    label: String,
    stop: Arc<AtomicBool>,
    on_error: OnError,
    pool: Arc<dyn MemoryPool>,
    counters: Counters,
}

/// What is shown by EXPLAIN ANALYZE.
#[derive(Clone)]
struct Counters {
    files_opened: Count,
    bytes_read: Count,
    rows_read: Count,
    rows_left_out: Count,
    events_read: Count,
    problems_left_out: Count,
    metrics: ExecutionPlanMetricsSet,
    partition: usize,
}

impl HostMaker {
    pub(super) fn new(
        label: &str,
        partition: usize,
        on_error: OnError,
        context: &TaskContext,
        metrics: &ExecutionPlanMetricsSet,
    ) -> Self {
        let counter = |name: &'static str| MetricBuilder::new(metrics).counter(name, partition);
        let counters = Counters {
            files_opened: counter("files_opened"),
            bytes_read: counter("bytes_read"),
            rows_read: counter("rows_read"),
            rows_left_out: counter("rows_left_out"),
            events_read: counter("events_read"),
            problems_left_out: counter(PROBLEMS_LEFT_OUT),
            metrics: metrics.clone(),
            partition,
        };
        Self {
            label: format!("{label}[{partition}]"),
            stop: Arc::default(),
            on_error,
            pool: Arc::clone(context.memory_pool()),
            counters,
        }
    }

    /// Raised when nobody wants the rows any more.
    pub(super) fn stop(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.stop)
    }

    /// Memory of rows that were read and wait for their turn.
    pub(super) fn waiting(&self) -> MemoryReservation {
        MemoryConsumer::new(format!("{} waiting", self.label)).register(&self.pool)
    }

    /// A host for readers that follow each other.
    pub(super) fn host(&self) -> ScanHost {
        ScanHost {
            stop: self.stop(),
            memory: MemoryConsumer::new(self.label.clone()).register(&self.pool),
            gathered: AtomicUsize::new(0),
            on_error: self.on_error,
            findings: Mutex::default(),
            files: Mutex::default(),
            counters: self.counters.clone(),
        }
    }
}

/// Host of readers that follow each other.
pub(super) struct ScanHost {
    stop: Arc<AtomicBool>,
    memory: MemoryReservation,
    gathered: AtomicUsize,
    on_error: OnError,
    findings: Mutex<FindingLog>,
    /// The files of the unit that is being read, as they were listed.
    files: Mutex<Vec<UnitFile>>,
    counters: Counters,
}

impl ScanHost {
    /// This unit will be read next.
    pub(super) fn begin_unit(&self, unit: &Unit) {
        if let Ok(mut files) = self.files.lock() {
            files.clone_from(&unit.files);
        }
    }

    /// A unit has been read: what it needed is free again.
    pub(super) fn end_unit(&self) {
        self.memory.free();
        self.gathered.store(0, Ordering::Relaxed);
    }

    /// What was reported since the last call.
    pub(super) fn take_findings(&self) -> Vec<Finding> {
        match self.findings.lock() {
            Ok(mut log) => std::mem::take(&mut *log).into_findings(),
            Err(_) => vec![],
        }
    }
}

impl Host for ScanHost {
    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> Result<(), ReadError> {
        let gathered = self.gathered.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        if gathered < RESERVE_STEP {
            return Ok(());
        }
        let want = self.gathered.swap(0, Ordering::Relaxed);
        self.memory.try_grow(want).map_err(|e| ReadError::Memory(Box::new(e)))
    }

    fn count(&self, counter: Counter, n: u64) {
        let n = usize::try_from(n).unwrap_or(usize::MAX);
        let metric = match counter {
            // So rare that it is not shown where there is none.
            Counter::MarkersLost => {
                let Counters { metrics, partition, .. } = &self.counters;
                return MetricBuilder::new(metrics).counter(MARKERS_LOST, *partition).add(n);
            }
            Counter::FilesOpened => &self.counters.files_opened,
            Counter::BytesRead => &self.counters.bytes_read,
            Counter::RowsRead => &self.counters.rows_read,
            Counter::RowsLeftOut => &self.counters.rows_left_out,
            Counter::EventsRead => &self.counters.events_read,
        };
        metric.add(n);
    }

    fn opened(&self, file: &InputFile) -> Result<(), ReadError> {
        self.count(Counter::FilesOpened, 1);
        let shrunk = self.files.lock().ok().and_then(|files| UnitFile::shrunk(&files, file));
        shrunk.map_or(Ok(()), |finding| self.report(finding))
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        let problem = finding.is_problem();
        if problem && self.on_error == OnError::Skip {
            self.counters.problems_left_out.add(usize::try_from(finding.count).unwrap_or(usize::MAX));
        }
        if let Ok(mut log) = self.findings.lock() {
            log.push(finding);
        }
        if problem && self.on_error == OnError::Strict { Err(ReadError::Refused) } else { Ok(()) }
    }
}
