//! What the prompt knows about the text that is being typed: when it is complete, and how a word
//! could go on.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use datafusion::prelude::SessionContext;
use futures::FutureExt;
use rl_insight_sql::library::Library;
use rl_insight_sql::session;
use rl_insight_sql::table::all_table_functions;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::{ValidationContext, ValidationResult, Validator};
use rustyline::{Context, Helper};

use super::commands::{Argument, COMMANDS, is_command};
use super::listing::{self, FunctionLine};
use super::output::Format;
use super::plot;
use super::script::is_complete;

/// Helps while a line is being edited.
#[derive(Helper)]
pub(crate) struct Assistant {
    context: SessionContext,
    /// Whether there are colours, so that a hint can be told from what is typed.
    coloured: bool,
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

/// Columns of so many tables are offered at most; more would be noise.
const TABLES: usize = 8;

impl Assistant {
    /// An assistant that knows the tables and functions of a session.
    pub(crate) fn new(context: SessionContext, coloured: bool) -> Self {
        Self { context, coloured }
    }

    fn library(&self) -> Arc<Library> {
        // Nothing but a fault of ours makes it fail, and completion is not the place to tell.
        session::library(&self.context).unwrap_or_default()
    }

    fn functions(&self) -> Vec<FunctionLine> {
        listing::functions(&self.context).unwrap_or_default()
    }

    /// Everything that a word of SQL can become.
    fn words(&self, line: &str, word: &str) -> Vec<Pair> {
        // Who types in lower case gets keywords in lower case.
        let lower = !word.contains(|c: char| c.is_uppercase());
        let keyword = |k: &&str| if lower { k.to_lowercase() } else { (*k).to_owned() };
        let mut all: Vec<Pair> = KEYWORDS.iter().map(keyword).map(plain).collect();
        all.extend(
            self.functions()
                .into_iter()
                .map(|f| Pair { replacement: format!("{}(", f.name), display: f.signature }),
        );
        all.extend(listing::table_names(&self.context).into_iter().map(plain));
        all.extend(self.columns(line).into_iter().map(plain));
        all
    }

    /// Columns of the tables and functions that the text names.
    fn columns(&self, line: &str) -> Vec<String> {
        let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_')).collect();
        let mut columns: Vec<String> = Vec::new();
        let named = all_table_functions().iter().filter(|f| words.contains(&f.name)).take(TABLES);
        for function in named {
            columns.extend(function.schema().fields().iter().map(|f| f.name().clone()));
        }
        let tables = listing::table_names(&self.context).into_iter();
        for table in tables.filter(|t| words.contains(&t.as_str())).take(TABLES) {
            let Ok(schema) = self.context.state().schema_for_ref(table.as_str()) else { continue };
            // Tables of ours answer at once; one that does not is left out.
            if let Some(Ok(Some(provider))) = schema.table(&table).now_or_never() {
                columns.extend(provider.schema().fields().iter().map(|f| f.name().clone()));
            }
        }
        columns
    }

    /// How the argument of a command could go on.
    fn argument(&self, takes: Argument, typed: &str) -> Vec<Pair> {
        match takes {
            Argument::Free => vec![],
            Argument::Switch => ["on", "off"].map(|s| plain(s.to_owned())).into(),
            Argument::Format => Format::names().into_iter().map(plain).collect(),
            Argument::Command => {
                COMMANDS.iter().flat_map(|c| c.names).map(|n| plain((*n).to_owned())).collect()
            }
            Argument::Path => paths(typed),
            Argument::Picture => picture(typed),
            Argument::Question => {
                self.library().functions().iter().map(|f| plain(f.name().to_owned())).collect()
            }
            Argument::Table => {
                let functions = self.functions().into_iter();
                let ours = functions.filter(|f| matches!(f.kind, "table" | "question")).map(|f| f.name);
                ours.chain(listing::table_names(&self.context)).map(plain).collect()
            }
        }
    }

    /// Names of the engine's settings.
    fn settings(&self) -> Vec<Pair> {
        let config = self.context.copied_config();
        config.options().entries().into_iter().map(|entry| plain(entry.key)).collect()
    }

    /// Where the word that is completed begins, and everything it can become.
    fn candidates(&self, before: &str) -> (usize, Vec<Pair>) {
        let trimmed = before.trim_start();
        let indent = before.len() - trimmed.len();
        if is_command(before) {
            let Some((name, _)) = trimmed.split_once(char::is_whitespace) else {
                let names = COMMANDS.iter().flat_map(|c| c.names.iter().map(move |n| (n, c)));
                return (indent, names.map(|(name, _)| plain((*name).to_owned())).collect());
            };
            let rest = trimmed.get(name.len()..).unwrap_or_default();
            let typed = rest.trim_start();
            let known = COMMANDS.iter().find(|c| c.names.contains(&name));
            let candidates = known.map(|c| self.argument(c.takes, typed)).unwrap_or_default();
            return (before.len() - typed.len(), candidates);
        }
        if let Some(quote) = open_quote(before) {
            // Most texts in SQL are no paths; those in a call, and behind LOCATION and TO, are.
            let front = before.get(..quote).unwrap_or_default();
            let typed = before.get(quote + 1..).unwrap_or_default();
            return (quote + 1, if expects_path(front, &self.library()) { paths(typed) } else { vec![] });
        }
        if let Some(typed) = setting(before) {
            return (before.len() - typed.len(), self.settings());
        }
        let word = before.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
        let start = before.len() - word.len();
        let library = self.library();
        if let Some((name, _)) = open_call(before, &library) {
            let mut options = options(&name, &library);
            if word.is_empty() {
                return (start, options);
            }
            options.extend(self.words(before, word));
            return (start, options);
        }
        (start, if word.is_empty() { vec![] } else { self.words(before, word) })
    }
}

fn plain(word: String) -> Pair {
    Pair { display: word.clone(), replacement: word }
}

/// How the words behind `.plot` can go on: each candidate is what was typed with another last word.
fn picture(typed: &str) -> Vec<Pair> {
    let start = typed.rfind(|c: char| c.is_whitespace() || c == '>').map_or(0, |at| at + 1);
    let (front, word) = typed.split_at(start);
    let words = match plot::words_for(front, word) {
        Some(words) => words.into_iter().map(plain).collect(),
        None => paths(word),
    };
    let whole = |p: Pair| Pair { replacement: format!("{front}{}", p.replacement), display: p.display };
    words.into_iter().map(whole).collect()
}

/// Where the quote begins that is still open, if one is.
fn open_quote(before: &str) -> Option<usize> {
    let mut open = None;
    for (at, c) in before.char_indices() {
        if c == '\'' {
            open = if open.is_some() { None } else { Some(at) };
        }
    }
    open
}

/// Whether the text that begins behind this is probably a path.
fn expects_path(front: &str, library: &Library) -> bool {
    let upper = front.trim_end().to_uppercase();
    if upper.ends_with("LOCATION") || upper.ends_with(" TO") {
        return true;
    }
    let last = front.trim_end().trim_end_matches('[').trim_end();
    // Not behind `match =>`, and not in a call of some other function.
    (last.ends_with('(') || last.ends_with(',') || front.trim_end().ends_with('['))
        && open_call(front, library).is_some()
}

/// The table function whose parenthesis is still open, with where its name ends.
fn open_call(before: &str, library: &Library) -> Option<(String, usize)> {
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
    let name = front.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next()?.to_lowercase();
    let ours = all_table_functions().iter().any(|f| f.name == name) || library.get(&name).is_some();
    ours.then_some((name, end))
}

/// The named arguments of a table function, with their values.
fn options(name: &str, library: &Library) -> Vec<Pair> {
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

/// What was typed of the name behind SET or SHOW.
fn setting(before: &str) -> Option<&str> {
    let (word, rest) = before.trim_start().split_once(char::is_whitespace)?;
    let name = rest.trim_start();
    let plain = name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    (matches!(word.to_ascii_uppercase().as_str(), "SET" | "RESET") && plain).then_some(name)
}

/// The files and directories that a path can become; directories end in a slash.
fn paths(typed: &str) -> Vec<Pair> {
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

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..pos).unwrap_or(line);
        let (start, mut pairs) = self.candidates(before);
        let typed = before.get(start..).unwrap_or_default().to_lowercase();
        pairs.retain(|p| p.replacement.to_lowercase().starts_with(&typed));
        pairs.sort_by(|a, b| (&a.replacement, &a.display).cmp(&(&b.replacement, &b.display)));
        pairs.dedup_by(|a, b| a.replacement == b.replacement);
        Ok((start, pairs))
    }
}

impl Hinter for Assistant {
    type Hint = String;

    /// Behind the parenthesis of a table function: what it takes.
    fn hint(&self, line: &str, pos: usize, _: &Context<'_>) -> Option<String> {
        let before = line.get(..pos).filter(|before| before.len() == line.len())?;
        let (name, end) = open_call(before, &self.library())?;
        if !self.coloured || end + 1 != before.len() {
            return None;
        }
        let signature = self.functions().into_iter().find(|f| f.name == name)?.signature;
        Some(format!("  {}", signature.split_once('(')?.1))
    }
}

impl Highlighter for Assistant {
    fn highlight_hint<'h>(&self, hint: &'h str) -> Cow<'h, str> {
        Cow::Owned(format!("\u{1b}[2m{hint}\u{1b}[0m"))
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
        let assistant = Assistant::new(SessionContext::new(), true);
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
    fn functions_come_with_their_signature() {
        let assistant = Assistant::new(
            rl_insight_sql::session::context(rl_insight_sql::session::config()).unwrap(),
            true,
        );
        let history = DefaultHistory::new();
        let line = "select * from memory_ev";
        let (_, pairs) = assistant.complete(line, line.len(), &Context::new(&history)).unwrap();
        assert_eq!(pairs.len(), 1);
        assert!(pairs[0].display.starts_with("memory_events(path"), "{}", pairs[0].display);
        assert_eq!(pairs[0].replacement, "memory_events(");
        let line = "select * from memory_events(";
        let hint = assistant.hint(line, line.len(), &Context::new(&history)).unwrap();
        assert!(hint.contains("match =>"), "{hint}");
    }

    #[test]
    fn columns_and_options_of_the_functions_in_the_text_are_offered() {
        assert!(completions("select role from memory_events('x') where size_").1.contains(&"size_kb".into()));
        assert!(completions("select * from memory_events('x', ").1.contains(&"match => ".into()));
        assert!(
            completions("set datafusion.execution.batch_")
                .1
                .contains(&"datafusion.execution.batch_size".into())
        );
    }

    #[test]
    fn paths_are_completed_inside_the_quotes_of_a_call() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("run_a")).unwrap();
        std::fs::write(dir.path().join("run_b"), "").unwrap();
        let root = dir.path().display().to_string();
        for call in ["memory_events('", "memory_events(['x', '"] {
            let (_, found) = completions(&format!("select * from {call}{root}/run"));
            assert_eq!(found, [format!("{root}/run_a/"), format!("{root}/run_b")], "{call}");
        }
        let (_, found) = completions(&format!(".open {root}/run_"));
        assert_eq!(found.len(), 2);
        assert!(completions(&format!("select '{root}/run")).1.is_empty());
        assert!(completions(&format!("select * from memory_events('x', match => '{root}/run")).1.is_empty());
    }

    #[test]
    fn commands_are_completed_at_the_beginning_only() {
        assert_eq!(completions(".qu"), (0, vec![".quit".into()]));
        assert!(completions("select .qu").1.iter().all(|word| !word.starts_with('.')));
    }
}
