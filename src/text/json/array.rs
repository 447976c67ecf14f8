//! The elements of a top-level array, from a stream.
//!
//! The scanner looks at 64 bytes at a time and follows the depth of brackets outside of strings. It
//! is exact, not a heuristic, about where elements begin and end. Elements in which none of the
//! wanted strings begins are only checked for balance, closed strings and the comma between them;
//! all others are handed to a [`Visitor`], which parses them.

use std::marker::PhantomData;

use super::blocks::{Masks, StringState};
use super::gap::{After, Gap};
use super::window::LOOKAHEAD;
use crate::text::blocks::{BLOCK, Block};

/// The beginnings of strings that make an element worth parsing.
pub trait Needles {
    /// Where a block holds the first byte of one of them; more than that is slower but not wrong.
    fn first_bytes(block: &Block) -> u64;

    /// Whether one of them stands at the front of `text`, the bytes after an opening quote.
    fn found(text: &[u8; LOOKAHEAD]) -> bool;
}

/// Whoever wants the elements.
pub trait Visitor {
    /// An object that holds a string that begins with one of the [`Needles`], or a `\u` escape: that
    /// could spell one of them.
    fn object(&mut self, at: u64, bytes: &[u8]);

    /// An element that is not an object.
    fn not_object(&mut self, at: u64, found: &'static str);

    /// Something is wrong with the array; the scanner goes on as well as it can.
    fn fault(&mut self, at: u64, fault: Fault);
}

/// What can be wrong with an array without ending it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// An element follows another one without a comma.
    MissingComma,
    /// A comma follows another one or the opening bracket.
    ExtraComma,
    /// Something that is no value.
    Garbage,
    /// An element opens with one kind of bracket and closes with the other.
    Mismatched,
    /// An element is larger than the limit.
    TooLarge,
}

/// How far a call of [`ArrayScanner::scan`] came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// All whole blocks were looked at; the first `done` bytes are no longer needed.
    More {
        /// Bytes that the caller must drop before the next call.
        done: usize,
    },
    /// An element begins at or behind the place to stop at. What stands before it was looked at.
    Reached {
        /// Where the element begins.
        at: u64,
    },
    /// The array is closed.
    Closed {
        /// The offset behind its `]`.
        end: u64,
        /// Whether a comma stands before the `]`.
        after_comma: bool,
    },
    /// A `}` stands where `]` should close the array.
    WrongBracket {
        /// Where it stands.
        at: u64,
    },
}

/// Where the scanner was when the stream ended before the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unclosed {
    /// Inside of the element or string that begins there.
    Inside(u64),
    /// Between elements.
    Between(After),
}

/// Walks over the elements of one array; `N` says which of them are wanted.
#[derive(Debug)]
pub struct ArrayScanner<N> {
    strings: Strings,
    /// Brackets that are open, the array's own included.
    depth: i64,
    /// The next block, relative to the bytes of the next call.
    position: usize,
    element: Element,
    /// Whether the open element holds a needle.
    marked: bool,
    /// Begin of what was not yet given to `gap`, when no element is open.
    gap_start: usize,
    gap: Gap,
    limit: usize,
    elements: u64,
    needles: PhantomData<N>,
}

/// What is known about strings at the end of a block.
#[derive(Debug, Clone, Copy, Default)]
struct Strings {
    masks: StringState,
    /// 1 when the last block ended with an opening quote: the string begins with the next one.
    start_carry: u64,
}

impl Strings {
    /// Where needles and `\u` escapes are in the block at `position`.
    #[inline(always)]
    fn hits<N: Needles>(&mut self, block: &Block, masks: &Masks, bytes: &[u8], position: usize) -> u64 {
        let starts = (masks.string_starts << 1) | self.start_carry;
        self.start_carry = masks.string_starts >> 63;
        let mut hits = masks.unicode_escapes;
        if starts != 0 {
            let mut maybe = starts & N::first_bytes(block);
            while maybe != 0 {
                let k = maybe.trailing_zeros() as usize;
                let text = bytes.get(position + k..).and_then(<[u8]>::first_chunk::<LOOKAHEAD>);
                hits |= u64::from(text.is_some_and(N::found)) << k;
                maybe &= maybe - 1;
            }
        }
        hits
    }
}

#[derive(Debug, Clone, Copy)]
enum Element {
    None,
    /// Begins here, relative to the bytes of the next call.
    Open(usize),
    /// Begins at this offset of the stream; was too large to keep.
    Dropped(u64),
}

impl<N: Needles> ArrayScanner<N> {
    /// A scanner for what follows `[` (with [`After::Start`]) or for what begins with an element
    /// (with [`After::Comma`]). Elements of more than `limit` bytes are faults.
    pub fn new(after: After, limit: usize) -> Self {
        Self {
            strings: Strings::default(),
            depth: 1,
            position: 0,
            element: Element::None,
            marked: false,
            gap_start: 0,
            gap: Gap::new(after),
            limit,
            elements: 0,
            needles: PhantomData,
        }
    }

    /// How many elements of any type were passed.
    pub fn elements(&self) -> u64 {
        self.elements + self.gap.elements()
    }

    /// Looks at all whole blocks of `bytes`, which stand at `offset`. In each call, `bytes` must begin
    /// with what the last call did not declare done. Stops at the first object or array that begins
    /// at or behind the offset `stop`.
    pub fn scan(&mut self, bytes: &[u8], offset: u64, stop: u64, visitor: &mut impl Visitor) -> Progress {
        let stop = usize::try_from(stop.saturating_sub(offset)).unwrap_or(usize::MAX);
        let whole = bytes.len().saturating_sub(LOOKAHEAD);
        let blocks = bytes.get(self.position..whole).unwrap_or_default().as_chunks::<BLOCK>().0;
        // What changes with every block is kept out of `self`, so that it can stay in registers.
        let (mut strings, mut position) = (self.strings, self.position);
        for block in blocks {
            if self.marked && strings.masks.pass_inside(block) {
                // A long string of an element that is wanted anyway.
                strings.start_carry = 0;
                position += BLOCK;
                continue;
            }
            let masks = strings.masks.next(block);
            let hits = strings.hits::<N>(block, &masks, bytes, position);
            if self.passes(&masks) {
                if hits != 0 {
                    self.marked = true;
                }
            } else {
                self.position = position;
                if let Some(end) = self.borders(masks, hits, bytes, offset, stop, visitor) {
                    return end;
                }
            }
            position += BLOCK;
        }
        (self.strings, self.position) = (strings, position);
        Progress::More { done: self.release(bytes, offset, visitor) }
    }

    /// Where the scanner is when no more bytes will come.
    pub fn finish(&mut self, offset: u64, visitor: &mut impl Visitor) -> Unclosed {
        self.gap.end(visitor);
        match (self.element, self.gap.open_string()) {
            (Element::Open(start), _) => Unclosed::Inside(offset + start as u64),
            (Element::Dropped(at), _) | (Element::None, Some(at)) => Unclosed::Inside(at),
            (Element::None, None) => Unclosed::Between(self.gap.after()),
        }
    }

    /// Follows the depth over a block in which no element can begin or end; false when one can, and then
    /// nothing was done.
    #[inline(always)]
    fn passes(&mut self, masks: &Masks) -> bool {
        if masks.open | masks.close == 0 {
            return true;
        }
        let closing = i64::from(masks.close.count_ones());
        if self.depth - closing < 2 {
            return false;
        }
        self.depth += i64::from(masks.open.count_ones()) - closing;
        true
    }

    /// Goes through the brackets of a block in which an element may begin or end.
    #[inline(always)]
    fn borders(
        &mut self,
        masks: Masks,
        hits: u64,
        bytes: &[u8],
        offset: u64,
        stop: usize,
        visitor: &mut impl Visitor,
    ) -> Option<Progress> {
        // Needles lie inside of strings and brackets outside, so each bit is one of the three.
        let mut bits = masks.open | masks.close | hits;
        while bits != 0 {
            let k = bits.trailing_zeros();
            let bit = 1u64 << k;
            let at = self.position + k as usize;
            bits &= bits - 1;
            if masks.open & bit != 0 {
                if self.depth == 1 {
                    if at >= stop {
                        self.pass_gap(at, bytes, offset, visitor);
                        return Some(Progress::Reached { at: offset + at as u64 });
                    }
                    self.begin(at, bytes, offset, visitor);
                }
                self.depth += 1;
            } else if masks.close & bit != 0 {
                self.depth -= 1;
                if self.depth == 1 {
                    self.end(at, bytes, offset, visitor);
                } else if self.depth == 0 {
                    return Some(self.close(at, bytes, offset, visitor));
                }
            } else {
                self.marked = true;
            }
        }
        None
    }

    #[inline(always)]
    fn begin(&mut self, at: usize, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) {
        self.pass_gap(at, bytes, offset, visitor);
        self.element = Element::Open(at);
        self.marked = false;
    }

    /// Looks at the gap before an element.
    #[inline(always)]
    fn pass_gap(&mut self, at: usize, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) {
        let gap = bytes.get(self.gap_start..at).unwrap_or_default();
        if !self.gap.is_comma(gap) {
            self.gap.pass(gap, offset + self.gap_start as u64, visitor);
            self.gap.begin_element(offset + at as u64, visitor);
        }
    }

    #[inline(always)]
    fn end(&mut self, at: usize, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) {
        if let Element::Open(start) = self.element {
            let element = bytes.get(start..=at).unwrap_or_default();
            let place = offset + start as u64;
            match (element.first(), element.last()) {
                _ if element.len() > self.limit => visitor.fault(place, Fault::TooLarge),
                (Some(b'{'), Some(b'}')) if self.marked => visitor.object(place, element),
                (Some(b'{'), Some(b'}')) => {}
                (Some(b'['), Some(b']')) => visitor.not_object(place, "an array"),
                _ => visitor.fault(place, Fault::Mismatched),
            }
        }
        self.element = Element::None;
        self.elements += 1;
        self.gap_start = at + 1;
    }

    fn close(&mut self, at: usize, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) -> Progress {
        let gap = bytes.get(self.gap_start..at).unwrap_or_default();
        self.gap.pass(gap, offset + self.gap_start as u64, visitor);
        self.gap.end(visitor);
        let at_offset = offset + at as u64;
        if bytes.get(at) == Some(&b']') {
            Progress::Closed { end: at_offset + 1, after_comma: self.gap.after() == After::Comma }
        } else {
            Progress::WrongBracket { at: at_offset }
        }
    }

    /// How many bytes are no longer needed; all positions become relative to what follows them.
    fn release(&mut self, bytes: &[u8], offset: u64, visitor: &mut impl Visitor) -> usize {
        let done = match self.element {
            Element::Open(start) if self.position - start > self.limit => {
                visitor.fault(offset + start as u64, Fault::TooLarge);
                self.element = Element::Dropped(offset + start as u64);
                self.position
            }
            Element::Open(start) => start,
            Element::Dropped(_) => self.position,
            Element::None => {
                let gap = bytes.get(self.gap_start..self.position).unwrap_or_default();
                self.gap.pass(gap, offset + self.gap_start as u64, visitor);
                self.position
            }
        };
        self.position -= done;
        self.gap_start = 0;
        if let Element::Open(start) = &mut self.element {
            *start = 0;
        }
        done
    }
}
