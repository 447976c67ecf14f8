//! Text that should be UTF-8 and is not.

use std::borrow::Cow;

/// The text of some bytes; what is not UTF-8 becomes U+FFFD.
///
/// Where all other bytes come in pairs as in GB2312 (the common part of GBK, the usual encoding of
/// Chinese systems), every such character is replaced. Read byte by byte, half of such a character can pass for a letter
/// of another script, which would be a wrong name and not a missing one.
pub fn replace_invalid(bytes: &[u8]) -> Cow<'_, str> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Cow::Borrowed(text);
    }
    match replace_gb2312(bytes) {
        Some(text) => Cow::Owned(text),
        None => String::from_utf8_lossy(bytes),
    }
}

/// One U+FFFD for each two-byte character; `None` when the bytes are not GB2312.
fn replace_gb2312(bytes: &[u8]) -> Option<String> {
    let mut out = String::with_capacity(bytes.len() + 8);
    let mut rest = bytes;
    loop {
        rest = match rest {
            [] => return Some(out),
            [ascii @ 0..=0x7F, rest @ ..] => {
                out.push(char::from(*ascii));
                rest
            }
            [0xA1..=0xFE, 0xA1..=0xFE, rest @ ..] => {
                out.push(char::REPLACEMENT_CHARACTER);
                rest
            }
            _ => return None,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_are_replaced_and_not_halves_of_them() {
        for (bytes, text) in [
            (&b"plain"[..], "plain"),
            ("\u{8bad}\u{7ec3}".as_bytes(), "\u{8bad}\u{7ec3}"),
            (b"\xd1\xb5\xc1\xb7", "\u{fffd}\u{fffd}"),
            (b"aten::\xd1\xb5", "aten::\u{475}"),
            (b"a\xffb", "a\u{fffd}b"),
            (b"caf\xe9m", "caf\u{fffd}m"),
            (b"\xc3\xa9\xff", "\u{e9}\u{fffd}"),
            (b"\xd1", "\u{fffd}"),
        ] {
            assert_eq!(replace_invalid(bytes), text, "{bytes:?}");
        }
    }
}
