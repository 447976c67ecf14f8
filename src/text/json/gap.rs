//! What stands between the elements of an array: commas, white space, numbers and words, rubbish.
//!
//! Elements that are objects or arrays are passed by the [scanner](super::array); everything else at
//! the level of the array comes through here, byte by byte. It is two bytes per element as a rule,
//! but nothing bounds it, so no more than one word of it is ever kept.

use super::array::{Fault, Visitor};
use super::pull::{Kind, word_kind};

/// The longest word that is looked at; no value that is written without quotes is longer.
const LONGEST_WORD: usize = 64;

/// What came last at the level of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum After {
    /// The opening bracket of the array.
    Start,
    /// An element.
    Element,
    /// A comma.
    Comma,
}

/// The state between two elements.
#[derive(Debug, Clone)]
pub struct Gap {
    after: After,
    token: Token,
    /// The next byte is escaped by a backslash. Outside of strings that is rubbish, but the scanner's
    /// masks treat it so as well, and both must agree on where strings begin and end.
    escaped: bool,
    elements: u64,
}

#[derive(Debug, Clone)]
enum Token {
    None,
    String { at: u64 },
    Word { at: u64, text: Vec<u8> },
}

impl Gap {
    /// Starts behind the opening bracket or behind a comma.
    pub fn new(after: After) -> Self {
        Self { after, token: Token::None, escaped: false, elements: 0 }
    }

    /// What came last.
    pub fn after(&self) -> After {
        self.after
    }

    /// How many strings, numbers and other words that are elements were passed.
    pub fn elements(&self) -> u64 {
        self.elements
    }

    /// Where the string begins that is not closed yet, if there is one.
    pub fn open_string(&self) -> Option<u64> {
        match self.token {
            Token::String { at } => Some(at),
            _ => None,
        }
    }

    /// Takes the common gap, one comma and at most one space after an element. False when it is
    /// anything else; then nothing was taken.
    #[inline(always)]
    pub fn is_comma(&self, bytes: &[u8]) -> bool {
        matches!(bytes, b", " | b",") && self.after == After::Element && matches!(self.token, Token::None)
    }

    /// Takes some bytes that stand at `offset`.
    #[cold]
    pub fn pass(&mut self, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) {
        for (at, b) in (offset..).zip(bytes) {
            if std::mem::take(&mut self.escaped) {
                self.extend(*b);
                continue;
            }
            self.escaped = *b == b'\\';
            match (b, &self.token) {
                (b'"', Token::String { at }) => {
                    let at = *at;
                    self.token = Token::None;
                    self.elements += 1;
                    visitor.not_object(at, "a string");
                }
                (_, Token::String { .. }) => {}
                (b' ' | b'\n' | b'\r' | b'\t', _) => self.end_word(visitor),
                (b',', _) => {
                    self.end_word(visitor);
                    self.comma(at, visitor);
                }
                (b'"', _) => {
                    self.end_word(visitor);
                    self.begin_element(at, visitor);
                    self.token = Token::String { at };
                }
                (_, Token::Word { .. }) => self.extend(*b),
                (_, Token::None) => self.token = Token::Word { at, text: vec![*b] },
            }
        }
    }

    /// An object or array begins: what stood before it must end with a comma or the opening bracket.
    #[inline]
    pub fn begin_element(&mut self, at: u64, visitor: &mut impl Visitor) {
        self.end_word(visitor);
        // A backslash right before a bracket has escaped the bracket, not the begin of the next gap.
        self.escaped = false;
        if self.after == After::Element {
            visitor.fault(at, Fault::MissingComma);
        }
        self.after = After::Element;
    }

    /// The array closes, or the file ends.
    pub fn end(&mut self, visitor: &mut impl Visitor) {
        self.end_word(visitor);
    }

    fn extend(&mut self, b: u8) {
        if let Token::Word { text, .. } = &mut self.token
            && text.len() <= LONGEST_WORD
        {
            text.push(b);
        }
    }

    fn comma(&mut self, at: u64, visitor: &mut impl Visitor) {
        if self.after != After::Element {
            visitor.fault(at, Fault::ExtraComma);
        }
        self.after = After::Comma;
    }

    /// A word has ended: it is an element, or rubbish that changes nothing.
    fn end_word(&mut self, visitor: &mut impl Visitor) {
        let Token::Word { at, text } = &self.token else { return };
        let (at, kind) = (*at, word_kind(text));
        let found = match kind {
            Some(Kind::Null) => "null",
            Some(Kind::Bool) => "true or false",
            Some(_) => "a number",
            None => "",
        };
        self.token = Token::None;
        if kind.is_some() {
            self.elements += 1;
            // The word itself is no longer there, so this does not come back here.
            self.begin_element(at, visitor);
            visitor.not_object(at, found);
        } else {
            visitor.fault(at, Fault::Garbage);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::text::blocks::{Block, equal};
    use crate::text::json::array::{ArrayScanner, Needles, Progress, Unclosed};
    use crate::text::json::window::{LOOKAHEAD, Window};

    use super::*;

    /// Wants elements with a string that begins with `x`.
    struct Xs;

    impl Needles for Xs {
        fn first_bytes(block: &Block) -> u64 {
            equal(block, b'x')
        }

        fn found(text: &[u8; LOOKAHEAD]) -> bool {
            text.starts_with(b"x")
        }
    }

    /// Writes down what it is told.
    #[derive(Default)]
    struct Log(Vec<(u64, String)>);

    impl Visitor for Log {
        fn object(&mut self, at: u64, bytes: &[u8]) {
            self.0.push((at, String::from_utf8_lossy(bytes).into_owned()));
        }

        fn not_object(&mut self, at: u64, found: &'static str) {
            self.0.push((at, found.to_owned()));
        }

        fn fault(&mut self, at: u64, fault: Fault) {
            self.0.push((at, format!("{fault:?}")));
        }
    }

    /// Scans what follows `[`, read in steps; the elements are counted.
    fn scan(text: &str, step: usize) -> (Vec<(u64, String)>, u64, Result<Progress, Unclosed>) {
        let mut rest = text.as_bytes();
        let (mut window, mut log) = (Window::new(0, step), Log::default());
        let mut scanner: ArrayScanner<Xs> = ArrayScanner::new(After::Start, 1000);
        loop {
            match scanner.scan(window.padded(), window.offset(), u64::MAX, &mut log) {
                Progress::More { done } => window.consume(done),
                end => return (log.0, scanner.elements(), Ok(end)),
            }
            if window.ended() {
                let end = scanner.finish(window.offset(), &mut log);
                return (log.0, scanner.elements(), Err(end));
            }
            window
                .fill(|room| {
                    let (now, later) = rest.split_at(room.len().min(rest.len()));
                    room[..now.len()].copy_from_slice(now);
                    rest = later;
                    Ok::<_, ()>(now.len())
                })
                .expect("reading does not fail");
        }
    }

    #[test]
    fn all_that_stands_between_brackets_is_told() {
        let closed = |end, after_comma| Ok(Progress::Closed { end, after_comma });
        for (text, told, elements, end) in [
            ("]", &[][..], 0, closed(1, false)),
            (
                "{}, {\"x\": 1} ,{\"y\": \"x\"}]",
                &[(4, "{\"x\": 1}"), (14, "{\"y\": \"x\"}")],
                3,
                closed(25, false),
            ),
            ("{\"y\": 1}, {\"y\": \"\\u0078\"}]", &[(10, "{\"y\": \"\\u0078\"}")], 2, closed(26, false)),
            ("{\"y\": 1,}, {]]", &[(11, "Mismatched")], 2, closed(14, false)),
            ("1, \"},{\",null]", &[(0, "a number"), (3, "a string"), (9, "null")], 3, closed(14, false)),
            ("{} {}, {},]", &[(3, "MissingComma")], 3, closed(11, true)),
            ("{} 5 {}]", &[(3, "MissingComma"), (3, "a number"), (5, "MissingComma")], 3, closed(8, false)),
            (
                ",{},, {} nul, {}]",
                &[(0, "ExtraComma"), (4, "ExtraComma"), (9, "Garbage")],
                3,
                closed(17, false),
            ),
            ("{}, \\\"{}, \\{},  {}]", &[(4, "Garbage"), (10, "Garbage")], 4, closed(19, false)),
            ("{}, [{\"x\": 1}], {}", &[(4, "an array")], 3, Err(Unclosed::Between(After::Element))),
            ("{}, {\"x\": [", &[], 1, Err(Unclosed::Inside(4))),
            ("{}, \"x\\\"", &[], 1, Err(Unclosed::Inside(4))),
            ("{}, ", &[], 1, Err(Unclosed::Between(After::Comma))),
            (" ", &[], 0, Err(Unclosed::Between(After::Start))),
            ("{}}", &[], 1, Ok(Progress::WrongBracket { at: 2 })),
        ] {
            let told: Vec<_> = told.iter().map(|(at, what)| (*at, (*what).to_owned())).collect();
            for step in [1, 5, 1000] {
                assert_eq!(scan(text, step), (told.clone(), elements, end), "{text}, {step}");
            }
        }
    }

    #[test]
    fn a_string_over_many_blocks_is_one_string() {
        for n in 0..200 {
            let inner = format!("{}\\\\{}", "}, {".repeat(n), "\\\"[".repeat(n % 7));
            let element = format!("{{\"x\": \"{inner}\", \"b\": {{}}}}");
            let text = format!("{{}}, {element}]");
            let (told, elements, end) = scan(&text, 64);
            assert_eq!(told, [(4, element)]);
            assert_eq!(
                (elements, end),
                (2, Ok(Progress::Closed { end: text.len() as u64, after_comma: false }))
            );
        }
    }
}
