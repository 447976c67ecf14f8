//! How far a scan is, for whoever watches it.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

/// What the readers of a scan tell about themselves. Clones of a scan share it.
#[derive(Debug, Default)]
pub(super) struct Told {
    begun: AtomicUsize,
    current: Mutex<String>,
}

impl Told {
    /// A reader begins a unit, which is called like this.
    pub(super) fn begin(&self, name: impl FnOnce() -> String) {
        self.begun.fetch_add(1, Ordering::Relaxed);
        // Whoever looks at it at this moment is no reason to wait.
        if let Ok(mut current) = self.current.try_lock() {
            *current = name();
        }
    }

    pub(super) fn look(self: &Arc<Self>) -> (usize, String) {
        let current = self.current.lock().map(|name| name.clone()).unwrap_or_default();
        (self.begun.load(Ordering::Relaxed), current)
    }
}

/// How far a scan is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Progress {
    /// Units that were selected.
    pub units: usize,
    /// Units that were begun.
    pub begun: usize,
    /// Files of all selected units. Not each of them may be needed.
    pub files: usize,
    /// Their size, in bytes.
    pub bytes: u64,
    /// What was begun last: `role actor, rank_id 3`. Empty before anything was.
    pub current: String,
}
