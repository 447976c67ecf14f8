//! One pass over the events of a stream, from some event to the end or to another event.

use std::io;

use crate::source::ReadError;
use crate::text::json::array::{ArrayScanner, Needles, Progress, Unclosed};
use crate::text::json::gap::After;
use crate::text::json::window::Window;

use super::batch::Collector;
use super::input::{Input, Interrupt};

/// How a pass ended.
#[derive(Debug)]
pub(super) enum Ending {
    /// At an event that begins at or behind the place to stop at.
    Reached(u64),
    /// With the `]` of the array.
    Closed {
        /// The offset behind it.
        end: u64,
        /// Whether a comma stands before it.
        after_comma: bool,
    },
    /// With a `}` where that `]` should be.
    WrongBracket(u64),
    /// With the file, at this offset, before the array was closed.
    FileEnded(u64, Unclosed),
    /// With an error of the system.
    Unreadable(u64, io::Error),
}

/// Reads `input` into `window` and scans it from the window's first byte on: behind the `[`
/// ([`After::Start`]) or at an event ([`After::Comma`]). Events that are wanted go to `collector`;
/// `after_buffer` is called with it, and the number of elements so far, after each buffer.
///
/// # Errors
/// When nobody wants the events any more, or `after_buffer` fails.
pub(super) fn scan<N: Needles>(
    input: &mut Input,
    window: &mut Window,
    after: After,
    limits: Limits,
    collector: &mut Collector,
    mut after_buffer: impl FnMut(&mut Collector, u64, &Window) -> Result<(), ReadError>,
) -> Result<Ending, ReadError> {
    let mut scanner: ArrayScanner<N> = ArrayScanner::new(after, limits.event);
    loop {
        let progress = scanner.scan(window.padded(), window.offset(), limits.stop, collector);
        let ending = match progress {
            Progress::More { done } => {
                window.consume(done);
                if window.ended() {
                    let end = window.offset() + window.bytes().len() as u64;
                    Some(Ending::FileEnded(end, scanner.finish(window.offset(), collector)))
                } else {
                    None
                }
            }
            Progress::Reached { at } => Some(Ending::Reached(at)),
            Progress::Closed { end, after_comma } => {
                // What follows is read from here, also when the file has ended.
                let done = end.saturating_sub(window.offset());
                window.consume(usize::try_from(done).unwrap_or(usize::MAX));
                Some(Ending::Closed { end, after_comma })
            }
            Progress::WrongBracket { at } => Some(Ending::WrongBracket(at)),
        };
        after_buffer(collector, scanner.elements(), window)?;
        if let Some(ending) = ending {
            return Ok(ending);
        }
        match window.fill(|room| input.read(room)) {
            Ok(()) => {}
            Err(Interrupt::Stopped) => return Err(ReadError::Stopped),
            Err(Interrupt::Io(error)) => {
                let end = window.offset() + window.bytes().len() as u64;
                return Ok(Ending::Unreadable(end, error));
            }
        }
    }
}

/// Where a pass stops.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The first event that begins at or behind this offset is left to the next pass.
    pub(super) stop: u64,
    /// The largest event that is read, in bytes.
    pub(super) event: usize,
}
