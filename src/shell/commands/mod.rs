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

use std::path::Path;

use super::failure::Failure;
use super::invocation::read_file;
use super::listing;
use super::plot;
use super::run::Runner;
use super::script::Script;

use argument::{number, switch, unquoted};
use list::{Action, parse};

pub(crate) use list::{Argument, COMMANDS, is_command};

/// Whether the prompt goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    Stay,
    /// It does not.
    Leave,
}

/// Runs a command.
///
/// # Errors
/// When it is unknown, its argument is wrong, or what it runs fails.
pub(crate) async fn run(runner: &mut Runner, input: &str) -> Result<Step, Failure> {
    let (command, argument) = parse(input).map_err(Failure::Query)?;
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
            return runner.run(Script::new(None, sql)).await;
        }
        Action::Tables | Action::Describe | Action::Schema => {
            return runner.run(Script::new(None, inquiry::tables(runner, argument))).await;
        }
        Action::Functions => {
            let pattern = Some(argument).filter(|a| !a.is_empty());
            let rows = listing::function_rows(runner.context(), pattern)?;
            runner.print(&rows)?;
        }
        Action::Source => inquiry::source(runner, argument)?,
        Action::Diagnostics => {
            let sql = inquiry::diagnostics(runner, argument)?;
            return runner.run(Script::new(None, sql)).await;
        }
        Action::Settings => {
            let rows = runner.settings(argument)?;
            runner.print(&rows)?;
        }
        Action::Output | Action::Once => {
            let (force, name) = match argument.strip_prefix("--force") {
                Some(rest) => (true, rest.trim_start()),
                None => (false, argument),
            };
            let target = Some(Path::new(unquoted(name))).filter(|p| !p.as_os_str().is_empty());
            runner.send_to(target, command.action == Action::Once, force)?;
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
