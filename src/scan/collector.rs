//! A host that goes on whatever happens and keeps what it is told.

use std::sync::{Arc, Mutex};

use crate::source::{Counter, Finding, FindingLog, Host, InputFile, ReadError, Unit, UnitFile};

/// Collects what a reader reports. Cancellation, memory and metrics are those of the host behind
/// it, if there is one.
pub(super) struct Collector {
    behind: Option<Arc<dyn Host>>,
    /// The files of the unit, as they were listed.
    files: Vec<UnitFile>,
    log: Mutex<FindingLog>,
}

impl Collector {
    /// Collects what is said about this unit.
    pub(super) fn new(unit: &Unit, behind: Option<Arc<dyn Host>>) -> Self {
        Self { behind, files: unit.files.clone(), log: Mutex::default() }
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

    fn opened(&self, file: &InputFile) -> Result<(), ReadError> {
        self.count(Counter::FilesOpened, 1);
        UnitFile::shrunk(&self.files, file).map_or(Ok(()), |finding| self.report(finding))
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        if let Ok(mut log) = self.log.lock() {
            log.push(finding);
        }
        Ok(())
    }
}
