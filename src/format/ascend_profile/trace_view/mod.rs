//! `trace_view.json`: what a profiler's trace tells about ops, their call stacks and the task queue.
//!
//! A trace is one JSON array of events, or an object that holds it as `traceEvents`, plain or
//! compressed with gzip. It can have gigabytes, and a few per cent of its events matter, so it is
//! streamed: only the event that is open is in memory, and only events that hold one of the
//! wanted strings are parsed. An event that is skipped is checked for balanced brackets, closed
//! strings and the comma before it, not for its inner grammar.
//!
//! ```text
//! input ──► window ──► ArrayScanner ──► Collector ──► Batch ──► Merger ──► OpLog
//!                      (text::json)     one a thread            reports to the host
//! ```
//!
//! Times are read exactly: from the decimal digits to nanoseconds, never through a float.

mod batch;
mod dictionary;
mod edges;
mod event;
mod input;
mod ledger;
mod merge;
mod pass;
mod split;
#[cfg(test)]
mod tests;
mod trouble;

use std::path::Path;
use std::sync::atomic::AtomicBool;

use crate::source::{Host, InputFile, ReadError};
use crate::text::blocks::{Block, equal, equal_folded, holds};
use crate::text::json::array::Needles;
use crate::text::json::gap::After;
use crate::text::json::outer::{Form, Outer, Stop};
use crate::text::json::window::{LOOKAHEAD, Window};

use super::ops::{Detail, OpLog};
use batch::Collector;
use edges::{empty, ended, no_stacks, outside, unreadable};
use input::{Input, Interrupt, is_gzip};
use ledger::Ledger;
use merge::Merger;
use pass::{Ending, Limits, scan};

/// The member that holds the events when the trace is an object.
const EVENTS: &str = "traceEvents";

/// Sizes that only tests change.
#[derive(Debug, Clone, Copy)]
struct Sizes {
    /// Bytes in one read.
    buffer: usize,
    /// Bytes of the largest piece that one thread reads at a time.
    chunk: u64,
    /// Bytes of the largest event that is read.
    event: usize,
    /// Files of fewer bytes are not split.
    split_from: u64,
}

impl Default for Sizes {
    fn default() -> Self {
        Self { buffer: 256 << 10, chunk: 8 << 20, event: 256 << 20, split_from: 4 << 20 }
    }
}

/// Reads a trace into ops (and, for [`Detail::Owners`], threads and task-queue slices).
///
/// An op is an event whose `cat` is `cpu_op`; with [`Detail::Stacks`] only if its `args` hold a
/// `Call stack`. Times are nanoseconds. The ops stand in file order, and neither they nor the findings
/// depend on the number of `threads`; only the numbers of names, stacks and threads may. With
/// [`Detail::Stacks`] all ops have thread 0. Compressed and small files are read by one thread.
///
/// What is wrong is reported to `host`. When it says to go on, the event is left out (or, when only
/// its duration is bad, kept with none); behind a broken end of the file the events before it stay.
///
/// # Errors
/// [`ReadError::Stopped`] when the host does not want the events any more, [`ReadError::Memory`] when
/// the budget is used up, [`ReadError::Refused`] when the host refused to go on after a problem.
pub fn read_trace(path: &Path, detail: Detail, threads: usize, host: &dyn Host) -> Result<OpLog, ReadError> {
    read_sized(path, detail, threads, Sizes::default(), host)
}

fn read_sized(
    path: &Path,
    detail: Detail,
    threads: usize,
    sizes: Sizes,
    host: &dyn Host,
) -> Result<OpLog, ReadError> {
    let job = Job { path, detail, threads, sizes, host };
    match detail {
        Detail::Stacks => job.read::<StackNeedles>(),
        Detail::Owners => job.read::<OwnerNeedles>(),
    }
}

/// Strings without which an event has no call stack.
struct StackNeedles;

impl Needles for StackNeedles {
    #[inline(always)]
    fn first_bytes(block: &Block) -> u64 {
        // It is a rare letter, and this answers quicker that there is none.
        if holds(block, b'C') { equal(block, b'C') } else { 0 }
    }

    #[inline(always)]
    fn found(text: &[u8; LOOKAHEAD]) -> bool {
        text.starts_with(b"Call stack\"")
    }
}

/// Strings without which an event is neither an op nor a task-queue slice.
struct OwnerNeedles;

impl Needles for OwnerNeedles {
    #[inline(always)]
    fn first_bytes(block: &Block) -> u64 {
        // `d` and `e` differ in the lowest bit only.
        equal(block, b'c') | equal_folded(block, 0x01, b'e')
    }

    #[inline(always)]
    fn found(text: &[u8; LOOKAHEAD]) -> bool {
        [&b"cpu_op\""[..], b"enqueue\"", b"dequeue\""].iter().any(|n| text.starts_with(n))
    }
}

/// What [`read_trace`] was called with.
#[derive(Clone, Copy)]
struct Job<'a> {
    path: &'a Path,
    detail: Detail,
    threads: usize,
    sizes: Sizes,
    host: &'a dyn Host,
}

impl Job<'_> {
    fn read<N: Needles>(self) -> Result<OpLog, ReadError> {
        let mut merger = Merger::new(self.path, self.host, self.threads + 1);
        match InputFile::open(self.path).and_then(|file| Ok((is_gzip(&file)?, file))) {
            Ok((gzip, file)) => {
                self.host.opened(&file)?;
                self.read_file::<N>(&file, gzip, &mut merger)?;
            }
            Err(error) => merger.problem(unreadable(self.path, &error))?,
        }
        merger.finish()
    }

    fn read_file<N: Needles>(
        self,
        file: &InputFile,
        gzip: bool,
        merger: &mut Merger,
    ) -> Result<(), ReadError> {
        if file.is_empty() {
            return merger.problem(empty(self.path));
        }
        let stop = AtomicBool::new(false);
        let mut window = Window::new(0, self.sizes.buffer);
        let mut input =
            if gzip { Input::gzip(file, self.host, &stop) } else { Input::plain(file, 0, self.host, &stop) };
        let opening = match Outer::new(&mut window, |room: &mut [u8]| input.read(room)).open(EVENTS) {
            Ok(opening) => opening,
            Err(wrong) => return self.outside(wrong, merger),
        };
        if opening.mark {
            merger.notes().mark();
        }
        if opening.form == Form::Member {
            merger.notes().object();
        }
        if !gzip && self.threads > 1 && file.len() >= self.sizes.split_from {
            let start = window.offset();
            drop(window);
            let ending = split::scan_split::<N>(self, file, start, merger)?;
            ended(merger, &ending, opening.form)?;
            if let Ending::Closed { end, .. } = ending {
                let mut window = Window::new(end, self.sizes.buffer);
                let mut input = Input::plain(file, end, self.host, &stop);
                self.close(&mut window, &mut input, opening.form, merger)?;
            }
            return Ok(());
        }
        let ending = self.scan_all::<N>(&mut window, &mut input, merger)?;
        ended(merger, &ending, opening.form)?;
        if let Ending::Closed { .. } = ending {
            self.close(&mut window, &mut input, opening.form, merger)?;
        }
        Ok(())
    }

    /// Reads all events with this thread.
    fn scan_all<N: Needles>(
        self,
        window: &mut Window,
        input: &mut Input,
        merger: &mut Merger,
    ) -> Result<Ending, ReadError> {
        let mut collector = Collector::new(self.detail, self.sizes.event);
        let mut ledger = Ledger::new(self.host);
        let mut before = 0;
        let limits = Limits { stop: u64::MAX, event: self.sizes.event };
        scan::<N>(input, window, After::Start, limits, &mut collector, |collector, elements, window| {
            ledger.cover(window.allocated() + collector.allocated())?;
            let batch = collector.take(elements - before);
            before = elements;
            merger.append(0, batch)
        })
    }

    /// Reads what follows the events.
    fn close(
        self,
        window: &mut Window,
        input: &mut Input,
        form: Form,
        merger: &mut Merger,
    ) -> Result<(), ReadError> {
        match Outer::new(window, |room: &mut [u8]| input.read(room)).close(form, EVENTS) {
            Ok(()) => Ok(()),
            Err(wrong) => self.outside(wrong, merger),
        }
    }

    fn outside(self, wrong: Stop<Interrupt>, merger: &mut Merger) -> Result<(), ReadError> {
        match wrong {
            Stop::Wrong(at, what) => merger.problem(outside(self.path, at, what)),
            Stop::Read(Interrupt::Stopped) => Err(ReadError::Stopped),
            Stop::Read(Interrupt::Io(error)) => merger.problem(unreadable(self.path, &error)),
        }
    }
}
