//! How big the terminal is: columns and lines.

use std::io;

use terminal_size::{Height, Width, terminal_size_of};

/// The terminal behind stdout.
pub(crate) fn of_stdout() -> (usize, usize) {
    or_usual(terminal_size_of(io::stdout()))
}

/// The terminal behind stderr.
pub(crate) fn of_stderr() -> (usize, usize) {
    or_usual(terminal_size_of(io::stderr()))
}

/// What old terminals had, when the system does not tell.
fn or_usual(known: Option<(Width, Height)>) -> (usize, usize) {
    let or = |size: u16, usual: usize| if size == 0 { usual } else { usize::from(size) };
    known.map_or((80, 24), |(width, height)| (or(width.0, 80), or(height.0, 24)))
}
