//! What a piece of a trace holds, before it is known to be a piece of it.

use crate::format::ascend_profile::ops::{Detail, NO_STACK, Op, QueueSlice};
use crate::text::json::array::{Fault, Visitor};
use crate::text::json::escape::{Oddities, text_of};
use crate::text::json::pull::{Kind, Value};

use super::dictionary::Dictionary;
use super::event::{Event, nanos, shown};
use super::trouble::{Notes, Trouble, Troubles};

/// The wanted events of one piece. Names, stacks and threads are numbers of the [`Collector`] that
/// made the batch; correlations are indices of `correlations`.
#[derive(Debug, Default)]
pub(super) struct Batch {
    pub(super) ops: Vec<Op>,
    pub(super) enqueues: Vec<QueueSlice>,
    pub(super) dequeues: Vec<QueueSlice>,
    /// The correlation ids as text, each behind its process: every process counts its own.
    pub(super) correlations: Vec<String>,
    /// Texts of the names, stacks and threads that this collector met first in this batch.
    pub(super) new: NewTexts,
    pub(super) notes: Notes,
    pub(super) troubles: Troubles,
    /// Elements of any kind that were passed.
    pub(super) elements: u64,
}

/// Texts that a collector has met for the first time, in order of their numbers.
#[derive(Debug, Default)]
pub(super) struct NewTexts {
    pub(super) names: Vec<String>,
    pub(super) stacks: Vec<String>,
    pub(super) threads: Vec<String>,
}

/// Makes batches of the events that a scanner hands over.
#[derive(Debug)]
pub(super) struct Collector {
    detail: Detail,
    batch: Batch,
    names: Dictionary,
    stacks: Dictionary,
    threads: Dictionary,
    thread_key: Vec<u8>,
    /// The largest event that is read, for the message.
    limit: usize,
}

impl Collector {
    /// A collector for events of at most `limit` bytes.
    pub(super) fn new(detail: Detail, limit: usize) -> Self {
        Self {
            detail,
            batch: Batch::default(),
            names: Dictionary::new(text_of),
            stacks: Dictionary::new(text_of),
            threads: Dictionary::new(|raw| Some((String::from_utf8_lossy(raw), Oddities::default()))),
            thread_key: Vec::new(),
            limit,
        }
    }

    /// What was collected since the last call.
    pub(super) fn take(&mut self, elements: u64) -> Batch {
        let mut batch = std::mem::take(&mut self.batch);
        batch.elements = elements;
        batch.new = NewTexts {
            names: self.names.take_new(),
            stacks: self.stacks.take_new(),
            threads: self.threads.take_new(),
        };
        batch
    }

    /// Memory in use, in bytes.
    pub(super) fn allocated(&self) -> usize {
        self.names.allocated()
            + self.stacks.allocated()
            + self.threads.allocated()
            + self.batch.ops.capacity() * size_of::<Op>()
            + (self.batch.enqueues.capacity() + self.batch.dequeues.capacity()) * size_of::<QueueSlice>()
            + self.batch.correlations.capacity() * (size_of::<String>() + 16)
    }

    fn trouble(&mut self, trouble: Trouble, at: u64, found: Option<&Value>) {
        self.batch.troubles.push(trouble, at, || shown(found));
    }

    /// A `cpu_op`; `None` when it is not kept.
    #[inline]
    fn op(&mut self, at: u64, event: &Event) -> Option<Op> {
        let all = self.detail == Detail::Owners;
        let stack = match event.args.stack {
            Some(Value { kind: Kind::String, raw }) => Some(raw),
            other => {
                match other {
                    Some(Value { kind: Kind::Null, .. }) => self.batch.notes.null_stack(at),
                    Some(_) => self.trouble(Trouble::Stack, at, other.as_ref()),
                    None => {}
                }
                if !all {
                    return None;
                }
                None
            }
        };
        let name = match &event.name {
            None => &b""[..],
            Some(Value { kind: Kind::String, raw }) => raw,
            other => {
                self.trouble(Trouble::Name, at, other.as_ref());
                return None;
            }
        };
        let (start_ns, end_ns) = self.time(at, event)?;
        let thread = if all { self.thread(event)? } else { 0 };
        let name = self.name(at, name)?;
        let stack = match stack {
            Some(raw) => self.stack(at, raw)?,
            None => NO_STACK,
        };
        Some(Op { start_ns, end_ns, name, stack, thread })
    }

    fn name(&mut self, at: u64, raw: &[u8]) -> Option<u32> {
        let Some((id, odd)) = self.names.intern(raw) else {
            self.batch.troubles.push(Trouble::Escape, at, || "the name".to_owned());
            return None;
        };
        self.batch.notes.string(at, odd);
        Some(id)
    }

    #[inline]
    fn stack(&mut self, at: u64, raw: &[u8]) -> Option<u32> {
        let Some((id, odd)) = self.stacks.intern(raw) else {
            self.batch.troubles.push(Trouble::Escape, at, || "the call stack".to_owned());
            return None;
        };
        self.batch.notes.string(at, odd);
        Some(id)
    }

    /// Start and end; `None` when there is no start.
    #[inline]
    fn time(&mut self, at: u64, event: &Event) -> Option<(i64, i64)> {
        let Some(start) = event.ts.as_ref().and_then(nanos) else {
            self.trouble(Trouble::Time, at, event.ts.as_ref());
            return None;
        };
        let duration = match &event.dur {
            None | Some(Value { kind: Kind::Null, .. }) => 0,
            Some(value) => nanos(value).filter(|d| *d >= 0).unwrap_or_else(|| {
                self.trouble(Trouble::Duration, at, Some(value));
                0
            }),
        };
        Some((start, start.saturating_add(duration)))
    }

    /// The number of the pair of process and thread.
    #[inline]
    fn thread(&mut self, event: &Event) -> Option<u32> {
        self.thread_key.clear();
        self.thread_key.extend_from_slice(event.pid.map_or(b"", |v| v.raw));
        // A byte that no number holds keeps the pairs apart.
        self.thread_key.push(0);
        self.thread_key.extend_from_slice(event.tid.map_or(b"", |v| v.raw));
        self.threads.intern(&self.thread_key).map(|(id, _)| id)
    }

    /// An `enqueue` or `dequeue`; without a correlation id it is of no use.
    fn slice(&mut self, at: u64, event: &Event) -> Option<QueueSlice> {
        let id = match event.args.correlation? {
            Value { kind: Kind::Number, raw } => String::from_utf8_lossy(raw),
            Value { kind: Kind::String, raw } => text_of(raw)?.0,
            _ => return None,
        };
        let (start_ns, end_ns) = self.time(at, event)?;
        let thread = self.thread(event)?;
        let correlation = self.batch.correlations.len() as u32;
        let process = String::from_utf8_lossy(event.pid.map_or(b"", |v| v.raw));
        // A character that no number holds keeps the pairs apart.
        self.batch.correlations.push(format!("{process}\0{id}"));
        Some(QueueSlice { start_ns, end_ns, thread, correlation })
    }
}

impl Visitor for Collector {
    #[inline]
    fn object(&mut self, at: u64, bytes: &[u8]) {
        let event = match Event::parse(bytes) {
            Ok(event) => event,
            Err(broken) => {
                let detail = || format!("{} at byte {}", broken.expected, at + broken.at as u64);
                self.batch.troubles.push(Trouble::Grammar, at, detail);
                return;
            }
        };
        if event.is("cpu_op") {
            if let Some(op) = self.op(at, &event) {
                self.batch.ops.push(op);
            }
        } else if self.detail == Detail::Owners {
            if event.is("enqueue") {
                let slice = self.slice(at, &event);
                self.batch.enqueues.extend(slice);
            } else if event.is("dequeue") {
                let slice = self.slice(at, &event);
                self.batch.dequeues.extend(slice);
            }
        }
    }

    fn not_object(&mut self, at: u64, found: &'static str) {
        self.batch.troubles.push(Trouble::NotObject, at, || found.to_owned());
    }

    fn fault(&mut self, at: u64, fault: Fault) {
        let trouble = match fault {
            Fault::MissingComma => Trouble::MissingComma,
            Fault::ExtraComma => Trouble::ExtraComma,
            Fault::Garbage => Trouble::Garbage,
            Fault::Mismatched => Trouble::Mismatched,
            Fault::TooLarge => Trouble::TooLarge,
        };
        let limit = self.limit;
        self.batch.troubles.push(trouble, at, || format!("{limit} bytes"));
    }
}
