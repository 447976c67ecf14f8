//! How the steps of one run follow each other: the plan behind global steps.
//!
//! With micro-steps the global step of a row is its micro-step plus an offset: the number of
//! micro-steps of all earlier steps, where a step has as many as that of its ranks that has most. So
//! an offset depends on every `construct.json` of earlier steps, also of ranks that a query does not
//! select. Two phases keep that cheap:
//!
//! 1. Listing. [`Series`] knows, from directory names alone, which files belong to which step.
//! 2. Counting, at the latest when the first rows of a unit are handed out. Each file is counted
//!    once, by whoever needs it first; a unit that is being read publishes its own count, so that in
//!    a complete scan no file is read twice. Threads that need an offset at the same time share the
//!    counting.
//!
//! A unit of the first step needs nothing but itself, and a query without the column `step` never
//! counts.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::source::{Finding, Host, ReadError};

use super::constructs::Constructs;

/// The files of one run, in order of their steps.
#[derive(Debug, Default)]
pub(super) struct Series {
    members: Vec<Member>,
    constructs: Constructs,
    /// The first member that nobody has begun to count.
    next: AtomicUsize,
}

/// One dump of one step and rank.
#[derive(Debug)]
struct Member {
    step: i64,
    construct: PathBuf,
    /// The number of its micro-steps, or why it cannot be told.
    count: Mutex<Option<Result<i64, Finding>>>,
}

/// The micro-steps before a step.
#[derive(Debug, Clone)]
pub(super) struct Offset {
    /// How many there are.
    pub(super) steps: i64,
    /// The first earlier file that could not be counted; its step counts as one micro-step.
    pub(super) doubt: Option<Finding>,
}

impl Series {
    /// A run with these pairs of step and `construct.json`.
    pub(super) fn new(mut members: Vec<(i64, PathBuf)>) -> Self {
        members.sort();
        let members = members
            .into_iter()
            .map(|(step, construct)| Member { step, construct, count: Mutex::default() })
            .collect();
        Self { members, constructs: Constructs::default(), next: AtomicUsize::new(0) }
    }

    /// What was made of the `construct.json` files of the run.
    pub(super) fn constructs(&self) -> &Constructs {
        &self.constructs
    }

    /// Tells the count of a file that was read for its own sake.
    pub(super) fn publish(&self, step: i64, construct: &Path, count: i64) {
        let at = self.members.binary_search_by(|m| (m.step, m.construct.as_path()).cmp(&(step, construct)));
        let member = at.ok().and_then(|at| self.members.get(at));
        // Somebody who holds the lock is counting the same file.
        if let Some(Ok(mut slot)) = member.map(|m| m.count.try_lock())
            && slot.is_none()
        {
            *slot = Some(Ok(count));
        }
    }

    /// The number of micro-steps before this step.
    ///
    /// # Errors
    /// When the host stops the counting.
    pub(super) fn offset(&self, step: i64, host: &dyn Host) -> Result<Offset, ReadError> {
        let before = self.members.partition_point(|m| m.step < step);
        // First the files that nobody is at, so that threads share the work.
        loop {
            let at = self.next.load(Ordering::Relaxed);
            if at >= before {
                break;
            }
            if self.next.compare_exchange(at, at + 1, Ordering::Relaxed, Ordering::Relaxed).is_ok()
                && let Some(member) = self.members.get(at)
            {
                let _ = member.count(&self.constructs, host)?;
            }
        }
        let mut offset = Offset { steps: 0, doubt: None };
        for same_step in self.members.get(..before).unwrap_or_default().chunk_by(|a, b| a.step == b.step) {
            let mut most = None;
            for member in same_step {
                match member.count(&self.constructs, host)? {
                    Ok(count) => most = most.max(Some(count)),
                    Err(finding) => offset.doubt = offset.doubt.or(Some(finding)),
                }
            }
            offset.steps = offset.steps.saturating_add(most.unwrap_or(1));
        }
        Ok(offset)
    }

    /// The number of micro-steps up to and including this step.
    ///
    /// # Errors
    /// As [`Series::offset`].
    pub(super) fn end(&self, step: i64, host: &dyn Host) -> Result<Offset, ReadError> {
        self.offset(step.saturating_add(1), host)
    }
}

impl Member {
    fn count(&self, constructs: &Constructs, host: &dyn Host) -> Result<Result<i64, Finding>, ReadError> {
        let Ok(mut slot) = self.count.lock() else { return Ok(Ok(1)) };
        if let Some(count) = slot.as_ref() {
            return Ok(count.clone());
        }
        let count = constructs
            .read(&self.construct, host)?
            .and_then(|(steps, faults)| faults.into_iter().next().map_or(Ok(steps.count()), Err));
        *slot = Some(count.clone());
        Ok(count)
    }
}
