//! 64 bytes of JSON as bit masks.
//!
//! Bit `k` of a mask says something about byte `k` of the block. With masks, a block inside of a long
//! string costs a few instructions, however many brackets it holds.

use crate::text::blocks::{BLOCK, Block, equal, equal_each, holds};

/// What a block holds, with respect to strings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Masks {
    /// Opening brackets `{` and `[` outside of strings.
    pub open: u64,
    /// Closing brackets `}` and `]` outside of strings.
    pub close: u64,
    /// Quotes that open a string.
    pub string_starts: u64,
    /// The `u` of `\u` escapes.
    pub unicode_escapes: u64,
}

/// What is carried from one block to the next: whether a string or an escape is open.
#[derive(Debug, Clone, Copy, Default)]
pub struct StringState {
    /// All ones inside of a string, else zero.
    inside: u64,
    /// 1 when the next byte is escaped by a backslash at the end of the last block.
    escape: u64,
}

impl StringState {
    /// The masks of the next block.
    #[inline(always)]
    pub fn next(&mut self, block: &Block) -> Masks {
        let [mut quotes, backslashes] = equal_each(block, 0, [b'"', b'\\']);
        let mut unicode_escapes = 0;
        if (backslashes | self.escape) != 0 {
            let escaped = self.escaped(backslashes);
            quotes &= !escaped;
            unicode_escapes = escaped & equal(block, b'u');
        }
        if quotes == 0 && self.inside != 0 {
            // In the middle of a long string nothing else can matter.
            return Masks { open: 0, close: 0, string_starts: 0, unicode_escapes };
        }
        let inside = prefix_xor(quotes) ^ self.inside;
        self.inside = if inside >> 63 == 1 { u64::MAX } else { 0 };
        // `[` and `{`, and `]` and `}`, differ in one bit only.
        let [open, close] = equal_each(block, 0x20, [b'{', b'}']);
        Masks {
            open: open & !inside,
            close: close & !inside,
            string_starts: quotes & inside,
            unicode_escapes,
        }
    }

    /// Passes a block that lies inside of a string with all of its bytes, if that is easy to see; false when
    /// it is not, and then nothing was done. `\u` escapes in the block are not told.
    #[inline(always)]
    pub fn pass_inside(&mut self, block: &Block) -> bool {
        // Without a quote the string cannot end, and what escapes what does not matter, unless
        // a backslash at the end may escape the first byte of the next block.
        let easy = self.inside != 0 && block[BLOCK - 1] != b'\\' && !holds(block, b'"');
        if easy {
            self.escape = 0;
        }
        easy
    }

    /// The bytes that are escaped by a backslash before them: in a run of backslashes every second
    /// one escapes the byte after it, and subtraction finds the parity of all runs at once.
    #[inline(always)]
    fn escaped(&mut self, backslashes: u64) -> u64 {
        const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;
        let may_escape = backslashes & !self.escape;
        let codes = ((may_escape << 1) | ODD).wrapping_sub(may_escape) ^ ODD;
        let escaped = codes ^ (backslashes | self.escape);
        self.escape = (codes & backslashes) >> 63;
        escaped
    }
}

/// Each bit becomes the parity of itself and all lower bits: with quotes in, the inside of strings
/// (opening quote included, closing quote not) comes out.
#[inline(always)]
fn prefix_xor(mut bits: u64) -> u64 {
    for shift in [1, 2, 4, 8, 16, 32] {
        bits ^= bits << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same masks, found byte by byte.
    fn slow(text: &[u8]) -> Vec<Masks> {
        let (mut inside, mut escaped) = (false, false);
        let one = |block: &[u8]| {
            let mut m = Masks { open: 0, close: 0, string_starts: 0, unicode_escapes: 0 };
            for (k, b) in block.iter().enumerate() {
                let bit = 1u64 << k;
                if escaped {
                    escaped = false;
                    if *b == b'u' {
                        m.unicode_escapes |= bit;
                    }
                    if *b == b'"' || *b == b'\\' {
                        continue;
                    }
                } else if *b == b'\\' {
                    escaped = true;
                } else if *b == b'"' {
                    inside = !inside;
                    if inside {
                        m.string_starts |= bit;
                    }
                }
                if !inside && matches!(b, b'{' | b'[') {
                    m.open |= bit;
                }
                if !inside && matches!(b, b'}' | b']') {
                    m.close |= bit;
                }
            }
            m
        };
        text.chunks(BLOCK).map(one).collect()
    }

    #[test]
    fn masks_equal_the_byte_by_byte_ones() {
        let mut state = 7u64;
        let mut text = vec![0u8; 64 * 4000];
        for b in &mut text {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            *b = *br#""\\\{}[]uaC,:"#.get((state >> 33) as usize % 13).expect("in range");
        }
        let mut fast = StringState::default();
        let fast: Vec<Masks> = text.as_chunks::<64>().0.iter().map(|b| fast.next(b)).collect();
        assert_eq!(fast, slow(&text));
    }
}
