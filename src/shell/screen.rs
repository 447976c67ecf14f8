//! How big the terminal is.

use std::os::fd::AsFd;

/// Columns and lines of a terminal; what old terminals had when the system does not tell.
pub(crate) fn size(stream: impl AsFd) -> (usize, usize) {
    let known = terminal_size::terminal_size_of(stream);
    let or = |size: u16, usual: usize| if size == 0 { usual } else { usize::from(size) };
    known.map_or((80, 24), |(width, height)| (or(width.0, 80), or(height.0, 24)))
}
