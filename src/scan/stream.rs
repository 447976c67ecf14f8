//! One partition as a stream: readers on a blocking thread, batches through a short channel.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::physical_plan::metrics::{BaselineMetrics, Time};
use datafusion::physical_plan::stream::{RecordBatchReceiverStreamBuilder, RecordBatchStreamAdapter};
use futures::{Stream, StreamExt};

use super::ahead::Window;
use super::exec::ScanSpec;
use super::host::HostMaker;
use super::run::{Reading, Run};

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
    hosts: HostMaker,
    baseline: BaselineMetrics,
    read_time: Time,
) -> SendableRecordBatchStream {
    let schema = Arc::clone(&spec.schema);
    let mut builder = RecordBatchReceiverStreamBuilder::new(Arc::clone(&schema), CHANNEL);
    let sender = builder.tx();
    let stop = hosts.stop();
    let readers = spec.readers.min(spec.runs.get(partition).map_or(0, Vec::len));
    let reading = Reading::new(spec, partition, batch_rows);
    if readers > 1 {
        let window = Arc::new(Window::new(reading, readers, hosts.waiting()));
        for _ in 0..readers {
            let (window, host) = (Arc::clone(&window), Arc::new(hosts.host()));
            let read_time = read_time.clone();
            builder.spawn_blocking(move || {
                window.work(&host, &read_time);
                Ok(())
            });
        }
        let host = Arc::new(hosts.host());
        builder.spawn_blocking(move || {
            window.deliver(&host, &read_time, |batch| sender.blocking_send(batch).is_ok());
            Ok(())
        });
    } else {
        let host = Arc::new(hosts.host());
        builder.spawn_blocking(move || {
            let mut run = Run::new(reading, host);
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
    }
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
