//! The threads that queries run on.

use std::io;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle as Thread};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

/// Worker threads, which can be exchanged for fresh ones.
pub(crate) struct Workers {
    threads: NonZeroUsize,
    /// Always there; an `Option` only because shutting a runtime down consumes it.
    runtime: Option<Runtime>,
    /// Those who wait for threads that were left behind.
    leaving: Vec<Thread<()>>,
}

/// How long the program waits at its end for what was cancelled: a reader stops and a staged file goes
/// within milliseconds, but an operator may be in the middle of a long calculation.
const GRACE: Duration = Duration::from_millis(700);

/// Deep expressions are planned recursively; the default of 2 MiB is too little for some. A chain of
/// operators of the longest length that is allowed must fit. Only what is used of it is memory.
const STACK: usize = 32 << 20;

impl Workers {
    /// Starts so many threads.
    ///
    /// # Errors
    /// The system's, when it has no more threads.
    pub(crate) fn start(threads: NonZeroUsize) -> io::Result<Self> {
        Ok(Self { threads, runtime: Some(runtime(threads)?), leaving: vec![] })
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
            self.leave(old);
        }
        Ok(())
    }

    /// Ends threads in the background, because only outside of a runtime somebody may wait for them.
    fn leave(&mut self, runtime: Runtime) {
        self.leaving.retain(|thread| !thread.is_finished());
        let runtime = Arc::new(Mutex::new(Some(runtime)));
        let take = |from: &Mutex<Option<Runtime>>| from.lock().ok().and_then(|mut runtime| runtime.take());
        let moved = Arc::clone(&runtime);
        let waits = thread::Builder::new().spawn(move || {
            if let Some(runtime) = take(&moved) {
                runtime.shutdown_timeout(GRACE);
            }
        });
        match waits {
            Ok(thread) => self.leaving.push(thread),
            // Without another thread nobody can wait.
            Err(_) => {
                if let Some(runtime) = take(&runtime) {
                    runtime.shutdown_background();
                }
            }
        }
    }
}

impl Drop for Workers {
    /// Waits a moment, so that nothing is left on the disk of what was cancelled.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            self.leave(runtime);
        }
        for thread in self.leaving.drain(..) {
            let _ = thread.join();
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
