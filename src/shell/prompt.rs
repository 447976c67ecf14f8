//! The prompt: reads statements and commands from a terminal until it is told to stop.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Behavior, CompletionType, Config, Editor};

use super::commands::{self, Step, is_command};
use super::complete::Assistant;
use super::failure::{Failure, tell};
use super::run::Runner;
use super::script::Script;

const PROMPT: &str = "rl-insight-sql> ";

/// So many statements are remembered.
const HISTORY_ENTRIES: usize = 10_000;

/// Runs what is typed, until Ctrl-D or a command to leave.
///
/// A failed statement is reported and the prompt goes on.
///
/// # Errors
/// When nothing can be read from the terminal any more, or nobody reads the results.
pub(crate) async fn run(mut runner: Runner) -> Result<(), Failure> {
    let mut editor = editor(&runner).map_err(|e| terminal_failure(&e))?;
    let history = history_file().filter(|path| load_history(&mut editor, path));
    if !runner.quiet() {
        tell(concat!("rl-insight-sql ", env!("CARGO_PKG_VERSION"), "; \\? lists the commands, \\q leaves"));
    }
    loop {
        // The query, if there was one, is over: that this blocks the thread stops nothing.
        let input = match editor.readline(PROMPT) {
            Ok(input) => input,
            Err(ReadlineError::Interrupted) => continue,
            Err(ReadlineError::Eof) => return Ok(()),
            Err(e) => return Err(terminal_failure(&e)),
        };
        if input.trim().is_empty() {
            continue;
        }
        remember(&mut editor, &input, history.as_deref());
        match step(&mut runner, input).await {
            Ok(Step::Stay) => {}
            Ok(Step::Leave) => return Ok(()),
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => {
                // A query that was cancelled may be in the middle of a line.
                drop(std::io::stdout().lock());
                failure.tell();
            }
        }
    }
}

async fn step(runner: &mut Runner, input: String) -> Result<Step, Failure> {
    if is_command(&input) {
        return commands::run(runner, &input).await;
    }
    runner.run(Script::new(None, input)).await.map(|()| Step::Stay)
}

type Line = Editor<Assistant, DefaultHistory>;

fn editor(runner: &Runner) -> rustyline::Result<Line> {
    // With results going to a file or a pipe, the prompt has to go to the terminal itself.
    let behavior = if std::io::stdout().is_terminal() { Behavior::Stdio } else { Behavior::PreferTerm };
    let config = Config::builder()
        .max_history_size(HISTORY_ENTRIES)?
        .completion_type(CompletionType::List)
        .behavior(behavior)
        .build();
    let mut editor = Line::with_config(config)?;
    editor.set_helper(Some(Assistant::new(runner.context().clone())));
    Ok(editor)
}

fn terminal_failure(error: &ReadlineError) -> Failure {
    Failure::Query(format!("the terminal cannot be read: {error}"))
}

/// `$XDG_STATE_HOME/rl-insight-sql/history`, by default below `~/.local/state`.
fn history_file() -> Option<PathBuf> {
    let directory = |name| std::env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    let state = directory("XDG_STATE_HOME").or_else(|| Some(directory("HOME")?.join(".local/state")))?;
    Some(state.join("rl-insight-sql").join("history"))
}

/// Whether there is a history file now. Without one everything works, nothing is remembered.
fn load_history(editor: &mut Line, path: &Path) -> bool {
    create_private(path).is_ok() && editor.load_history(path).is_ok()
}

/// Creates the file that only its owner can read: statements may hold names that are nobody's business.
fn create_private(path: &Path) -> std::io::Result<()> {
    let mut directories = std::fs::DirBuilder::new();
    directories.recursive(true);
    let mut options = std::fs::OpenOptions::new();
    options.append(true).create(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
        directories.mode(0o700);
        options.mode(0o600);
    }
    if let Some(parent) = path.parent() {
        directories.create(parent)?;
    }
    options.open(path).map(drop)
}

/// At once, not at the end: a session that is killed has its history all the same.
fn remember(editor: &mut Line, input: &str, history: Option<&Path>) {
    let added = editor.add_history_entry(input.trim_end()).unwrap_or(false);
    if let (true, Some(path)) = (added, history) {
        // A full disk is no reason to disturb the session.
        let _ = editor.append_history(path);
    }
}

#[cfg(test)]
mod tests {
    #[cfg(unix)]
    #[test]
    fn the_history_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("state/rl-insight-sql/history");
        super::create_private(&file).unwrap();
        assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
        super::create_private(&file).unwrap();
    }
}
