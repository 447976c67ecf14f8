//! `rl-insight-sql plot KIND ... PATH -o FILE`: one picture, from the command line.

use std::io::{self, IsTerminal};

use clap::{CommandFactory, FromArgMatches};

use super::request::Request;
use super::{Target, picture};
use crate::shell::failure::Failure;
use crate::shell::flags::{Flags, PlotFlags};
use crate::shell::invocation::{Invocation, Surroundings, to_file};
use crate::shell::run::Runner;
use crate::shell::settings::Settings;

/// Draws it.
///
/// # Errors
/// As `.plot`; what is wrong with the command line is [`Failure::Usage`].
pub(crate) async fn draw(flags: PlotFlags) -> Result<(), Failure> {
    let request = Request::of_arguments(&flags.kind, &flags.words).map_err(Failure::Usage)?;
    request.subject(|_| true).map_err(Failure::Usage)?;
    let paths = request.paths.clone();
    if let Some(word) = paths.iter().find(|path| path.contains('=') && !std::path::Path::new(path).exists()) {
        return Err(Failure::Usage(format!(
            "{word}: no such path, and no option\nhint: plot --help lists the options"
        )));
    }
    if paths.is_empty() && request.option("path").is_none() {
        let given = request.what.as_deref().map(|w| format!("; a directory of that name is written ./{w}"));
        let given = given.unwrap_or_default();
        return Err(Failure::Usage(format!("a PATH is missing: plot {} run/{given}", request.kind)));
    }
    let mut runner = Runner::new(&invocation(&flags, &paths)?, Settings::default())?;
    runner.open(&paths).await?;
    let output = to_file(flags.output.clone());
    let target = match output.as_deref() {
        Some(path) => Target::File { path, force: flags.force, hint: "give --force to replace it" },
        None if flags.text || io::stdout().is_terminal() => Target::Screen,
        None => Target::Stdout,
    };
    let wrong = |failure: Failure| match failure {
        // As with -o of a query: what is there already is a matter of the command line.
        Failure::Refused(text) => Failure::Usage(text),
        other => other,
    };
    picture(&mut runner, &request, target).await.map_err(wrong)
}

/// A session without scripts, set up as the flags say.
fn invocation(flags: &PlotFlags, paths: &[String]) -> Result<Invocation, Failure> {
    let usage = |e: clap::Error| Failure::Usage(e.to_string());
    let matches = Flags::command().try_get_matches_from(["rl-insight-sql"]).map_err(usage)?;
    let all = Flags::from_arg_matches(&matches).map_err(usage)?;
    let all = Flags {
        paths: paths.to_vec(),
        engine: flags.engine.clone(),
        force: flags.force,
        root: flags.root.clone(),
        no_init: true,
        ..all
    };
    let around = Surroundings { stdin_is_terminal: true, stdout_is_terminal: io::stdout().is_terminal() };
    Invocation::build(all, &matches, around)
}
