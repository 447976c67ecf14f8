//! How a trace file begins and ends, as findings.

use std::io;
use std::path::Path;

use crate::source::{Finding, Kind, Place};
use crate::text::json::array::Unclosed;
use crate::text::json::gap::After;
use crate::text::json::outer::{Form, Outside};

use super::merge::Merger;
use super::pass::Ending;
use super::{EVENTS, ReadError};

/// A file that cannot be opened or read.
pub(super) fn unreadable(path: &Path, error: &io::Error) -> Finding {
    let kind = if error.kind() == io::ErrorKind::NotFound { Kind::Missing } else { Kind::Unreadable };
    Finding::problem(kind, path, format!("the trace cannot be read: {error}"))
}

/// A file of no bytes.
pub(super) fn empty(path: &Path) -> Finding {
    Finding::problem(Kind::Empty, path, "a trace of zero bytes is a broken export")
}

/// A trace in which no op has a call stack.
pub(super) fn no_stacks(path: &Path) -> Finding {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
    let message = format!("no cpu_op with a call stack in {name}: record with with_stack=True");
    Finding::note(Kind::Empty, path, message)
}

/// What is wrong before or behind the array of events.
pub(super) fn outside(path: &Path, at: u64, what: Outside) -> Finding {
    let (kind, message) = match what {
        Outside::Blank => {
            (Kind::Empty, "the trace holds nothing but white space, expected `[` or `{`".to_owned())
        }
        Outside::Utf16 => (Kind::Encoding, "the trace looks like UTF-16, expected UTF-8".to_owned()),
        Outside::NotJson(b) => {
            let message = format!("the trace begins with `{}`, expected `[` or `{{`", b.escape_ascii());
            (Kind::BadStructure, message)
        }
        Outside::NoMember => (Kind::BadStructure, format!("the trace is an object without {EVENTS}")),
        Outside::NotArray => (Kind::BadStructure, format!("{EVENTS} is not an array")),
        Outside::Again => (
            Kind::BadStructure,
            format!("{EVENTS} occurs again behind the events, expected it once; the first one was read"),
        ),
        Outside::Unexpected(expected) => {
            (Kind::BadStructure, format!("found something else outside of the events, expected {expected}"))
        }
        Outside::Ended(expected) => {
            (Kind::BadStructure, format!("the file ends outside of the events, expected {expected}"))
        }
        Outside::Trailing => (
            Kind::BadStructure,
            "found something behind the end of the trace, expected the end of the file".to_owned(),
        ),
    };
    Finding::problem(kind, path, message).at(Place::Byte(at))
}

/// Reports how the array of events ended, except for what follows its `]`.
///
/// # Errors
/// When the host refuses to go on.
pub(super) fn ended(merger: &mut Merger, ending: &Ending, form: Form) -> Result<(), ReadError> {
    let path = merger.path();
    let (at, kind, message) = match *ending {
        Ending::Reached(_) => return Ok(()),
        Ending::Closed { end, after_comma } => {
            if after_comma {
                merger.notes().last_comma(end - 1);
            }
            return Ok(());
        }
        Ending::WrongBracket(at) => (
            at,
            Kind::BadStructure,
            "found `}`, expected an event or the `]` that ends the events".to_owned(),
        ),
        Ending::FileEnded(_, Unclosed::Inside(at)) => {
            (at, Kind::BadEvent, format!("the file ends inside an event that starts at byte {at}"))
        }
        // torch_npu writes the array in two steps, and a run that dies between them leaves it open.
        Ending::FileEnded(at, Unclosed::Between(After::Element | After::Comma)) if form == Form::Array => {
            merger.notes().no_end(at);
            return Ok(());
        }
        Ending::FileEnded(at, Unclosed::Between(_)) => (
            at,
            Kind::BadStructure,
            "the file ends, expected an event or the `]` that ends the events".to_owned(),
        ),
        Ending::Unreadable(at, ref error) => {
            (at, Kind::Unreadable, format!("the trace cannot be read further: {error}"))
        }
    };
    merger.problem(Finding::problem(kind, path, message).at(Place::Byte(at)))
}
