//! Statistics of tensors as they are written: numbers, Python's words, or texts that are numbers.

use crate::text::decimal;
use crate::text::json::pull::Kind;

use crate::text::json::cursor::{Cursor, Stop, decode};
use crate::text::unicode_digits::with_ascii_digits;

/// Passes the value of a statistic and reads it as the reference does, but does not clip it.
///
/// `None` stands for "there is no number": `null`, a list, an object, a text that is no number. NaN
/// and the infinities are themselves. An integer that is too large for a 64-bit float is the largest
/// one, because it is finite.
#[inline]
pub(super) fn statistic(c: &mut Cursor<'_>) -> Result<Option<f64>, Stop> {
    match c.token()? {
        b'-' | b'0'..=b'9' => {
            if let Some((value, raw)) = c.float() {
                return Ok(Some(finite_if_whole(value, raw)));
            }
            let (kind, raw) = c.word()?;
            Ok(of_word(kind, raw))
        }
        b'"' => {
            let raw = c.string()?;
            Ok(number_in_text(&decode(c, raw)?.0))
        }
        b'{' | b'[' => {
            c.skip()?;
            Ok(None)
        }
        _ => {
            let (kind, raw) = c.word()?;
            Ok(of_word(kind, raw))
        }
    }
}

/// A whole number that is too large for a 64-bit float is the largest one.
#[inline]
fn finite_if_whole(value: f64, raw: &[u8]) -> f64 {
    if value.is_infinite() && !raw.iter().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return f64::MAX.copysign(value);
    }
    value
}

fn of_word(kind: Kind, raw: &[u8]) -> Option<f64> {
    match kind {
        Kind::Number => {
            let value: f64 = fast_float2::parse(raw).ok()?;
            Some(finite_if_whole(value, raw))
        }
        Kind::NotFinite => Some(match raw {
            b"Infinity" => f64::INFINITY,
            b"-Infinity" => f64::NEG_INFINITY,
            _ => f64::NAN,
        }),
        Kind::Bool => Some(if raw == b"true" { 1.0 } else { 0.0 }),
        _ => None,
    }
}

/// A text as Python's `float()` reads it after `strip()`.
fn number_in_text(text: &str) -> Option<f64> {
    // To Python the four separators are white space, too.
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c));
    if trimmed.is_ascii() {
        decimal::float(trimmed.as_bytes())
    } else {
        decimal::float(with_ascii_digits(trimmed).as_bytes())
    }
}

/// Passes a value; tells whether Python takes it as true.
pub(super) fn truth(c: &mut Cursor<'_>) -> Result<bool, Stop> {
    match c.token()? {
        b'"' => Ok(!c.string()?.is_empty()),
        b'{' => {
            let mut any = false;
            c.object(|c, _| {
                any = true;
                c.skip()
            })?;
            Ok(any)
        }
        b'[' => {
            let mut any = false;
            c.array(|c, _| {
                any = true;
                c.skip()
            })?;
            Ok(any)
        }
        _ => {
            let (kind, raw) = c.word()?;
            Ok(of_word(kind, raw).is_some_and(|v| v != 0.0))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<f64> {
        statistic(&mut Cursor::new(text.as_bytes(), true)).expect("valid")
    }

    #[test]
    fn statistics_are_what_the_file_says() {
        let huge = "1".repeat(400);
        for (text, value) in [
            ("1.5", Some(1.5)),
            ("-0.0", Some(-0.0)),
            ("1e300", Some(1e300)),
            ("1E400", Some(f64::INFINITY)),
            ("-1E400", Some(f64::NEG_INFINITY)),
            (huge.as_str(), Some(f64::MAX)),
            ("Infinity", Some(f64::INFINITY)),
            ("-Infinity", Some(f64::NEG_INFINITY)),
            ("true", Some(1.0)),
            ("false", Some(0.0)),
            ("null", None),
            ("[1]", None),
            ("{\"a\": 1}", None),
            ("\" 1_000 \"", Some(1000.0)),
            ("\"\\u001c2\\t\"", Some(2.0)),
            ("\"\u{661}\u{662}\"", Some(12.0)),
            ("\"-inf\"", Some(f64::NEG_INFINITY)),
            ("\"0x10\"", None),
            ("\"\"", None),
        ] {
            assert_eq!(read(text).map(f64::to_bits), value.map(f64::to_bits), "{text}");
        }
        assert!(read("NaN").is_some_and(f64::is_nan));
        assert!(read("\"nan\"").is_some_and(f64::is_nan));
    }

    #[test]
    fn truth_is_that_of_python() {
        for (text, expected) in [
            ("true", true),
            ("false", false),
            ("null", false),
            ("0.0", false),
            ("2", true),
            ("NaN", true),
            ("\"\"", false),
            ("\"false\"", true),
            ("[]", false),
            ("[0]", true),
            ("{}", false),
            ("{\"a\": 0}", true),
        ] {
            assert_eq!(truth(&mut Cursor::new(text.as_bytes(), true)), Ok(expected), "{text}");
        }
    }
}
