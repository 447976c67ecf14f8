//! What is written behind the name of a command.

use super::super::failure::Failure;

/// `on` or `off`.
///
/// # Errors
/// When it is neither.
pub(super) fn switch(argument: &str) -> Result<bool, Failure> {
    match argument {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        other => Err(Failure::Query(format!("{other}: expected on or off"))),
    }
}

/// A number that is not negative; the default when nothing is written.
///
/// # Errors
/// When it is something else.
pub(super) fn number(argument: &str, default: usize) -> Result<usize, Failure> {
    if argument.is_empty() {
        return Ok(default);
    }
    argument.parse().map_err(|_| Failure::Query(format!("{argument}: expected a number, 0 or more")))
}

/// A path without the quotes that people put around it from habit.
pub(super) fn unquoted(argument: &str) -> &str {
    let inner = |quote| argument.strip_prefix(quote).and_then(|a| a.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(argument)
}

/// A pattern of file names as one of `LIKE`, inside a literal.
pub(super) fn like(pattern: &str) -> String {
    // What is no sign of a pattern stands for itself.
    pattern.replace('\'', "''").replace('_', "\\_").replace('*', "%").replace('?', "_")
}
