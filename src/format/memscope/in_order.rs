//! Numbered pieces of work done by several threads, their results in order.
//!
//! ```text
//!           front                        next
//! pieces  ────┼────────────┼───────────────┼──────────────▶
//!    handed out│ done, or at work: at most `ahead` │ nobody is at it
//! ```
//!
//! Workers take the pieces in order and never more than a few beyond the one that is handed out next,
//! so memory does not grow with the work, and that one is always at work or done.

use std::any::Any;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

/// Does one piece of the work. Each thread has its own, with its own buffers.
pub(super) type Worker<T> = Box<dyn FnMut(u64) -> T + Send>;

/// The results of the pieces `0..count`, in order.
pub(super) enum InOrder<T> {
    /// Done by whoever asks for them.
    Here { worker: Worker<T>, next: u64, count: u64 },
    /// Done ahead by threads.
    Ahead { shared: Arc<Shared<T>>, threads: Vec<JoinHandle<()>> },
}

/// What workers and consumer share.
pub(super) struct Shared<T> {
    state: Mutex<State<T>>,
    changed: Condvar,
    count: u64,
    ahead: usize,
}

struct State<T> {
    /// The first piece that nobody has begun.
    next: u64,
    /// The pieces that were begun and not handed out, `None` while somebody is at work.
    slots: VecDeque<Option<Result<T, Box<dyn Any + Send>>>>,
    /// Nobody wants more.
    closed: bool,
}

impl<T: Send + 'static> InOrder<T> {
    /// Starts the work with as many workers as are given. One alone works when it is asked.
    pub(super) fn new(count: u64, mut workers: Vec<Worker<T>>) -> Self {
        if workers.len() < 2
            && let Some(worker) = workers.pop()
        {
            return Self::Here { worker, next: 0, count };
        }
        let state = State { next: 0, slots: VecDeque::new(), closed: false };
        let ahead = workers.len() + 2;
        let shared = Arc::new(Shared { state: Mutex::new(state), changed: Condvar::new(), count, ahead });
        let threads = workers.into_iter().map(|worker| {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || shared.work(worker))
        });
        let threads = threads.collect();
        Self::Ahead { shared, threads }
    }

    /// The next result; `None` behind the last one.
    pub(super) fn next(&mut self) -> Option<T> {
        match self {
            Self::Here { worker, next, count } => (*next < *count).then(|| {
                *next += 1;
                worker(*next - 1)
            }),
            Self::Ahead { shared, .. } => shared.take(),
        }
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State<T>>) -> MutexGuard<'a, State<T>> {
        self.changed.wait(state).unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self, mut worker: Worker<T>) {
        let mut state = self.lock();
        loop {
            while !state.closed && state.next < self.count && state.slots.len() >= self.ahead {
                state = self.wait(state);
            }
            if state.closed || state.next >= self.count {
                return;
            }
            let number = state.next;
            state.next += 1;
            state.slots.push_back(None);
            drop(state);
            // A panic in a reader is a fault of ours; it must not look like an end of data.
            let done = catch_unwind(AssertUnwindSafe(|| worker(number)));
            state = self.lock();
            // The slots are those of the last pieces that were begun.
            let behind = usize::try_from(state.next - number).unwrap_or(usize::MAX);
            if let Some(at) = state.slots.len().checked_sub(behind)
                && let Some(slot) = state.slots.get_mut(at)
            {
                *slot = Some(done);
            }
            self.changed.notify_all();
        }
    }

    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        loop {
            match state.slots.front_mut().map(Option::take) {
                Some(Some(done)) => {
                    state.slots.pop_front();
                    self.changed.notify_all();
                    return Some(done.unwrap_or_else(|panic| resume_unwind(panic)));
                }
                None if state.next >= self.count => return None,
                _ => state = self.wait(state),
            }
        }
    }
}

impl<T> Drop for InOrder<T> {
    fn drop(&mut self) {
        if let Self::Ahead { shared, threads } = self {
            shared.lock().closed = true;
            shared.changed.notify_all();
            // Each ends with the piece that it is at. One that panicked has told so already.
            threads.drain(..).for_each(|thread| drop(thread.join()));
        }
    }
}

impl<T> std::fmt::Debug for InOrder<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("InOrder").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    fn workers(n: usize, work: impl Fn(u64) -> u64 + Clone + Send + 'static) -> Vec<Worker<u64>> {
        (0..n).map(|_| Box::new(work.clone()) as Worker<u64>).collect()
    }

    #[test]
    fn results_come_in_order_whoever_is_slow() {
        for threads in [1, 2, 3, 8] {
            for count in [0, 1, 2, 40] {
                let slow = |n: u64| {
                    std::thread::sleep(Duration::from_micros(n * 7919 % 11 * 100));
                    n * n
                };
                let mut all = InOrder::new(count, workers(threads, slow));
                let got: Vec<u64> = std::iter::from_fn(|| all.next()).collect();
                assert_eq!(got, (0..count).map(|n| n * n).collect::<Vec<_>>(), "{threads} {count}");
                assert_eq!(all.next(), None);
            }
        }
    }

    #[test]
    fn no_more_is_done_than_a_few_pieces_ahead_and_nothing_after_a_drop() {
        let done = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&done);
        let mut all = InOrder::new(
            1000,
            workers(2, move |n| {
                count.fetch_add(1, Ordering::SeqCst);
                n
            }),
        );
        assert_eq!((all.next(), all.next()), (Some(0), Some(1)));
        std::thread::sleep(Duration::from_millis(100));
        drop(all);
        let at_drop = done.load(Ordering::SeqCst);
        assert!(at_drop <= 6, "{at_drop}");
        std::thread::sleep(Duration::from_millis(20));
        assert_eq!(done.load(Ordering::SeqCst), at_drop);
    }

    #[test]
    fn a_panic_reaches_whoever_waits() {
        let mut all = InOrder::new(9, workers(2, |n| if n == 3 { panic!("at 3") } else { n }));
        let got = catch_unwind(AssertUnwindSafe(|| (0..9).map(|_| all.next()).collect::<Vec<_>>()));
        assert_eq!(got.unwrap_err().downcast_ref::<&str>(), Some(&"at 3"));
    }
}
