//! Commands of the prompt: `\d`, `.read` and the like. Both spellings are one command, and one table
//! describes all of them: for running, for the help and for completion.

use std::path::Path;

use rl_insight_sql::library;

use super::explain::closest;
use super::failure::Failure;
use super::invocation::read_file;
use super::listing;
use super::output::Format;
use super::places;
use super::run::Runner;
use super::script::Script;

/// A command.
#[derive(Debug)]
pub(crate) struct Command {
    /// How it can be spelled. Names that begin with a letter count only when they stand alone.
    pub(crate) names: &'static [&'static str],
    /// What follows the name, for the help: nothing, `NAME`, or `[NAME]` when it can be left out.
    argument: &'static str,
    /// What the argument is, for completion.
    pub(crate) takes: Argument,
    help: &'static str,
    action: Action,
}

/// What the argument of a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Argument {
    /// Nothing that can be completed.
    Free,
    /// A table or a table function.
    Table,
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
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Describe,
    Diagnostics,
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
        &["\\df", ".functions"],
        "[PATTERN]",
        Argument::Free,
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
        Action::Settings,
        &[".settings"],
        "[PATTERN]",
        Argument::Free,
        "the settings of the engine; SET changes them",
    ),
    command(Action::Read, &["\\i", ".read"], "FILE", Argument::Path, "run the SQL in a file"),
    command(Action::History, &[".history"], "[N]", Argument::Free, "what was typed last"),
    command(Action::Help, &["\\?", "\\h", ".help", "help"], "[COMMAND]", Argument::Command, "this list"),
    command(
        Action::Quit,
        &["\\q", ".quit", ".exit", "quit", "exit"],
        "",
        Argument::Free,
        "leave; Ctrl-D does the same",
    ),
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
    let (command, argument) = parse(input).map_err(Failure::Query)?;
    match command.action {
        Action::Quit => return Ok(Step::Leave),
        Action::Help => help(runner, argument)?,
        Action::Format => choose_format(runner, argument)?,
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
            return runner.run(Script::new(None, tables(runner, argument))).await;
        }
        Action::Functions => {
            let pattern = Some(argument).filter(|a| !a.is_empty());
            let rows = listing::function_rows(runner.context(), pattern)?;
            runner.print(&rows)?;
        }
        Action::Source => source(runner, argument)?,
        Action::Diagnostics => {
            let sql = diagnostics(runner, argument)?;
            return runner.run(Script::new(None, sql)).await;
        }
        Action::Settings => {
            let pattern = if argument.is_empty() { "*" } else { argument };
            let sql = format!(
                "SELECT name, value, description FROM information_schema.df_settings WHERE name LIKE '{}' \
                 ORDER BY name",
                like(pattern)
            );
            return runner.run(Script::new(None, sql)).await;
        }
        Action::Output | Action::Once => {
            let (force, name) = match argument.strip_prefix("--force") {
                Some(rest) => (true, rest.trim_start()),
                None => (false, argument),
            };
            let target = Some(Path::new(unquoted(name))).filter(|p| !p.as_os_str().is_empty());
            runner.send_to(target, command.action == Action::Once, force)?;
        }
        Action::Last => return last(runner, argument).await,
        Action::MaxRows => {
            let rows = number(argument, 40)?;
            runner.look_mut().max_rows = Some(rows).filter(|n| *n > 0);
        }
        Action::Width => {
            let width = number(argument, 0)?;
            runner.look_mut().width = Some(width).filter(|n| *n > 0);
        }
        Action::Headers => runner.look_mut().headers = switch(argument)?,
        Action::NullValue => {
            runner.look_mut().null = Some(unquoted(argument).to_owned()).filter(|n| !n.is_empty());
        }
        Action::Timer => runner.timer = switch(argument)?,
        Action::Pager => runner.look_mut().pager = switch(argument)?,
        Action::History => history(runner, number(argument, 20)?)?,
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

fn usage(name: &str, argument: &str) -> String {
    format!("{name} {argument}").trim_end().to_owned()
}

/// The command whose name is a plain word and all of the input.
fn bare(input: &str) -> Option<&'static Command> {
    let word = input.trim().trim_end_matches(';').trim_end();
    let plain = word.starts_with(|c: char| c.is_ascii_alphabetic());
    COMMANDS.iter().find(|c| plain && c.names.contains(&word))
}

fn help(runner: &Runner, about: &str) -> Result<(), Failure> {
    let voice = runner.voice();
    let mut known = false;
    for command in COMMANDS.iter().filter(|c| about.is_empty() || c.is_named(about)) {
        known = true;
        let names = command.names.join(", ");
        voice.tell(format_args!("{:<36}{}", usage(&names, command.argument), command.help));
    }
    if !known {
        return Err(Failure::Query(format!("the command {about} is unknown; \\? lists the commands")));
    }
    if about.is_empty() {
        voice.tell("SQL ends with a semicolon and may have several lines. Ctrl-C cancels a query or drops the input.");
    }
    Ok(())
}

impl Command {
    /// Whether this is one of its names, with or without the sign in front.
    fn is_named(&self, name: &str) -> bool {
        self.names.iter().any(|n| *n == name || n.trim_start_matches(['.', '\\']) == name)
    }
}

fn choose_format(runner: &mut Runner, name: &str) -> Result<(), Failure> {
    let names = || Format::names().join(", ");
    if name.is_empty() {
        let now = runner.look().format.name();
        runner.voice().tell(format_args!("{now} (one of {})", names()));
        return Ok(());
    }
    runner.look_mut().format = format_named(name)?;
    Ok(())
}

fn format_named(name: &str) -> Result<Format, Failure> {
    Format::named(name).ok_or_else(|| {
        let names = Format::names().join(", ");
        Failure::Query(format!("the format {name} is unknown; expected one of {names}"))
    })
}

async fn last(runner: &mut Runner, format: &str) -> Result<Step, Failure> {
    let Some(script) = runner.last.clone() else {
        return Err(Failure::Query("no statement was run yet".into()));
    };
    let before = runner.look().format;
    if !format.is_empty() {
        runner.look_mut().format = format_named(format)?;
    }
    let done = runner.run(script).await;
    runner.look_mut().format = before;
    done
}

fn source(runner: &Runner, name: &str) -> Result<(), Failure> {
    let functions = library::functions()?;
    let name = name.trim_end_matches("()");
    let Some(function) = functions.iter().find(|f| f.name() == name) else {
        let meant = closest(name, functions.iter().map(|f| f.name()));
        let meant = meant.map(|m| format!("\nhint: did you mean {m}?")).unwrap_or_default();
        return Err(Failure::Query(format!("{name} is no function that is a query; \\df lists all{meant}")));
    };
    runner.write_text(&format!("{}\n", function.source().trim_end()))
}

/// What is wrong with the data, without what was only found.
fn diagnostics(runner: &Runner, path: &str) -> Result<String, Failure> {
    let quoted = |path: &str| format!("'{}'", path.replace('\'', "''"));
    let paths: Vec<String> = match unquoted(path) {
        "" => runner.paths.iter().map(|p| quoted(p)).collect(),
        path => vec![quoted(path)],
    };
    if paths.is_empty() {
        return Err(Failure::Query("no data is open\nhint: .diagnostics PATH, or .open PATH first".into()));
    }
    Ok(format!(
        "SELECT entry, role, rank_id, step, kind, file, place, message, count \
         FROM diagnostics([{}]) WHERE entry <> 'unit' ORDER BY entry DESC, role, rank_id, step, file",
        paths.join(", ")
    ))
}

fn history(runner: &Runner, entries: usize) -> Result<(), Failure> {
    let Some(file) = places::history_file() else {
        return Err(Failure::Query("there is no history: RL_INSIGHT_SQL_HISTORY is empty".into()));
    };
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let lines: Vec<&str> = text.lines().filter(|line| *line != "#V2").collect();
    for line in lines.iter().skip(lines.len().saturating_sub(entries)) {
        runner.write_text(&format!("{}\n", line.replace("\\n", "\n").replace("\\\\", "\\")))?;
    }
    Ok(())
}

fn switch(argument: &str) -> Result<bool, Failure> {
    match argument {
        "on" | "true" | "yes" | "1" => Ok(true),
        "off" | "false" | "no" | "0" => Ok(false),
        other => Err(Failure::Query(format!("{other}: expected on or off"))),
    }
}

fn number(argument: &str, default: usize) -> Result<usize, Failure> {
    if argument.is_empty() {
        return Ok(default);
    }
    argument.parse().map_err(|_| Failure::Query(format!("{argument}: expected a number, 0 or more")))
}

/// A path without the quotes that people put around it from habit.
fn unquoted(argument: &str) -> &str {
    let inner = |quote| argument.strip_prefix(quote).and_then(|a| a.strip_suffix(quote));
    inner('\'').or_else(|| inner('"')).unwrap_or(argument)
}

fn like(pattern: &str) -> String {
    pattern.replace('\'', "''").replace('*', "%").replace('?', "_")
}

/// A query for everything that can follow FROM. The engine's catalog does not know table functions.
fn tables(runner: &Runner, pattern: &str) -> String {
    let shown = |name: &str| pattern.is_empty() || listing::matches(pattern, name);
    let mut sql = String::from(
        "SELECT * FROM (SELECT table_schema AS \"schema\", table_name AS name, lower(table_type) AS kind, \
         '' AS purpose FROM information_schema.tables WHERE table_schema <> 'information_schema'",
    );
    if !pattern.is_empty() {
        sql.push_str(&format!(" AND table_name LIKE '{}'", like(pattern)));
    }
    let functions = listing::functions(runner.context()).unwrap_or_default().into_iter();
    let reads = |kind: &str| matches!(kind, "table" | "question" | "engine table");
    for line in functions.filter(|line| reads(line.kind) && shown(&line.name)) {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let (name, purpose) = (quoted(&line.name), quoted(&line.purpose));
        sql.push_str(&format!(" UNION ALL SELECT NULL, {name}, 'table function', {purpose}"));
    }
    sql.push_str(") ORDER BY kind DESC, \"schema\", name");
    sql
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
