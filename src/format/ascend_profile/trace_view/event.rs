//! The fields of one trace event.

use crate::text::decimal;
use crate::text::json::escape::text_of;
use crate::text::json::pull::{Broken, Kind, Pull, Value};

/// The fields of an event that matter, as they are written. Of a key that occurs again the last one
/// counts, as in Python.
#[derive(Debug, Default)]
pub(super) struct Event<'a> {
    pub(super) name: Option<Value<'a>>,
    pub(super) cat: Option<Value<'a>>,
    pub(super) ts: Option<Value<'a>>,
    pub(super) dur: Option<Value<'a>>,
    pub(super) pid: Option<Value<'a>>,
    pub(super) tid: Option<Value<'a>>,
    pub(super) args: Args<'a>,
}

/// The fields of `args` that matter; none when `args` is missing or no object.
#[derive(Debug, Default)]
pub(super) struct Args<'a> {
    pub(super) stack: Option<Value<'a>>,
    pub(super) correlation: Option<Value<'a>>,
}

impl<'a> Event<'a> {
    /// Reads an event from its bytes.
    ///
    /// # Errors
    /// When its grammar is broken.
    pub(super) fn parse(bytes: &'a [u8]) -> Result<Self, Broken> {
        let mut event = Event::default();
        Pull::new(bytes).object(|pull, key| event.member(pull, key))?;
        Ok(event)
    }

    #[inline]
    fn member(&mut self, pull: &mut Pull<'a>, key: &[u8]) -> Result<(), Broken> {
        let field = match key {
            b"name" => &mut self.name,
            b"cat" => &mut self.cat,
            b"ts" => &mut self.ts,
            b"dur" => &mut self.dur,
            b"pid" => &mut self.pid,
            b"tid" => &mut self.tid,
            b"args" => {
                self.args = Args::default();
                if pull.peek() == Some(b'{') {
                    return pull.object(|pull, key| self.args.member(pull, key));
                }
                return pull.value().map(|_| ());
            }
            _ => {
                return match plain(key) {
                    Some(key) => self.escaped_member(pull, &key),
                    None => pull.value().map(|_| ()),
                };
            }
        };
        *field = Some(pull.value()?);
        Ok(())
    }

    #[cold]
    fn escaped_member(&mut self, pull: &mut Pull<'a>, key: &str) -> Result<(), Broken> {
        self.member(pull, key.as_bytes())
    }

    /// Whether `cat` is this text.
    #[inline]
    pub(super) fn is(&self, category: &str) -> bool {
        self.cat.is_some_and(|c| c.is_text(category))
    }
}

impl<'a> Args<'a> {
    #[inline]
    fn member(&mut self, pull: &mut Pull<'a>, key: &[u8]) -> Result<(), Broken> {
        let field = match key {
            b"Call stack" => &mut self.stack,
            b"correlation_id" => &mut self.correlation,
            _ => {
                return match plain(key) {
                    Some(key) => self.escaped_member(pull, &key),
                    None => pull.value().map(|_| ()),
                };
            }
        };
        *field = Some(pull.value()?);
        Ok(())
    }

    #[cold]
    fn escaped_member(&mut self, pull: &mut Pull<'a>, key: &str) -> Result<(), Broken> {
        self.member(pull, key.as_bytes())
    }
}

/// What a key with escapes spells; `None` when it has none, or cannot be one of ours.
#[inline]
fn plain(key: &[u8]) -> Option<String> {
    // Most keys are short, and then this is quicker than a search.
    if key.iter().all(|b| *b != b'\\') {
        return None;
    }
    let (text, _) = text_of(key)?;
    // An escaped backslash stays one; such a key is not ours, and must not be unescaped again.
    (!text.contains('\\')).then(|| text.into_owned())
}

/// The nanoseconds of a time that is written in microseconds, as a number or as a string.
#[inline]
pub(super) fn nanos(value: &Value) -> Option<i64> {
    if !matches!(value.kind, Kind::Number | Kind::String) {
        return None;
    }
    decimal::micros_to_nanos(value.raw).or_else(|| {
        // No number as it is written, but an escape may stand for a digit or for white space.
        let (text, _) = text_of(value.raw).filter(|_| value.raw.contains(&b'\\'))?;
        decimal::micros_to_nanos(text.as_bytes())
    })
}

/// A value as a message shows it: quoted, and cut off when it is long.
pub(super) fn shown(value: Option<&Value>) -> String {
    const LONGEST: usize = 40;
    let Some(value) = value else { return "nothing".to_owned() };
    let text = String::from_utf8_lossy(value.raw.get(..LONGEST).unwrap_or(value.raw));
    let more = if value.raw.len() > LONGEST { "..." } else { "" };
    match value.kind {
        Kind::String => format!("the string {:?}{more}", &*text),
        Kind::Array => "an array".to_owned(),
        Kind::Object => "an object".to_owned(),
        _ => format!("{text}{more}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_of_equal_keys_counts_and_escapes_do_not() {
        let text = r#"{"name": 1, "args": {"Call stack": "a", "Call\u0020stack": "b"}, "n\u0061me": "x", "cat": "cpu\u005fop"}"#;
        let event = Event::parse(text.as_bytes()).expect("valid");
        assert!(event.name.is_some_and(|n| n.is_text("x")));
        assert!(event.is("cpu_op"));
        assert!(event.args.stack.is_some_and(|s| s.is_text("b")));
        let text = r#"{"args": {"Call stack": "a"}, "args": null}"#;
        assert!(Event::parse(text.as_bytes()).expect("valid").args.stack.is_none());
    }

    #[test]
    fn times_come_from_strings_and_numbers() {
        let time = |text: &str| Pull::new(text.as_bytes()).value().ok().and_then(|v| nanos(&v));
        assert_eq!(time("1736405443863674.400"), Some(1_736_405_443_863_674_400));
        assert_eq!(time("\"1736405443863674.400\\t\""), Some(1_736_405_443_863_674_400));
        assert_eq!(time("\"\\u0031.5\""), Some(1_500));
        for text in ["null", "true", "\"N/A\"", "NaN", "1e400", "[1]", "\"\""] {
            assert_eq!(time(text), None, "{text}");
        }
    }
}
