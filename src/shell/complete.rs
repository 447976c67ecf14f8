//! What the prompt knows about the text that is being typed: when it is complete, and how a word
//! could go on.

use datafusion::prelude::SessionContext;
use rl_insight_sql::session;
use rustyline::completion::{Completer, Pair};
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper, Highlighter, Hinter};

use super::commands::{COMMANDS, is_command};
use super::script::is_complete;

/// Helps while a line is being edited.
#[derive(Helper, Highlighter, Hinter)]
pub(crate) struct Assistant {
    context: SessionContext,
}

/// Words of SQL that are worth completing.
const KEYWORDS: &[&str] = &[
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

impl Assistant {
    /// An assistant that knows the tables and functions of a session.
    pub(crate) fn new(context: SessionContext) -> Self {
        Self { context }
    }

    /// Everything that a word of SQL can become.
    fn candidates(&self, word: &str) -> Vec<String> {
        let state = self.context.state();
        // Who types in lower case gets keywords in lower case.
        let lower = !word.contains(|c: char| c.is_uppercase());
        let keyword = |k: &&str| if lower { k.to_lowercase() } else { (*k).to_owned() };
        let mut all: Vec<String> = KEYWORDS.iter().map(keyword).collect();
        let functions = session::table_function_names(&self.context).unwrap_or_default();
        all.extend(functions.iter().map(|name| format!("{name}(")));
        all.extend(state.aggregate_functions().keys().map(|name| format!("{name}(")));
        all.extend(state.scalar_functions().keys().map(|name| format!("{name}(")));
        all.extend(state.window_functions().keys().map(|name| format!("{name}(")));
        let catalogs = state.catalog_list();
        for catalog in catalogs.catalog_names().iter().filter_map(|name| catalogs.catalog(name)) {
            for schema in catalog.schema_names().iter().filter_map(|name| catalog.schema(name)) {
                all.extend(schema.table_names());
            }
        }
        all
    }
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..pos).unwrap_or(line);
        let (start, mut words) = if is_command(before) && !before.trim_start().contains(' ') {
            let start = before.len() - before.trim_start().len();
            (start, COMMANDS.iter().flat_map(|c| c.names).map(|n| (*n).to_owned()).collect())
        } else {
            let word = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
            let words = if word.is_empty() { Vec::new() } else { self.candidates(word) };
            (before.len() - word.len(), words)
        };
        let typed = before.get(start..).unwrap_or_default().to_lowercase();
        words.retain(|w| w.to_lowercase().starts_with(&typed));
        words.sort();
        words.dedup();
        let pair = |word: String| Pair { display: word.clone(), replacement: word };
        Ok((start, words.into_iter().map(pair).collect()))
    }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        let input = context.input();
        let options = &self.context.copied_config().options().sql_parser.clone();
        let complete = is_command(input) || is_complete(input, options);
        Ok(if complete { ValidationResult::Valid(None) } else { ValidationResult::Incomplete })
    }
}

#[cfg(test)]
mod tests {
    use rustyline::history::DefaultHistory;

    use super::*;

    fn completions(line: &str) -> (usize, Vec<String>) {
        let assistant = Assistant::new(SessionContext::new());
        let history = DefaultHistory::new();
        let (start, pairs) = assistant.complete(line, line.len(), &Context::new(&history)).unwrap();
        (start, pairs.into_iter().map(|p| p.replacement).collect())
    }

    #[test]
    fn words_are_completed_in_the_case_in_which_they_are_typed() {
        assert_eq!(completions("SEL"), (0, vec!["SELECT".into()]));
        assert_eq!(completions("select 1 wher"), (9, vec!["where".into()]));
        assert_eq!(completions("select * from generate_"), (14, vec!["generate_series(".into()]));
    }

    #[test]
    fn commands_are_completed_at_the_beginning_only() {
        assert_eq!(completions(".qu"), (0, vec![".quit".into()]));
        assert!(completions("select .qu").1.iter().all(|word| !word.starts_with('.')));
    }
}
