//! Makes inputs of other inputs: bytes, pieces of two inputs, words of a format, numbers, lines and cells.
//!
//! Everything follows from a seed, so that what was found can be found again.

// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

/// A generator of numbers that look random (splitmix64).
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end as u64) as usize
    }

    pub(crate) fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        &of[self.below(of.len())]
    }

    /// Two places in a text, the second at or behind the first, mostly near to it.
    fn range(&mut self, len: usize) -> (usize, usize) {
        let start = self.below(len + 1);
        let most = if self.one_in(4) { len - start } else { (len - start).min(16) };
        (start, start + self.below(most + 1))
    }
}

/// Words that stand for trouble in any text.
const WORDS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"\\\"",
    b"\\u",
    b"\\ud800",
    b"\\udc00",
    b"\\u0000",
    b"{",
    b"}",
    b"[",
    b"]",
    b"[]",
    b"{}",
    b":",
    b",",
    b",,",
    b"\n",
    b"\r",
    b"\r\n",
    b"\n\n",
    b"\0",
    b"\t",
    b" ",
    b"\xEF\xBB\xBF",
    b"\xFF\xFE",
    b"\xC3",
    b"\xED\xA0\x80",
    b"null",
    b"true",
    b"false",
    b"NaN",
    b"Infinity",
    b"-Infinity",
    b"N/A",
    b"inf",
    b"nan",
    b"-",
    b"+",
    b".",
    b"e",
    b"E+",
    b"0",
    b"-0",
    b"00",
    b"1e400",
    b"1e-400",
    b"1.7976931348623157e308",
    b"9223372036854775807",
    b"9223372036854775808",
    b"-9223372036854775808",
    b"18446744073709551615",
    b"18446744073709551616",
    b"2147483648",
    b"4294967296",
    b"9007199254740993",
    b"0.1",
    b"1_000",
    b"0x1F",
    b"1e3",
    b"999999999999999999999999999999",
    b"'",
    b";",
    b"--",
    b"/*",
    b"*/",
    b"$1",
    b"$$",
    b"\xE2\x80\xA8",
    b"\xEF\xBC\x91",
    b"\x1F",
    b"\x7F",
    b"|",
    b"@",
    b"/",
    b"..",
    b"(",
    b")",
];

/// An input made of one of the corpus, and of others. `words` are those of the format.
pub(crate) fn mutated(random: &mut Random, corpus: &[Vec<u8>], words: &[&str], most: usize) -> Vec<u8> {
    let mut input = random.pick(corpus).clone();
    let most_changes = if random.one_in(3) { 12 } else { 3 };
    let changes = 1 + random.below(most_changes);
    for _ in 0..changes {
        change(random, &mut input, corpus, words);
    }
    input.truncate(most);
    input
}

fn change(random: &mut Random, input: &mut Vec<u8>, corpus: &[Vec<u8>], words: &[&str]) {
    let len = input.len();
    match random.below(14) {
        // A bit, a byte.
        0 if len > 0 => {
            let at = random.below(len);
            input[at] ^= 1 << random.below(8);
        }
        1 if len > 0 => {
            let at = random.below(len);
            input[at] = random.next() as u8;
        }
        // Remove, repeat, move.
        2 => {
            let (start, end) = random.range(len);
            input.drain(start..end);
        }
        3 => {
            let (start, end) = random.range(len);
            let piece = input[start..end].to_vec();
            let times = if random.one_in(8) { 40 } else { 1 };
            let at = random.below(len + 1);
            input.splice(at..at, piece.repeat(times));
        }
        4 => {
            let (start, end) = random.range(len);
            let piece: Vec<u8> = input.drain(start..end).collect();
            let at = random.below(input.len() + 1);
            input.splice(at..at, piece);
        }
        // A piece of another input, or its end behind the start of this one.
        5 => {
            let other = random.pick(corpus);
            let (start, end) = random.range(other.len());
            let piece = other[start..end].to_vec();
            let (from, to) = random.range(len);
            input.splice(from..to, piece);
        }
        6 => {
            let other = random.pick(corpus).clone();
            let (at, from) = (random.below(len + 1), random.below(other.len() + 1));
            input.truncate(at);
            input.extend_from_slice(&other[from..]);
        }
        // A word, for nothing, for some bytes, or for another word.
        7 | 8 => {
            let word = if words.is_empty() || random.one_in(2) {
                random.pick(WORDS)
            } else {
                random.pick(words).as_bytes()
            };
            let (from, to) = if random.one_in(2) { random.range(len) } else { (len, len) };
            let (from, to) = if from == len { (random.below(len + 1), 0) } else { (from, to) };
            input.splice(from..to.max(from), word.iter().copied());
        }
        // A number: replaced by a limit, or changed a little.
        9 | 10 => number(random, input),
        // A line or a cell: removed, repeated, exchanged.
        11 => pieces(random, input, b'\n'),
        12 => pieces(random, input, b','),
        // Cut off.
        _ => {
            if random.one_in(3) {
                input.truncate(random.below(len + 1));
            } else {
                brackets(random, input);
            }
        }
    }
}

/// Changes one of the runs of digits.
fn number(random: &mut Random, input: &mut Vec<u8>) {
    if input.is_empty() {
        return;
    }
    let from = random.below(input.len());
    let Some(start) = input[from..].iter().position(u8::is_ascii_digit).map(|at| from + at) else { return };
    let end = input[start..].iter().position(|b| !b.is_ascii_digit()).map_or(input.len(), |at| start + at);
    let word: Vec<u8> = match random.below(4) {
        0 => random.pick(&WORDS[34..58]).to_vec(),
        1 => random.below(300).to_string().into_bytes(),
        2 => {
            let old: u64 = String::from_utf8_lossy(&input[start..end]).parse().unwrap_or(0);
            let step = 1u64 << random.below(40);
            (if random.one_in(2) { old.wrapping_add(step) } else { old.wrapping_sub(step) })
                .to_string()
                .into_bytes()
        }
        _ => {
            let mut digits = input[start..end].to_vec();
            digits.insert(random.below(digits.len() + 1), *random.pick(b".eE-+_ 0"));
            digits
        }
    };
    input.splice(start..end, word);
}

/// Removes, repeats or exchanges what stands between two separators.
fn pieces(random: &mut Random, input: &mut Vec<u8>, separator: u8) {
    let mut all: Vec<Vec<u8>> = input.split(|b| *b == separator).map(<[u8]>::to_vec).collect();
    let (a, b) = (random.below(all.len()), random.below(all.len()));
    match random.below(4) {
        0 => drop(all.remove(a)),
        1 => all.insert(b, all[a].clone()),
        2 => all.swap(a, b),
        _ => all[a] = all[b].clone(),
    }
    *input = all.join(&separator);
}

/// Wraps a piece in brackets, many times now and then.
fn brackets(random: &mut Random, input: &mut Vec<u8>) {
    let (start, end) = random.range(input.len());
    let times = *random.pick(&[1, 1, 2, 70, 130, 300]);
    let (open, close): (&[u8], &[u8]) =
        *random.pick(&[(&b"["[..], &b"]"[..]), (b"{\"a\":", b"}"), (b"(", b")"), (b"\"", b"\"")]);
    input.splice(end..end, close.repeat(times));
    input.splice(start..start, open.repeat(times));
}
