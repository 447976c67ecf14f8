//! Memory that is reserved in steps.

use crate::source::{Host, ReadError};

/// How much is reserved at a time, in bytes.
const STEP: usize = 64 << 10;

/// Reserves memory from the host for something that grows.
pub(super) struct Ledger<'a> {
    host: &'a dyn Host,
    reserved: usize,
}

impl<'a> Ledger<'a> {
    /// Nothing is reserved yet.
    pub(super) fn new(host: &'a dyn Host) -> Self {
        Self { host, reserved: 0 }
    }

    /// Makes sure that so many bytes are reserved.
    ///
    /// # Errors
    /// When the budget does not allow it.
    pub(super) fn cover(&mut self, used: usize) -> Result<(), ReadError> {
        if used > self.reserved {
            let more = used.next_multiple_of(STEP) - self.reserved;
            self.host.reserve(more)?;
            self.reserved += more;
        }
        Ok(())
    }
}
