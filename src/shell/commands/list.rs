//! The commands: one table describes all of them, for running, for the help and for completion.

use super::super::explain::closest;

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    /// How it can be spelled. Names that begin with a letter count only when they stand alone.
    pub(crate) names: &'static [&'static str],
    /// What follows the name, for the help: nothing, `NAME`, or `[NAME]` when it can be left out.
    pub(super) argument: &'static str,
    /// What the argument is, for completion.
    pub(crate) takes: Argument,
    pub(crate) help: &'static str,
    pub(super) action: Action,
}

/// What the argument of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Nothing that can be completed.
    Free,
    /// A table or a table function.
    Table,
    /// Any function.
    Function,
    /// A setting of the engine.
    Setting,
    /// A function of the library.
    Question,
    /// A file or directory.
    Path,
    /// A format.
    Format,
    /// `on` or `off`.
    Switch,
    /// A command.
    Command,
    /// A picture: kind, options and a file.
    Picture,
}

/// What a command does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Describe,
    Diagnostics,
    Digits,
    Format,
    Functions,
    Headers,
    Help,
    History,
    Last,
    MaxRows,
    NullValue,
    Once,
    Open,
    Output,
    Pager,
    Plot,
    Quit,
    Read,
    Schema,
    Settings,
    Source,
    Tables,
    Timer,
    Width,
}

const fn command(
    action: Action,
    names: &'static [&'static str],
    argument: &'static str,
    takes: Argument,
    help: &'static str,
) -> Command {
    Command { names, argument, takes, help, action }
}

/// All commands, in the order of the help.
pub(crate) const COMMANDS: &[Command] = &[
    command(Action::Open, &[".open"], "PATH", Argument::Path, "look what a path holds, and make views of it"),
    command(
        Action::Tables,
        &[".tables", "\\dt"],
        "[PATTERN]",
        Argument::Free,
        "list tables, views and table functions",
    ),
    command(
        Action::Describe,
        &["\\d", ".describe"],
        "[NAME]",
        Argument::Table,
        "the columns of a table or table function, or what .tables says",
    ),
    command(
        Action::Schema,
        &[".schema"],
        "NAME",
        Argument::Table,
        "the columns of a table or table function",
    ),
    command(
        Action::Functions,
        &["\\df", "\\h", ".functions"],
        "[PATTERN]",
        Argument::Function,
        "list functions: how to call them, and what for",
    ),
    command(
        Action::Source,
        &["\\sf", ".show", ".source"],
        "NAME",
        Argument::Question,
        "the SQL of a function that is a query",
    ),
    command(
        Action::Diagnostics,
        &[".diagnostics"],
        "[PATH]",
        Argument::Path,
        "problems and notes about the data; reads all of it",
    ),
    command(
        Action::Format,
        &["\\f", ".mode"],
        "[FORMAT]",
        Argument::Format,
        "choose how results are written, or say how they are",
    ),
    command(
        Action::Output,
        &["\\o", ".output"],
        "[FILE]",
        Argument::Path,
        "send results to a file from now on; without one, to the screen again",
    ),
    command(Action::Once, &[".once"], "FILE", Argument::Path, "send the next result to a file"),
    command(
        Action::Last,
        &[".last"],
        "[FORMAT]",
        Argument::Format,
        "run the last statement again, written differently",
    ),
    command(
        Action::MaxRows,
        &[".maxrows"],
        "[N]",
        Argument::Free,
        "how many rows a table shows; 0 shows all",
    ),
    command(
        Action::Width,
        &[".width"],
        "[N]",
        Argument::Free,
        "how wide a table may be; 0 is as wide as the screen",
    ),
    command(
        Action::Digits,
        &[".digits"],
        "on|off",
        Argument::Switch,
        "group the digits of numbers in tables",
    ),
    command(Action::Headers, &[".headers"], "on|off", Argument::Switch, "the line of names in csv and tsv"),
    command(Action::NullValue, &[".nullvalue"], "[TEXT]", Argument::Free, "what stands for NULL in text"),
    command(
        Action::Timer,
        &["\\timing", ".timer"],
        "on|off",
        Argument::Switch,
        "say how long each statement takes and what it reads",
    ),
    command(Action::Pager, &[".pager"], "on|off", Argument::Switch, "show long tables in the pager"),
    command(
        Action::Plot,
        &[".plot"],
        "[KIND ...] [> FILE]",
        Argument::Picture,
        "draw a picture here, or into an HTML file; without a kind, list them",
    ),
    command(
        Action::Settings,
        &[".settings"],
        "[PATTERN]",
        Argument::Setting,
        "what is set and by whom: flags, variables, config.toml, SET",
    ),
    command(Action::Read, &["\\i", ".read"], "FILE", Argument::Path, "run the SQL in a file"),
    command(Action::History, &[".history"], "[N]", Argument::Free, "what was typed last"),
    command(Action::Help, &["\\?", ".help", "help"], "[COMMAND]", Argument::Command, "this list"),
    command(
        Action::Quit,
        &["\\q", ".quit", ".exit", "quit", "exit"],
        "",
        Argument::Free,
        "leave; Ctrl-D does the same",
    ),
];

/// Whether this is a command, known or not. Commands end with their line, SQL with a semicolon.
pub(crate) fn is_command(input: &str) -> bool {
    let input = input.trim_start();
    input.starts_with(['\\', '.']) || bare(input).is_some()
}

/// Whether this is a command that there is, with its sign: also inside of a statement that is not complete,
/// where nothing else of SQL looks like it.
pub(crate) fn is_known_command(input: &str) -> bool {
    let name = input.split_whitespace().next().unwrap_or_default().trim_end_matches(';');
    input.trim_start().starts_with(['\\', '.']) && COMMANDS.iter().any(|c| c.names.contains(&name))
}

/// The command and its argument, which is empty when there is none.
///
/// # Errors
/// When there is no such command, or it wants more or less.
pub(super) fn parse(input: &str) -> Result<(&'static Command, &str), String> {
    // The semicolon is a habit from SQL; no command needs one.
    let input = input.trim().trim_end_matches(';').trim_end();
    let (name, argument) = input.split_once(char::is_whitespace).unwrap_or((input, ""));
    let argument = argument.trim_start();
    let Some(command) = COMMANDS.iter().find(|c| c.names.contains(&name)) else {
        let names = COMMANDS.iter().flat_map(|c| c.names).copied();
        let meant = closest(name, names).map(|meant| format!("\nhint: did you mean {meant}?"));
        let meant = meant.unwrap_or_default();
        return Err(format!("the command {name} is unknown; \\? lists the commands{meant}"));
    };
    let missing = argument.is_empty() && !command.argument.is_empty() && !command.argument.starts_with('[');
    let unwanted = !argument.is_empty() && command.argument.is_empty();
    if missing || unwanted {
        return Err(format!("usage: {}", usage(name, command.argument)));
    }
    Ok((command, argument))
}

/// A command as it is written.
pub(super) fn usage(name: &str, argument: &str) -> String {
    format!("{name} {argument}").trim_end().to_owned()
}

/// The command whose name is a plain word and all of the input.
fn bare(input: &str) -> Option<&'static Command> {
    let word = input.trim().trim_end_matches(';').trim_end();
    let plain = word.starts_with(|c: char| c.is_ascii_alphabetic());
    COMMANDS.iter().find(|c| plain && c.names.contains(&word))
}

impl Command {
    /// Whether this is one of its names, with or without the sign in front.
    pub(super) fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|n| *n == name || n.trim_start_matches(['.', '\\']) == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_are_one_command() {
        for (a, b) in [
            ("\\d t", ".describe t"),
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
        assert!(parse("\\x").unwrap_err().starts_with("the command \\x is unknown; \\? lists the commands"));
        assert!(parse(".tabels").unwrap_err().contains("did you mean .tables?"));
        assert_eq!(parse(".read").unwrap_err(), "usage: .read FILE");
        assert_eq!(parse("\\q now").unwrap_err(), "usage: \\q");
    }
}
