//! A host that goes on whatever happens and keeps what it is told.

use std::sync::{Arc, Mutex};

use crate::source::{Counter, Finding, FindingLog, Host, ReadError};

/// Collects what a reader reports. Cancellation, memory and metrics are those of the host behind
/// it, if there is one.
pub(super) struct Collector {
    behind: Option<Arc<dyn Host>>,
    log: Mutex<FindingLog>,
}

impl Collector {
    pub(super) fn new(behind: Option<Arc<dyn Host>>) -> Self {
        Self { behind, log: Mutex::default() }
    }

    /// What was reported.
    pub(super) fn take(&self) -> Vec<Finding> {
        self.log.lock().map(|mut log| std::mem::take(&mut *log).into_findings()).unwrap_or_default()
    }
}

impl Host for Collector {
    fn stopped(&self) -> bool {
        self.behind.as_ref().is_some_and(|h| h.stopped())
    }

    fn reserve(&self, bytes: usize) -> Result<(), ReadError> {
        self.behind.as_ref().map_or(Ok(()), |h| h.reserve(bytes))
    }

    fn count(&self, counter: Counter, n: u64) {
        if let Some(host) = &self.behind {
            host.count(counter, n);
        }
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        if let Ok(mut log) = self.log.lock() {
            log.push(finding);
        }
        Ok(())
    }
}
