//! The shell: the only part of the project that prints, reads the terminal or ends the process.
//!
//! | module | what it is |
//! |---|---|
//! | [`flags`] | the command line, up to scripts that have been read |
//! | [`script`] | SQL text and its statements |
//! | [`run`] | statements to results |
//! | [`output`] | results to bytes on stdout |
//! | [`prompt`], [`commands`], [`complete`] | what happens on a terminal |
//! | [`failure`] | errors to texts and exit codes |

mod commands;
mod complete;
mod failure;
mod flags;
mod output;
mod prompt;
mod run;
mod script;

use std::ffi::OsString;
use std::io::{self, IsTerminal};
use std::process::ExitCode;

use tokio::runtime::{Builder, Handle};

use failure::Failure;
use flags::{Invocation, Surroundings};
use run::{OnInterrupt, Runner};

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
    match on_runtimes(invocation) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            failure.tell();
            failure.exit_code()
        }
    }
}

/// Deep expressions are planned recursively; the default of 2 MiB is too little for some.
const WORKER_STACK: usize = 8 << 20;

fn on_runtimes(invocation: Invocation) -> Result<(), Failure> {
    let cannot_start = |e: io::Error| Failure::Query(format!("threads cannot be started: {e}"));
    let front = Builder::new_current_thread().enable_all().build().map_err(cannot_start)?;
    let workers = Builder::new_multi_thread()
        .worker_threads(invocation.threads.get())
        .thread_name("query")
        .thread_stack_size(WORKER_STACK)
        .enable_all()
        .build()
        .map_err(cannot_start)?;
    let done = front.block_on(work(invocation, workers.handle().clone()));
    // A cancelled reader may be in the middle of a file; nobody needs to wait for it.
    workers.shutdown_background();
    done
}

async fn work(invocation: Invocation, workers: Handle) -> Result<(), Failure> {
    let runner = Runner::new(&invocation, workers)?;
    let Some(scripts) = invocation.scripts else { return prompt::run(runner).await };
    for script in scripts {
        runner.run(script, OnInterrupt::Leave).await?;
    }
    Ok(())
}
