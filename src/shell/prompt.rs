//! The prompt: reads statements and commands from a terminal until it is told to stop.

use std::io::IsTerminal;
use std::path::Path;

use rustyline::error::ReadlineError;
use rustyline::history::DefaultHistory;
use rustyline::{Behavior, CompletionType, Config, Editor};

use super::commands::{self, Step, is_command, is_known_command};
use super::complete::Assistant;
use super::failure::Failure;
use super::invocation::{Init, read_file};
use super::places;
use super::run::Runner;
use super::script::{Script, is_complete, is_open};

const PROMPT: &str = "rl-insight-sql> ";

/// In front of the further lines of a statement, as wide as [`PROMPT`].
const CONTINUED: &str = "           ...> ";

/// So many statements are remembered.
const HISTORY_ENTRIES: usize = 10_000;

/// Runs what is typed, until Ctrl-D or a command to leave.
///
/// A failed statement is reported and the prompt goes on.
///
/// # Errors
/// When nothing can be read from the terminal any more, or nobody reads the results.
pub(crate) async fn run(mut runner: Runner, init: &Init) -> Result<(), Failure> {
    runner.at_prompt = true;
    if let Step::Leave = start_file(&mut runner, init).await? {
        return Ok(());
    }
    let mut editor = editor(&runner).map_err(|e| terminal_failure(&e))?;
    let history = places::history_file().filter(|path| load_history(&mut editor, path));
    let version = env!("CARGO_PKG_VERSION");
    let banner = format!("rl-insight-sql {version}; \\? lists the commands, TAB completes, \\q leaves");
    runner.voice().remark(banner);
    // The lines of a statement that is not complete yet.
    let mut typed = String::new();
    loop {
        // The query, if there was one, is over: that this blocks the thread stops nothing.
        let input = match editor.readline(if typed.is_empty() { PROMPT } else { CONTINUED }) {
            Ok(input) => input,
            Err(ReadlineError::Interrupted) => {
                begin(&mut editor, &mut typed);
                continue;
            }
            Err(ReadlineError::Eof) => return runner.publish(),
            Err(e) => return Err(terminal_failure(&e)),
        };
        let Some(input) = taken(&runner, &mut typed, input) else {
            if let Some(assistant) = editor.helper_mut() {
                assistant.typed.clone_from(&typed);
            }
            continue;
        };
        // A command in the middle of a statement leaves it as it was.
        if !is_command(&input) {
            begin(&mut editor, &mut typed);
        }
        remember(&mut editor, &input, history.as_deref());
        match step(&mut runner, input).await {
            Ok(Step::Stay) => {}
            Ok(Step::Leave) => return runner.publish(),
            Err(Failure::ClosedPipe) => return Err(Failure::ClosedPipe),
            Err(failure) => {
                // A query that was cancelled may be in the middle of a line.
                drop(std::io::stdout().lock());
                runner.voice().failure(&failure);
                // What is complete by now is kept; the file of a result that broke off is not.
                if let Err(failure) = runner.after_failure() {
                    runner.voice().failure(&failure);
                }
            }
        }
    }
}

/// A new statement begins.
fn begin(editor: &mut Line, typed: &mut String) {
    typed.clear();
    if let Some(assistant) = editor.helper_mut() {
        assistant.typed.clear();
    }
}

/// What is to be run now that a line was typed; `None` when it is a line of a statement that goes on, which
/// is added to those before it.
fn taken(runner: &Runner, typed: &mut String, line: String) -> Option<String> {
    let options = runner.context().copied_config().options().sql_parser.clone();
    if typed.is_empty() {
        if line.trim().is_empty() {
            return None;
        }
        if is_command(&line) || is_complete(&line, &options) {
            return Some(line);
        }
        *typed = line;
        return None;
    }
    let open = is_open(typed, &options);
    if !open && is_known_command(&line) {
        return Some(line);
    }
    typed.push('\n');
    typed.push_str(&line);
    if is_complete(typed, &options) {
        return Some(typed.clone());
    }
    let bare = matches!(line.trim(), "quit" | "exit" | "help");
    if line.trim().is_empty() || bare {
        let text = if open {
            "(a quotation or comment is still open - Ctrl-C drops it)"
        } else {
            "(the statement ends with ; - Ctrl-C drops it)"
        };
        runner.voice().tell(text);
    }
    None
}

async fn step(runner: &mut Runner, input: String) -> Result<Step, Failure> {
    if is_command(&input) {
        return commands::run(runner, &input).await;
    }
    runner.run(Script::new(None, input)).await
}

/// Runs the start file. That there is none is only an error when it was named.
async fn start_file(runner: &mut Runner, init: &Init) -> Result<Step, Failure> {
    let path = match init {
        Init::None => None,
        Init::File(path) => Some(path.clone()),
        Init::Default => places::init_file().filter(|path| path.is_file()),
    };
    let Some(path) = path else { return Ok(Step::Stay) };
    let script = Script::new(Some(path.display().to_string()), read_file(&path)?);
    match runner.run(script).await {
        Err(failure) if !failure.is_final() => {
            // A mistake in it must not lock people out.
            runner.voice().failure(&failure);
            Ok(Step::Stay)
        }
        other => other,
    }
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
    editor.set_helper(Some(Assistant::new(runner.context().clone(), runner.voice().is_coloured())));
    Ok(editor)
}

fn terminal_failure(error: &ReadlineError) -> Failure {
    Failure::Query(format!("the terminal cannot be read: {error}"))
}

/// Whether there is a history file now. Without one everything works, nothing is remembered.
fn load_history(editor: &mut Line, path: &Path) -> bool {
    // A device has no end, and nothing that was ever typed.
    let is_file = || std::fs::metadata(path).is_ok_and(|there| there.is_file());
    create_private(path).is_ok() && is_file() && editor.load_history(path).is_ok()
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
