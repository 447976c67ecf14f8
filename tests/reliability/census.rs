//! What a process has at a moment: threads, open files, files in a directory.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use super::size::patience;

/// Threads and open files of this process, and what is in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Census {
    threads: usize,
    files: usize,
    left: Vec<String>,
}

impl Census {
    /// Counts.
    pub(crate) fn take(directory: &Path) -> Self {
        let count = |path: &str| fs::read_dir(path).unwrap().count();
        let mut left: Vec<String> = walkdir::WalkDir::new(directory)
            .into_iter()
            .filter_map(|entry| Some(entry.ok()?.path().display().to_string()))
            .collect();
        left.sort();
        Self { threads: count("/proc/self/task"), files: count("/proc/self/fd"), left }
    }

    /// Waits until there is no more than this again; how long that took.
    pub(crate) fn wait(
        &self,
        directory: &Path,
        more: impl Fn() -> Option<String>,
    ) -> Result<Duration, String> {
        let start = Instant::now();
        loop {
            let now = Self::take(directory);
            let more = more();
            if now.threads <= self.threads
                && now.files <= self.files
                && now.left == self.left
                && more.is_none()
            {
                return Ok(start.elapsed());
            }
            if start.elapsed() > patience() {
                return Err(format!("{now:?} {more:?} instead of {self:?}"));
            }
            std::thread::sleep(Duration::from_millis(2));
        }
    }
}
