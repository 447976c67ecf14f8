//! What can be wrong with a JSON file.

use super::bytes::{self, Damage};

/// All of them, for a file that holds this string and this number.
pub(super) fn damages(string: &str, number: &str) -> Vec<Damage> {
    let mut all = bytes::damages();
    let text = |what: &'static str, with: &'static [u8]| {
        let from = string.to_owned();
        Damage::new(what, move |good| bytes::replaced(good, from.as_bytes(), with))
    };
    let value = |what: &'static str, with: &'static str| {
        let from = number.to_owned();
        Damage::new(what, move |good| bytes::replaced(good, from.as_bytes(), with.as_bytes()))
    };
    all.extend([
        Damage::legal("`[]`", |_| b"[]".to_vec()),
        Damage::legal("`{}`", |_| b"{}".to_vec()),
        Damage::new("a number", |_| b"5".to_vec()),
        Damage::new("a string", |_| b"\"text\"".to_vec()),
        Damage::new("`null`", |_| b"null".to_vec()),
        Damage::new("the whole in an array", |good| [b"[", good.trim_ascii(), b"]"].concat()),
        Damage::new("two documents", |good| [good, good].concat()),
        Damage::new("text behind the end", |good| [good, b"end of log\n"].concat()),
        Damage::new("a comma before the last bracket", |good| before_last_bracket(good, b",")),
        Damage::new("the last bracket is of the other kind", |good| {
            let mut bad = good.trim_ascii_end().to_vec();
            let last = bad.last_mut().unwrap();
            *last = if *last == b']' { b'}' } else { b']' };
            bad
        }),
        Damage::new("no comma between two members", |good| {
            let at = good.windows(2).rposition(|w| w == b",\n").unwrap();
            [&good[..at], &good[at + 1..]].concat()
        }),
        Damage::new("a comment", |good| replaced_first(good, b"\n", b" // mended by hand\n")),
        Damage::new("single quotes", |good| {
            good.iter().map(|b| if *b == b'"' { b'\'' } else { *b }).collect()
        }),
        text("a line break in a string", b"two\nlines"),
        text("control characters in a string", b"a\x01\x1f\x7fb"),
        text("a NUL byte in a string", b"a\0b"),
        text("bytes in a string that are no UTF-8", b"a\xff\xfeb"),
        text("an escape that is none", b"a\\qb"),
        text("an escape that is cut off", b"a\\u12"),
        text("half of a surrogate pair", b"a\\ud800b"),
        text("an empty string", b""),
        value("a number is a text", "\"many\""),
        value("a number as a number", "1736405443000200.500"),
        value("a number in a string", "\"1736405443000200.5\""),
        value("a number with exponent", "1.7364054430002005e15"),
        value("a number with exponent in a string", "\"1.7364054430002005E+15\""),
        value("a negative number", "-5"),
        value("a number of 30 digits", "173640544300020050000000000000"),
        value("a number with 30 decimals", "0.250000000000000000000000000000"),
        value("1e400", "1e400"),
        value("bare NaN", "NaN"),
        value("bare Infinity", "-Infinity"),
        value("`null` for a number", "null"),
        value("`true` for a number", "true"),
        value("a list for a number", "[1, 2]"),
        value("no value", ""),
        value("a leading zero", "007"),
        value("a value nested 100 deep", concat_nested_100()),
        Damage::new("a value nested 2 million deep", {
            let from = number.to_owned();
            move |good| {
                let deep = [vec![b'['; 2_000_000], vec![b']'; 2_000_000]].concat();
                bytes::replaced(good, from.as_bytes(), &deep)
            }
        }),
        Damage::new("2 million opening brackets at the end", |good| {
            before_last_bracket(good, &[vec![b','], vec![b'['; 2_000_000]].concat())
        }),
        Damage::new("a string of 50 MB", {
            let from = string.to_owned();
            move |good| bytes::replaced(good, from.as_bytes(), &vec![b'x'; 50 << 20])
        }),
    ]);
    all
}

fn concat_nested_100() -> &'static str {
    const DEEP: &str = "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\
                        1\
                        ]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]";
    DEEP
}

fn before_last_bracket(good: &[u8], what: &[u8]) -> Vec<u8> {
    let at = good.iter().rposition(|b| matches!(b, b']' | b'}')).unwrap();
    [&good[..at], what, &good[at..]].concat()
}

fn replaced_first(good: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = memchr::memmem::find(good, from).unwrap();
    [&good[..at], to, &good[at + from.len()..]].concat()
}
