//! A memory pool that refuses when it is told to, and counts.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::{MemoryPool, MemoryReservation};

/// What the error of a refusal says of the limit.
pub(crate) const LIMIT: &str = "the limit of 123 MB is reached";

/// Grants everything but the n-th request.
#[derive(Debug, Default)]
pub(crate) struct FailingPool {
    /// Which request is refused, from 1; 0 for none.
    fails: usize,
    /// Whether those after it are refused, too.
    for_good: bool,
    asked: AtomicUsize,
    reserved: AtomicUsize,
    peak: AtomicUsize,
}

impl FailingPool {
    /// A pool that refuses the n-th request, and with `for_good` all after it.
    pub(crate) fn new(fails: usize, for_good: bool) -> Self {
        Self { fails, for_good, ..Self::default() }
    }

    /// Whether a request was refused.
    pub(crate) fn refused(&self) -> bool {
        self.fails > 0 && self.asked.load(Ordering::SeqCst) >= self.fails
    }

    /// The most that was reserved at a time, in bytes.
    pub(crate) fn peak(&self) -> usize {
        self.peak.load(Ordering::SeqCst)
    }
}

impl fmt::Display for FailingPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failing at {}", self.fails)
    }
}

impl MemoryPool for FailingPool {
    fn name(&self) -> &str {
        "failing"
    }

    fn grow(&self, _: &MemoryReservation, additional: usize) {
        let now = self.reserved.fetch_add(additional, Ordering::SeqCst) + additional;
        self.peak.fetch_max(now, Ordering::SeqCst);
    }

    fn shrink(&self, _: &MemoryReservation, shrink: usize) {
        let before = self.reserved.fetch_sub(shrink, Ordering::SeqCst);
        assert!(before >= shrink, "more is given back than was taken");
    }

    fn try_grow(&self, reservation: &MemoryReservation, additional: usize) -> Result<()> {
        let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
        if number == self.fails || self.for_good && self.fails > 0 && number > self.fails {
            let name = reservation.consumer().name();
            return Err(DataFusionError::ResourcesExhausted(format!("{name}: {LIMIT}")));
        }
        self.grow(reservation, additional);
        Ok(())
    }

    fn reserved(&self) -> usize {
        self.reserved.load(Ordering::SeqCst)
    }
}
