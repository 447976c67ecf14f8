//! The units of one partition, one after the other.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::error::DataFusionError;

use crate::source::{Finding, Host, ReadError, ReadRequest, Unit, UnitReader};

use super::OnError;
use super::exec::ScanSpec;
use super::host::ScanHost;
use super::survey::{survey, unit_name};

/// How the units of one partition are read, whoever reads them.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    spec: ScanSpec,
    partition: usize,
    request: ReadRequest,
}

impl Reading {
    pub(super) fn new(spec: ScanSpec, partition: usize, batch_rows: usize) -> Self {
        let mut request = ReadRequest::new(spec.projection.clone());
        request.conditions.clone_from(&spec.conditions);
        request.batch_rows = batch_rows.max(1);
        request.threads = spec.threads_per_unit;
        Self { spec, partition, request }
    }

    /// The units, in the order in which their rows are to be handed out.
    pub(super) fn units(&self) -> &[Unit] {
        self.spec.runs.get(self.partition).map(Vec::as_slice).unwrap_or_default()
    }

    /// At most so many rows are needed.
    pub(super) fn limit(&self) -> Option<usize> {
        self.spec.limit
    }

    /// A strict scan that is known to be incomplete fails before it reads anything.
    pub(super) fn check_listing(&self, host: &ScanHost) -> Result<(), ReadError> {
        let layout = || self.spec.layout_findings.iter().filter(|f| f.is_problem()).cloned();
        match self.spec.on_error {
            OnError::Strict => {
                let known = self.spec.runs.iter().flatten().flat_map(|unit| self.known_problems(unit));
                layout().chain(known).try_for_each(|f| host.report(f))
            }
            // Each is counted once: these by the first partition, a unit's own when it is opened.
            OnError::Skip if self.partition == 0 => layout().try_for_each(|f| host.report(f)),
            OnError::Skip => Ok(()),
        }
    }

    fn known_problems(&self, unit: &Unit) -> Vec<Finding> {
        self.spec.format.known_problems(unit, &self.spec.projection)
    }

    /// Begins a unit of which at most `limit` rows are needed.
    pub(super) fn open(
        &self,
        unit: &Unit,
        limit: Option<usize>,
        host: &Arc<ScanHost>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        self.spec.told.begin(|| unit_name(&self.spec, unit));
        self.known_problems(unit).into_iter().try_for_each(|f| host.report(f))?;
        host.begin_unit(unit);
        let request = ReadRequest { limit, ..self.request.clone() };
        self.spec.format.open(unit, &request, Arc::clone(host) as Arc<dyn Host>)
    }

    /// What the query is told; `met` are the findings of the host that met the error. Nothing when
    /// nobody listens any more.
    pub(super) fn failure(&self, error: ReadError, met: &[Finding]) -> Option<DataFusionError> {
        match error {
            ReadError::Stopped => None,
            ReadError::Refused => {
                let error = self.spec.survey.get_or_init(|| survey(&self.spec, met)).clone();
                Some(DataFusionError::External(Box::new(error)))
            }
            ReadError::Memory(error) => Some(match error.downcast::<DataFusionError>() {
                Ok(error) => *error,
                Err(error) => DataFusionError::ResourcesExhausted(error.to_string()),
            }),
            ReadError::Arrow(error) => Some(error.into()),
        }
    }
}

/// Reads the units one after the other.
pub(super) struct Run {
    reading: Reading,
    host: Arc<ScanHost>,
    /// Units that were begun.
    begun: usize,
    left: Option<usize>,
    reader: Option<Box<dyn UnitReader>>,
    checked: bool,
}

impl Run {
    pub(super) fn new(reading: Reading, host: Arc<ScanHost>) -> Self {
        Self { left: reading.limit(), reading, host, begun: 0, reader: None, checked: false }
    }

    /// The next batch; `None` at the end or when nobody wants it.
    pub(super) fn next_batch(&mut self) -> Option<Result<RecordBatch>> {
        match self.advance() {
            Ok(batch) => batch.map(Ok),
            Err(error) => self.reading.failure(error, &self.host.take_findings()).map(Err),
        }
    }

    fn advance(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if !self.checked {
            self.checked = true;
            self.reading.check_listing(&self.host)?;
        }
        loop {
            if self.left == Some(0) {
                return Ok(None);
            }
            if self.host.stopped() {
                return Err(ReadError::Stopped);
            }
            let Some(reader) = self.reader.as_mut() else {
                let Some(unit) = self.reading.units().get(self.begun) else { return Ok(None) };
                self.begun += 1;
                self.reader = Some(self.reading.open(unit, self.left, &self.host)?);
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
            if rows > 0 {
                return Ok(Some(batch.slice(0, rows)));
            }
        }
    }
}
