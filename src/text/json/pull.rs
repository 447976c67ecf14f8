//! Parsing inside one complete value.
//!
//! The grammar is checked everywhere, except for escapes and UTF-8 inside of strings: those are
//! checked by [`escape::text_of`](super::escape::text_of) for the strings that are wanted.

use wide::u8x16;

use super::escape::spells;

/// A reader that walks through the bytes of one value.
#[derive(Debug, Clone)]
pub struct Pull<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// The type of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    String,
    /// A finite number.
    Number,
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool,
    /// `NaN`, `Infinity` or `-Infinity`, which Python writes and strict JSON does not know.
    NotFinite,
    /// An array.
    Array,
    /// An object.
    Object,
}

/// A value that was passed, as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Value<'a> {
    /// Its type.
    pub kind: Kind,
    /// Its bytes; of a string those between the quotes.
    pub raw: &'a [u8],
}

impl Value<'_> {
    /// Whether it is a string that spells this text, escapes or not.
    pub fn is_text(&self, text: &str) -> bool {
        self.kind == Kind::String && spells(self.raw, text)
    }
}

/// Where and why the bytes are not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Broken {
    /// Offset in the bytes of the value.
    pub at: usize,
    /// What should stand there.
    pub expected: &'static str,
}

impl<'a> Pull<'a> {
    /// Starts at the first byte.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// How many bytes were passed.
    pub fn at(&self) -> usize {
        self.at
    }

    /// The first byte of the next token, if there is one; passes white space.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        while let Some(b) = self.bytes.get(self.at) {
            if !matches!(b, b' ' | b'\n' | b'\r' | b'\t') {
                return Some(*b);
            }
            self.at += 1;
        }
        None
    }

    /// Passes a string and returns the bytes between its quotes.
    ///
    /// # Errors
    /// When no string stands here, or it does not end.
    #[inline]
    pub fn string(&mut self) -> Result<&'a [u8], Broken> {
        if self.peek() != Some(b'"') {
            return self.broken("a string");
        }
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        match string_end(rest) {
            Some(end) => {
                self.at += end + 2;
                Ok(rest.get(..end).unwrap_or_default())
            }
            None => self.broken("a string that ends"),
        }
    }

    /// Passes an object: calls `member` with each key (the bytes between its quotes), placed before
    /// the value, which `member` must pass.
    ///
    /// # Errors
    /// When no object stands here, its grammar is broken, or `member` fails.
    #[inline]
    pub fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &'a [u8]) -> Result<(), Broken>,
    ) -> Result<(), Broken> {
        self.expect(b'{', "an object")?;
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key = self.key()?;
            member(self, key)?;
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => {
                    self.at += 1;
                    return Ok(());
                }
                _ => return self.broken("`,` or `}` after a value"),
            }
        }
    }

    /// Passes a value of any type.
    ///
    /// # Errors
    /// When its grammar is broken.
    #[inline]
    pub fn value(&mut self) -> Result<Value<'a>, Broken> {
        match self.peek() {
            Some(b'"') => Ok(Value { kind: Kind::String, raw: self.string()? }),
            Some(b @ (b'{' | b'[')) => {
                let start = self.at;
                self.nested()?;
                let kind = if b == b'{' { Kind::Object } else { Kind::Array };
                Ok(Value { kind, raw: self.bytes.get(start..self.at).unwrap_or_default() })
            }
            _ => self.word(),
        }
    }

    /// Passes a number, `true`, `false`, `null` or one of Python's words.
    #[inline]
    fn word(&mut self) -> Result<Value<'a>, Broken> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let raw = rest.split(|b| is_delimiter(*b)).next().unwrap_or_default();
        match word_kind(raw) {
            Some(kind) => {
                self.at += raw.len();
                Ok(Value { kind, raw })
            }
            None => self.broken("a value"),
        }
    }

    /// Passes an array or object with all that is in it. Not recursive: the depth of nesting is data.
    fn nested(&mut self) -> Result<(), Broken> {
        // The closing bracket of each array and object that is open.
        let mut open: Vec<u8> = Vec::new();
        loop {
            match self.peek() {
                Some(b'{') => {
                    self.at += 1;
                    if self.peek() != Some(b'}') {
                        self.key()?;
                        open.push(b'}');
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'[') => {
                    self.at += 1;
                    if self.peek() != Some(b']') {
                        open.push(b']');
                        continue;
                    }
                    self.at += 1;
                }
                Some(b'"') => {
                    self.string()?;
                }
                _ => {
                    self.word()?;
                }
            }
            // A value has ended, and with it perhaps what it is in.
            loop {
                let Some(close) = open.last().copied() else { return Ok(()) };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        if close == b'}' {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b) if b == close => {
                        self.at += 1;
                        open.pop();
                    }
                    _ if close == b'}' => return self.broken("`,` or `}` after a value"),
                    _ => return self.broken("`,` or `]` after a value"),
                }
            }
        }
    }

    /// Passes a key and its colon.
    #[inline]
    fn key(&mut self) -> Result<&'a [u8], Broken> {
        let key = self.string()?;
        self.expect(b':', "`:` after a key")?;
        Ok(key)
    }

    #[inline]
    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Broken> {
        if self.peek() != Some(byte) {
            return self.broken(expected);
        }
        self.at += 1;
        Ok(())
    }

    fn broken<T>(&self, expected: &'static str) -> Result<T, Broken> {
        Err(Broken { at: self.at, expected })
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
        let (start, rest) = (from, bytes.get(from..)?);
        let quote = memchr::memchr(b'"', rest)?;
        let backslashes = rest.iter().take(quote).rev().take_while(|b| **b == b'\\').count();
        if backslashes % 2 == 0 {
            return Some(start + quote);
        }
        from = start + quote + 1;
    }
}

/// Whether a byte ends a number or word.
#[inline]
pub(super) fn is_delimiter(b: u8) -> bool {
    // One bit for each of them: a match of so many bytes becomes a jump for every byte of a number.
    const fn bit(b: u8) -> u128 {
        1 << b
    }
    const SPACE: u128 = bit(b' ') | bit(b'\n') | bit(b'\r') | bit(b'\t');
    const BRACKETS: u128 = bit(b'{') | bit(b'}') | bit(b'[') | bit(b']');
    const ENDS: u128 = SPACE | BRACKETS | bit(b',') | bit(b':') | bit(b'"');
    b < 128 && ENDS >> b & 1 == 1
}

/// What a word without quotes is; `None` when it is no value.
#[inline]
pub fn word_kind(word: &[u8]) -> Option<Kind> {
    match word {
        b"null" => Some(Kind::Null),
        b"true" | b"false" => Some(Kind::Bool),
        b"NaN" | b"Infinity" | b"-Infinity" => Some(Kind::NotFinite),
        _ => is_number(word).then_some(Kind::Number),
    }
}

/// Whether a word is a number by the grammar of JSON.
#[inline]
fn is_number(word: &[u8]) -> bool {
    let digits = |rest: &[u8]| rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let unsigned = word.strip_prefix(b"-").unwrap_or(word);
    let whole = digits(unsigned);
    if whole == 0 || (whole > 1 && unsigned.first() == Some(&b'0')) {
        return false;
    }
    let mut rest = unsigned.get(whole..).unwrap_or_default();
    if let Some(fraction) = rest.strip_prefix(b".") {
        let n = digits(fraction);
        if n == 0 {
            return false;
        }
        rest = fraction.get(n..).unwrap_or_default();
    }
    if let [b'e' | b'E', exponent @ ..] = rest {
        let exponent = exponent.strip_prefix(b"+").or(exponent.strip_prefix(b"-")).unwrap_or(exponent);
        return !exponent.is_empty() && digits(exponent) == exponent.len();
    }
    rest.is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Option<Kind> {
        let mut pull = Pull::new(text.as_bytes());
        let value = pull.value().ok()?;
        assert!(pull.peek().is_none(), "{text}");
        Some(value.kind)
    }

    #[test]
    fn values_are_told_apart() {
        for (text, expected) in [
            ("\"a\"", Kind::String),
            (" -0.5e+3 ", Kind::Number),
            ("1e400", Kind::Number),
            ("null", Kind::Null),
            ("false", Kind::Bool),
            ("-Infinity", Kind::NotFinite),
            ("[1, [2], {\"a\": {}}]", Kind::Array),
            ("{ \"a\" : [ ] , \"b\":{}}", Kind::Object),
        ] {
            assert_eq!(kind(text), Some(expected), "{text}");
        }
    }

    #[test]
    fn broken_grammar_is_told_with_its_place() {
        for (text, at) in [
            ("{\"a\" 1}", 5),
            ("{\"a\": 1 \"b\": 2}", 8),
            ("{\"a\": [1}", 8),
            ("[1, ]", 4),
            ("[1 2]", 3),
            ("{\"a\": 1,}", 8),
            ("{\"a\": }", 6),
            ("{a: 1}", 1),
            ("[01]", 1),
            ("[+1]", 1),
            ("[1.]", 1),
            ("[.5]", 1),
            ("[1e]", 1),
            ("[nul]", 1),
            ("\"abc", 0),
            ("[\"abc\\\"]", 1),
            ("", 0),
        ] {
            let broken = Pull::new(text.as_bytes()).value().map(|v| v.kind).expect_err(text);
            assert_eq!(broken.at, at, "{text}: {broken:?}");
        }
    }

    #[test]
    fn strings_end_at_the_first_quote_that_is_not_escaped() {
        for n in 0..40 {
            let raw = format!("{}{}", "x".repeat(n % 23), "\\\\".repeat(n));
            for inner in [
                raw.clone(),
                format!("{raw}\\\""),
                format!("{raw}\\\"tail of some length"),
                raw.clone() + "栈",
            ] {
                let text = format!("\"{inner}\", \"more\"");
                assert_eq!(Pull::new(text.as_bytes()).string(), Ok(inner.as_bytes()), "{text}");
            }
        }
    }

    #[test]
    fn deep_nesting_is_no_recursion() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(kind(&deep), Some(Kind::Array));
    }

    #[test]
    fn members_come_with_their_keys() {
        let mut seen = Vec::new();
        let mut pull = Pull::new(b"{\"a\": 1, \"b\\u0062\": [2]}");
        pull.object(|p, key| {
            seen.push((key.to_vec(), p.value()?.raw.to_vec()));
            Ok(())
        })
        .expect("valid");
        assert_eq!(seen, [(b"a".to_vec(), b"1".to_vec()), (b"b\\u0062".to_vec(), b"[2]".to_vec())]);
    }
}
