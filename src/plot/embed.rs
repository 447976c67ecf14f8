//! Values as JSON inside of an HTML page.
//!
//! Names and call stacks come from files of others: whatever they hold, they must not end the element
//! that they are in.

use serde::{Serialize, Serializer};

/// A number as the pictures know it: JSON has no NaN and no infinities, so these are texts, as in the
/// `json` format of results; no number at all is `null`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Number(pub Option<f64>);

impl Number {
    /// The number, when it is one that can be drawn on a scale.
    pub fn finite(self) -> Option<f64> {
        self.0.filter(|n| n.is_finite())
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_none(),
            Some(n) if n.is_nan() => serializer.serialize_str("NaN"),
            Some(n) if n.is_infinite() => {
                serializer.serialize_str(if n > 0.0 { "Infinity" } else { "-Infinity" })
            }
            // Whole numbers without a fraction: shorter, and exact.
            Some(n) if n.fract() == 0.0 && n.abs() < 9e15 => serializer.serialize_i64(n as i64),
            Some(n) => serializer.serialize_f64(n),
        }
    }
}

/// A value as JSON without any character that means something to HTML, or that cannot be seen. In JSON
/// these stand in texts only, where an escape is the same character.
pub(super) fn embedded(value: &impl Serialize) -> String {
    // Only maps with keys that are no texts cannot be written, and nothing here has one.
    let json = serde_json::to_string(value).unwrap_or_else(|_| "null".to_owned());
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        if matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}') || shown(c) != c {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

/// Text that is no markup, without what is invisible and changes how the rest is shown.
pub(super) fn markup(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' => out.push(c),
            c => out.push(shown(c)),
        }
    }
    out
}

/// The character, or what stands for one that cannot be seen: control characters, and those that turn
/// the direction of the text around them.
pub(super) fn shown(c: char) -> char {
    match c {
        c if c.is_control() => '\u{fffd}',
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}' => {
            '\u{fffd}'
        }
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><!-- \"'\\ \u{0}\u{1b}[31m\u{7f}\u{2028}\u{202e}\r\n\t 显存峰值 &amp;";

    #[test]
    fn nothing_that_is_embedded_ends_its_element_or_changes() {
        let text = embedded(&[HOSTILE]);
        assert!(!text.contains(['<', '>', '&', '\u{0}', '\u{1b}', '\u{2028}', '\u{202e}', '\n']), "{text}");
        let back: Vec<String> = serde_json::from_str(&text).unwrap();
        assert_eq!(back, [HOSTILE]);
    }

    #[test]
    fn markup_shows_everything_and_means_nothing() {
        let text = markup(HOSTILE);
        assert!(!text.contains(['<', '>', '"', '\'', '\u{0}', '\u{1b}', '\u{202e}', '\r']), "{text}");
        assert!(text.starts_with("&lt;/script&gt;&lt;!--") && text.contains("显存峰值 &amp;amp;"), "{text}");
    }

    #[test]
    fn numbers_that_are_none_have_names() {
        let numbers =
            [Some(1.5), Some(3.0), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), None];
        assert_eq!(embedded(&numbers.map(Number)), r#"[1.5,3,"NaN","Infinity","-Infinity",null]"#);
    }
}
