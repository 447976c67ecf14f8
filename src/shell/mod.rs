//! The shell: the only part of the project that prints, reads the terminal or ends the process.
//!
//! | module | what it is |
//! |---|---|
//! | [`flags`] | the command line, up to scripts that have been read |
//! | [`script`] | SQL text and its statements |
//! | [`run`] | statements to results |
//! | [`workers`] | the threads of the queries |
//! | [`output`] | results to bytes on stdout |
//! | [`prompt`], [`commands`], [`complete`] | what happens on a terminal |
//! | [`failure`] | errors to texts and exit codes |

mod commands;
mod complete;
mod failure;
mod flags;
mod output;
mod parameters;
mod prompt;
mod run;
mod script;
mod workers;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use tokio::runtime::Builder;

use failure::Failure;
use flags::{Invocation, Surroundings};
use run::Runner;

/// Runs the program with these arguments, the first of which is its name.
pub(crate) fn run(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let around = Surroundings {
        stdin_is_terminal: io::stdin().is_terminal(),
        stdout_is_terminal: io::stdout().is_terminal(),
    };
    let invocation = match Invocation::read(args, around) {
        Ok(invocation) => invocation,
        Err(code) => return code,
    };
    match with_runtime(invocation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}

/// Waits for Ctrl-C on a thread of its own and leaves the work to others: a query that keeps all
/// workers busy can still be cancelled.
fn with_runtime(invocation: Invocation) -> Result<(), Failure> {
    let front = Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::Query(format!("the program cannot wait for events: {e}")))?;
    front.block_on(work(invocation))
}

async fn work(invocation: Invocation) -> Result<(), Failure> {
    let mut runner = Runner::new(&invocation)?;
    let Some(scripts) = invocation.scripts else { return prompt::run(runner).await };
    for script in scripts {
        runner.run(script).await?;
    }
    Ok(())
}
