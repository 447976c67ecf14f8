//! Several units of one partition read at the same time, their rows handed out in order.
//!
//! A consumer that needs the rows in order, such as an export, would otherwise wait for one unit
//! after the other: merging partitions does not help, because their ranges follow each other.
//!
//! ```text
//!           front                     next
//! units  ─────┼───────────┼───────────┼──────────────▶
//!  done       │ delivered │ being read│  nobody is at it
//!             └── at most `ahead` ────┘
//! ```
//!
//! Workers take the units in order, as long as they are less than `ahead` units in front of the one
//! that is being handed out. So the unit at the front is always being read by somebody who is not
//! kept waiting, and nothing can dead-lock.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::common::utils::memory::get_record_batch_memory_size;
use datafusion::execution::memory_pool::MemoryReservation;
use datafusion::physical_plan::metrics::Time;

use crate::source::{Finding, Host, ReadError};

use super::host::ScanHost;
use super::run::Reading;

/// Input that may have been read besides that which is being read, in bytes, and the most units that
/// this can be. Of large units one is enough: more would only make the end, when the consumer works
/// alone, longer. Of small ones several are needed to keep everybody busy.
const AHEAD_BYTES: u64 = 4 << 20;
const MOST_AHEAD: u64 = 16;

/// Rows of one unit that may wait before it is at the front, in bytes of memory. A worker that has
/// more waits itself.
const WAITING_BYTES: usize = 16 << 20;

/// How often somebody who waits looks whether anybody still wants the rows.
const LOOK_UP: Duration = Duration::from_millis(50);

/// The units of a partition, and what was read of those behind the front.
pub(super) struct Window {
    reading: Reading,
    ahead: usize,
    state: Mutex<State>,
    changed: Condvar,
}

struct State {
    /// The first unit that nobody has begun.
    next: usize,
    /// The unit whose rows are being handed out.
    front: usize,
    /// The units that were begun, from the front on.
    slots: VecDeque<Slot>,
    /// Memory of the rows that wait.
    waiting: MemoryReservation,
    /// Nobody wants more rows.
    closed: bool,
}

/// What was read of a unit and not handed out yet.
#[derive(Default)]
struct Slot {
    batches: VecDeque<(RecordBatch, usize)>,
    bytes: usize,
    end: Option<End>,
}

/// How a unit ended.
enum End {
    Complete,
    Failed(ReadError, Vec<Finding>),
}

/// What the consumer gets next.
enum Next {
    Batch(RecordBatch),
    Failed(ReadError, Vec<Finding>),
    /// Nobody has begun the unit at the front.
    Untouched(usize),
    Finished,
}

impl Window {
    /// A window for so many workers. `waiting` is asked for the memory of rows that wait.
    pub(super) fn new(reading: Reading, readers: usize, waiting: MemoryReservation) -> Self {
        let state = State { next: 0, front: 0, slots: VecDeque::new(), waiting, closed: false };
        let units = reading.units();
        let mean = units.iter().map(|u| u.bytes()).sum::<u64>() / (units.len() as u64).max(1);
        let ahead = (AHEAD_BYTES / mean.max(1)).clamp(1, MOST_AHEAD) as usize;
        Self { reading, ahead: readers + ahead, state: Mutex::new(state), changed: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A worker that panicked has failed the query anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait<'a>(&self, state: MutexGuard<'a, State>) -> MutexGuard<'a, State> {
        self.changed.wait_timeout(state, LOOK_UP).unwrap_or_else(PoisonError::into_inner).0
    }

    /// Reads units until there are none left, or nobody wants them.
    pub(super) fn work(&self, host: &Arc<ScanHost>, time: &Time) {
        while let Some(at) = self.begin(host) {
            let end = self.read(at, host, time);
            let mut state = self.lock();
            if let Some(slot) = state.slot(at) {
                slot.end = Some(end);
            }
            self.changed.notify_all();
        }
    }

    /// Takes the next unit, when it is near enough to the front.
    fn begin(&self, host: &ScanHost) -> Option<usize> {
        let mut state = self.lock();
        loop {
            if state.closed || host.stopped() || state.next >= self.reading.units().len() {
                return None;
            }
            if state.next < state.front + self.ahead {
                let at = state.next;
                state.next += 1;
                state.slots.push_back(Slot::default());
                return Some(at);
            }
            state = self.wait(state);
        }
    }

    /// Reads a unit and lets its rows wait.
    fn read(&self, at: usize, host: &Arc<ScanHost>, time: &Time) -> End {
        let read = || -> Result<(), ReadError> {
            let Some(unit) = self.reading.units().get(at) else { return Ok(()) };
            let mut running = time.timer();
            let mut reader = self.reading.open(unit, self.reading.limit(), host)?;
            while let Some(batch) = reader.next_batch()? {
                if batch.num_rows() == 0 {
                    continue;
                }
                running.stop();
                if !self.put(at, batch, host) {
                    return Err(ReadError::Stopped);
                }
                running.restart();
            }
            Ok(())
        };
        let end = match read() {
            Ok(()) => End::Complete,
            Err(error) => End::Failed(error, host.take_findings()),
        };
        host.end_unit();
        end
    }

    /// Adds rows of a unit; waits for room unless the unit is at the front. False when nobody wants them.
    fn put(&self, at: usize, batch: RecordBatch, host: &ScanHost) -> bool {
        let bytes = get_record_batch_memory_size(&batch);
        let mut state = self.lock();
        loop {
            if state.closed || host.stopped() {
                return false;
            }
            let at_front = state.front == at;
            let room =
                state.slot(at).is_none_or(|slot| slot.bytes == 0 || slot.bytes + bytes <= WAITING_BYTES);
            // Where memory is short only the unit at the front goes on, without waiting for more.
            let reserved = room && state.waiting.try_grow(bytes).is_ok();
            let forced = at_front && state.slot(at).is_none_or(|slot| slot.batches.is_empty());
            if reserved || forced {
                if let Some(slot) = state.slot(at) {
                    let held = if reserved { bytes } else { 0 };
                    slot.bytes += held;
                    slot.batches.push_back((batch, held));
                }
                self.changed.notify_all();
                return true;
            }
            state = self.wait(state);
        }
    }

    /// Hands out all rows in order, up to the limit, the first error, or the end of interest.
    pub(super) fn deliver(
        &self,
        host: &Arc<ScanHost>,
        time: &Time,
        mut send: impl FnMut(Result<RecordBatch>) -> bool,
    ) {
        let mut left = self.reading.limit();
        let failure = match self.reading.check_listing(host) {
            Ok(()) => self.deliver_units(host, time, &mut left, &mut send),
            Err(error) => self.reading.failure(error, &host.take_findings()),
        };
        if let Some(error) = failure {
            send(Err(error));
        }
        let mut state = self.lock();
        state.closed = true;
        state.slots.clear();
        state.waiting.free();
        self.changed.notify_all();
    }

    fn deliver_units(
        &self,
        host: &Arc<ScanHost>,
        time: &Time,
        left: &mut Option<usize>,
        send: &mut impl FnMut(Result<RecordBatch>) -> bool,
    ) -> Option<datafusion::error::DataFusionError> {
        // Rows beyond the limit are cut off; false when no more are wanted.
        let mut hand_out = |batch: RecordBatch| {
            let rows = left.map_or(batch.num_rows(), |left| left.min(batch.num_rows()));
            if let Some(left) = left {
                *left -= rows;
            }
            (rows == 0 || send(Ok(batch.slice(0, rows)))) && *left != Some(0)
        };
        loop {
            match self.next(host) {
                Next::Finished => return None,
                Next::Failed(error, met) => return self.reading.failure(error, &met),
                Next::Batch(batch) => {
                    if !hand_out(batch) {
                        return None;
                    }
                }
                // No thread was free for the workers; then this one does the work.
                Next::Untouched(at) => {
                    if let End::Failed(error, met) = self.read_through(at, host, time, &mut hand_out) {
                        return self.reading.failure(error, &met);
                    }
                }
            }
        }
    }

    /// What stands at the front, waiting for it if need be.
    fn next(&self, host: &ScanHost) -> Next {
        let mut state = self.lock();
        loop {
            if host.stopped() {
                return Next::Finished;
            }
            if state.front >= self.reading.units().len() {
                return Next::Finished;
            }
            let mut step_on = false;
            if let Some(slot) = state.slots.front_mut() {
                if let Some((batch, bytes)) = slot.batches.pop_front() {
                    slot.bytes -= bytes;
                    state.waiting.shrink(bytes);
                    self.changed.notify_all();
                    return Next::Batch(batch);
                }
                match slot.end.take() {
                    None => {}
                    Some(End::Complete) => step_on = true,
                    Some(End::Failed(error, met)) => return Next::Failed(error, met),
                }
            }
            if step_on {
                state.slots.pop_front();
                state.front += 1;
                self.changed.notify_all();
                continue;
            }
            state = self.wait(state);
            if state.slots.is_empty() && state.next == state.front && state.front < self.reading.units().len()
            {
                // Time went by and nobody came.
                let at = state.next;
                state.next += 1;
                state.slots.push_back(Slot::default());
                return Next::Untouched(at);
            }
        }
    }

    /// Reads the unit at the front and hands its rows out at once.
    fn read_through(
        &self,
        at: usize,
        host: &Arc<ScanHost>,
        time: &Time,
        hand_out: &mut impl FnMut(RecordBatch) -> bool,
    ) -> End {
        let mut read = || -> Result<(), ReadError> {
            let Some(unit) = self.reading.units().get(at) else { return Ok(()) };
            let _running = time.timer();
            let mut reader = self.reading.open(unit, self.reading.limit(), host)?;
            while let Some(batch) = reader.next_batch()? {
                if batch.num_rows() > 0 && !hand_out(batch) {
                    return Err(ReadError::Stopped);
                }
            }
            Ok(())
        };
        let end = match read() {
            Ok(()) => End::Complete,
            Err(error) => End::Failed(error, host.take_findings()),
        };
        host.end_unit();
        let mut state = self.lock();
        if let Some(slot) = state.slot(at) {
            slot.end = Some(End::Complete);
        }
        end
    }
}

impl State {
    fn slot(&mut self, at: usize) -> Option<&mut Slot> {
        self.slots.get_mut(at.checked_sub(self.front)?)
    }
}
