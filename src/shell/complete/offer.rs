//! What there is to choose from.

use std::path::Path;

use rl_insight_sql::library::Library;
use rl_insight_sql::table::all_table_functions;
use rustyline::completion::Pair;

/// Words of SQL that are worth completing.
pub(super) const KEYWORDS: &[&str] = &[
    "ANALYZE",
    "AND",
    "AS",
    "ASC",
    "BETWEEN",
    "BY",
    "CASE",
    "CAST",
    "COPY",
    "CREATE",
    "CROSS",
    "DESC",
    "DESCRIBE",
    "DISTINCT",
    "DROP",
    "ELSE",
    "END",
    "EXCEPT",
    "EXISTS",
    "EXPLAIN",
    "EXTERNAL",
    "FILTER",
    "FROM",
    "FULL",
    "GROUP",
    "HAVING",
    "INNER",
    "INSERT",
    "INTERSECT",
    "INTERVAL",
    "INTO",
    "JOIN",
    "LEFT",
    "LIKE",
    "LIMIT",
    "LOCATION",
    "NULL",
    "OFFSET",
    "OPTIONS",
    "ORDER",
    "OUTER",
    "OVER",
    "PARTITION",
    "QUALIFY",
    "RIGHT",
    "SELECT",
    "SHOW",
    "STORED",
    "TABLE",
    "TABLES",
    "THEN",
    "UNION",
    "USING",
    "VALUES",
    "VIEW",
    "WHEN",
    "WHERE",
    "WINDOW",
    "WITH",
];

/// A word that is shown as it is written.
pub(super) fn plain(word: String) -> Pair {
    Pair { display: word.clone(), replacement: word }
}

/// The named arguments of a table function, with their values.
pub(super) fn options(name: &str, library: &Library) -> Vec<Pair> {
    let described = all_table_functions().iter().find(|f| f.name == name);
    if let Some(function) = described {
        let option = |a: &rl_insight_sql::table::Argument| Pair {
            display: format!("{} => {}", a.name, a.takes.default_value().unwrap_or_default()),
            replacement: format!("{} => ", a.name),
        };
        return function.arguments.iter().map(option).collect();
    }
    let signature = library.get(name).map(|f| f.signature().to_owned()).unwrap_or_default();
    let inner = signature.split_once('(').map_or("", |(_, rest)| rest.trim_end_matches(')'));
    let named = inner.split(',').filter_map(|p| Some((p.split_once("=>")?.0.trim().to_owned(), p.trim())));
    named.map(|(name, all)| Pair { display: all.to_owned(), replacement: format!("{name} => ") }).collect()
}

/// The files and directories that a path can become; directories end in a slash. Names that are no text
/// cannot be typed, and are left out.
pub(super) fn paths(typed: &str) -> Vec<Pair> {
    let (folder, _) =
        typed.rsplit_once('/').map_or(("", typed), |(f, n)| (typed.get(..=f.len()).unwrap_or(f), n));
    let directory = if folder.is_empty() { Path::new(".") } else { Path::new(folder) };
    let hidden = typed.get(folder.len()..).is_some_and(|name| name.starts_with('.'));
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let pair = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().ok()?;
        if name.starts_with('.') && !hidden {
            return None;
        }
        let slash = if entry.path().is_dir() { "/" } else { "" };
        Some(Pair { display: format!("{name}{slash}"), replacement: format!("{folder}{name}{slash}") })
    };
    entries.filter_map(pair).collect()
}
