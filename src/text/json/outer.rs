//! What stands around the array: a byte-order mark, an object that holds it, the end of the file.

use super::escape::spells;
use super::pull::word_kind;
use super::window::Window;

/// The longest key or word that is kept; what is longer cannot be one that is looked for.
const LONGEST: usize = 512;

/// In which form a file holds its array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// The file is the array.
    Array,
    /// The file is an object, and the array is one of its members.
    Member,
}

/// How a file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Whether there is a UTF-8 byte-order mark.
    pub mark: bool,
    /// In which form it holds its array.
    pub form: Form,
}

/// Why the array cannot be found, or what is wrong behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outside {
    /// There is nothing but white space.
    Blank,
    /// It looks like UTF-16.
    Utf16,
    /// It begins with a byte that begins neither an array nor an object.
    NotJson(u8),
    /// The object has no such member.
    NoMember,
    /// The member is no array.
    NotArray,
    /// The object has the member again behind the array.
    Again,
    /// Something else stands where this is expected.
    Unexpected(&'static str),
    /// The file ends where this is expected.
    Ended(&'static str),
    /// Something stands behind the end.
    Trailing,
}

/// Why reading around the array ended.
#[derive(Debug)]
pub enum Stop<E> {
    /// Something is wrong at this offset.
    Wrong(u64, Outside),
    /// The stream cannot be read.
    Read(E),
}

/// Reads what is around the array, byte by byte.
pub struct Outer<'w, F> {
    window: &'w mut Window,
    read: F,
}

impl<'w, E, F: FnMut(&mut [u8]) -> Result<usize, E>> Outer<'w, F> {
    /// Reads on where the window stands; `read` is as for [`Window::fill`].
    pub fn new(window: &'w mut Window, read: F) -> Self {
        Self { window, read }
    }

    /// Goes to the first element of the array: that of the file, or the member `key` of its object.
    /// Members before it are checked for balance and closed strings only.
    ///
    /// # Errors
    /// When there is no such array.
    pub fn open(&mut self, key: &str) -> Result<Opening, Stop<E>> {
        while self.window.bytes().len() < 3 && !self.window.ended() {
            self.fill()?;
        }
        let mark = self.window.bytes().starts_with(b"\xEF\xBB\xBF");
        if mark {
            self.window.consume(3);
        }
        let start = self.window.bytes();
        if start.starts_with(b"\xFF\xFE") || start.starts_with(b"\xFE\xFF") {
            return self.wrong(Outside::Utf16);
        }
        match self.next_token()? {
            None => self.wrong(Outside::Blank),
            Some(b'[') => {
                self.window.consume(1);
                Ok(Opening { mark, form: Form::Array })
            }
            Some(b'{') => {
                self.window.consume(1);
                match self.next_token()? {
                    Some(b'}') => self.wrong(Outside::NoMember),
                    _ if self.find_member(key)? => Ok(Opening { mark, form: Form::Member }),
                    _ => self.wrong(Outside::NoMember),
                }
            }
            Some(b) => self.wrong(Outside::NotJson(b)),
        }
    }

    /// Reads from behind the array to the end of the file.
    ///
    /// # Errors
    /// When something stands there that does not belong there.
    pub fn close(&mut self, form: Form, key: &str) -> Result<(), Stop<E>> {
        if form == Form::Member && self.another_member()? && self.find_member(key)? {
            return self.wrong(Outside::Again);
        }
        match self.next_token()? {
            None => Ok(()),
            Some(_) => self.wrong(Outside::Trailing),
        }
    }

    /// From the begin of a member: goes into the array that is the value of `key` (true), or behind the
    /// end of the object when there is none (false).
    fn find_member(&mut self, key: &str) -> Result<bool, Stop<E>> {
        loop {
            let found = spells(&self.key()?, key);
            self.expect(b':', "`:` after a key")?;
            let value = self.next_token()?;
            if found && value == Some(b'[') {
                self.window.consume(1);
                return Ok(true);
            }
            if found && value.is_some() {
                return self.wrong(Outside::NotArray);
            }
            self.skip_value(value)?;
            if !self.another_member()? {
                return Ok(false);
            }
        }
    }

    /// Behind a value: whether another member follows (true) or the object ends.
    fn another_member(&mut self) -> Result<bool, Stop<E>> {
        const EXPECTED: &str = "`,` or `}` after a member of the outer object";
        let next = self.next_token()?;
        match next {
            Some(b',' | b'}') => self.window.consume(1),
            Some(_) => return self.wrong(Outside::Unexpected(EXPECTED)),
            None => return self.wrong(Outside::Ended(EXPECTED)),
        }
        Ok(next == Some(b','))
    }

    /// Reads a key: the bytes between its quotes, empty when it is very long.
    fn key(&mut self) -> Result<Vec<u8>, Stop<E>> {
        self.expect(b'"', "a key")?;
        let mut key = Vec::new();
        let mut escaped = false;
        self.take_until("the end of a key", |b| {
            if b == b'"' && !escaped {
                return true;
            }
            escaped = b == b'\\' && !escaped;
            if key.len() < LONGEST {
                key.push(b);
            }
            false
        })?;
        if key.len() == LONGEST {
            key.clear();
        }
        Ok(key)
    }

    /// Skips a value that begins with this byte.
    fn skip_value(&mut self, first: Option<u8>) -> Result<(), Stop<E>> {
        match first {
            None => self.wrong(Outside::Ended("a value")),
            Some(b'"' | b'{' | b'[') => {
                let (mut depth, mut inside, mut escaped) = (0u64, false, false);
                self.take_until("the end of a value", |b| {
                    match b {
                        _ if escaped => escaped = false,
                        b'\\' => escaped = inside,
                        b'"' => inside = !inside,
                        _ if inside => {}
                        b'{' | b'[' => depth += 1,
                        b'}' | b']' => depth = depth.saturating_sub(1),
                        _ => {}
                    }
                    depth == 0 && !inside
                })
            }
            Some(_) => self.skip_word(),
        }
    }

    fn skip_word(&mut self) -> Result<(), Stop<E>> {
        let at = self.window.offset();
        let mut word = Vec::new();
        while let Some(b) = self.peek()? {
            if matches!(b, b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t') || word.len() == LONGEST {
                break;
            }
            word.push(b);
            self.window.consume(1);
        }
        match word_kind(&word) {
            Some(_) => Ok(()),
            None => Err(Stop::Wrong(at, Outside::Unexpected("a value"))),
        }
    }

    /// Takes bytes up to and with the one for which `last` is true.
    fn take_until(&mut self, what: &'static str, mut last: impl FnMut(u8) -> bool) -> Result<(), Stop<E>> {
        loop {
            let bytes = self.window.bytes();
            if let Some(n) = bytes.iter().position(|b| last(*b)) {
                self.window.consume(n + 1);
                return Ok(());
            }
            let n = bytes.len();
            self.window.consume(n);
            if self.window.ended() {
                return self.wrong(Outside::Ended(what));
            }
            self.fill()?;
        }
    }

    fn expect(&mut self, byte: u8, expected: &'static str) -> Result<(), Stop<E>> {
        match self.next_token()? {
            Some(b) if b == byte => {
                self.window.consume(1);
                Ok(())
            }
            Some(_) => self.wrong(Outside::Unexpected(expected)),
            None => self.wrong(Outside::Ended(expected)),
        }
    }

    /// The first byte that is no white space; `None` at the end of the stream.
    fn next_token(&mut self) -> Result<Option<u8>, Stop<E>> {
        loop {
            match self.peek()? {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.window.consume(1),
                other => return Ok(other),
            }
        }
    }

    fn peek(&mut self) -> Result<Option<u8>, Stop<E>> {
        while self.window.bytes().is_empty() && !self.window.ended() {
            self.fill()?;
        }
        Ok(self.window.bytes().first().copied())
    }

    fn fill(&mut self) -> Result<(), Stop<E>> {
        self.window.fill(&mut self.read).map_err(Stop::Read)
    }

    fn wrong<T>(&self, what: Outside) -> Result<T, Stop<E>> {
        Err(Stop::Wrong(self.window.offset(), what))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Opens a text in reads of `step` bytes; returns where the first element begins.
    fn open(text: &[u8], step: usize) -> Result<(Opening, u64), (u64, Outside)> {
        let mut rest = text;
        let mut window = Window::new(0, step);
        let opening = Outer::new(&mut window, |room: &mut [u8]| {
            let n = room.len().min(rest.len());
            room[..n].copy_from_slice(&rest[..n]);
            rest = &rest[n..];
            Ok::<_, ()>(n)
        })
        .open("events");
        match opening {
            Ok(o) => Ok((o, window.offset())),
            Err(Stop::Wrong(at, what)) => Err((at, what)),
            Err(Stop::Read(())) => unreachable!("reading does not fail"),
        }
    }

    #[test]
    fn the_array_is_found_in_both_forms() {
        for (text, mark, form) in [
            ("[1]", false, Form::Array),
            ("\u{FEFF} \r\n[", true, Form::Array),
            ("{\"events\":[", false, Form::Member),
            (
                "{\"a\": {\"events\": [\"]}\\\"\"]}, \"b\": \"\\\\\", \"c\":-1e5 , \"d\": NaN,\n\"ev\\u0065nts\" : [",
                false,
                Form::Member,
            ),
        ] {
            for step in [1, 3, 1000] {
                let (opening, at) = open(text.as_bytes(), step).expect(text);
                assert_eq!(opening, Opening { mark, form }, "{text}");
                let last = text.rfind('[').expect("has one");
                let expected = if form == Form::Array { text.find('[').expect("has one") } else { last };
                assert_eq!(at, expected as u64 + 1, "{text}");
            }
        }
    }

    #[test]
    fn what_holds_no_array_is_told() {
        for (text, at, what) in [
            ("", 0, Outside::Blank),
            ("  ", 2, Outside::Blank),
            ("x", 0, Outside::NotJson(b'x')),
            ("{}", 1, Outside::NoMember),
            ("{\"a\": 1}", 8, Outside::NoMember),
            ("{\"events\": 1}", 11, Outside::NotArray),
            ("{\"a\": 1", 7, Outside::Ended("`,` or `}` after a member of the outer object")),
            ("{\"a\": x}", 6, Outside::Unexpected("a value")),
            ("{\"a\": [1, ", 10, Outside::Ended("the end of a value")),
            ("{\"a", 3, Outside::Ended("the end of a key")),
            ("{", 1, Outside::Ended("a key")),
            ("{1", 1, Outside::Unexpected("a key")),
        ] {
            for step in [1, 1000] {
                assert_eq!(open(text.as_bytes(), step), Err((at, what)), "{text}");
            }
        }
        assert_eq!(open(b"\xFF\xFE[\0", 10), Err((0, Outside::Utf16)));
    }
}
