//! Errors of planning, for people: where in the text it is, and what was probably meant.

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;
use rl_insight_sql::table::{TableFunction, all_table_functions};
use strsim::jaro_winkler;

use super::failure::Failure;
use super::habits;
use super::listing;

/// How much of a long line is shown around the place.
const SHOWN: usize = 100;

/// How many column names a hint lists.
const LISTED: usize = 40;

/// The failure with the line it is in, a caret below the place, and a suggestion.
///
/// `paths` are those that are open: a view that is missing is explained by what they do not hold.
pub(crate) fn explained(
    error: DataFusionError,
    text: &str,
    first_line: u64,
    context: &SessionContext,
    paths: &[String],
) -> Failure {
    let field = missing_field(&error);
    let spanned = error.diagnostic().and_then(|d| d.span).map(|s| (s.start.line, s.start.column));
    let failure = Failure::from(error);
    let shown = failure.text().unwrap_or_default().to_owned();
    let name = field.as_ref().map(|(name, _)| name.clone()).or_else(|| missing_name(&shown));
    let place = spanned
        .filter(|(line, _)| *line > 0)
        .or_else(|| written_place(&shown))
        .or_else(|| name.as_deref().and_then(|name| find(text, first_line, name)));
    let suggestion = match &field {
        Some((name, columns)) => {
            Some(habits::text_without_quotes(text, place, name).unwrap_or_else(|| column_hint(name, columns)))
        }
        None => match name.as_deref() {
            Some(name) => habits::not_a_table(text, name).or_else(|| name_hint(&shown, name, context, paths)),
            None => habits::hint(text, &shown).or_else(|| format_hint(&shown)),
        },
    };
    let failure = match name
        .as_deref()
        .and_then(view_named)
        .filter(|_| field.is_none() && !paths.is_empty() && shown.contains("table '"))
    {
        Some(view) => Failure::Data(no_view(view, paths)),
        None => failure,
    };
    let failure = failure.map(|text| match &field {
        Some((name, _)) => {
            let prefix = text.split("No field named").next().unwrap_or_default().to_owned();
            format!("{prefix}No field named {name}")
        }
        // Ours knows all functions, and measures likeness as people do.
        None => match text.split_once("\nDid you mean") {
            Some((message, _)) => message.trim_end_matches('.').to_owned(),
            None => text,
        },
    });
    let failure = match place.and_then(|place| excerpt(text, place)) {
        Some(excerpt) => failure.map(|text| match text.split_once("\nhint: ") {
            Some((message, hint)) => format!("{message}\n{excerpt}\nhint: {hint}"),
            None => format!("{text}\n{excerpt}"),
        }),
        None => failure,
    };
    match suggestion {
        Some(suggestion) => failure.hinted(&suggestion),
        None => failure,
    }
}

/// The column that is not there, and those that are.
fn missing_field(error: &DataFusionError) -> Option<(String, Vec<String>)> {
    match error {
        DataFusionError::SchemaError(e, _) => match e.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => {
                let mut names: Vec<String> = valid_fields.iter().map(|f| f.name().to_owned()).collect();
                names.dedup();
                Some((field.name().to_owned(), names))
            }
            _ => None,
        },
        DataFusionError::Diagnostic(_, e) | DataFusionError::Context(_, e) => missing_field(e),
        DataFusionError::Shared(e) => missing_field(e),
        DataFusionError::Collection(errors) => errors.first().and_then(missing_field),
        _ => None,
    }
}

/// The name in `table 'datafusion.public.nope' not found` and messages like it.
fn missing_name(message: &str) -> Option<String> {
    let known = ["table '", "table function '", "Invalid function '"];
    let rest = known.iter().find_map(|start| Some(message.split_once(start)?.1))?;
    let (name, _) = rest.split_once('\'')?;
    Some(name.strip_prefix("datafusion.public.").unwrap_or(name).to_owned())
}

/// What to add to a COPY to a file whose name does not tell its format, such as `x.db`.
fn format_hint(message: &str) -> Option<String> {
    message.contains("no registered file format with ext ").then(|| {
        "add STORED AS TREND_DB for a trend database, STORED AS SQLITE for any other, or CSV, JSON or PARQUET"
            .to_owned()
    })
}

/// The table function whose view has this name.
fn view_named(name: &str) -> Option<&'static TableFunction> {
    all_table_functions().iter().find(|function| function.view == Some(name))
}

/// Why there is no view of a kind of data.
fn no_view(function: &TableFunction, paths: &[String]) -> String {
    let view = function.view.unwrap_or_default();
    let looked_for = match view {
        "memory" => "operator_memory.csv or database of the Ascend profiler",
        "memory_record" => "memory_record.csv or database of the Ascend profiler",
        "trend" => "dump.json of msProbe",
        "memscope" => "memscope_dump_*.csv or memscope_dump_*.db",
        _ => "data for it",
    };
    format!("no {looked_for} was found under {}, so there is no view {view}", paths.join(", "))
}

fn column_hint(name: &str, columns: &[String]) -> String {
    let meant = closest(name, columns.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    if columns.is_empty() {
        return "there are no columns here; text is written in single quotes".to_owned();
    }
    // Subqueries can have the same columns again.
    let mut listed: Vec<&str> = vec![];
    for column in columns {
        if listed.len() == LISTED {
            listed.push("...");
            break;
        }
        if !listed.contains(&column.as_str()) {
            listed.push(column);
        }
    }
    format!("{meant}the columns are {}", listed.join(", "))
}

fn name_hint(message: &str, name: &str, context: &SessionContext, paths: &[String]) -> Option<String> {
    if message.contains("Invalid function") {
        let lines = listing::functions(context).unwrap_or_default();
        let meant = closest(name, lines.iter().map(|line| line.name.as_str()));
        let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
        return Some(format!("{meant}SHOW FUNCTIONS lists what there is"));
    }
    if let Some(function) = view_named(name) {
        let called = function.name;
        return Some(if paths.is_empty() {
            format!(
                "{name} is a view over what is open: open a path first (.open PATH), or call {called}('path')"
            )
        } else {
            "SHOW TABLES lists the views that there are; .open PATH looks elsewhere".to_owned()
        });
    }
    let functions = session::table_function_names(context).unwrap_or_default();
    if functions.iter().any(|f| f == name) {
        return Some(format!("{name} is a function, call it: {name}('path')"));
    }
    if std::path::Path::new(name).exists() {
        let readers: Vec<&str> = all_table_functions().iter().map(|f| f.name).collect();
        return Some(format!("a path is read by a function, one of: {}", readers.join(", ")));
    }
    let tables = listing::table_names(context);
    let meant = closest(name, functions.iter().chain(&tables).map(String::as_str));
    let rest = "SHOW TABLES and SHOW FUNCTIONS list what there is";
    Some(match meant {
        Some(meant) if functions.iter().any(|f| f == meant) => {
            format!("did you mean {meant}('path')? {rest}")
        }
        Some(meant) => format!("did you mean {meant}? {rest}"),
        None => rest.to_owned(),
    })
}

/// The name that is most like this one, if any is like it.
pub(crate) fn closest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.to_lowercase();
    let likeness = |candidate: &str| {
        let candidate = candidate.to_lowercase();
        let part = name.len() > 2 && candidate.split('_').any(|word| word == name);
        jaro_winkler(&name, &candidate).max(if part { 0.85 } else { 0.0 })
    };
    candidates
        .map(|candidate| (likeness(candidate), candidate))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| candidate)
}

/// The place that a message of the parser names: `at Line: 3, Column: 8`.
fn written_place(message: &str) -> Option<(u64, u64)> {
    let (_, rest) = message.split_once("Line: ")?;
    let (line, rest) = rest.split_once(", Column: ")?;
    let column = rest.split(|c: char| !c.is_ascii_digit()).next()?;
    Some((line.parse().ok()?, column.parse().ok()?))
}

/// Where a name stands as a word of its own, from this line on.
fn find(text: &str, first_line: u64, name: &str) -> Option<(u64, u64)> {
    let name = name.rsplit('.').next()?.to_lowercase();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    for (number, line) in (1..).zip(text.lines()).skip_while(|(number, _)| *number < first_line) {
        let lower = line.to_lowercase();
        for (at, _) in lower.match_indices(&name) {
            let before = lower.get(..at).and_then(|t| t.chars().next_back());
            let after = lower.get(at + name.len()..).and_then(|t| t.chars().next());
            if !before.is_some_and(is_word) && !after.is_some_and(is_word) {
                let column = lower.get(..at).map_or(0, |t| t.chars().count());
                return Some((number, column as u64 + 1));
            }
        }
    }
    None
}

/// The line with a caret below the place; line and column count from 1.
fn excerpt(text: &str, (line, column): (u64, u64)) -> Option<String> {
    let index = usize::try_from(line.checked_sub(1)?).ok()?;
    let shown: Vec<char> =
        text.lines().nth(index)?.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let column = usize::try_from(column.checked_sub(1)?).ok()?.min(shown.len());
    let start = if shown.len() > SHOWN { column.saturating_sub(SHOWN / 2) } else { 0 };
    let part: String = shown.iter().skip(start).take(SHOWN).filter(|c| !c.is_control()).collect();
    if part.trim().is_empty() {
        return None;
    }
    let before = if start > 0 { "..." } else { "" };
    let after = if start + SHOWN < shown.len() { "..." } else { "" };
    let caret = " ".repeat(before.len() + column - start);
    Some(format!("  {before}{part}{after}\n  {caret}^"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_the_place() {
        assert_eq!(excerpt("select 1\n from t", (2, 7)).unwrap(), "   from t\n        ^");
        assert_eq!(excerpt("select", (9, 1)), None);
        let long = format!("{}x", "a ".repeat(200));
        let shown = excerpt(&long, (1, 401)).unwrap();
        let (line, caret) = shown.split_once('\n').unwrap();
        assert_eq!(line.chars().nth(caret.len() - 1), Some('x'));
    }

    #[test]
    fn what_was_meant_is_found_by_likeness_or_by_a_word_of_it() {
        let columns = ["role", "rank_id", "total_allocated_mb"];
        assert_eq!(closest("rank", columns.into_iter()), Some("rank_id"));
        assert_eq!(closest("allocated", columns.into_iter()), Some("total_allocated_mb"));
        assert_eq!(closest("rol", columns.into_iter()), Some("role"));
        assert_eq!(closest("zzz", columns.into_iter()), None);
    }

    #[test]
    fn names_are_found_as_words() {
        assert_eq!(find("select xa, a from t", 1, "a"), Some((1, 12)));
        assert_eq!(find("a\nb", 2, "a"), None);
    }
}
