//! Commands of the prompt: `\d`, `.read` and the like. Both spellings are one command, and one table
//! describes all of them: for running, for the help and for completion.

use std::path::Path;

use rl_insight_sql::session;

use super::failure::{Failure, tell};
use super::flags::read_file;
use super::output::Format;
use super::run::Runner;
use super::script::Script;

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    /// How it can be spelled. Names that begin with a letter count only when they stand alone.
    pub(crate) names: &'static [&'static str],
    /// What follows the name, for the help: nothing, `NAME`, or `[NAME]` when it can be left out.
    argument: &'static str,
    help: &'static str,
    action: Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Describe,
    Format,
    Help,
    Quit,
    Read,
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    Command {
        names: &["\\d", ".tables", ".schema"],
        argument: "[TABLE]",
        help: "list tables and table functions, or the columns of a table",
        action: Action::Describe,
    },
    Command {
        names: &["\\f", ".mode"],
        argument: "[FORMAT]",
        help: "choose how results are written, or say how they are",
        action: Action::Format,
    },
    Command {
        names: &["\\i", ".read"],
        argument: "FILE",
        help: "run the SQL in a file",
        action: Action::Read,
    },
    Command {
        names: &["\\?", "\\h", ".help", "help"],
        argument: "",
        help: "this list",
        action: Action::Help,
    },
    Command {
        names: &["\\q", ".quit", ".exit", "quit", "exit"],
        argument: "",
        help: "leave; Ctrl-D does the same",
        action: Action::Quit,
    },
];

/// Whether the prompt goes on after a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    Stay,
    /// It does not.
    Leave,
}

/// Whether this is a command, known or not. Commands end with their line, SQL with a semicolon.
pub(crate) fn is_command(input: &str) -> bool {
    let input = input.trim_start();
    input.starts_with(['\\', '.']) || bare(input).is_some()
}

/// Runs a command.
///
/// # Errors
/// When it is unknown, its argument is wrong, or what it runs fails.
pub(crate) async fn run(runner: &mut Runner, input: &str) -> Result<Step, Failure> {
    let (command, argument) = parse(input).map_err(Failure::Usage)?;
    match command.action {
        Action::Quit => return Ok(Step::Leave),
        Action::Help => help(),
        Action::Format => choose_format(runner, argument)?,
        Action::Read => {
            let script = Script::new(Some(argument.to_owned()), read_file(Path::new(argument))?);
            runner.run(script).await?;
        }
        Action::Describe => {
            let sql = if argument.is_empty() { tables(runner) } else { format!("DESCRIBE {argument}") };
            runner.run(Script::new(None, sql)).await?;
        }
    }
    Ok(Step::Stay)
}

/// The command and its argument, which is empty when there is none.
fn parse(input: &str) -> Result<(&'static Command, &str), String> {
    // The semicolon is a habit from SQL; no command needs one.
    let input = input.trim().trim_end_matches(';').trim_end();
    let (name, argument) = input.split_once(char::is_whitespace).unwrap_or((input, ""));
    let argument = argument.trim_start();
    let Some(command) = COMMANDS.iter().find(|c| c.names.contains(&name)) else {
        return Err(format!("the command {name} is unknown; \\? lists the commands"));
    };
    let missing = argument.is_empty() && !command.argument.is_empty() && !command.argument.starts_with('[');
    let unwanted = !argument.is_empty() && command.argument.is_empty();
    if missing || unwanted {
        return Err(format!("usage: {}", usage(name, command.argument)));
    }
    Ok((command, argument))
}

fn usage(name: &str, argument: &str) -> String {
    format!("{name} {argument}").trim_end().to_owned()
}

/// The command whose name is a plain word and all of the input.
fn bare(input: &str) -> Option<&'static Command> {
    let word = input.trim().trim_end_matches(';').trim_end();
    let plain = word.starts_with(|c: char| c.is_ascii_alphabetic());
    COMMANDS.iter().find(|c| plain && c.names.contains(&word))
}

fn help() {
    for command in COMMANDS {
        let names = command.names.join(", ");
        tell(format_args!("{:<36}{}", usage(&names, command.argument), command.help));
    }
    tell("SQL ends with a semicolon and may have several lines. Ctrl-C cancels a query or drops the input.");
}

fn choose_format(runner: &mut Runner, name: &str) -> Result<(), Failure> {
    let names = || Format::names().join(", ");
    if name.is_empty() {
        tell(format_args!("{} (one of {})", runner.format().name(), names()));
        return Ok(());
    }
    let format = Format::named(name).ok_or_else(|| {
        Failure::Usage(format!("the format {name} is unknown; expected one of {}", names()))
    })?;
    runner.set_format(format);
    Ok(())
}

/// A query for everything that can follow FROM. The engine's catalog does not know table functions.
fn tables(runner: &Runner) -> String {
    let functions = session::table_function_names(runner.context()).unwrap_or_default();
    let mut sql = String::from(
        "SELECT table_schema AS \"schema\", table_name AS name, lower(table_type) AS kind \
         FROM information_schema.tables WHERE table_schema <> 'information_schema'",
    );
    for name in functions {
        let name = name.replace('\'', "''");
        sql.push_str(&format!(" UNION ALL SELECT NULL, '{name}', 'table function'"));
    }
    sql.push_str(" ORDER BY kind, \"schema\", name");
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_command() {
        for (a, b) in [
            ("\\d t", ".schema t"),
            ("\\f csv", ".mode csv;"),
            ("\\i a b.sql", ".read a b.sql "),
            ("\\q", "exit;"),
        ] {
            let (a, b) = (parse(a).unwrap(), parse(b).unwrap());
            assert_eq!((a.0.action, a.1), (b.0.action, b.1));
        }
    }

    #[test]
    fn plain_words_are_commands_only_when_alone() {
        assert!(is_command("quit") && is_command(" exit ;") && is_command("\\x") && is_command(".x"));
        assert!(!is_command("help me") && !is_command("select 1;") && !is_command(""));
    }

    #[test]
    fn wrong_use_is_explained() {
        assert_eq!(parse("\\x").unwrap_err(), "the command \\x is unknown; \\? lists the commands");
        assert_eq!(parse(".read").unwrap_err(), "usage: .read FILE");
        assert_eq!(parse("\\q now").unwrap_err(), "usage: \\q");
    }
}
