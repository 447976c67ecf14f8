//! What is being typed, told from the text in front of the cursor.

use rl_insight_sql::library::Library;
use rl_insight_sql::table::{Takes, all_table_functions};

/// Where the quote begins that is still open, if one is.
pub(super) fn open_quote(before: &str) -> Option<usize> {
    let mut open = None;
    let mut chars = before.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        // Inside of quotes two of them stand for one.
        if c == '\'' && !(open.is_some() && chars.next_if(|(_, next)| *next == '\'').is_some()) {
            open = if open.is_some() { None } else { Some(at) };
        }
    }
    open
}

/// What the text in quotes that begins behind `front` is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Quoted {
    /// A path.
    Path,
    /// One of these values of a named argument.
    OneOf(Vec<String>),
    /// Some text.
    Text,
}

/// Most texts in SQL are no paths; those in a call, and behind LOCATION and TO, are.
pub(super) fn quoted(front: &str, library: &Library) -> Quoted {
    let front = front.trim_end();
    let upper = front.to_uppercase();
    if upper.ends_with("LOCATION") || upper.ends_with(" TO") {
        return Quoted::Path;
    }
    let Some((function, _)) = open_call(front, library) else { return Quoted::Text };
    if let Some(named) = front.trim_end_matches('[').trim_end().strip_suffix("=>") {
        let argument = last_word(named.trim_end());
        return if is_path(&function, argument) {
            Quoted::Path
        } else {
            Quoted::OneOf(choices(&function, argument, library))
        };
    }
    let last = front.trim_end_matches('[').trim_end();
    if last.ends_with('(') || last.ends_with(',') { Quoted::Path } else { Quoted::Text }
}

/// Whether a named argument of a table function is a path.
fn is_path(function: &str, argument: &str) -> bool {
    let described = all_table_functions().iter().find(|f| f.name == function);
    match described {
        Some(f) => {
            let file =
                |a: &rl_insight_sql::table::Argument| a.name == argument && matches!(a.takes, Takes::File);
            f.paths.contains(&argument) || f.arguments.iter().any(file)
        }
        None => argument.starts_with("path") || matches!(argument, "base" | "target"),
    }
}

/// The texts that a named argument of a table function can be.
fn choices(function: &str, argument: &str, library: &Library) -> Vec<String> {
    let described = all_table_functions().iter().find(|f| f.name == function);
    if let Some(f) = described {
        let found = f.arguments.iter().find(|a| a.name == argument).map(|a| a.takes);
        return match found {
            Some(Takes::OneOf(values)) => values.iter().map(|v| (*v).to_owned()).collect(),
            _ => vec![],
        };
    }
    library.get(function).map(|f| f.choices(argument)).unwrap_or_default()
}

/// The word that a text ends in; it may be empty.
pub(super) fn last_word(text: &str) -> &str {
    text.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default()
}

/// The table function whose parenthesis is still open, with where its name ends.
pub(super) fn open_call(before: &str, library: &Library) -> Option<(String, usize)> {
    let (mut depth, mut quoted) = (0_usize, false);
    let mut opened = None;
    for (at, c) in before.char_indices().rev() {
        match c {
            '\'' => quoted = !quoted,
            ')' if !quoted => depth += 1,
            '(' if !quoted && depth > 0 => depth -= 1,
            '(' if !quoted => {
                opened = Some(at);
                break;
            }
            _ => {}
        }
    }
    let end = opened?;
    let front = before.get(..end)?;
    let name = last_word(front).to_lowercase();
    let ours = all_table_functions().iter().any(|f| f.name == name) || library.get(&name).is_some();
    ours.then_some((name, end))
}

/// What was typed of the name behind SET, RESET or SHOW.
pub(super) fn setting(before: &str) -> Option<&str> {
    let (word, rest) = before.trim_start().split_once(char::is_whitespace)?;
    let name = rest.trim_start();
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    (matches!(word.to_ascii_uppercase().as_str(), "SET" | "RESET" | "SHOW") && plain).then_some(name)
}
