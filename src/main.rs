//! `rl-insight-sql`: the program people type SQL into. Everything it does is in [`shell`].

mod shell;

use std::process::ExitCode;

use rl_insight_sql::sink::remove_unfinished_files;

fn main() -> ExitCode {
    let code = shell::run(std::env::args_os());
    // A thread that is in the middle of something ends with the program, and can clean up no more.
    remove_unfinished_files();
    code
}
