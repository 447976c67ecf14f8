//! From a stream of batches to a writer on a blocking thread.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::runtime::SpawnedTask;
use datafusion::common::{DataFusionError, Result, exec_err};
use datafusion::datasource::sink::DataSink;
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::metrics::{ExecutionPlanMetricsSet, MetricBuilder, MetricsSet};
use datafusion::physical_plan::{DisplayAs, DisplayFormatType};
use futures::StreamExt;
use tokio::sync::mpsc;

use super::SinkError;
use super::export::{Opener, Remark};

/// Batches that may wait for the writer.
const CHANNEL: usize = 4;

/// Names of the metrics that are remarks about what was written, and how they are put for people:
/// the shell looks for them behind every COPY.
pub const REMARKS: [(&str, &str); 8] = [
    ("values_clipped", "finite values beyond 1e9 were cut to it"),
    ("values_infinite", "infinite values were stored as 1000000001 or -1000000001"),
    ("values_nan", "NaN were stored as NULL"),
    ("rows_repeated", "rows were left out: their target already has values for that rank and step"),
    ("rows_without_metric", "rows were left out: they have no metric_name"),
    ("nonfinite_as_null", "NaN or infinite values were written as null; -o FILE --format ndjson keeps them"),
    ("empty_as_null", "empty texts were written like NULL; -o FILE --format csv tells them apart"),
    ("infinities_kept", "infinite values were stored as Inf, which few programs expect"),
];

/// Writes the rows of one COPY.
pub(super) struct ExportSink {
    name: &'static str,
    schema: SchemaRef,
    open: Opener,
    metrics: ExecutionPlanMetricsSet,
}

impl ExportSink {
    pub(super) fn new(name: &'static str, schema: SchemaRef, open: Opener) -> Self {
        Self { name, schema, open, metrics: ExecutionPlanMetricsSet::new() }
    }
}

impl fmt::Debug for ExportSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExportSink").field("name", &self.name).finish_non_exhaustive()
    }
}

impl DisplayAs for ExportSink {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// What the writer is told.
enum Message {
    Rows(RecordBatch),
    /// These were all. A channel that ends without it means that the query failed or was given up.
    Complete,
}

#[async_trait]
impl DataSink for ExportSink {
    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    async fn write_all(&self, mut data: SendableRecordBatchStream, _: &Arc<TaskContext>) -> Result<u64> {
        let (sender, mut receiver) = mpsc::channel(CHANNEL);
        let open = Arc::clone(&self.open);
        let job = SpawnedTask::spawn_blocking(move || -> Result<Option<(u64, Vec<Remark>)>, SinkError> {
            let mut writer = open()?;
            while let Some(message) = receiver.blocking_recv() {
                match message {
                    Message::Rows(batch) => writer.write(&batch)?,
                    Message::Complete => return writer.finish().map(Some),
                }
            }
            Ok(None)
        });
        let mut failed = None;
        while let Some(batch) = data.next().await {
            match batch {
                Ok(batch) => {
                    // When the writer has ended, it says why below.
                    if sender.send(Message::Rows(batch)).await.is_err() {
                        break;
                    }
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        // Readers need not go on while the file is being completed, or after a failure.
        drop(data);
        if failed.is_none() {
            let _ = sender.send(Message::Complete).await;
        }
        drop(sender);
        let written = job.join().await.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)))?;
        match (failed, written) {
            (Some(error), _) => Err(error),
            (None, Err(error)) => Err(DataFusionError::External(Box::new(error))),
            (None, Ok(None)) => exec_err!("{}: given up before the rows were complete", self.name),
            (None, Ok(Some((rows, remarks)))) => {
                for remark in remarks.iter().filter(|r| r.count > 0) {
                    let count = usize::try_from(remark.count).unwrap_or(usize::MAX);
                    MetricBuilder::new(&self.metrics).counter(remark.name, 0).add(count);
                }
                Ok(rows)
            }
        }
    }
}
