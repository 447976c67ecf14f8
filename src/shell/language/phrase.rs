//! Texts with holes, and how one is recognised in what is said.

/// An English text and its translation. `{}` stands for something that is kept, `{n}` for a number or a size,
/// `{w}` for something without a comma; the holes of the translation, all written `{}`, are filled in their order.
pub(super) type Phrase = (&'static str, &'static str);

/// The text with every line put into other words, if there are words for it.
pub(super) fn translated(text: &str, books: &[&[Phrase]]) -> String {
    if let Some(whole) = exact(text, books) {
        return whole.to_owned();
    }
    text.split('\n').map(|line| of_line(line, books)).collect::<Vec<_>>().join("\n")
}

fn of_line(line: &str, books: &[&[Phrase]]) -> String {
    let words = line.trim_start();
    let indent = line.get(..line.len() - words.len()).unwrap_or_default();
    match by_phrase(words, books).or_else(|| by_parts(words, books)) {
        Some(said) => format!("{indent}{said}"),
        None => line.to_owned(),
    }
}

fn exact(text: &str, books: &[&[Phrase]]) -> Option<&'static str> {
    let mut phrases = books.iter().flat_map(|book| book.iter());
    phrases.find(|(english, _)| *english == text).map(|(_, other)| *other)
}

/// The first phrase that fits the whole text. What fills its last hole may be a phrase itself.
fn by_phrase(text: &str, books: &[&[Phrase]]) -> Option<String> {
    for (english, other) in books.iter().flat_map(|book| book.iter()) {
        let Some(holes) = holes(english, text) else { continue };
        let last = holes.len().saturating_sub(1);
        let mut said = String::new();
        let mut holes = holes.into_iter().enumerate();
        for (at, part) in other.split("{}").enumerate() {
            if at > 0
                && let Some((hole, filling)) = holes.next()
            {
                let inner = if hole == last { by_phrase(filling, books) } else { None };
                said.push_str(inner.as_deref().unwrap_or(filling));
            }
            said.push_str(part);
        }
        return Some(said);
    }
    None
}

/// A list: each part by itself, when the first one is known.
fn by_parts(text: &str, books: &[&[Phrase]]) -> Option<String> {
    let mut parts = text.split(", ");
    let mut said = by_phrase(parts.next()?, books)?;
    for part in parts {
        // Names follow each other as they did; between words stands the comma of the language.
        match by_phrase(part, books) {
            Some(known) => said.extend(["，", &known]),
            None if is_number(part) => said.extend(["，", part]),
            None => said.extend([", ", part]),
        }
    }
    Some(said)
}

/// What stands in the holes of a pattern, when the text has its form.
fn holes<'a>(pattern: &str, text: &'a str) -> Option<Vec<&'a str>> {
    let mut pieces = pattern.split('{');
    let mut rest = text.strip_prefix(pieces.next()?)?;
    let pieces: Vec<(&str, &str)> = pieces.map(|piece| piece.split_once('}')).collect::<Option<_>>()?;
    let mut found = Vec::new();
    for (at, (kind, literal)) in pieces.iter().enumerate() {
        // The last hole takes everything up to the end.
        let end = if at + 1 == pieces.len() {
            rest.len().checked_sub(literal.len()).filter(|end| rest.get(*end..) == Some(*literal))?
        } else {
            rest.find(literal)?
        };
        let hole = rest.get(..end)?;
        let fits = match *kind {
            "n" => is_number(hole),
            "w" => !hole.contains(", "),
            _ => true,
        };
        if hole.is_empty() || !fits {
            return None;
        }
        found.push(hole);
        rest = rest.get(end + literal.len()..)?;
    }
    rest.is_empty().then_some(found)
}

/// Whether this is a number, or a size such as `57.4 KB`.
fn is_number(text: &str) -> bool {
    let digits = text.trim_end_matches(['K', 'M', 'G', 'T', 'B', ' ']);
    !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit() || c == '.' || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holes_are_found_between_the_words() {
        assert_eq!(holes("{} of {} files", "3 of 4 files"), Some(vec!["3", "4"]));
        assert_eq!(holes("({} row)", "(1 row)"), Some(vec!["1"]));
        assert_eq!(holes("({} row)", "(1 rows)"), None);
        assert_eq!(holes("same", "same"), Some(vec![]));
        assert_eq!(holes("same", "same as"), None);
        assert_eq!(holes("x{}", "x"), None);
        assert_eq!(holes("{n} read", "57.4 KB read"), Some(vec!["57.4 KB"]));
        assert_eq!(holes("{n} rows", "give more than 4 rows"), None);
    }
}
