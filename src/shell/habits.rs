//! Habits from other tools, recognised in a statement that failed, and what to write instead.

use std::path::Path;

use super::explain::closest;

/// Words that begin a statement. In the middle of one there is a semicolon missing before them.
const BEGINNINGS: [&str; 14] = [
    "SELECT", "WITH", "SHOW", "DESCRIBE", "EXPLAIN", "COPY", "CREATE", "DROP", "INSERT", "SET", "RESET",
    "VALUES", "PREPARE", "EXECUTE",
];

/// Words that begin a part of a query.
const PARTS: [&str; 11] =
    ["FROM", "WHERE", "GROUP", "ORDER", "HAVING", "LIMIT", "OFFSET", "UNION", "JOIN", "WINDOW", "QUALIFY"];

/// What to do about a message that names no missing thing.
pub(super) fn hint(text: &str, message: &str) -> Option<String> {
    missing_semicolon(message)
        .or_else(|| mistyped_keyword(message))
        .or_else(|| double_quotes(text, message))
        .or_else(|| bare_path(message))
}

/// `selec 1`, `select * form t`.
fn mistyped_keyword(message: &str) -> Option<String> {
    let (expected, found) = message.split_once(", found: ")?;
    let word = found.split_whitespace().next().filter(|word| word.len() > 2)?;
    let meant = if expected.ends_with("an SQL statement") {
        closest(word, BEGINNINGS.into_iter())
    } else if expected.ends_with("end of statement") {
        closest(word, PARTS.into_iter())
    } else {
        None
    };
    // The word itself stands in the wrong place.
    let meant = meant.filter(|meant| !meant.eq_ignore_ascii_case(word))?;
    Some(format!("did you mean {meant}?"))
}

/// `memory_peaks(run)`.
fn bare_path(message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" is ")?;
    let (name, _) = rest.split_once(", expected a path in single quotes")?;
    let is_word = name.starts_with(|c: char| c.is_alphabetic()) && name.chars().all(is_part_of_word);
    is_word.then(|| match name {
        "run" => "the path that is open is $run".to_owned(),
        _ => format!("text needs single quotes: '{name}'"),
    })
}

fn is_part_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// `select 1` and, without a semicolon behind it, `select 2`.
fn missing_semicolon(message: &str) -> Option<String> {
    let (expected, found) = message.split_once(", found: ")?;
    let word = found.split_whitespace().next()?.to_uppercase();
    let begins = expected.ends_with("end of statement") && BEGINNINGS.contains(&word.as_str());
    begins.then(|| "a semicolon is missing before it".to_owned())
}

/// A value in double quotes, which are for names: `memory_peaks("/run")`.
fn double_quotes(text: &str, message: &str) -> Option<String> {
    let (_, rest) = message.split_once(" is ")?;
    let (value, _) = rest.split_once(", expected ")?;
    quoted_as_name(text, value).then(|| single_quotes(value))
}

/// What to do about something behind FROM that is no table: a file, or a path in double quotes.
pub(super) fn not_a_table(text: &str, name: &str) -> Option<String> {
    if let Some(format) = file_format(name) {
        let stem = Path::new(name).file_stem()?.to_string_lossy();
        let plain = stem.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
            && stem.starts_with(|c: char| c.is_ascii_lowercase());
        let table = if plain { stem.as_ref() } else { "t" };
        let location = name.replace('\'', "''");
        return Some(format!(
            "a file becomes a table first: CREATE EXTERNAL TABLE {table} STORED AS {format} LOCATION '{location}'"
        ));
    }
    (name.contains('/') && quoted_as_name(text, name)).then(|| single_quotes(name))
}

/// The format of a file that can become a table.
fn file_format(name: &str) -> Option<&'static str> {
    let extension = Path::new(name).extension()?.to_str()?.to_ascii_lowercase();
    Some(match extension.as_str() {
        "parquet" => "PARQUET",
        "csv" => "CSV",
        "ndjson" | "jsonl" => "JSON",
        "arrow" => "ARROW",
        _ => return None,
    })
}

/// What to do about a text that was taken for a column: `role = actor_update`, `role = "actor_update"`.
///
/// `place` is where the name stands in the statement, line and column from 1.
pub(super) fn text_without_quotes(text: &str, place: Option<(u64, u64)>, name: &str) -> Option<String> {
    if quoted_as_name(text, name) && before(text, place?)?.ends_with(is_comparison) {
        return Some(single_quotes(name));
    }
    let front = before(text, place?)?;
    let compared = front.ends_with(is_comparison) || front.to_uppercase().ends_with(" LIKE");
    compared.then(|| format!("text needs single quotes: '{name}'"))
}

fn is_comparison(c: char) -> bool {
    matches!(c, '=' | '<' | '>')
}

/// The line up to a place, without the spaces in front of it.
fn before(text: &str, (line, column): (u64, u64)) -> Option<&str> {
    let line = text.lines().nth(usize::try_from(line.checked_sub(1)?).ok()?)?;
    let column = usize::try_from(column.checked_sub(1)?).ok()?;
    let end = line.char_indices().nth(column).map_or(line.len(), |(at, _)| at);
    line.get(..end).map(|front| front.trim_end_matches([' ', '\t', '"']))
}

fn quoted_as_name(text: &str, name: &str) -> bool {
    text.contains(&format!("\"{name}\""))
}

fn single_quotes(value: &str) -> String {
    format!("double quotes are for columns; text and paths need single quotes: '{value}'")
}

/// The hint about broken data, for the function that a statement calls and not for one inside of it.
///
/// `callable` are functions that are queries and take `on_error`; `views` are names of views.
pub(super) fn called(message: String, text: &str, callable: &[&str], views: &[&str]) -> String {
    const WITH: &str = "leave the bad pieces out with ";
    const REST: &str = "(..., on_error => 'skip')";
    let Some((front, rest)) = message.split_once(WITH) else { return message };
    let Some((inner, rest)) = rest.split_once(REST) else { return message };
    let text = text.to_lowercase();
    let words: Vec<&str> = text.split(|c: char| !is_part_of_word(c)).collect();
    if words.contains(&inner) {
        return message;
    }
    if let Some(name) = callable.iter().find(|name| words.contains(name)) {
        return format!("{front}{WITH}{name}{REST}{rest}");
    }
    if views.iter().any(|view| words.contains(view)) {
        return format!("{front}{WITH}--on-error skip on the command line{rest}");
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_function_that_is_called_is_named() {
        let message = "x: broken\nhint: mend it, or leave the bad pieces out with memory_events(..., on_error => 'skip'); more";
        let said = |text: &str| called(message.to_owned(), text, &["memory_peaks"], &["memory"]);
        assert!(
            said("SELECT * FROM memory_peaks($run)")
                .contains("with memory_peaks(..., on_error => 'skip'); more")
        );
        assert_eq!(said("SELECT * FROM memory_events('x') JOIN memory_peaks('x')"), message);
        assert!(said("SELECT * FROM memory").contains("with --on-error skip on the command line; more"));
        assert_eq!(said("SELECT 1"), message);
    }

    #[test]
    fn mistyped_words_are_recognised() {
        let said = |message: &str| hint("", message);
        let parsed = |expected: &str, word: &str| {
            said(&format!("Expected: {expected}, found: {word} at Line: 1, Column: 1"))
        };
        assert_eq!(parsed("an SQL statement", "selec").unwrap(), "did you mean SELECT?");
        assert_eq!(parsed("end of statement", "form").unwrap(), "did you mean FROM?");
        assert_eq!(parsed("end of statement", "grup").unwrap(), "did you mean GROUP?");
        assert_eq!(parsed("end of statement", "select").unwrap(), "a semicolon is missing before it");
        for (expected, word) in [("end of statement", "b"), ("an SQL statement", "xyz"), ("a column", "form")]
        {
            assert_eq!(parsed(expected, word), None, "{expected} {word}");
        }
        let path = "memory_peaks: path is run, expected a path in single quotes or a list of paths";
        assert_eq!(said(path).unwrap(), "the path that is open is $run");
        assert_eq!(said(&path.replace("run", "5")), None);
    }

    #[test]
    fn text_is_told_from_columns_by_what_stands_before_it() {
        let hint = |text: &str, column| text_without_quotes(text, Some((1, column)), "abc");
        assert!(hint("select 1 where role = abc", 23).unwrap().ends_with("'abc'"));
        assert!(hint("select 1 where role = \"abc\"", 23).unwrap().starts_with("double quotes"));
        assert_eq!(hint("select abc", 8), None);
    }
}
