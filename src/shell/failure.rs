//! How things end: from an error to one clear text on stderr and an exit code.

use std::error::Error;
use std::fmt::Display;
use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use datafusion::arrow::error::ArrowError;
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use rl_insight_sql::source::DataError;

use super::language::Language;
use super::screen;

/// Why the program, or one statement of it, ended early.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The SQL is wrong, or running it failed. Exit code 1.
    Query(String),
    /// The statement is right but may not be run: it writes. Exit code 1.
    Refused(String),
    /// The result could not be written (for example: disk full). Exit code 1.
    Output(String),
    /// The command line is wrong, or names a script that cannot be read. Exit code 2.
    Usage(String),
    /// The input data cannot be read as asked. Exit code 3.
    Data(String),
    /// Everything was run, but something was left out, and that was to be a failure. Exit code 4.
    Partial(String),
    /// The memory, disk or time that was allowed is used up. Exit code 5.
    Budget(String),
    /// An assertion of `check` does not hold. Exit code 6.
    Check(String),
    /// Ctrl-C. Exit code 130.
    Interrupted,
    /// SIGTERM. Exit code 143.
    Terminated,
    /// Whoever read our results has gone away, as `head` does. Nobody is left to be told: exit code 0.
    ClosedPipe,
}

/// What begins the part of a text that says what to do.
const HINT: &str = "\nhint: ";

impl Failure {
    /// A failure to write a result.
    pub(crate) fn writing(error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Failure::ClosedPipe,
            _ => Failure::Output(format!("the result cannot be written to stdout: {error}")),
        }
    }

    /// The exit code that belongs to it; `--help` lists them.
    pub(crate) fn code(&self) -> u8 {
        match self {
            Failure::ClosedPipe => 0,
            Failure::Query(_) | Failure::Refused(_) | Failure::Output(_) => 1,
            Failure::Usage(_) => 2,
            Failure::Data(_) => 3,
            Failure::Partial(_) => 4,
            Failure::Budget(_) => 5,
            Failure::Check(_) => 6,
            Failure::Interrupted => 130,
            Failure::Terminated => 143,
        }
    }

    /// The exit code as the system takes it.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    /// What is to be said about it, if anything.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Failure::Query(text)
            | Failure::Refused(text)
            | Failure::Output(text)
            | Failure::Usage(text)
            | Failure::Data(text)
            | Failure::Partial(text)
            | Failure::Budget(text)
            | Failure::Check(text) => Some(text),
            Failure::Interrupted => Some("interrupted"),
            Failure::Terminated => Some("ended by SIGTERM"),
            Failure::ClosedPipe => None,
        }
    }

    /// What happened, and what to do about it.
    pub(crate) fn parts(&self) -> (&str, Option<String>) {
        let text = self.text().unwrap_or_default();
        match text.split_once(HINT) {
            Some((message, hint)) => (message, Some(hint.replace(HINT, "\n"))),
            None => (text, None),
        }
    }

    /// Whether somebody ended it, which is no error.
    pub(crate) fn is_interrupt(&self) -> bool {
        matches!(self, Failure::Interrupted | Failure::Terminated)
    }

    /// Whether nothing after it makes sense any more, whatever else was asked for.
    pub(crate) fn is_final(&self) -> bool {
        matches!(self, Failure::Interrupted | Failure::Terminated | Failure::ClosedPipe)
    }

    /// The same failure, naming the script and the statement in which it happened.
    pub(crate) fn at(self, place: &str) -> Self {
        self.map(|text| if place.is_empty() { text } else { format!("{place}: {text}") })
    }

    /// The same failure, with what to do about it.
    pub(crate) fn hinted(self, hint: &str) -> Self {
        let add = |text: String| if text.contains(hint) { text } else { format!("{text}{HINT}{hint}") };
        match self {
            Failure::Usage(text) => Failure::Usage(add(text)),
            other => other.map(add),
        }
    }

    /// The same failure with another text, if it has one that tells of a statement.
    pub(crate) fn map(self, change: impl FnOnce(String) -> String) -> Self {
        match self {
            Failure::Query(text) => Failure::Query(change(text)),
            Failure::Refused(text) => Failure::Refused(change(text)),
            Failure::Data(text) => Failure::Data(change(text)),
            Failure::Budget(text) => Failure::Budget(change(text)),
            other => other,
        }
    }

    /// What is to be said about it, if anything, in a language and with or without colour.
    pub(crate) fn said(&self, language: Language, colour: bool) -> Option<String> {
        let text = language.say(self.text()?).into_owned();
        if self.is_interrupt() {
            return Some(text);
        }
        let (error, gap) = language.error();
        let text = screen::wrapped_for_stderr(&format!("{error}{gap}{text}"));
        Some(match text.strip_prefix(error).filter(|_| colour) {
            Some(rest) => format!("\u{1b}[1;31m{error}\u{1b}[0m{rest}"),
            None => text,
        })
    }

    /// Says on stderr what went wrong, if there is something to say.
    pub(crate) fn tell(&self, language: Language) {
        if let Some(text) = self.said(language, false) {
            tell(text);
        }
    }
}

impl From<DataFusionError> for Failure {
    fn from(error: DataFusionError) -> Self {
        let text = clear_text(&error);
        if holds_data_error(&error) {
            Failure::Data(text)
        } else if matches!(error.find_root(), DataFusionError::ResourcesExhausted(_)) {
            Failure::Budget(text)
        } else {
            Failure::Query(text)
        }
    }
}

impl From<ArrowError> for Failure {
    fn from(error: ArrowError) -> Self {
        DataFusionError::from(error).into()
    }
}

/// Writes one line to stderr. A stderr that is closed or full must not end the program.
pub(crate) fn tell(line: impl Display) {
    // In one piece, so that it is not torn apart by what another process writes to the terminal.
    let _ = io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Whether the input data is to blame: a [`DataError`] is somewhere in the chain of causes.
fn holds_data_error(error: &(dyn Error + 'static)) -> bool {
    if error.is::<DataError>() || error.is::<Arc<DataError>>() {
        return true;
    }
    // `source` tells the first of several errors only, and passes over what an I/O error wraps.
    if let Some(DataFusionError::Collection(errors)) = error.downcast_ref() {
        return errors.iter().any(|e| holds_data_error(e));
    }
    if let Some(inner) = error.downcast_ref::<io::Error>().and_then(|e| e.get_ref()) {
        return holds_data_error(inner);
    }
    error.source().is_some_and(holds_data_error)
}

/// The text of the root cause, without the names of the layers that it went through.
pub(super) fn clear_text(error: &(dyn Error + 'static)) -> String {
    let text = if let Some(e) = error.downcast_ref::<DataFusionError>() {
        datafusion_text(e)
    } else if let Some(e) = error.downcast_ref::<Arc<DataFusionError>>() {
        datafusion_text(e)
    } else if let Some(e) = error.downcast_ref::<ArrowError>() {
        arrow_text(e)
    } else if let Some(inner) = error.downcast_ref::<io::Error>().and_then(|e| e.get_ref()) {
        clear_text(inner)
    } else {
        error.to_string()
    };
    let text = match text.split_once(DataFusionError::BACK_TRACE_SEP) {
        Some((message, _)) => message.to_owned(),
        None => text,
    };
    // Where a table is when nothing else is said.
    text.replace("datafusion.public.", "")
}

fn datafusion_text(error: &DataFusionError) -> String {
    match error {
        DataFusionError::ArrowError(e, _) => clear_text(e.as_ref()),
        DataFusionError::IoError(e) => clear_text(e),
        DataFusionError::External(e) => clear_text(e.as_ref()),
        DataFusionError::Shared(e) => datafusion_text(e),
        DataFusionError::Diagnostic(_, e) => datafusion_text(e),
        DataFusionError::SQL(e, _) => match e.as_ref() {
            ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
            ParserError::RecursionLimitExceeded => {
                "the statement is nested too deeply; SET datafusion.sql_parser.recursion_limit raises the limit"
                    .into()
            }
        },
        DataFusionError::Plan(text) | DataFusionError::Execution(text) | DataFusionError::Configuration(text) => {
            without_inner_prefixes(text)
        }
        DataFusionError::SchemaError(e, _) => e.to_string(),
        DataFusionError::NotImplemented(text) => match text.strip_prefix("SET variant ") {
            // What follows is the tree of the parser.
            Some(_) => "not implemented: this form of SET; SET name = value is".into(),
            None => format!("not implemented: {text}"),
        },
        DataFusionError::ResourcesExhausted(text) => {
            format!(
                "a limit was reached: {text}\nhint: --memory-limit and --disk-limit set how much queries may use"
            )
        }
        // All that is left of the error of the system, most often that a disk is full.
        DataFusionError::Internal(text) if text.contains("Error encountered while finalizing writes") => {
            "the file cannot be written: the system did not take all of it\nhint: is the disk full?".into()
        }
        DataFusionError::Internal(text) => format!("internal error, please report it: {text}"),
        DataFusionError::ExecutionJoin(e) => join_text(e),
        DataFusionError::Context(context, e) if names_a_layer(context) => datafusion_text(e),
        DataFusionError::Context(context, e) => format!("{context}: {}", datafusion_text(e)),
        DataFusionError::Collection(errors) => {
            errors.iter().map(datafusion_text).collect::<Vec<_>>().join("\n")
        }
        other => other.to_string(),
    }
}

/// The engine sometimes prints one error into the text of another, with everything around it.
fn without_inner_prefixes(text: &str) -> String {
    const PREFIXES: [&str; 5] = [
        "Error during planning: ",
        "Execution error: ",
        "External error: ",
        "Internal error: ",
        "Arrow error: ",
    ];
    const REPORT: &str = ".\nThis issue was likely caused by a bug in DataFusion's code. Please help us to resolve \
        this by filing a bug report in our issue tracker: https://github.com/apache/datafusion/issues";
    PREFIXES.iter().fold(text.replace(REPORT, ""), |text, prefix| text.replace(prefix, ""))
}

/// Planner passes put their own name around an error; that helps nobody who writes SQL.
fn names_a_layer(context: &str) -> bool {
    const PASSES: [&str; 5] =
        ["Optimizer rule", "Check optimizer", "Invalid (non-executable)", "Invariant", "Join Error"];
    !context.contains(' ') || PASSES.iter().any(|p| context.starts_with(p))
}

fn arrow_text(error: &ArrowError) -> String {
    match error {
        ArrowError::ExternalError(e) => clear_text(e.as_ref()),
        ArrowError::IoError(_, e) => clear_text(e),
        ArrowError::DivideByZero => "division by zero".into(),
        ArrowError::ArithmeticOverflow(text) => format!("arithmetic overflow: {text}"),
        ArrowError::CastError(text)
        | ArrowError::ParseError(text)
        | ArrowError::ComputeError(text)
        | ArrowError::SchemaError(text)
        | ArrowError::InvalidArgumentError(text)
        | ArrowError::CsvError(text)
        | ArrowError::JsonError(text)
        | ArrowError::ParquetError(text) => text.clone(),
        ArrowError::NotYetImplemented(text) => format!("not implemented: {text}"),
        other => other.to_string(),
    }
}

/// The text for a task that did not come to its end: it panicked, which is our fault, or was stopped.
pub(crate) fn join_text(error: &tokio::task::JoinError) -> String {
    if error.is_panic() {
        "internal error, please report it: a task of the query panicked".into()
    } else {
        "a task of the query was stopped".into()
    }
}

#[cfg(test)]
mod tests {
    use rl_insight_sql::source::{Finding, Kind};

    use super::*;

    fn data_error() -> DataError {
        DataError::new("f", vec![Finding::problem(Kind::Missing, "a.csv", "gone")], "")
    }

    #[test]
    fn a_data_error_is_found_through_every_kind_of_wrapping() {
        let external = || DataFusionError::External(Box::new(data_error()));
        let wrapped = [
            external(),
            external().context("type_coercion"),
            DataFusionError::Shared(Arc::new(external())),
            DataFusionError::External(Box::new(Arc::new(external()))),
            DataFusionError::External(Box::new(Arc::new(data_error()))),
            DataFusionError::ArrowError(Box::new(ArrowError::ExternalError(Box::new(external()))), None),
            DataFusionError::IoError(io::Error::other(external())),
            DataFusionError::Collection(vec![DataFusionError::Plan("x".into()), external()]),
        ];
        for error in wrapped {
            let shown = format!("{error:?}");
            match Failure::from(error) {
                Failure::Data(text) => assert!(text.contains("f: a.csv: gone"), "{shown}: {text}"),
                other => panic!("{shown}: {other:?}"),
            }
        }
    }

    #[test]
    fn prefixes_and_pass_names_are_dropped() {
        let e = DataFusionError::Execution("no such thing".into()).context("Optimizer rule 'x' failed");
        let e = DataFusionError::External(Box::new(DataFusionError::Shared(Arc::new(e))));
        assert_eq!(clear_text(&e), "no such thing");
        let e = DataFusionError::Plan("bad".into()).context("Error when processing CSV file a");
        assert_eq!(clear_text(&e), "Error when processing CSV file a: bad");
    }
}
