//! Parsing JSON of which the end may not be in memory yet.
//!
//! [`Pull`](super::pull::Pull) wants one complete value. A dump file is one object of
//! any size, so this reader tells two things apart that are the same to `Pull`: bytes that are no
//! JSON, and bytes that are not there yet. Who meets the second reads on and starts the same member
//! again. The dialect is that of Python's `json` module.

use wide::u8x16;

use super::escape::{Oddities, text_of};
use super::pull::{Kind, is_delimiter, word_kind};

/// Why a step of the reading did not come to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stop {
    /// The bytes in memory end before the value does.
    More,
    /// The bytes are not JSON.
    Broken {
        /// Offset in the bytes in memory.
        at: usize,
        /// What should stand there.
        expected: &'static str,
    },
}

/// A reader that walks through bytes in memory.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether the input ends where the bytes do.
    last: bool,
    /// The closing bracket of everything open inside of a value that is being passed. Kept so that
    /// passing many small values allocates once.
    open: Vec<u8>,
}

impl<'a> Cursor<'a> {
    /// Starts at the first of these bytes; `last` says that no others follow them.
    pub fn new(bytes: &'a [u8], last: bool) -> Self {
        Self { bytes, at: 0, last, open: Vec::new() }
    }

    /// How many bytes were passed.
    #[inline]
    pub fn at(&self) -> usize {
        self.at
    }

    /// Passes this many bytes.
    pub fn advance(&mut self, n: usize) {
        self.at = self.bytes.len().min(self.at + n);
    }

    /// The bytes from an earlier place to here.
    #[inline]
    pub fn since(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..self.at).unwrap_or_default()
    }

    /// The first byte of the next token; passes white space.
    #[inline]
    pub fn token(&mut self) -> Result<u8, Stop> {
        match self.bytes.get(self.at) {
            Some(b) if !is_space(*b) => Ok(*b),
            _ => self.token_behind_space(),
        }
    }

    /// Dumps are indented: most tokens stand behind a line feed and some blanks.
    #[inline]
    fn token_behind_space(&mut self) -> Result<u8, Stop> {
        while let Some(front) = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<16>) {
            let front = u8x16::new(*front);
            let is = |b: u8| front.simd_eq(u8x16::splat(b));
            let spaces = (is(b' ') | is(b'\n') | is(b'\r') | is(b'\t')).to_bitmask();
            let length = (!spaces | 1 << 16).trailing_zeros() as usize;
            self.at += length;
            if length < 16 {
                return self.bytes.get(self.at).copied().ok_or(Stop::More);
            }
        }
        while let Some(b) = self.bytes.get(self.at) {
            if !is_space(*b) {
                return Ok(*b);
            }
            self.at += 1;
        }
        self.short("more: the file ends here")
    }

    /// Whether only white space is left of the input.
    pub fn at_end(&mut self) -> Result<bool, Stop> {
        match self.token() {
            Ok(_) => Ok(false),
            Err(Stop::More) => Err(Stop::More),
            Err(Stop::Broken { .. }) => Ok(true),
        }
    }

    /// Passes these bytes if they are the next ones.
    #[inline]
    pub fn passes(&mut self, bytes: &[u8]) -> bool {
        let found = self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(bytes));
        if found {
            self.at += bytes.len();
        }
        found
    }

    /// Passes one byte that must be this one.
    #[inline]
    pub fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Stop> {
        if self.token()? != byte {
            return self.broken(expected);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes a string; returns the bytes between its quotes.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], Stop> {
        if self.token()? != b'"' {
            return self.broken("a string");
        }
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        match string_end(rest) {
            Some(end) => {
                self.at += end + 2;
                Ok(rest.get(..end).unwrap_or_default())
            }
            None => self.short("a string that ends"),
        }
    }

    /// Passes a number and reads it as a 64-bit float, when one stands here and the bytes go on behind
    /// it; else passes nothing.
    #[inline]
    pub fn float(&mut self) -> Option<(f64, &'a [u8])> {
        let rest = self.bytes.get(self.at..)?;
        let start = usize::from(*rest.first()? == b'-');
        // What the library takes and JSON does not: words, leading zeros, a point without digits around.
        let mut whole = start;
        while rest.get(whole).is_some_and(u8::is_ascii_digit) {
            whole += 1;
        }
        let zeros = whole - start > 1 && rest.get(start) == Some(&b'0');
        let point = rest.get(whole) == Some(&b'.') && !rest.get(whole + 1).is_some_and(u8::is_ascii_digit);
        if whole == start || zeros || point {
            return None;
        }
        let (value, length) = fast_float2::parse_partial::<f64, _>(rest).ok()?;
        let raw = rest.get(..length)?;
        if !rest.get(length).is_some_and(|b| is_delimiter(*b)) {
            return None;
        }
        self.at += length;
        Some((value, raw))
    }

    /// Passes a number or a word.
    #[inline]
    pub fn word(&mut self) -> Result<(Kind, &'a [u8]), Stop> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        // One walk over a number finds its end and checks its grammar.
        if let Some((number, _)) = number_length(rest).and_then(|n| rest.split_at_checked(n)) {
            self.at += number.len();
            return Ok((Kind::Number, number));
        }
        let Some(end) = rest.iter().position(|b| is_delimiter(*b)) else {
            if !self.last {
                return Err(Stop::More);
            }
            return self.word_of(rest);
        };
        self.word_of(rest.get(..end).unwrap_or_default())
    }

    #[inline]
    fn word_of(&mut self, raw: &'a [u8]) -> Result<(Kind, &'a [u8]), Stop> {
        match word_kind(raw) {
            Some(kind) => {
                self.at += raw.len();
                Ok((kind, raw))
            }
            None => self.broken("a value"),
        }
    }

    /// Passes the comma before a member, its key and the colon; returns the bytes between the quotes
    /// of the key. At the end of the object passes its bracket and returns nothing.
    #[inline]
    pub fn next_key(&mut self, first: bool) -> Result<Option<&'a [u8]>, Stop> {
        match self.token()? {
            b'}' => {
                self.at += 1;
                return Ok(None);
            }
            b',' if !first => self.at += 1,
            b'"' if first => {}
            _ if first => return self.broken("a key or `}`"),
            _ => return self.broken("`,` or `}` after a value"),
        }
        self.key().map(Some)
    }

    /// Passes an object; `member` is called with each key, in front of the value, which it must pass.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.expect(b'{', "an object")?;
        let mut first = true;
        while let Some(key) = self.next_key(first)? {
            member(self, key)?;
            first = false;
        }
        Ok(())
    }

    /// Passes an array; `element` is called in front of each element, which it must pass.
    #[inline]
    pub fn array(
        &mut self,
        mut element: impl FnMut(&mut Self, usize) -> Result<(), Stop>,
    ) -> Result<(), Stop> {
        self.expect(b'[', "an array")?;
        if self.token()? == b']' {
            self.at += 1;
            return Ok(());
        }
        let mut index = 0;
        loop {
            element(self, index)?;
            index += 1;
            match self.token()? {
                b',' => self.at += 1,
                b']' => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.broken("`,` or `]` after a value"),
            }
        }
    }

    /// Passes a value of any type. Not recursive: the depth of nesting is data.
    #[inline]
    pub fn skip(&mut self) -> Result<(), Stop> {
        match self.token()? {
            b'"' => self.string().map(drop),
            b'[' if self.skip_naturals() => Ok(()),
            b'{' | b'[' => self.skip_nested(),
            _ => self.word().map(drop),
        }
    }

    /// Passes a list of whole numbers, such as a shape; passes nothing when anything else stands there.
    #[inline]
    fn skip_naturals(&mut self) -> bool {
        let mut rest = self.bytes.get(self.at + 1..).unwrap_or_default().iter();
        let mut next = || rest.next().copied().unwrap_or(0);
        let mut b = next();
        loop {
            while is_space(b) {
                b = next();
            }
            let first = b;
            if !first.is_ascii_digit() {
                return false;
            }
            b = next();
            if first == b'0' && b.is_ascii_digit() {
                return false;
            }
            while b.is_ascii_digit() {
                b = next();
            }
            while is_space(b) {
                b = next();
            }
            match b {
                b',' => b = next(),
                b']' => break,
                _ => return false,
            }
        }
        let left = rest.as_slice().len();
        self.at = self.bytes.len() - left;
        true
    }

    fn skip_nested(&mut self) -> Result<(), Stop> {
        self.open.clear();
        loop {
            match self.token()? {
                b'{' => {
                    self.at += 1;
                    if self.token()? != b'}' {
                        self.key()?;
                        self.open.push(b'}');
                        continue;
                    }
                    self.at += 1;
                }
                b'[' => {
                    self.at += 1;
                    if self.token()? != b']' {
                        self.open.push(b']');
                        continue;
                    }
                    self.at += 1;
                }
                b'"' => {
                    self.string()?;
                }
                _ => {
                    self.word()?;
                }
            }
            // A value has ended, and with it perhaps what it is in.
            loop {
                let Some(close) = self.open.last().copied() else { return Ok(()) };
                match self.token()? {
                    b',' => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    b if b == close => {
                        self.at += 1;
                        self.open.pop();
                    }
                    _ if close == b'}' => return self.broken("`,` or `}` after a value"),
                    _ => return self.broken("`,` or `]` after a value"),
                }
            }
        }
    }

    #[inline]
    fn key(&mut self) -> Result<&'a [u8], Stop> {
        let key = self.string()?;
        self.expect(b':', "`:` after a key")?;
        Ok(key)
    }

    /// The end of the bytes: more may come, or the file is cut off.
    fn short<T>(&self, expected: &'static str) -> Result<T, Stop> {
        if self.last { Err(Stop::Broken { at: self.at, expected }) } else { Err(Stop::More) }
    }

    /// What stands here is not what should.
    pub fn broken<T>(&self, expected: &'static str) -> Result<T, Stop> {
        Err(Stop::Broken { at: self.at, expected })
    }
}

/// The text of a string that ends before the cursor, given the bytes between its quotes.
pub fn decode<'a>(cursor: &Cursor<'_>, raw: &'a [u8]) -> Result<(std::borrow::Cow<'a, str>, Oddities), Stop> {
    match text_of(raw) {
        Some(text) => Ok(text),
        None => cursor.broken("a string before this place whose escapes are complete"),
    }
}

/// Where the string ends, given the bytes after its opening quote.
#[inline]
fn string_end(bytes: &[u8]) -> Option<usize> {
    // Most strings are short and without escapes; then one step finds the end.
    let mut from = 0;
    if let Some(front) = bytes.first_chunk::<16>() {
        let front = u8x16::new(*front);
        let special = front.simd_eq(u8x16::splat(b'"')) | front.simd_eq(u8x16::splat(b'\\'));
        from = (special.to_bitmask() | 1 << 16).trailing_zeros() as usize;
        if bytes.get(from) == Some(&b'"') {
            return Some(from);
        }
    }
    loop {
        let rest = bytes.get(from..)?;
        let quote = memchr::memchr2(b'"', b'\\', rest)?;
        if rest.get(quote) == Some(&b'"') {
            return Some(from + quote);
        }
        from += quote + 2;
    }
}

/// The length of a number at the front of these bytes; none when it is no number by the grammar of
/// JSON, or when the bytes end with it.
#[inline]
fn number_length(bytes: &[u8]) -> Option<usize> {
    let digits = |from: usize| {
        let mut at = from;
        while bytes.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        (at > from).then_some(at)
    };
    let start = usize::from(*bytes.first()? == b'-');
    let mut at = digits(start)?;
    if at - start > 1 && bytes.get(start) == Some(&b'0') {
        return None;
    }
    if bytes.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = matches!(bytes.get(at + 1), Some(b'+' | b'-'));
        at = digits(at + 1 + usize::from(sign))?;
    }
    bytes.get(at).is_some_and(|b| is_delimiter(*b)).then_some(at)
}

#[inline]
fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\n' | b'\r' | b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every cut of a good text asks for more, never says that it is broken.
    #[test]
    fn cut_input_asks_for_more() {
        let text = r#"{"a\"b": [1.5, -2e+3, {"c": NaN}, []], "d": {"e": "x\\", "long": "a string of more than sixteen bytes"}, "f": null}"#;
        for end in 0..text.len() {
            let cut = text.get(..end).unwrap_or_default();
            assert_eq!(Cursor::new(cut.as_bytes(), false).skip(), Err(Stop::More), "{cut}");
            assert!(matches!(Cursor::new(cut.as_bytes(), true).skip(), Err(Stop::Broken { .. })), "{cut}");
        }
        assert_eq!(Cursor::new(text.as_bytes(), false).skip(), Ok(()));
    }

    #[test]
    fn both_ways_to_pass_a_list_agree() {
        for list in [
            "[]",
            "[ ]",
            "[1]",
            "[0, 10 ,\n 2]",
            "[01]",
            "[1,]",
            "[,1]",
            "[1 2]",
            "[-1]",
            "[1.5]",
            "[[1]]",
            "[1",
        ] {
            let text = format!("{list}x");
            let mut quick = Cursor::new(text.as_bytes(), true);
            let mut slow = Cursor::new(text.as_bytes(), true);
            if quick.skip_naturals() {
                assert_eq!(slow.skip_nested(), Ok(()), "{list}");
                assert_eq!(quick.at(), slow.at(), "{list}");
            } else {
                assert_eq!(quick.at(), 0, "{list}");
            }
        }
    }

    #[test]
    fn numbers_are_read_as_by_the_grammar() {
        let words = [
            "0",
            "-0",
            "12",
            "-1.5",
            "1e5",
            "1E+5",
            "-1.25e-07",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "1x",
            "--1",
            "0.0",
            "00",
            "1.e5",
            "inf",
            "nan",
            "-inf",
            "1e400",
            "123456789012345678901234567890",
            "1.5.2",
            "0.00010156631469726562",
            "-7.3144307136535645",
            "1e-400",
            "0x10",
            "1_0",
        ];
        for word in words {
            let text = format!("{word},");
            let mut cursor = Cursor::new(text.as_bytes(), true);
            let expected = (word_kind(word.as_bytes()) == Some(Kind::Number))
                .then(|| word.parse::<f64>().ok())
                .flatten();
            let found = cursor.float();
            assert_eq!(found.map(|(value, _)| value.to_bits()), expected.map(f64::to_bits), "{word}");
            assert_eq!(cursor.at(), if expected.is_some() { word.len() } else { 0 }, "{word}");
            assert_eq!(Cursor::new(word.as_bytes(), true).float(), None, "{word} at the edge");
        }
    }

    #[test]
    fn both_ways_to_pass_a_number_agree() {
        let words = [
            "0",
            "-0",
            "12",
            "-1.5",
            "1e5",
            "1E+5",
            "-1.25e-07",
            "01",
            "-",
            "1.",
            ".5",
            "1e",
            "1e+",
            "+1",
            "1x",
            "--1",
            "0.0",
            "00",
        ];
        for word in words {
            let quick = number_length(format!("{word},").as_bytes());
            let is_number = word_kind(word.as_bytes()) == Some(Kind::Number);
            assert_eq!(quick, is_number.then_some(word.len()), "{word}");
            assert_eq!(number_length(word.as_bytes()), None, "{word}");
        }
    }

    #[test]
    fn a_word_at_the_edge_may_go_on() {
        assert_eq!(Cursor::new(b"12", false).word(), Err(Stop::More));
        assert_eq!(Cursor::new(b"12", true).word(), Ok((Kind::Number, &b"12"[..])));
        assert_eq!(Cursor::new(b"12,", false).word(), Ok((Kind::Number, &b"12"[..])));
    }

    #[test]
    fn broken_grammar_is_found_without_the_rest() {
        for (text, at) in
            [("{\"a\" 1", 5), ("[1 2", 3), ("{\"a\": 1,}", 8), ("{,", 1), ("[01,", 1), ("[1, ]", 4)]
        {
            let stop = Cursor::new(text.as_bytes(), false).skip();
            assert!(matches!(stop, Err(Stop::Broken { at: found, .. }) if found == at), "{text}: {stop:?}");
        }
    }

    #[test]
    fn members_and_elements_are_visited() {
        let mut seen = Vec::new();
        let mut cursor = Cursor::new(br#"{"a": [1, 2], "b": []}"#, true);
        cursor
            .object(|c, key| {
                let key = key.to_vec();
                c.array(|c, i| {
                    seen.push((key.clone(), i));
                    c.skip()
                })
            })
            .expect("valid");
        assert_eq!(seen, [(b"a".to_vec(), 0), (b"a".to_vec(), 1)]);
        assert_eq!(cursor.at_end(), Ok(true));
    }
}
