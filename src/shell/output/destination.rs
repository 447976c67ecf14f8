//! Where results go.

use std::fs::OpenOptions;
use std::io::{self, BufWriter, Write};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use rl_insight_sql::sink::StagedFile;

use super::Format;
use crate::shell::failure::Failure;

/// Where results go. Clones go to the same place.
#[derive(Debug, Clone, Default)]
pub(crate) enum Destination {
    /// To stdout.
    #[default]
    Stdout,
    /// To a file, which is there when all results are in it, and not before.
    File(StagedResults),
}

/// A file that collects results until it is published.
#[derive(Debug, Clone)]
pub(crate) struct StagedResults {
    name: String,
    format: Option<Format>,
    inner: Arc<Mutex<Option<Inner>>>,
}

#[derive(Debug)]
struct Inner {
    staged: StagedFile,
    writer: BufWriter<std::fs::File>,
    results: usize,
}

impl StagedResults {
    /// An empty file beside the target.
    ///
    /// # Errors
    /// When the system does not allow it.
    pub(crate) fn create(target: &Path) -> Result<Self, Failure> {
        let name = target.display().to_string();
        let staged = StagedFile::create(target).map_err(|e| Failure::Output(e.to_string()))?;
        let file = OpenOptions::new().append(true).open(staged.path()).map_err(|e| trouble(&name, &e))?;
        let inner = Inner { staged, writer: BufWriter::new(file), results: 0 };
        Ok(Self { name, format: None, inner: Arc::new(Mutex::new(Some(inner))) })
    }

    /// The same file, for results in the format that its name stands for, if it stands for one.
    pub(crate) fn by_name(mut self) -> Self {
        self.format = Format::of_file(Path::new(&self.name));
        self
    }

    /// The format that results must have here.
    pub(crate) fn format(&self) -> Option<Format> {
        self.format
    }

    /// Puts it in the place of its target. Nothing happens when that was done before.
    ///
    /// # Errors
    /// When it cannot be written to the end; then the target is as it was.
    pub(crate) fn publish(&self) -> Result<(), Failure> {
        let Some(mut inner) = self.inner.lock().ok().and_then(|mut inner| inner.take()) else {
            return Ok(());
        };
        inner.writer.flush().map_err(|e| trouble(&self.name, &e))?;
        drop(inner.writer);
        inner.staged.publish().map_err(|e| Failure::Output(e.to_string()))
    }

    /// Forgets it; the target stays as it was.
    pub(crate) fn discard(&self) {
        if let Ok(mut inner) = self.inner.lock() {
            inner.take();
        }
    }

    /// The name of the target.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Counts one more result; how many there were before.
    fn next_result(&self) -> usize {
        let Ok(mut guard) = self.inner.lock() else { return 0 };
        guard.as_mut().map_or(0, |inner| {
            inner.results += 1;
            inner.results - 1
        })
    }

    fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        let Ok(mut guard) = self.inner.lock() else { return Ok(()) };
        // Nobody wants the results of later statements when an earlier one failed.
        let Some(inner) = guard.as_mut() else { return Ok(()) };
        inner.writer.write_all(bytes).map_err(|e| trouble(&self.name, &e))
    }
}

fn trouble(name: &str, error: &io::Error) -> Failure {
    Failure::Output(format!("{name}: cannot be written: {error}"))
}

/// Results that went to stdout.
static ON_STDOUT: AtomicUsize = AtomicUsize::new(0);

impl Destination {
    /// Counts one more result that goes there; how many there were before.
    pub(super) fn next_result(&self) -> usize {
        match self {
            Destination::Stdout => ON_STDOUT.fetch_add(1, Ordering::Relaxed),
            Destination::File(file) => file.next_result(),
        }
    }

    /// Writes some bytes.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(crate) fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        match self {
            Destination::Stdout => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(bytes).and_then(|()| stdout.flush()).map_err(|e| Failure::writing(&e))
            }
            Destination::File(file) => file.write(bytes),
        }
    }
}
