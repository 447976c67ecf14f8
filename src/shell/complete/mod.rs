//! What the prompt knows about the text that is being typed: when it is complete, and how a word
//! could go on.

mod offer;
mod place;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::prelude::SessionContext;
use futures::FutureExt;
use rl_insight_sql::library::Library;
use rl_insight_sql::session;
use rustyline::completion::{Completer, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::commands::{Argument, COMMANDS, is_command, is_known_command};
use super::listing::{self, FunctionLine};
use super::output::Format;
use super::plot;
use offer::{KEYWORDS, options, paths, plain};
use place::{Quoted, last_word, open_call, open_quote, quoted, setting};

/// Helps while a line is being edited.
#[derive(Helper)]
pub(crate) struct Assistant {
    context: SessionContext,
    /// Whether there are colours, so that a hint can be told from what is typed.
    coloured: bool,
    /// The lines of the statement before the one that is edited.
    pub(crate) typed: String,
    /// Columns of table functions, which take a while to find out.
    columns: Mutex<HashMap<String, Vec<String>>>,
}

/// Columns of so many tables are offered at most; more would be noise.
const TABLES: usize = 8;

impl Assistant {
    /// An assistant that knows the tables and functions of a session.
    pub(crate) fn new(context: SessionContext, coloured: bool) -> Self {
        Self { context, coloured, typed: String::new(), columns: Mutex::default() }
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
        let ours = self.functions().into_iter().filter(|f| matches!(f.kind, "table" | "question"));
        for function in ours.filter(|f| words.contains(&f.name.as_str())).take(TABLES) {
            columns.extend(self.columns_of(&function.name));
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

    /// Columns of a table function.
    fn columns_of(&self, function: &str) -> Vec<String> {
        let mut known = self.columns.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || {
            // Planning a call of ours waits for nothing; one that does is left out.
            let schema = listing::function_schema(&self.context, function).now_or_never();
            let schema = schema.and_then(|found| found.ok().flatten());
            schema.map(|s| s.fields().iter().map(|f| f.name().clone()).collect()).unwrap_or_default()
        };
        known.entry(function.to_owned()).or_insert_with(find).clone()
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
            Argument::Setting => self.settings(),
            Argument::Function => self.functions().into_iter().map(|f| plain(f.name)).collect(),
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
    fn candidates(&self, before: &str, line: &str) -> (usize, Vec<Pair>) {
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
            let front = before.get(..quote).unwrap_or_default();
            let typed = before.get(quote + 1..).unwrap_or_default();
            let doubled = |pair: Pair| Pair { replacement: pair.replacement.replace('\'', "''"), ..pair };
            let offered = match quoted(front, &self.library()) {
                Quoted::Path => paths(&typed.replace("''", "'")).into_iter().map(doubled).collect(),
                Quoted::OneOf(values) => values.into_iter().map(plain).collect(),
                Quoted::Text => vec![],
            };
            return (quote + 1, offered);
        }
        if let Some(typed) = setting(before) {
            let mut offered = self.settings();
            offered.extend(KEYWORDS.iter().map(|k| plain((*k).to_owned())));
            return (before.len() - typed.len(), offered);
        }
        let word = last_word(before);
        let start = before.len() - word.len();
        let library = self.library();
        if let Some((name, _)) = open_call(before, &library) {
            let mut options = options(&name, &library);
            if word.is_empty() {
                return (start, options);
            }
            options.extend(self.words(line, word));
            return (start, options);
        }
        (start, if word.is_empty() { vec![] } else { self.words(line, word) })
    }
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

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(&self, line: &str, pos: usize, _: &Context<'_>) -> rustyline::Result<(usize, Vec<Pair>)> {
        let before = line.get(..pos).unwrap_or(line);
        let (start, mut pairs) = if self.typed.is_empty() || is_known_command(before) {
            self.candidates(before, line)
        } else {
            let front = format!("{}\n", self.typed);
            let (start, pairs) = self.candidates(&format!("{front}{before}"), &format!("{front}{line}"));
            (start.saturating_sub(front.len()), pairs)
        };
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

/// Every line is taken as it is typed: the prompt puts statements together.
impl Validator for Assistant {}

#[cfg(test)]
mod tests {
    use rustyline::history::DefaultHistory;

    use super::*;

    fn context() -> SessionContext {
        session::context(session::config()).unwrap()
    }

    fn completions(line: &str) -> (usize, Vec<String>) {
        let assistant = Assistant::new(context(), true);
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

    #[test]
    fn paths_may_have_any_name_that_can_be_typed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().display().to_string();
        for name in ["训练_1", "it's", "with space"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let at = |name: &str| format!("{root}/{name}");
        for call in ["memory_events('", "memory_peaks(path => '", "memory_diff('x', '"] {
            let of = |typed: &str| completions(&format!("select * from {call}{}", at(typed))).1;
            assert_eq!(of("训"), [at("训练_1/")], "{call}");
            assert_eq!(of("it"), [at("it''s/")], "{call}");
            assert_eq!(of("it''"), [at("it''s/")], "{call}");
            assert_eq!(of("with s"), [at("with space/")], "{call}");
        }
        assert_eq!(completions(&format!("copy (select 1) to '{}", at("训"))).1, [at("训练_1/")]);
        assert_eq!(completions(&format!(".open {}", at("训"))).1, [at("训练_1/")]);
        assert_eq!(
            completions(&format!("select * from dump_trend('x', mapping => '{}", at("训"))).1,
            [at("训练_1/")]
        );
    }

    #[test]
    fn values_of_named_arguments_are_offered_in_their_quotes() {
        assert_eq!(completions("select * from memory_events('x', match => 'i").1, ["inside"]);
        assert_eq!(completions("select * from memory_growth('x', window => '").1, ["auto", "step"]);
        assert!(
            completions("select * from memory_growth('x', window => 1, on_error => 's")
                .1
                .contains(&"skip".into())
        );
    }

    #[test]
    fn columns_of_questions_are_offered_also_in_front_of_their_call() {
        let assistant = Assistant::new(context(), true);
        let history = DefaultHistory::new();
        let (line, cursor) = ("select vs_m from memory_peaks('x')", 11);
        let (start, pairs) = assistant.complete(line, cursor, &Context::new(&history)).unwrap();
        assert_eq!((start, pairs.len()), (7, 1));
        assert_eq!(pairs[0].replacement, "vs_median");
    }

    #[test]
    fn arguments_of_commands_are_completed() {
        assert!(completions("\\d memory_ev").1.contains(&"memory_events".into()));
        assert!(completions(".schema memory_pe").1.contains(&"memory_peaks".into()));
        assert!(completions("\\sf memory_pe").1.contains(&"memory_peaks".into()));
        assert!(completions("\\df memory_a").1.contains(&"memory_at".into()));
        assert!(
            completions(".settings datafusion.execution.batch_")
                .1
                .contains(&"datafusion.execution.batch_size".into())
        );
        assert!(
            completions("show datafusion.execution.batch_")
                .1
                .contains(&"datafusion.execution.batch_size".into())
        );
        assert_eq!(completions("\\timing o").1, ["off", "on"]);
        assert_eq!(completions(".mode nd").1, ["ndjson"]);
    }
}
