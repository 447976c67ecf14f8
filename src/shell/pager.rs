//! The pager: for tables that are longer than the screen.

use std::env;
use std::io::{self, IsTerminal, Write};
use std::process::{Command, Stdio};

use super::failure::Failure;
use super::screen;

/// Shows text on the screen, through `$PAGER` (or `less`) when it is longer than that.
///
/// # Errors
/// When it cannot be written to stdout.
pub(crate) fn show(text: &[u8]) -> Result<(), Failure> {
    let (_, height) = screen::of_stdout();
    let lines = text.iter().filter(|b| **b == b'\n').count();
    if io::stdout().is_terminal() && lines + 2 > height && paged(text) {
        return Ok(());
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text).and_then(|()| stdout.flush()).map_err(|e| Failure::writing(&e))
}

/// Whether a pager showed it. Without one, or with an empty `$PAGER`, nobody did.
fn paged(text: &[u8]) -> bool {
    let command = env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
    let mut words = command.split_whitespace();
    let Some(program) = words.next() else { return false };
    let mut pager = Command::new(program);
    pager.args(words).stdin(Stdio::piped());
    if env::var_os("LESS").is_none() {
        // Long lines are cut, what fits is only printed, and the screen is left as it was.
        pager.env("LESS", "-FRSX");
    }
    let Ok(mut child) = pager.spawn() else { return false };
    if let Some(mut stdin) = child.stdin.take() {
        // Leaving the pager early is no error.
        let _ = stdin.write_all(text);
    }
    child.wait().is_ok_and(|status| status.success())
}
