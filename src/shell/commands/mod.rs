//! Commands of the prompt: `\d`, `.read` and the like. Both spellings are one command.
//!
//! | module | what it is |
//! |---|---|
//! | [`list`] | the table of commands: their names, arguments and help |
//! | [`inquiry`] | commands that say what there is: tables, sources, problems, history |
//! | [`look`] | commands about how results look |
//! | [`argument`] | what is written behind a name |

mod argument;
mod inquiry;
mod list;
mod look;

use std::io::{IsTerminal, stdout};
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;

use super::failure::Failure;
use super::invocation::read_file;
use super::listing;
use super::output::Format;
use super::plot;
use super::run::Runner;
use super::screen;
use super::script::Script;

use argument::{number, switch, unquoted};
use list::{Action, Command, parse};

pub(crate) use list::{Argument, COMMANDS, is_command, is_known_command};

/// Whether the prompt goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    Stay,
    /// It does not.
    Leave,
}

/// A table of diagnostics needs so many columns of the screen.
const DIAGNOSTICS_WIDTH: usize = 120;

/// Runs a command.
///
/// # Errors
/// When it is unknown, its argument is wrong, or what it runs fails.
pub(crate) async fn run(runner: &mut Runner, input: &str) -> Result<Step, Failure> {
    let (command, argument) = parse(input).map_err(Failure::Query)?;
    // A list of what there is has a use only as a whole; the limit is for rows of data.
    let whole =
        matches!(command.action, Action::Tables | Action::Describe | Action::Schema | Action::Functions);
    let limit = runner.look().max_rows;
    if whole {
        runner.look_mut().max_rows = None;
    }
    let done = act(runner, command, argument).await;
    if whole {
        runner.look_mut().max_rows = limit;
    }
    done
}

async fn act(runner: &mut Runner, command: &Command, argument: &str) -> Result<Step, Failure> {
    match command.action {
        Action::Quit => return Ok(Step::Leave),
        Action::Help => inquiry::help(runner, argument)?,
        Action::Format => look::format(runner, argument)?,
        Action::Read => {
            runner.guard().inside(unquoted(argument))?;
            let script = Script::new(Some(argument.to_owned()), read_file(Path::new(unquoted(argument)))?);
            return runner.run(script).await;
        }
        Action::Open => runner.open(&[unquoted(argument).to_owned()]).await?,
        Action::Describe | Action::Schema if !argument.is_empty() => {
            let sql = format!("DESCRIBE {argument}");
            return runner.run_for_command(Script::new(None, sql)).await;
        }
        Action::Tables | Action::Describe | Action::Schema => {
            let nothing = listing::no_name(argument);
            return listed(runner, inquiry::tables(runner, argument), &nothing).await;
        }
        Action::Functions => {
            let rows = listing::function_rows(runner.context(), |name| listing::named(argument, name))?;
            print(runner, &rows, argument)?;
        }
        Action::Source => inquiry::source(runner, argument)?,
        Action::Diagnostics => {
            let sql = inquiry::diagnostics(runner, argument)?;
            let before = runner.look().format;
            // Nine columns, two of them long: on a narrow screen a table of them says nothing.
            if runner.shows_tables() && screen::of_stdout().0 < DIAGNOSTICS_WIDTH && stdout().is_terminal() {
                runner.look_mut().format = Format::Line;
            }
            let done = listed(runner, sql, "no problems, no notes").await;
            runner.look_mut().format = before;
            return done;
        }
        Action::Settings => {
            let rows = runner.settings(argument)?;
            print(runner, &rows, argument)?;
        }
        Action::Output | Action::Once => {
            let (force, name) = match argument.strip_prefix("--force") {
                Some(rest) => (true, rest.trim_start()),
                None => (false, argument),
            };
            let target = Some(Path::new(unquoted(name))).filter(|p| !p.as_os_str().is_empty());
            let once = command.action == Action::Once;
            if target.is_none() && (once || force) {
                return Err(Failure::Query("a name is missing, expected .once FILE or .output FILE".into()));
            }
            runner.send_to(target, once, force)?;
        }
        Action::Last => return look::last(runner, argument).await,
        Action::MaxRows
        | Action::Digits
        | Action::Width
        | Action::Headers
        | Action::NullValue
        | Action::Pager => {
            look::change(runner.look_mut(), command.action, argument)?;
        }
        Action::Timer => runner.timer = switch(argument)?,
        Action::Plot => plot::run(runner, argument).await?,
        Action::History => inquiry::history(runner, number(argument, 20)?)?,
    }
    Ok(Step::Stay)
}

/// Runs a query that a command stands for. On the screen an answer without rows is said in words.
async fn listed(runner: &mut Runner, sql: String, nothing: &str) -> Result<Step, Failure> {
    if !runner.is_for_people() {
        return runner.run_for_command(Script::new(None, sql)).await;
    }
    let rows = runner.rows(&sql).await?;
    match rows.iter().find(|batch| batch.num_rows() > 0) {
        None => runner.voice().tell(nothing),
        Some(some) => {
            let all = concat_batches(&some.schema(), &rows)?;
            runner.print(&all)?;
        }
    }
    Ok(Step::Stay)
}

/// Prints the rows whose name fits what was typed; says it when there are none.
fn print(runner: &mut Runner, rows: &RecordBatch, typed: &str) -> Result<(), Failure> {
    if rows.num_rows() == 0 {
        runner.voice().tell(listing::no_name(typed));
        if runner.is_for_people() {
            return Ok(());
        }
    }
    runner.print(rows)
}
