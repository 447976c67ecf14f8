//! Tests of what belongs to the whole process run in one of their own: this binary, started again for
//! a single test that is ignored otherwise.

use std::ffi::OsStr;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A test of this binary, such as `failing_io::sweep`, in a process of its own.
pub(crate) fn command(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--exact", "--ignored", "--nocapture", "--test-threads=1"]).stdin(Stdio::null());
    command
}

/// Runs such a test; what it says is shown, and its failure is one of the caller.
pub(crate) fn run<'a>(test: &str, environment: impl IntoIterator<Item = (&'a str, &'a OsStr)>) -> String {
    let mut command = command(test);
    command.envs(environment).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = finish(command, Duration::from_secs(super::size::pick(1200, 10_000)));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{test} in a process of its own: {}\n{text}\n{errors}", output.status);
    // A name that nothing has would succeed, too.
    assert!(text.contains("1 passed"), "no test is called {test}\n{text}");
    print!("{text}");
    text
}

/// Waits for a process, but not for ever: one that hangs is ended and fails the test.
pub(crate) fn finish(mut command: Command, limit: Duration) -> Output {
    let mut child = command.spawn().unwrap();
    // Whatever it writes must not keep it waiting.
    let read = |from: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = vec![];
            if let Some(mut from) = from {
                from.read_to_end(&mut bytes).unwrap();
            }
            bytes
        })
    };
    let stdout = read(child.stdout.take().map(|s| Box::new(s) as _));
    let stderr = read(child.stderr.take().map(|s| Box::new(s) as _));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > limit {
            child.kill().unwrap();
            child.wait().unwrap();
            panic!(
                "{command:?} did not end\n{}\n{}",
                String::from_utf8_lossy(&stdout.join().unwrap()),
                String::from_utf8_lossy(&stderr.join().unwrap())
            );
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}
