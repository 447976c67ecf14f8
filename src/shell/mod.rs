//! The shell: the only part of the project that prints, reads the terminal or ends the process.
//!
//! | module | what it is |
//! |---|---|
//! | [`flags`], [`config`], [`invocation`] | the command line: as clap sees it, what a file adds, then checked and with scripts read |
//! | [`settings`] | what is set, and by whom |
//! | [`script`], [`parameters`], [`chain`] | SQL text, its statements, the values it is given, and how deep it is |
//! | [`run`], [`statement`], [`workers`], [`engine`] | scripts to results: waiting, one statement, its threads, its limits |
//! | [`guard`], [`confine`], [`inputs`], [`address`] | what statements may do, and to which files |
//! | [`output`], [`footer`], [`pager`] | results to bytes in their destination |
//! | [`voice`], [`language`], [`watch`] | what is said besides, in which language, and progress |
//! | [`prompt`], [`commands`], [`complete`] | what happens on a terminal |
//! | [`listing`], [`run_dir`], [`doctor`] | what there is: functions, columns, data, limits |
//! | [`agent`] | the one JSON object for programs |
//! | [`check`] | assertions about data |
//! | [`shipped`] | scripts of the product as subcommands |
//! | [`plot`] | pictures: from a command to queries, from their rows to a file |
//! | [`failure`], [`explain`], [`habits`] | errors to texts and exit codes |

mod address;
mod agent;
mod amount;
mod chain;
mod check;
mod commands;
mod complete;
mod config;
mod confine;
mod doctor;
mod engine;
mod explain;
mod failure;
mod flags;
mod footer;
#[cfg(test)]
mod fuzz;
mod guard;
mod habits;
mod inputs;
mod invocation;
mod language;
mod listing;
mod output;
mod pager;
mod parameters;
mod places;
mod plot;
mod prompt;
mod run;
mod run_dir;
mod screen;
mod script;
mod settings;
mod shipped;
mod signals;
mod statement;
mod voice;
mod watch;
mod workers;

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::{ArgMatches, CommandFactory, FromArgMatches};
use tokio::runtime::Builder;

use commands::Step;
use config::Config;
use failure::Failure;
use flags::{Flags, Sub};
use invocation::{Invocation, Surroundings};
use language::{Language, Wanted};
use run::Runner;
use settings::Settings;

/// A command line, and what `config.toml` adds to it.
struct Given {
    flags: Flags,
    matches: ArgMatches,
    config: Config,
}

/// Why a command line cannot be followed.
enum Wrong {
    /// As clap says it. Also `--help`, which is no mistake.
    Usage(clap::Error),
    Config(Failure),
}

/// Parses a command line twice: what is wrong with it is said before what is wrong with `config.toml`, and help
/// is there in any case.
fn parse(args: &[OsString]) -> Result<Given, Wrong> {
    let command = Wanted::early(args).language().command(Flags::command());
    let matches = command.clone().try_get_matches_from(args).map_err(Wrong::Usage)?;
    let flags = Flags::from_arg_matches(&matches).map_err(Wrong::Usage)?;
    let reads = match &flags.command {
        None => !flags.no_init,
        Some(Sub::Check(check)) => !check.no_init,
        Some(Sub::Report(report)) => !report.session.no_init,
        Some(Sub::ExportTrend(export)) => !export.session.no_init,
        Some(Sub::Plot(plot)) => !plot.no_init,
        Some(_) => false,
    };
    let file = if reads { places::config_file() } else { None };
    let Some(file) = file else { return Ok(Given { flags, matches, config: Config::default() }) };
    let config = Config::read(&file, &command).map_err(Wrong::Config)?;
    let matches = config.apply(command).try_get_matches_from(args).map_err(Wrong::Usage)?;
    let flags = Flags::from_arg_matches(&matches).map_err(Wrong::Usage)?;
    Ok(Given { flags, matches, config })
}

/// Runs the program with these arguments, the first of which is its name.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let args: Vec<OsString> = args.into_iter().collect();
    let agent = args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--agent");
    let language = Wanted::early(&args).language();
    let given = match parse(&args) {
        Ok(given) => given,
        Err(Wrong::Usage(e)) if agent && !e.use_stderr() => {
            return match agent::print_help(&e.to_string()) {
                Ok(()) => ExitCode::SUCCESS,
                Err(failure) => failure.exit_code(),
            };
        }
        Err(Wrong::Usage(e)) if !agent && e.use_stderr() && language != Language::English => {
            failure::tell(language.say(e.to_string().trim_end()));
            return ExitCode::from(2);
        }
        Err(Wrong::Usage(e)) if !agent => {
            // Fails when the reader is gone, and then there is nobody to tell.
            let _ = e.print();
            return ExitCode::from(if e.use_stderr() { 2 } else { 0 });
        }
        Err(wrong) => {
            let failure = match wrong {
                Wrong::Usage(e) => usage_failure(&e),
                Wrong::Config(failure) => failure,
            };
            if agent {
                agent::print_failure(&failure);
            } else {
                failure.tell(language);
            }
            return failure.exit_code();
        }
    };
    let Given { mut flags, matches, config } = given;
    let language = match &flags.command {
        Some(Sub::Check(check)) => check.engine.lang.language(),
        Some(Sub::Plot(plot)) => plot.engine.lang.language(),
        Some(Sub::Report(report)) => report.session.engine.lang.language(),
        Some(Sub::ExportTrend(export)) => export.session.engine.lang.language(),
        _ => flags.engine.lang.language(),
    };
    let done = match flags.command.take() {
        None => {
            let settings = Settings::new(&Flags::command(), &matches, &config);
            return session(flags, &matches, settings);
        }
        Some(Sub::Completions { shell }) => {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Flags::command(), "rl-insight-sql", &mut text);
            print(&text)
        }
        Some(Sub::Man) => man_page().and_then(|text| print(&text)),
        Some(Sub::Doctor { paths }) => with_runtime(doctor::run(paths)),
        Some(Sub::Check(flags)) => with_runtime(check::run(flags)),
        Some(Sub::Plot(flags)) => with_runtime(plot::draw(flags)),
        Some(Sub::Report(flags)) => with_runtime(shipped::report(flags)),
        Some(Sub::ExportTrend(flags)) => with_runtime(shipped::export_trend(flags)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell(language);
            failure.exit_code()
        }
    }
}

/// What clap says, without the page around it.
fn usage_failure(error: &clap::Error) -> Failure {
    let text = error.to_string();
    let mut parts = text.split("\n\n").map(str::trim);
    let message = parts.next().unwrap_or_default();
    let message = message.strip_prefix("error: ").unwrap_or(message).to_owned();
    let tip = parts.find_map(|part| part.strip_prefix("tip: "));
    Failure::Usage(message).hinted(tip.unwrap_or("--help lists what can be given"))
}

fn print(text: &[u8]) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush()).map_err(|e| Failure::writing(&e))
}

fn man_page() -> Result<Vec<u8>, Failure> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Flags::command()).render(&mut text).map_err(|e| Failure::writing(&e))?;
    Ok(text)
}

/// Runs SQL, from scripts or a prompt.
fn session(flags: Flags, matches: &ArgMatches, settings: Settings) -> ExitCode {
    let (agent, language) = (flags.agent, flags.engine.lang.language());
    let around = Surroundings {
        stdin_is_terminal: io::stdin().is_terminal(),
        stdout_is_terminal: io::stdout().is_terminal(),
    };
    let invocation = match Invocation::build(flags, matches, around) {
        Ok(invocation) => invocation,
        Err(failure) => {
            if agent {
                agent::print_failure(&failure);
            } else {
                failure.tell(language);
            }
            return failure.exit_code();
        }
    };
    let voice = invocation.engine.voice.clone();
    match with_runtime(work(invocation, settings)) {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            if !voice.keeps() {
                voice.failure(&failure);
            }
            failure.exit_code()
        }
    }
}

/// Waits for Ctrl-C on a thread of its own and leaves the work to others: a query that keeps all
/// workers busy can still be cancelled.
fn with_runtime<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let front = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Query(format!("the program cannot wait for events: {e}")))?;
    let done = front.block_on(async {
        survive_full_files();
        work.await
    });
    // A thread that waits for a file system which does not answer is not waited for.
    front.shutdown_background();
    done
}

/// Makes a file that grows beyond the limit of the process an error of writing it, which names the file
/// and removes what was written, instead of a signal that ends the program on the spot.
fn survive_full_files() {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        const SIGXFSZ: i32 = 25;
        // Where it cannot be had, the program ends as any other.
        let _ = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::from_raw(SIGXFSZ));
    }
}

/// Runs everything; the exit code is that of failures that did not end it.
async fn work(mut invocation: Invocation, settings: Settings) -> Result<u8, Failure> {
    let agent = invocation.agent.is_some();
    let mut runner = match Runner::new(&invocation, settings) {
        Ok(runner) => runner,
        Err(failure) => {
            if agent {
                agent::print_failure(&failure);
            }
            return Err(failure);
        }
    };
    let Some(scripts) = invocation.scripts.take() else {
        match runner.open(&invocation.paths).await {
            // People can look elsewhere.
            Err(failure @ Failure::Data(_)) => runner.voice().failure(&failure),
            other => other.map_err(|failure| mistyped(failure, &invocation.paths))?,
        }
        prompt::run(runner, &invocation.init).await?;
        return Ok(0);
    };
    let idle = scripts.iter().all(|script| script.text().trim().is_empty());
    let done = scripted(&mut runner, &invocation, scripts).await;
    if let Some(answer) = runner.answer() {
        let partial = runner.left_out() > 0;
        answer.print(runner.voice(), partial, idle, done.as_ref().err())?;
    }
    done
}

/// A path that is not there may be a mistyped subcommand.
fn mistyped(failure: Failure, paths: &[String]) -> Failure {
    let Some(path) = paths.first().filter(|path| !Path::new(path).exists()) else { return failure };
    let command = Flags::command();
    let meant = explain::closest(path, command.get_subcommands().map(clap::Command::get_name));
    match (&failure, meant) {
        (Failure::Usage(_), Some(meant)) => failure.hinted(&format!("did you mean the subcommand {meant}?")),
        _ => failure,
    }
}

async fn scripted(
    runner: &mut Runner,
    invocation: &Invocation,
    scripts: Vec<script::Script>,
) -> Result<u8, Failure> {
    runner.open(&invocation.paths).await.map_err(|failure| mistyped(failure, &invocation.paths))?;
    for script in scripts {
        if runner.run(script).await? == Step::Leave {
            break;
        }
    }
    if let Some(code) = runner.first_failure() {
        if let Some(output) = &invocation.output {
            let name = output.display();
            runner.voice().tell(format_args!("{name} was not written, because a statement failed"));
        }
        return Ok(code);
    }
    runner.publish()?;
    if invocation.fail_on_partial && runner.left_out() > 0 {
        return Err(Failure::Partial("the result is not complete, and --fail-on-partial was given".into()));
    }
    Ok(0)
}
