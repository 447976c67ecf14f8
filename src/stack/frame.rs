//! A call stack falls apart into frames.
//!
//! The profilers join frames in two ways: with `;\r\n` (torch_npu, MindSpore) or with line feeds
//! (msMemScope). Both are lines, of which `;` and a carriage return at the end are no part.

use std::fmt;
use std::str::FromStr;

use super::user_frame;

/// The frames of a call stack in the order in which they stand; empty lines are no frames.
pub fn frames(stack: &str) -> impl DoubleEndedIterator<Item = &str> {
    stack.split('\n').map(without_end).filter(|frame| !frame.is_empty())
}

fn without_end(line: &str) -> &str {
    let line = line.strip_suffix('\r').unwrap_or(line);
    line.strip_suffix(';').unwrap_or(line)
}

/// The number of frames.
pub fn depth(stack: &str) -> usize {
    frames(stack).count()
}

/// The frame with this number: 1 is the first, -1 the last. `None` when there are not so many, and
/// for 0.
pub fn nth(stack: &str, number: i64) -> Option<&str> {
    let skipped = usize::try_from(number.unsigned_abs().checked_sub(1)?).ok()?;
    if number > 0 { frames(stack).nth(skipped) } else { frames(stack).rev().nth(skipped) }
}

/// The stack on one line as flame-graph tools want it: outermost frame first, frames joined by `;`.
///
/// Profilers put the innermost frame first, so the order is turned round. A `;` inside a frame
/// becomes a comma, because it would look like another frame.
pub fn folded(stack: &str) -> String {
    let mut line = String::with_capacity(stack.len());
    for frame in frames(stack).rev() {
        if !line.is_empty() {
            line.push(';');
        }
        line.extend(frame.chars().map(|c| if c == ';' { ',' } else { c }));
    }
    line
}

/// Which frame of a stack is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FrameChoice {
    /// The frame with this number, see [`nth`].
    Nth(i64),
    /// The first frame of the user's own code, see [`user_frame`].
    User,
    /// All of them: the stack as it is.
    Stack,
}

impl FrameChoice {
    /// The chosen frame. `None` when the stack has no such frame.
    pub fn of(self, stack: &str) -> Option<&str> {
        match self {
            FrameChoice::Nth(number) => nth(stack, number),
            FrameChoice::User => user_frame(stack),
            FrameChoice::Stack => Some(stack).filter(|stack| !stack.is_empty()),
        }
    }
}

/// A text that names no frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownFrame(String);

impl fmt::Display for UnknownFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is no frame, expected a number, 'top', 'leaf', 'user' or 'stack'", self.0)
    }
}

impl std::error::Error for UnknownFrame {}

impl FromStr for FrameChoice {
    type Err = UnknownFrame;

    fn from_str(text: &str) -> Result<Self, UnknownFrame> {
        match text {
            "top" => Ok(FrameChoice::Nth(1)),
            "leaf" => Ok(FrameChoice::Nth(-1)),
            "user" => Ok(FrameChoice::User),
            "stack" => Ok(FrameChoice::Stack),
            other => Err(UnknownFrame(other.to_owned())),
        }
    }
}
