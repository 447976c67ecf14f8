//! Pictures made of characters, as wide as a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::embed::shown;

/// What a picture may use of a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// Columns.
    pub width: usize,
    /// Lines.
    pub lines: usize,
    /// Only characters of ASCII.
    pub ascii: bool,
}

const RISING: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
const RISING_ASCII: [char; 8] = ['_', '.', ':', '-', '=', '+', '*', '#'];
const SHADES: [char; 5] = ['·', '░', '▒', '▓', '█'];
const SHADES_ASCII: [char; 5] = ['.', ':', '+', 'x', '#'];

impl Screen {
    /// Text without what cannot be shown, cut to this many columns.
    pub(super) fn cut(&self, text: &str, width: usize) -> String {
        let clean: String = text.chars().map(shown).collect();
        if clean.width() <= width {
            return clean;
        }
        let (end, room) =
            if self.ascii { ("...", width.saturating_sub(3)) } else { ("…", width.saturating_sub(1)) };
        let mut out = String::new();
        let mut used = 0;
        for c in clean.chars() {
            used += c.width().unwrap_or(0);
            if used > room {
                break;
            }
            out.push(c);
        }
        if width > 0 {
            out.push_str(end);
        }
        out
    }

    /// The same, filled up with spaces.
    pub(super) fn padded(&self, text: &str, width: usize) -> String {
        let mut out = self.cut(text, width);
        out.extend(std::iter::repeat_n(' ', width.saturating_sub(out.width())));
        out
    }

    /// A line that fits, with its end.
    pub(super) fn line(&self, text: &str) -> String {
        let mut out = self.cut(text, self.width);
        out.truncate(out.trim_end().len());
        out.push('\n');
        out
    }

    /// A bar for a share of 0 to 1.
    pub(super) fn bar(&self, share: f64, width: usize) -> String {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        if self.ascii {
            let full = (share * width as f64).round() as usize;
            return format!("{}{}", "#".repeat(full), " ".repeat(width.saturating_sub(full)));
        }
        const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
        let eighths = (share * width as f64 * 8.0).round() as usize;
        let part = PARTS.get(eighths % 8).copied().unwrap_or_default();
        let used = eighths / 8 + usize::from(!part.is_empty());
        format!("{}{part}{}", "█".repeat(eighths / 8), " ".repeat(width.saturating_sub(used)))
    }

    /// One character per value, as high as the value between `low` and `high`. What is not finite has a
    /// sign of its own: `N`, `^` and `v`; no value is a space.
    pub(super) fn spark(&self, values: &[Option<f64>], low: f64, high: f64) -> String {
        let heights = if self.ascii { RISING_ASCII } else { RISING };
        values
            .iter()
            .map(|value| sign(*value).unwrap_or_else(|| scaled(*value, low, high, &heights)))
            .collect()
    }

    /// One character for a value, as dark as the value between `low` and `high`.
    pub(super) fn shade(&self, value: Option<f64>, low: f64, high: f64) -> char {
        let shades = if self.ascii { SHADES_ASCII } else { SHADES };
        sign(value).unwrap_or_else(|| scaled(value, low, high, &shades))
    }
}

/// What stands for values that are on no scale.
fn sign(value: Option<f64>) -> Option<char> {
    match value {
        None => Some(' '),
        Some(v) if v.is_nan() => Some('N'),
        Some(v) if v.is_infinite() => Some(if v > 0.0 { '^' } else { 'v' }),
        Some(_) => None,
    }
}

fn scaled(value: Option<f64>, low: f64, high: f64, signs: &[char]) -> char {
    let last = signs.len().saturating_sub(1);
    let share = match value {
        Some(v) if high > low => ((v - low) / (high - low)).clamp(0.0, 1.0),
        _ => 1.0,
    };
    signs.get((share * last as f64).round() as usize).copied().unwrap_or(' ')
}

/// At most so many values: neighbours become the largest of them, so that no peak is lost.
pub(super) fn squeezed(values: &[Option<f64>], width: usize) -> Vec<Option<f64>> {
    let (count, width) = (values.len(), width.max(1));
    if count <= width {
        return values.to_vec();
    }
    let slice = |at: usize| values.get(at * count / width..(at + 1) * count / width).unwrap_or_default();
    (0..width).map(|at| slice(at).iter().copied().fold(None, worse)).collect()
}

/// The one of two values that matters more: NaN, then infinities, then the larger one.
pub(super) fn worse(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    let rank = |v: f64| if v.is_nan() { 2 } else { u8::from(v.is_infinite()) };
    match (a, b) {
        (Some(x), Some(y)) => {
            let later = rank(y) > rank(x) || (rank(y) == rank(x) && y > x);
            Some(if later { y } else { x })
        }
        (a, b) => a.or(b),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WIDE: Screen = Screen { width: 20, lines: 24, ascii: false };

    #[test]
    fn bars_and_lines_have_the_width_they_are_given() {
        for share in [0.0, 0.01, 0.37, 0.5, 0.999, 1.0, f64::NAN, 7.0] {
            for ascii in [false, true] {
                assert_eq!(Screen { ascii, ..WIDE }.bar(share, 10).width(), 10, "{share}");
            }
        }
        assert_eq!(WIDE.bar(0.55, 10), "█████▌    ");
        assert_eq!(
            WIDE.spark(&[Some(0.0), Some(7.0), None, Some(f64::NAN), Some(f64::NEG_INFINITY)], 0.0, 7.0),
            "▁█ Nv"
        );
    }

    #[test]
    fn text_is_cut_between_characters_and_cannot_move_the_cursor() {
        assert_eq!(WIDE.cut("显存峰值显存峰值显存峰值", 9), "显存峰值…");
        assert_eq!(WIDE.padded("\u{1b}[2Ja", 8), "\u{fffd}[2Ja   ");
        assert!(Screen { ascii: true, ..WIDE }.cut("abcdefgh", 5).is_ascii());
    }

    #[test]
    fn squeezing_keeps_the_peak() {
        let values: Vec<_> = (0..100).map(|n| Some(if n == 37 { 1000.0 } else { f64::from(n) })).collect();
        let few = squeezed(&values, 7);
        assert_eq!((few.len(), few.iter().copied().fold(None, worse)), (7, Some(1000.0)));
    }
}
