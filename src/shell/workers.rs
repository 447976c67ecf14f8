//! The threads that queries run on.

use std::io;
use std::num::NonZeroUsize;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Worker threads, which can be exchanged for fresh ones.
pub(crate) struct Workers {
    threads: NonZeroUsize,
    /// Always there; an `Option` only because shutting a runtime down consumes it.
    runtime: Option<Runtime>,
}

/// Deep expressions are planned recursively; the default of 2 MiB is too little for some. A chain of
/// operators of the longest length that is allowed must fit. Only what is used of it is memory.
const STACK: usize = 32 << 20;

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// The system's, when it has no more threads.
    pub(crate) fn start(threads: NonZeroUsize) -> io::Result<Self> {
        Ok(Self { threads, runtime: Some(runtime(threads)?) })
    }

    /// Runs a task on these threads. `None` when there are none left.
    pub(crate) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> Option<JoinHandle<T>> {
        self.runtime.as_ref().map(|r| r.spawn(task))
    }

    /// Leaves what runs behind and goes on with fresh threads. A cancelled operator may be in the
    /// middle of a long calculation, and the next query must not wait for it.
    ///
    /// # Errors
    /// As [`start`](Self::start); the old threads stay then.
    pub(crate) fn renew(&mut self) -> io::Result<()> {
        let fresh = runtime(self.threads)?;
        if let Some(old) = self.runtime.replace(fresh) {
            old.shutdown_background();
        }
        Ok(())
    }
}

impl Drop for Workers {
    /// Without waiting: a cancelled reader may be in the middle of a file.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime(threads: NonZeroUsize) -> io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(threads.get())
        .thread_name("query")
        .thread_stack_size(STACK)
        .enable_all()
        .build()
}
