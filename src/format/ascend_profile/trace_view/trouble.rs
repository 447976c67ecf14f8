//! What can be wrong or odd in a trace, collected and counted before it is reported.
//!
//! Threads read pieces of a file that may later turn out to be guessed wrongly, so nothing is
//! reported while reading. What happens again in the same piece is only counted, so that a file full
//! of faults costs no memory.

use std::path::Path;

use crate::source::{Finding, Kind, Place};
use crate::text::json::escape::Oddities;

/// A fault of one event or of the array around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trouble {
    /// An element that is no object.
    NotObject,
    /// The grammar inside of an event is broken.
    Grammar,
    /// A string that is needed holds a broken escape.
    Escape,
    /// The start time is missing or no number.
    Time,
    /// The duration is no number, or negative.
    Duration,
    /// The name is no string.
    Name,
    /// The call stack is neither a string nor null.
    Stack,
    /// An event is larger than the limit.
    TooLarge,
    /// An event opens and closes with different brackets.
    Mismatched,
    /// Two elements without a comma between them.
    MissingComma,
    /// A comma that does not follow an element.
    ExtraComma,
    /// Something between elements that is no value.
    Garbage,
}

impl Trouble {
    fn kind(self) -> Kind {
        match self {
            Trouble::MissingComma | Trouble::ExtraComma | Trouble::Garbage => Kind::BadStructure,
            _ => Kind::BadEvent,
        }
    }

    /// The message, given what was found or (for broken grammar) expected.
    fn message(self, detail: &str) -> String {
        match self {
            Trouble::NotObject => format!("found {detail} in the array of events, expected an object"),
            Trouble::Grammar => format!("an event is not valid JSON: expected {detail}"),
            Trouble::Escape => format!("{detail} of an event holds an escape that is not valid JSON"),
            Trouble::Time => format!("found {detail} as `ts` of an event, expected microseconds as a number"),
            Trouble::Duration => {
                format!(
                    "found {detail} as `dur` of an event, expected microseconds as a number, not negative"
                )
            }
            Trouble::Name => format!("found {detail} as `name` of an event, expected a string"),
            Trouble::Stack => format!("found {detail} as `Call stack` of an event, expected a string"),
            Trouble::TooLarge => format!("an event is larger than {detail}"),
            Trouble::Mismatched => "an event opens and closes with different brackets".to_owned(),
            Trouble::MissingComma => "found an event right after another one, expected a comma".to_owned(),
            Trouble::ExtraComma => "found a comma, expected an event before it".to_owned(),
            Trouble::Garbage => "found something between events that is no JSON, expected a comma".to_owned(),
        }
    }
}

/// The troubles of one piece of a file, one entry for each of their kinds.
#[derive(Debug, Default)]
pub(super) struct Troubles {
    list: Vec<Entry>,
}

#[derive(Debug)]
struct Entry {
    trouble: Trouble,
    /// Offset of the first one.
    at: u64,
    count: u64,
    detail: String,
}

impl Troubles {
    /// Adds one; `detail` is asked for only when it is the first of its kind.
    #[cold]
    pub(super) fn push(&mut self, trouble: Trouble, at: u64, detail: impl FnOnce() -> String) {
        match self.list.iter_mut().find(|e| e.trouble == trouble) {
            Some(entry) => entry.count += 1,
            None => self.list.push(Entry { trouble, at, count: 1, detail: detail() }),
        }
    }

    /// As findings, in order of first appearance.
    pub(super) fn findings<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = Finding> + 'a {
        self.list.iter().map(move |e| {
            Finding::problem(e.trouble.kind(), path, e.trouble.message(&e.detail))
                .at(Place::Byte(e.at))
                .times(e.count)
        })
    }
}

/// How often something odd occurs, and where first.
#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    first: u64,
    count: u64,
}

impl Tally {
    fn add(&mut self, at: u64, count: u64) {
        self.first = if self.count == 0 { at } else { self.first.min(at) };
        self.count += count;
    }
}

/// What is odd but can be read without loss of meaning; reported once, at the end of the file.
#[derive(Debug, Default, Clone)]
pub(super) struct Notes {
    mark: Tally,
    object: Tally,
    control: Tally,
    not_utf8: Tally,
    lone_surrogate: Tally,
    null_stack: Tally,
    last_comma: Tally,
    no_end: Tally,
}

impl Notes {
    /// The file begins with a byte-order mark.
    pub(super) fn mark(&mut self) {
        self.mark.add(0, 1);
    }

    /// The trace is an object that holds the events.
    pub(super) fn object(&mut self) {
        self.object.add(0, 1);
    }

    /// A string of an event that is kept.
    #[inline]
    pub(super) fn string(&mut self, at: u64, odd: Oddities) {
        if odd.any() {
            for (tally, is) in [
                (&mut self.control, odd.control),
                (&mut self.not_utf8, odd.not_utf8),
                (&mut self.lone_surrogate, odd.lone_surrogate),
            ] {
                if is {
                    tally.add(at, 1);
                }
            }
        }
    }

    /// A call stack that is `null`.
    pub(super) fn null_stack(&mut self, at: u64) {
        self.null_stack.add(at, 1);
    }

    /// A comma before the end of the array.
    pub(super) fn last_comma(&mut self, at: u64) {
        self.last_comma.add(at, 1);
    }

    /// The file ends after an event, without closing the array.
    pub(super) fn no_end(&mut self, at: u64) {
        self.no_end.add(at, 1);
    }

    /// Adds those of another piece.
    pub(super) fn merge(&mut self, other: &Notes) {
        for (mine, theirs) in [
            (&mut self.mark, other.mark),
            (&mut self.object, other.object),
            (&mut self.control, other.control),
            (&mut self.not_utf8, other.not_utf8),
            (&mut self.lone_surrogate, other.lone_surrogate),
            (&mut self.null_stack, other.null_stack),
            (&mut self.last_comma, other.last_comma),
            (&mut self.no_end, other.no_end),
        ] {
            if theirs.count > 0 {
                mine.add(theirs.first, theirs.count);
            }
        }
    }

    /// As findings.
    pub(super) fn findings<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = Finding> + 'a {
        [
            (self.mark, Kind::Encoding, "the file begins with a UTF-8 byte-order mark"),
            (self.object, Kind::BadStructure, "the trace is an object; its traceEvents are read"),
            (self.control, Kind::Encoding, "a string holds a raw control character, expected an escape"),
            (self.not_utf8, Kind::Encoding, "a string is not UTF-8; the bad bytes are shown as U+FFFD"),
            (
                self.lone_surrogate,
                Kind::Encoding,
                "a string holds half of a surrogate pair; it is shown as U+FFFD",
            ),
            (
                self.null_stack,
                Kind::BadEvent,
                "a call stack is null; the event counts as one without a stack",
            ),
            (self.last_comma, Kind::BadStructure, "a comma stands before the `]` that ends the events"),
            (
                self.no_end,
                Kind::BadStructure,
                "the file ends after a complete event, without the `]` that should end the events",
            ),
        ]
        .into_iter()
        .filter(|(tally, _, _)| tally.count > 0)
        .map(move |(tally, kind, message)| {
            Finding::note(kind, path, message).at(Place::Byte(tally.first)).times(tally.count)
        })
    }
}
