//! `report` and `export-trend`: scripts of the product, run with one word instead of a file that only the
//! repository has.

use std::io::{self, IsTerminal};
use std::path::Path;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use rl_insight_sql::library::script;

use super::failure::Failure;
use super::flags::{ExportTrendFlags, Flags, FormatFlag, ReportFlags, ShippedFlags};
use super::invocation::{Invocation, Surroundings, to_file};
use super::output::Format;
use super::script::Script;
use super::settings::Settings;

/// Writes a report about the memory of a run.
///
/// # Errors
/// As the queries of the script; what is wrong with the command line is [`Failure::Usage`].
pub(crate) async fn report(flags: ReportFlags) -> Result<(), Failure> {
    let output = to_file(flags.output);
    let format = match flags.format {
        // For a ticket, rather than for a program.
        None | Some(FormatFlag::Automatic) if output.is_none() && !io::stdout().is_terminal() => {
            Some(FormatFlag::Fixed(Format::Markdown))
        }
        given => given,
    };
    let (given, matches) = session(flags.session, flags.path)?;
    run("report", Flags { format, output, ..given }, &matches).await
}

/// Exports a dump as a trend database.
///
/// # Errors
/// As the COPY of the script; what is wrong with the command line is [`Failure::Usage`].
pub(crate) async fn export_trend(flags: ExportTrendFlags) -> Result<(), Failure> {
    const ENDING: &str = ".trend.db";
    let target = flags.output.display().to_string();
    if !target.ends_with(ENDING) {
        let text = format!("-o {target}: expected a name that ends in {ENDING}");
        return Err(Failure::Usage(text).hinted(
            "the Trend Analyzer opens no other; COPY ... TO 'FILE' STORED AS TREND_DB writes any name",
        ));
    }
    if Path::new(&target).exists() && !flags.session.force {
        let text = format!("{target}: exists already\nhint: give --force to replace it");
        return Err(Failure::Usage(text));
    }
    let quoted = |name: &str, text: &str| format!("{name}='{}'", text.replace('\'', "''"));
    let (mut given, matches) = session(flags.session, flags.path.clone())?;
    given.engine.parameters.extend([quoted("dump", &flags.path), quoted("target", &target)]);
    run("export_trend_db", given, &matches).await
}

/// The flags of a session that does what is asked, and the empty command line that they begin with.
fn session(flags: ShippedFlags, path: String) -> Result<(Flags, ArgMatches), Failure> {
    let usage = |e: clap::Error| Failure::Usage(e.to_string());
    let matches = Flags::command().try_get_matches_from(["rl-insight-sql"]).map_err(usage)?;
    let all = Flags::from_arg_matches(&matches).map_err(usage)?;
    let given = Flags {
        paths: vec![path],
        engine: flags.engine,
        force: flags.force,
        root: flags.root,
        read_only: flags.read_only,
        fail_on_partial: flags.fail_on_partial,
        // All of it: nobody is at a prompt to ask for the rest.
        max_rows: Some(0),
        no_init: true,
        ..all
    };
    Ok((given, matches))
}

async fn run(name: &str, flags: Flags, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(text) = script(name) else {
        return Err(Failure::Query(format!("internal error, please report it: there is no script {name}")));
    };
    let stdout_is_terminal = io::stdout().is_terminal();
    let around = Surroundings { stdin_is_terminal: true, stdout_is_terminal };
    let mut invocation = Invocation::build(flags, matches, around)?;
    invocation.scripts = Some(vec![Script::new(None, text)]);
    invocation.look.pager = false;
    invocation.look.at_prompt = false;
    super::work(invocation, Settings::default()).await.map(drop)
}
