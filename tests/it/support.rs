//! Runs the program and collects what it does.

use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// What a run of the program left behind.
#[derive(Debug)]
pub(crate) struct Run {
    /// The exit code; `None` when a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to stdout.
    pub(crate) stdout: String,
    /// What it wrote to stderr.
    pub(crate) stderr: String,
}

/// The program, with an empty environment and nothing on stdin.
pub(crate) fn program(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
    command.args(args).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs it to its end.
pub(crate) fn run(args: &[&str]) -> Run {
    collect(program(args).output().unwrap())
}

/// Runs it with this text on stdin.
pub(crate) fn run_with_stdin(args: &[&str], stdin: &[u8]) -> Run {
    let mut child = program(args).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(stdin).unwrap();
    collect(child.wait_with_output().unwrap())
}

/// The result of a finished process.
pub(crate) fn collect(output: Output) -> Run {
    Run {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Waits for a process, but not for ever: one that should have ended is killed and fails the test.
pub(crate) fn finish(mut child: Child) -> Run {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        if start.elapsed() > Duration::from_secs(60) {
            child.kill().unwrap();
            panic!("the program did not end");
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    collect(child.wait_with_output().unwrap())
}
