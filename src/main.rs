//! `rl-insight-sql`: the program people type SQL into. Everything it does is in [`shell`].

mod shell;

use std::process::ExitCode;

fn main() -> ExitCode {
    shell::run(std::env::args_os())
}
