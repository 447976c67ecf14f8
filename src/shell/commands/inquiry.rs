//! Commands that say what there is: tables, the text of functions, problems, what was typed.

use rl_insight_sql::session;

use super::super::explain::closest;
use super::super::failure::Failure;
use super::super::listing;
use super::super::places;
use super::super::run::Runner;
use super::argument::{like, unquoted};
use super::list::{COMMANDS, usage};

/// `.help`: all commands, or one.
///
/// # Errors
/// When there is no such command.
pub(super) fn help(runner: &Runner, about: &str) -> Result<(), Failure> {
    let voice = runner.voice();
    let mut known = false;
    for command in COMMANDS.iter().filter(|c| about.is_empty() || c.is_named(about)) {
        known = true;
        let names = command.names.join(", ");
        voice.tell(format_args!("{:<36}{}", usage(&names, command.argument), voice.words(command.help)));
    }
    if !known {
        return Err(Failure::Query(format!("the command {about} is unknown; \\? lists the commands")));
    }
    if about.is_empty() {
        voice.tell("SQL ends with a semicolon and may have several lines. Ctrl-C cancels a query or drops the input.");
    }
    Ok(())
}

/// `.source`: the SQL of a function that is a query.
///
/// # Errors
/// When there is no such function.
pub(super) fn source(runner: &Runner, name: &str) -> Result<(), Failure> {
    let functions = session::library(runner.context())?.functions();
    let name = name.trim_end_matches("()");
    let Some(function) = functions.iter().find(|f| f.name() == name) else {
        let meant = closest(name, functions.iter().map(|f| f.name()));
        let meant = meant.map(|m| format!("\nhint: did you mean {m}?")).unwrap_or_default();
        return Err(Failure::Query(format!("{name} is no function that is a query; \\df lists all{meant}")));
    };
    runner.write_text(&format!("{}\n", function.source().trim_end()))
}

/// `.diagnostics`: a query for what is wrong with the data, without what was only found.
///
/// # Errors
/// When no path is given or open.
pub(super) fn diagnostics(runner: &Runner, path: &str) -> Result<String, Failure> {
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

/// `.history`: what was typed last.
///
/// # Errors
/// When nothing is remembered.
pub(super) fn history(runner: &Runner, entries: usize) -> Result<(), Failure> {
    let Some(file) = places::history_file() else {
        return Err(Failure::Query("there is no history: RL_INSIGHT_SQL_HISTORY is empty".into()));
    };
    // A device has no end.
    let is_file = std::fs::metadata(&file).is_ok_and(|there| there.is_file());
    let text = if is_file { std::fs::read_to_string(&file).unwrap_or_default() } else { String::new() };
    let lines: Vec<&str> = text.lines().filter(|line| *line != "#V2").collect();
    for line in lines.iter().skip(lines.len().saturating_sub(entries)) {
        runner.write_text(&format!("{}\n", line.replace("\\n", "\n").replace("\\\\", "\\")))?;
    }
    Ok(())
}

/// `.tables`: a query for everything that can follow FROM. The engine's catalog does not know table functions.
pub(super) fn tables(runner: &Runner, pattern: &str) -> String {
    let shown = |name: &str| listing::named(pattern, name);
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let opened = runner.opened().iter().map(|found| {
        let query = found.query(runner.on_error());
        let rows_of = query.strip_prefix("SELECT * FROM ").unwrap_or(&query);
        format!("WHEN {} THEN {} ", quoted(found.view), quoted(&format!("the rows of {rows_of}")))
    });
    let opened = opened.collect::<String>();
    let mut sql = format!(
        "SELECT * FROM (SELECT table_schema AS \"schema\", table_name AS name, lower(table_type) AS kind, \
         CASE table_name {opened}WHEN '' THEN '' ELSE '' END AS purpose \
         FROM information_schema.tables WHERE table_schema <> 'information_schema'",
    );
    if !pattern.is_empty() {
        let anywhere = if pattern.contains(['*', '?', '%']) { "" } else { "%" };
        let pattern = like(pattern);
        sql.push_str(&format!(" AND table_name ILIKE '{anywhere}{pattern}{anywhere}'"));
    }
    let functions = listing::functions(runner.context()).unwrap_or_default().into_iter();
    let reads = |kind: &str| matches!(kind, "table" | "question" | "engine table");
    for line in functions.filter(|line| reads(line.kind) && shown(&line.name)) {
        let (name, purpose) = (quoted(&line.name), quoted(&line.purpose));
        sql.push_str(&format!(" UNION ALL SELECT NULL, {name}, 'table function', {purpose}"));
    }
    sql.push_str(") ORDER BY kind DESC, \"schema\", name");
    sql
}
