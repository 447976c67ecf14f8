//! One trace, read by several threads.
//!
//! Nobody can tell from the middle of a file where its events begin: what looks like one may lie
//! inside of a string or of another event. So the begin of a piece is a guess, and stitching proves it:
//! a piece is right if the piece before it, which is right, ends exactly where it begins. The first
//! piece begins at the first event, so by induction all are right; a piece that is not is read again
//! from the proven place. Input made to mislead costs time, never a wrong answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::source::{InputFile, ReadError};
use crate::text::json::array::Needles;
use crate::text::json::gap::After;
use crate::text::json::pull::Pull;
use crate::text::json::window::Window;

use super::Job;
use super::batch::{Batch, Collector};
use super::input::Input;
use super::ledger::Ledger;
use super::merge::Merger;
use super::pass::{Ending, Limits, scan};

/// How far the threads may be ahead of the stitching, in pieces per thread: it bounds the memory.
const AHEAD: usize = 2;

/// Reads the events that begin behind the `[` before `first` with several threads.
///
/// # Errors
/// As `read_trace`.
pub(super) fn scan_split<N: Needles>(
    job: Job,
    file: &InputFile,
    first: u64,
    merger: &mut Merger,
) -> Result<Ending, ReadError> {
    let pieces = Pieces::new(job, file, first);
    let board = Board::default();
    std::thread::scope(|scope| {
        for number in 0..pieces.job.threads {
            let (pieces, board) = (&pieces, &board);
            scope.spawn(move || {
                let _alarm = Alarm { board, always: false };
                pieces.work::<N>(number, board);
            });
        }
        let _alarm = Alarm { board: &board, always: true };
        pieces.stitch::<N>(&board, merger)
    })
}

/// The pieces of a file, known by their index.
struct Pieces<'a> {
    job: Job<'a>,
    file: &'a InputFile,
    /// Where the first event may begin.
    first: u64,
    count: u64,
    /// Bytes of a piece.
    size: u64,
}

/// What a thread made of a piece.
struct Piece {
    /// The thread.
    collector: usize,
    /// Where it assumed the first event of the piece; `None` when it found none.
    start: Option<u64>,
    batch: Batch,
    ending: Result<Ending, ReadError>,
}

impl<'a> Pieces<'a> {
    /// Divides what follows `first`, so that each thread gets several pieces.
    fn new(mut job: Job<'a>, file: &'a InputFile, first: u64) -> Self {
        const SMALLEST: u64 = 512 << 10;
        let bytes = file.len().saturating_sub(first);
        let size = (bytes / (8 * job.threads as u64)).max(SMALLEST).min(job.sizes.chunk);
        let count = bytes.div_ceil(size).max(1);
        job.threads = job.threads.min(usize::try_from(count).unwrap_or(usize::MAX));
        Self { job, file, first, count, size }
    }

    /// Where the next piece begins.
    fn stop(&self, index: u64) -> u64 {
        if index + 1 >= self.count { u64::MAX } else { self.first + (index + 1) * self.size }
    }

    /// What each thread does: read pieces until there are no more.
    fn work<N: Needles>(&self, number: usize, board: &Board) {
        let mut reader = Reader::new(self, number, &board.stop);
        while let Some(index) = board.take(self.count, AHEAD * self.job.threads) {
            let start = match index {
                0 => Some(self.first),
                _ => self.guess(self.first + index * self.size, self.stop(index)),
            };
            let piece = match start {
                Some(at) => reader.read::<N>(at, self.stop(index)),
                None => reader.nothing(),
            };
            board.put(index, piece);
        }
    }

    /// Puts the pieces together in order, and reads again what was guessed wrongly.
    fn stitch<N: Needles>(&self, board: &Board, merger: &mut Merger) -> Result<Ending, ReadError> {
        let mut reader = Reader::new(self, self.job.threads, &board.stop);
        let mut start = self.first;
        for index in 0..self.count {
            let piece = board.wait(index)?;
            let stop = self.stop(index);
            // An event that is larger than a piece may cover one.
            let piece = if index > 0 && start >= stop {
                merger.discard(piece.collector, piece.batch);
                continue;
            } else if piece.start == Some(start) {
                piece
            } else {
                merger.discard(piece.collector, piece.batch);
                reader.read::<N>(start, stop)
            };
            merger.append(piece.collector, piece.batch)?;
            match piece.ending? {
                Ending::Reached(next) => start = next,
                ending => return Ok(ending),
            }
        }
        Ok(Ending::Reached(start))
    }

    /// Where the first event at or behind `from` seems to begin, unless that is at `to` or behind.
    fn guess(&self, from: u64, to: u64) -> Option<u64> {
        const SMALL: usize = 64 << 10;
        const LARGE: usize = 1 << 20;
        // Some bytes before it show whether an event ends there.
        const BEFORE: u64 = 64;
        let offset = from.saturating_sub(BEFORE);
        for size in [SMALL, LARGE] {
            let mut bytes = vec![0; size];
            let n = self.file.read_at(&mut bytes, offset).ok()?;
            bytes.truncate(n);
            let skip = usize::try_from(from - offset).ok()?;
            if let Some(at) = likely_start(&bytes, skip) {
                return Some(offset + at as u64).filter(|at| *at < to);
            }
        }
        None
    }
}

/// Where in `bytes`, from `skip` on, something begins that follows `},` and is an object that looks
/// like an event.
fn likely_start(bytes: &[u8], skip: usize) -> Option<usize> {
    // Objects inside of each other may all have to be parsed to their end before they turn out to be no
    // events. Where that goes on for long, it is cheaper to read the piece again.
    let mut effort = 4 * bytes.len();
    for at in memchr::memchr_iter(b'{', bytes).filter(|at| *at >= skip) {
        let (before, object) = bytes.split_at_checked(at)?;
        let follows = before.trim_ascii_end().strip_suffix(b",");
        if follows.is_some_and(|b| b.trim_ascii_end().ends_with(b"}")) {
            let mut pull = Pull::new(object);
            if is_like_event(&mut pull) {
                return Some(at);
            }
            effort = effort.checked_sub(pull.at())?;
        }
    }
    None
}

/// Whether a complete object with a name and a phase or time comes next, with another one or the end of
/// the array behind it.
fn is_like_event(pull: &mut Pull) -> bool {
    let (mut name, mut time) = (false, false);
    let parsed = pull.object(|pull, key| {
        name |= key == b"name";
        time |= key == b"ph" || key == b"ts";
        pull.value().map(|_| ())
    });
    parsed.is_ok() && name && time && matches!(pull.peek(), Some(b',' | b']'))
}

/// Reads pieces one after another, and learns their strings only once.
struct Reader<'a> {
    pieces: &'a Pieces<'a>,
    number: usize,
    collector: Collector,
    ledger: Ledger<'a>,
    stop: &'a AtomicBool,
}

impl<'a> Reader<'a> {
    fn new(pieces: &'a Pieces<'a>, number: usize, stop: &'a AtomicBool) -> Self {
        let job = pieces.job;
        let collector = Collector::new(job.detail, job.sizes.event);
        Self { pieces, number, collector, ledger: Ledger::new(job.host), stop }
    }

    /// Reads the events from the one at `start` up to the first that begins at or behind `stop`.
    fn read<N: Needles>(&mut self, start: u64, stop: u64) -> Piece {
        let Pieces { job, file, first, .. } = *self.pieces;
        let after = if start == first { After::Start } else { After::Comma };
        let mut window = Window::new(start, job.sizes.buffer);
        let mut input = Input::plain(file, start, job.host, self.stop);
        let limits = Limits { stop, event: job.sizes.event };
        let ledger = &mut self.ledger;
        let mut total = 0;
        let cover = |collector: &mut Collector, elements: u64, window: &Window| {
            total = elements;
            ledger.cover(window.allocated() + collector.allocated())
        };
        let ending = scan::<N>(&mut input, &mut window, after, limits, &mut self.collector, cover);
        Piece { collector: self.number, start: Some(start), batch: self.collector.take(total), ending }
    }

    /// A piece in which no event seems to begin.
    fn nothing(&mut self) -> Piece {
        Piece { collector: self.number, start: None, batch: Batch::default(), ending: Ok(Ending::Reached(0)) }
    }
}

/// Where threads take pieces from and bring them back to.
#[derive(Default)]
struct Board {
    state: Mutex<State>,
    changed: Condvar,
    /// No more pieces are needed.
    stop: AtomicBool,
}

#[derive(Default)]
struct State {
    /// The next piece to take.
    next: u64,
    /// The piece that is being waited for; those before it are done.
    wanted: u64,
    done: BTreeMap<u64, Piece>,
}

impl Board {
    /// The next piece to read, once it is not too far ahead; `None` when there is none.
    fn take(&self, count: u64, ahead: usize) -> Option<u64> {
        let mut state = self.lock();
        loop {
            if self.stop.load(Ordering::Relaxed) || state.next >= count {
                return None;
            }
            if state.next <= state.wanted + ahead as u64 {
                let index = state.next;
                state.next += 1;
                return Some(index);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn put(&self, index: u64, piece: Piece) {
        self.lock().done.insert(index, piece);
        self.changed.notify_all();
    }

    /// Waits for a piece.
    fn wait(&self, index: u64) -> Result<Piece, ReadError> {
        let mut state = self.lock();
        state.wanted = index;
        self.changed.notify_all();
        loop {
            if let Some(piece) = state.done.remove(&index) {
                return Ok(piece);
            }
            if self.stop.load(Ordering::Relaxed) {
                return Err(ReadError::Stopped);
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Ends the reading for all when it is dropped: always by the one that stitches, and by a thread only
/// when it panics, as then its piece will never come.
struct Alarm<'a> {
    board: &'a Board,
    always: bool,
}

impl Drop for Alarm<'_> {
    fn drop(&mut self) {
        if self.always || std::thread::panicking() {
            // Under the lock, so that nobody misses it between looking and waiting.
            let state = self.board.lock();
            self.board.stop.store(true, Ordering::Relaxed);
            drop(state);
            self.board.changed.notify_all();
        }
    }
}
