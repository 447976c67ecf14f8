//! A large file brought to the disk while it is still being written.

use std::fs::File;
use std::io;
use std::panic::resume_unwind;
use std::thread::JoinHandle;

/// Bytes after which the disk gets to work.
const BYTES_AT_A_TIME: usize = 4 << 20;

/// Before a file takes the place of another one it has to be on the disk, and to wait for all of it at
/// the end takes longest. So a thread beside the writer asks for it from time to time.
#[derive(Debug)]
pub(super) struct EarlySync {
    file: File,
    written: usize,
    job: Option<JoinHandle<io::Result<()>>>,
}

impl EarlySync {
    /// For this file.
    pub(super) fn new(file: File) -> Self {
        Self { file, written: 0, job: None }
    }

    /// Says that so many bytes were written.
    ///
    /// # Errors
    /// When earlier ones did not arrive: the system says so only once.
    pub(super) fn wrote(&mut self, bytes: usize) -> io::Result<()> {
        self.written += bytes;
        let idle = self.job.as_ref().is_none_or(JoinHandle::is_finished);
        if idle && self.written >= BYTES_AT_A_TIME { self.begin() } else { Ok(()) }
    }

    /// Begins with what was written so far, and waits for it only when it is asked again. Dropped before, it ends
    /// by itself.
    ///
    /// # Errors
    /// As [`EarlySync::wrote`].
    pub(super) fn begin(&mut self) -> io::Result<()> {
        self.wait()?;
        self.written = 0;
        let file = self.file.try_clone()?;
        // Without a thread for it the end has to wait for all of it.
        self.job = std::thread::Builder::new().spawn(move || file.sync_data()).ok();
        Ok(())
    }

    /// Waits for what was begun.
    ///
    /// # Errors
    /// As [`EarlySync::wrote`].
    pub(super) fn wait(&mut self) -> io::Result<()> {
        self.job.take().map_or(Ok(()), |job| job.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}
