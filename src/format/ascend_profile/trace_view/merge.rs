//! From proven batches to one log of ops.

use std::path::Path;

use crate::format::ascend_profile::ops::{NO_STACK, Op, OpLog, QueueSlice};
use crate::source::{Counter, Finding, Host, ReadError};
use crate::text::interner::Interner;

use super::batch::{Batch, NewTexts};
use super::ledger::Ledger;
use super::trouble::Notes;

/// Puts batches together, in file order, and reports what is wrong in them.
pub(super) struct Merger<'a> {
    path: &'a Path,
    host: &'a dyn Host,
    log: OpLog,
    threads: Interner,
    correlations: Interner,
    /// For each collector, its numbers and what they are here.
    collectors: Vec<Numbers>,
    notes: Notes,
    ledger: Ledger<'a>,
    problems: u64,
}

/// The numbers of one collector.
#[derive(Debug, Default)]
struct Numbers {
    names: Vec<Slot>,
    stacks: Vec<Slot>,
    threads: Vec<Slot>,
}

/// What a number of a collector stands for.
#[derive(Debug)]
enum Slot {
    /// A text that no proven event has used yet.
    New(String),
    /// A number here.
    Known(u32),
}

impl<'a> Merger<'a> {
    /// An empty log for batches of so many collectors.
    pub(super) fn new(path: &'a Path, host: &'a dyn Host, collectors: usize) -> Self {
        Self {
            path,
            host,
            log: OpLog::default(),
            threads: Interner::new(),
            correlations: Interner::new(),
            collectors: (0..collectors).map(|_| Numbers::default()).collect(),
            notes: Notes::default(),
            ledger: Ledger::new(host),
            problems: 0,
        }
    }

    /// Where the input is.
    pub(super) fn path(&self) -> &'a Path {
        self.path
    }

    /// Notes that concern the file as a whole.
    pub(super) fn notes(&mut self) -> &mut Notes {
        &mut self.notes
    }

    /// Reports a problem.
    ///
    /// # Errors
    /// When the host refuses to go on.
    pub(super) fn problem(&mut self, finding: Finding) -> Result<(), ReadError> {
        self.problems += 1;
        self.host.report(finding)
    }

    /// Appends a batch, the next one in the file.
    ///
    /// # Errors
    /// When the host refuses to go on after a problem, or memory is used up.
    pub(super) fn append(&mut self, collector: usize, mut batch: Batch) -> Result<(), ReadError> {
        self.learn(collector, std::mem::take(&mut batch.new));
        self.host.count(Counter::EventsRead, batch.elements);
        self.notes.merge(&batch.notes);
        for finding in batch.troubles.findings(self.path) {
            self.problem(finding)?;
        }
        let Some(numbers) = self.collectors.get_mut(collector) else { return Ok(()) };
        for op in batch.ops {
            let name = number(&mut numbers.names, op.name, &mut self.log.names);
            let stack = match op.stack {
                NO_STACK => NO_STACK,
                stack => number(&mut numbers.stacks, stack, &mut self.log.stacks),
            };
            let thread = number(&mut numbers.threads, op.thread, &mut self.threads);
            self.log.ops.push(Op { name, stack, thread, ..op });
        }
        for (from, to) in [(batch.enqueues, &mut self.log.enqueues), (batch.dequeues, &mut self.log.dequeues)]
        {
            for slice in from {
                let thread = number(&mut numbers.threads, slice.thread, &mut self.threads);
                let id = batch.correlations.get(slice.correlation as usize);
                let correlation = self.correlations.intern(id.map_or("", String::as_str));
                to.push(QueueSlice { thread, correlation, ..slice });
            }
        }
        let used = self.allocated();
        self.ledger.cover(used)
    }

    /// Takes what a collector has learned from a piece that was guessed wrongly, and nothing else.
    pub(super) fn discard(&mut self, collector: usize, batch: Batch) {
        self.learn(collector, batch.new);
    }

    fn learn(&mut self, collector: usize, new: NewTexts) {
        if let Some(numbers) = self.collectors.get_mut(collector) {
            numbers.names.extend(new.names.into_iter().map(Slot::New));
            numbers.stacks.extend(new.stacks.into_iter().map(Slot::New));
            numbers.threads.extend(new.threads.into_iter().map(Slot::New));
        }
    }

    fn allocated(&self) -> usize {
        let numbers = |n: &Numbers| {
            (n.names.capacity() + n.stacks.capacity() + n.threads.capacity()) * size_of::<Slot>()
        };
        self.log.names.allocated()
            + self.log.stacks.allocated()
            + self.threads.allocated()
            + self.correlations.allocated()
            + self.log.ops.capacity() * size_of::<Op>()
            + (self.log.enqueues.capacity() + self.log.dequeues.capacity()) * size_of::<QueueSlice>()
            + self.collectors.iter().map(numbers).sum::<usize>()
    }

    /// Reports the notes and returns the log.
    ///
    /// # Errors
    /// When the host refuses to go on.
    pub(super) fn finish(mut self) -> Result<OpLog, ReadError> {
        if self.problems == 0 && self.log.stacks.is_empty() {
            self.host.report(super::no_stacks(self.path))?;
        }
        for finding in self.notes.findings(self.path) {
            self.host.report(finding)?;
        }
        self.log.ops.shrink_to_fit();
        Ok(self.log)
    }
}

/// What a number of a collector is here; its text is interned when it is used for the first time.
#[inline]
fn number(slots: &mut [Slot], id: u32, interner: &mut Interner) -> u32 {
    match slots.get_mut(id as usize) {
        Some(Slot::Known(id)) => *id,
        Some(slot @ Slot::New(_)) => {
            let text = match slot {
                Slot::New(text) => std::mem::take(text),
                Slot::Known(_) => String::new(),
            };
            let id = interner.intern(&text);
            *slot = Slot::Known(id);
            id
        }
        // Numbers without a text: the thread, when threads are not asked for.
        None => id,
    }
}
