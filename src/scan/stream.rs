//! One partition as a stream: readers on a blocking thread, batches through a short channel.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, Time};
use datafusion::physical_plan::stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter};
use futures::{Stream, StreamExt};

use crate::source::{Finding, Host, ReadError, ReadRequest, Unit, UnitReader};

use super::OnError;
use super::exec::ScanSpec;
use super::host::ScanHost;
use super::survey::survey;

/// Batches that may wait for the consumer.
const CHANNEL: usize = 2;

/// Starts reading a run of units.
///
/// Reading blocks for seconds at a time, so it must not run on a worker of the async runtime:
/// timers, Ctrl-C and other queries would stand still.
pub(super) fn run_units(
    spec: ScanSpec,
    partition: usize,
    batch_rows: usize,
    host: Arc<ScanHost>,
    stop: Arc<AtomicBool>,
    baseline: BaselineMetrics,
    read_time: Time,
) -> SendableRecordBatchStream {
    let schema = Arc::clone(&spec.schema);
    let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&schema), CHANNEL);
    let sender = builder.tx();
    builder.spawn_blocking(move || {
        let mut run = Run::new(spec, partition, batch_rows, host);
        loop {
            let next = {
                let _running = read_time.timer();
                run.next_batch()
            };
            let Some(next) = next else { return Ok(()) };
            let failed = next.is_err();
            if sender.blocking_send(next).is_err() || failed {
                return Ok(());
            }
        }
    });
    let stream = Watched { inner: builder.build(), stop, baseline };
    Box::pin(RecordBatchStreamAdapter::new(schema, stream))
}

/// Tells the readers to stop as soon as nobody polls any more.
struct Watched {
    inner: SendableRecordBatchStream,
    stop: Arc<AtomicBool>,
    baseline: BaselineMetrics,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Stream for Watched {
    type Item = Result<RecordBatch>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let poll = self.inner.poll_next_unpin(cx);
        self.baseline.record_poll(poll)
    }
}

/// The units of one partition, one after the other.
struct Run {
    spec: ScanSpec,
    units: std::vec::IntoIter<Unit>,
    host: Arc<ScanHost>,
    request: ReadRequest,
    left: Option<usize>,
    reader: Option<Box<dyn UnitReader>>,
    checked: bool,
    first: bool,
}

impl Run {
    fn new(spec: ScanSpec, partition: usize, batch_rows: usize, host: Arc<ScanHost>) -> Self {
        let units = spec.runs.get(partition).cloned().unwrap_or_default().into_iter();
        let mut request = ReadRequest::new(spec.projection.clone());
        request.batch_rows = batch_rows.max(1);
        request.threads = spec.threads_per_unit;
        Self {
            left: spec.limit,
            units,
            request,
            reader: None,
            checked: false,
            first: partition == 0,
            host,
            spec,
        }
    }

    /// The next batch; `None` at the end or when nobody wants it.
    fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        match self.advance() {
            Ok(batch) => batch.map(Ok),
            Err(ReadError::Stopped) => None,
            Err(ReadError::Refused) => {
                let met = self.host.take_findings();
                let error = self.spec.survey.get_or_init(|| survey(&self.spec, &met)).clone();
                Some(Err(DataFusionError::External(Box::new(error))))
            }
            Err(ReadError::Memory(error)) => Some(Err(match error.downcast::<DataFusionError>() {
                Ok(error) => *error,
                Err(error) => DataFusionError::ResourcesExhausted(error.to_string()),
            })),
            Err(ReadError::Arrow(error)) => Some(Err(error.into())),
        }
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if !self.checked {
            self.checked = true;
            self.check_listing()?;
        }
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            if self.host.stopped() {
                return Err(ReadError::Stopped);
            }
            let Some(reader) = self.reader.as_mut() else {
                let Some(unit) = self.units.next() else { return Ok(None) };
                self.request.limit = self.left;
                self.reader = Some(self.open(&unit)?);
                continue;
            };
            let Some(batch) = reader.next_batch()? else {
                self.reader = None;
                self.host.end_unit();
                continue;
            };
            let rows = self.left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            if let Some(left) = &mut self.left {
                *left -= rows;
            }
            if rows > 0 || batch.num_columns() == 0 && batch.num_rows() > 0 {
                return Ok(Some(batch.slice(0, rows)));
            }
        }
    }

    /// A strict scan that is known to be incomplete fails before it reads anything.
    fn check_listing(&self) -> Result<(), ReadError> {
        let layout = || self.spec.layout_findings.iter().filter(|f| f.is_problem()).cloned();
        match self.spec.on_error {
            OnError::Strict => {
                let known = self.spec.runs.iter().flatten().flat_map(|unit| self.known_problems(unit));
                layout().chain(known).try_for_each(|f| self.host.report(f))
            }
            // Each is counted once: these by the first partition, a unit's own when it is opened.
            OnError::Skip if self.first => layout().try_for_each(|f| self.host.report(f)),
            OnError::Skip => Ok(()),
        }
    }

    fn known_problems(&self, unit: &Unit) -> Vec<Finding> {
        self.spec.format.known_problems(unit, &self.spec.projection)
    }

    fn open(&self, unit: &Unit) -> Result<Box<dyn UnitReader>, ReadError> {
        self.known_problems(unit).into_iter().try_for_each(|f| self.host.report(f))?;
        self.spec.format.open(unit, &self.request, Arc::clone(&self.host) as Arc<dyn Host>)
    }
}
