//! How big the terminal is: columns and lines.

use std::io;

use terminal_size::{Height, Width, terminal_size_of};
use unicode_width::UnicodeWidthStr;

/// The terminal behind stdout.
pub(crate) fn of_stdout() -> (usize, usize) {
    or_usual(terminal_size_of(io::stdout()))
}

/// The terminal behind stderr.
pub(crate) fn of_stderr() -> (usize, usize) {
    or_usual(terminal_size_of(io::stderr()))
}

/// A text for stderr, broken at words where that is a terminal whose width is known. Lines that are indented
/// are pictures of a place in SQL, and stay.
pub(crate) fn wrapped_for_stderr(text: &str) -> String {
    match terminal_size_of(io::stderr()) {
        Some((Width(width), _)) if width > 0 => wrapped(text, usize::from(width)),
        _ => text.to_owned(),
    }
}

fn wrapped(text: &str, width: usize) -> String {
    let line = |line: &str| {
        if line.starts_with(' ') || line.width() <= width {
            return line.to_owned();
        }
        let mut out = String::new();
        let mut used = 0;
        for word in line.split_inclusive(' ') {
            let needed = word.trim_end().width();
            if used > 0 && used + needed > width && needed + INDENT.len() <= width {
                out.truncate(out.trim_end().len());
                out.push('\n');
                out.push_str(INDENT);
                used = INDENT.len();
            }
            out.push_str(word);
            used += word.width();
        }
        out
    };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

/// In front of the second line of what was one.
const INDENT: &str = "  ";

/// What old terminals had, when the system does not tell.
fn or_usual(known: Option<(Width, Height)>) -> (usize, usize) {
    let or = |size: u16, usual: usize| if size == 0 { usual } else { usize::from(size) };
    known.map_or((80, 24), |(width, height)| (or(width.0, 80), or(height.0, 24)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_words_and_pictures_stay() {
        let text =
            "a long line of many words that do not fit\n  select something that is quite long from nowhere";
        assert_eq!(
            wrapped(text, 20),
            "a long line of many\n  words that do not\n  fit\n  select something that is quite long from nowhere"
        );
        assert_eq!(
            wrapped("/a/path/that/is/longer/than/the/screen", 20),
            "/a/path/that/is/longer/than/the/screen"
        );
    }
}
