//! From the bytes between two quotes to text.

use std::borrow::Cow;

/// What was odd about a string, as a set; none of it stops the reading.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Oddities {
    /// A raw control character (below space) that should have been escaped.
    pub control: bool,
    /// Bytes that are not UTF-8; each bad sequence became U+FFFD.
    pub not_utf8: bool,
    /// Half of a surrogate pair, which stands for no character; it became U+FFFD.
    pub lone_surrogate: bool,
}

impl Oddities {
    /// Whether there is anything odd.
    pub fn any(self) -> bool {
        self.control || self.not_utf8 || self.lone_surrogate
    }
}

/// The text of a string, given the bytes between its quotes; `None` when an escape is broken.
pub fn text_of(raw: &[u8]) -> Option<(Cow<'_, str>, Oddities)> {
    let mut odd =
        Oddities { control: raw.iter().fold(false, |any, b| any | (*b < b' ')), ..Oddities::default() };
    if memchr::memchr(b'\\', raw).is_none() {
        let text = match std::str::from_utf8(raw) {
            Ok(text) => Cow::Borrowed(text),
            Err(_) => {
                odd.not_utf8 = true;
                String::from_utf8_lossy(raw)
            }
        };
        return Some((text, odd));
    }
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        let (plain, escape) = rest.split_at(at);
        out.extend_from_slice(plain);
        let (c, used) = escaped_char(escape, &mut odd)?;
        out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
        rest = escape.get(used..)?;
    }
    out.extend_from_slice(rest);
    let text = String::from_utf8(out).unwrap_or_else(|e| {
        odd.not_utf8 = true;
        String::from_utf8_lossy(e.as_bytes()).into_owned()
    });
    Some((Cow::Owned(text), odd))
}

/// Whether a string, given the bytes between its quotes, spells this text; `text` holds no `\`.
#[inline]
pub fn spells(raw: &[u8], text: &str) -> bool {
    if raw == text.as_bytes() {
        return true;
    }
    // An escape is longer than what it stands for.
    raw.len() > text.len()
        && memchr::memchr(b'\\', raw).is_some()
        && text_of(raw).is_some_and(|(t, _)| t == text)
}

/// The character of an escape at the start of `bytes`, and how many bytes it takes.
fn escaped_char(bytes: &[u8], odd: &mut Oddities) -> Option<(char, usize)> {
    let c = match bytes.get(1)? {
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'"' => '"',
        b'\\' => '\\',
        b'/' => '/',
        b'u' => return unicode_escape(bytes, odd),
        _ => return None,
    };
    Some((c, 2))
}

/// As [`escaped_char`], for `\uXXXX` and for two of them that form a surrogate pair.
fn unicode_escape(bytes: &[u8], odd: &mut Oddities) -> Option<(char, usize)> {
    let first = hex4(bytes.get(2..6)?)?;
    if let Some(c) = char::from_u32(first) {
        return Some((c, 6));
    }
    if (0xD800..0xDC00).contains(&first)
        && bytes.get(6..8) == Some(b"\\u")
        && let Some(second) = bytes.get(8..12).and_then(hex4)
        && (0xDC00..0xE000).contains(&second)
    {
        let code = 0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00);
        return Some((char::from_u32(code)?, 12));
    }
    odd.lone_surrogate = true;
    Some((char::REPLACEMENT_CHARACTER, 6))
}

fn hex4(digits: &[u8]) -> Option<u32> {
    digits.iter().try_fold(0, |value, d| Some(value << 4 | char::from(*d).to_digit(16)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(raw: &[u8]) -> Option<(String, Oddities)> {
        text_of(raw).map(|(t, o)| (t.into_owned(), o))
    }

    #[test]
    fn escapes_become_what_they_stand_for() {
        for raw in [r"a;\r\nb", r#"\"\\\/\b\f\n\r\t"#, r"\u6808\u0041\u00e9", r"\ud83d\ude00!", "栈", ""] {
            let quoted = format!("\"{raw}\"");
            let expected: String = serde_json::from_str(&quoted).expect("valid JSON");
            assert_eq!(text(raw.as_bytes()), Some((expected, Oddities::default())), "{raw}");
        }
    }

    #[test]
    fn broken_escapes_are_no_text() {
        for raw in [r"\", r"a\q", r"\u12", r"\u12g4", r"\u+123", r"\U0041"] {
            assert_eq!(text(raw.as_bytes()), None, "{raw}");
        }
    }

    #[test]
    fn odd_strings_are_read_and_told() {
        let lone = Oddities { lone_surrogate: true, ..Oddities::default() };
        for (raw, shown) in
            [(r"\ud83d", "\u{FFFD}"), (r"\ude00x", "\u{FFFD}x"), (r"\ud83d\u0041", "\u{FFFD}A")]
        {
            assert_eq!(text(raw.as_bytes()), Some((shown.into(), lone)), "{raw}");
        }
        let bad = Oddities { not_utf8: true, ..Oddities::default() };
        assert_eq!(text(b"a\xffb"), Some(("a\u{FFFD}b".into(), bad)));
        assert_eq!(text(b"a\xffb\\n"), Some(("a\u{FFFD}b\n".into(), bad)));
        let control = Oddities { control: true, ..Oddities::default() };
        assert_eq!(text(b"a\tb"), Some(("a\tb".into(), control)));
    }

    #[test]
    fn keys_are_compared_by_what_they_spell() {
        assert!(spells(b"name", "name"));
        assert!(spells(br"n\u0061me", "name"));
        assert!(!spells(br"n\u0062me", "name"));
        assert!(!spells(b"names", "name"));
        assert!(!spells(br"name\", "name"));
    }
}
