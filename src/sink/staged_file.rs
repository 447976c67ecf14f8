//! A file that is there as a whole or not at all.

use std::collections::BTreeSet;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::SinkError;

/// How the names of files end that are not complete yet.
const SUFFIX: &str = ".staged";

/// The files of this process that are not complete yet. `None` when the process is about to end.
static UNFINISHED: Mutex<Option<BTreeSet<PathBuf>>> = Mutex::new(Some(BTreeSet::new()));

fn unfinished() -> MutexGuard<'static, Option<BTreeSet<PathBuf>>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all files of this process that are not complete, and keeps new ones from being made: what a
/// program does last, when it ends while threads that write may still be at it. Targets stay as they are.
pub fn remove_unfinished_files() {
    for staged in unfinished().take().into_iter().flatten() {
        let _ = fs::remove_file(staged);
    }
}

/// A new file beside its target. It takes the target's place when it is published, and disappears
/// when it is dropped before.
#[derive(Debug)]
pub struct StagedFile {
    target: PathBuf,
    staged: PathBuf,
    published: bool,
    /// Locked as long as it is being written: a file that nobody has locked was left by a process that
    /// was killed.
    file: File,
}

impl StagedFile {
    /// Creates an empty file in the directory of the target, which is created if need be.
    ///
    /// Nobody but the owner may write it, whatever the umask allows: TensorBoard's Trend Analyzer
    /// refuses files that others may write.
    ///
    /// # Errors
    /// When the target is a directory, or the system does not allow a file there.
    pub fn create(target: &Path) -> Result<Self, SinkError> {
        let (directory, prefix) = prepare(target)?;
        let error = SinkError::io(target, "create a file beside it");
        let mut unfinished = unfinished();
        let Some(unfinished) = unfinished.as_mut() else {
            return Err(error(io::Error::new(io::ErrorKind::Interrupted, "the program ends")));
        };
        for attempt in 0u32.. {
            let staged = directory.join(format!("{prefix}{}-{attempt}{SUFFIX}", std::process::id()));
            match private_file(&staged) {
                Ok(file) => {
                    // Some file systems have no locks; there nobody takes a file for abandoned either.
                    let _ = file.try_lock();
                    unfinished.insert(staged.clone());
                    return Ok(Self { target: target.to_owned(), staged, published: false, file });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {}
                Err(e) => return Err(error(e)),
            }
        }
        Err(error(io::ErrorKind::AlreadyExists.into()))
    }

    /// Another handle of it, which writes where the others are. What is written to it when the file has
    /// been dropped is lost, and disturbs nothing.
    ///
    /// # Errors
    /// When the system has no more handles.
    pub(super) fn handle(&self) -> Result<File, SinkError> {
        self.file.try_clone().map_err(SinkError::io(&self.target, "open the file beside it"))
    }

    /// The file to write to.
    pub fn path(&self) -> &Path {
        &self.staged
    }

    /// The file that it will be.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Makes sure that all of it is on the disk, and puts it in the target's place.
    ///
    /// # Errors
    /// The error of the system; then the target is as it was before.
    pub fn publish(mut self) -> Result<(), SinkError> {
        // Through the handle that was there from the start: it is told of every write that failed.
        self.file.sync_all().map_err(SinkError::io(&self.target, "make sure that it is on the disk"))?;
        fs::rename(&self.staged, &self.target).map_err(SinkError::io(&self.target, "put it in its place"))?;
        self.published = true;
        self.finished();
        // The new name is safe only when the directory is; some file systems cannot do that.
        if let Ok(directory) = File::open(directory_of(&self.target)) {
            let _ = directory.sync_all();
        }
        Ok(())
    }

    fn finished(&self) {
        if let Some(unfinished) = unfinished().as_mut() {
            unfinished.remove(&self.staged);
        }
    }
}

impl Drop for StagedFile {
    fn drop(&mut self) {
        if !self.published {
            let _ = fs::remove_file(&self.staged);
            self.finished();
        }
    }
}

/// Makes room for a file beside the target: checks that it can be replaced, creates its directory, and
/// removes what was abandoned there. Returns the directory and how the names of such files begin.
fn prepare(target: &Path) -> Result<(&Path, String), SinkError> {
    if let Ok(there) = fs::metadata(target)
        && !there.is_file()
    {
        let what = if there.is_dir() { "it is a directory" } else { "it is not a regular file" };
        let source = io::Error::new(io::ErrorKind::InvalidInput, what);
        return Err(SinkError::io(target, "replace it")(source));
    }
    let Some(name) = target.file_name() else {
        let source = io::Error::new(io::ErrorKind::InvalidInput, "the path does not name a file");
        return Err(SinkError::io(target, "create it")(source));
    };
    let directory = directory_of(target);
    fs::create_dir_all(directory).map_err(SinkError::io(target, "create the directory for it"))?;
    let prefix = format!(".{}.", beginning(&name.to_string_lossy()));
    remove_abandoned(directory, &prefix);
    Ok((directory, prefix))
}

/// So much of a name that there is room for a number behind it: names have at most 255 bytes.
fn beginning(name: &str) -> &str {
    let end = (0..=200).rev().find(|end| name.is_char_boundary(*end)).unwrap_or(0);
    name.get(..end).unwrap_or(name)
}

fn directory_of(target: &Path) -> &Path {
    target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Removes what earlier processes that were killed left beside the same target.
fn remove_abandoned(directory: &Path, prefix: &str) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let ours =
            name.strip_prefix(prefix).and_then(|rest| rest.strip_suffix(SUFFIX)).is_some_and(|number| {
                number.split_once('-').is_some_and(|(pid, attempt)| {
                    [pid, attempt].iter().all(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
                })
            });
        // One of the last moments may not be locked yet.
        let old = || {
            let age = entry.metadata().and_then(|m| m.modified()).ok().and_then(|t| t.elapsed().ok());
            age.is_some_and(|age| age > Duration::from_secs(1))
        };
        if ours && old() && File::open(entry.path()).is_ok_and(|file| file.try_lock().is_ok()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn private_file(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o644);
    options.open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_file_leaves_the_old_one() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("new/x.db");
        let first = StagedFile::create(&target).expect("created");
        fs::write(first.path(), "one").expect("written");
        first.publish().expect("published");
        let second = StagedFile::create(&target).expect("created");
        fs::write(second.path(), "two").expect("written");
        drop(second);
        assert_eq!(fs::read_to_string(&target).expect("readable"), "one");
        assert_eq!(fs::read_dir(target.parent().expect("has one")).expect("listed").count(), 1);
        assert!(StagedFile::create(dir.path()).is_err());
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let dir = tempfile::tempdir().expect("a directory");
        let target = dir.path().join("x.csv");
        let (abandoned, others) =
            (dir.path().join(".x.csv.1-0.staged"), dir.path().join(".x.csv.notes.staged"));
        let written = StagedFile::create(&target).expect("created");
        let mine = written.path().to_owned();
        for path in [&abandoned, &mine, &others] {
            fs::write(path, "half").expect("written");
        }
        std::thread::sleep(Duration::from_millis(1100));
        drop(StagedFile::create(&target).expect("created"));
        assert!(!abandoned.exists());
        assert!(mine.exists(), "it is being written");
        assert!(others.exists(), "it is not ours");
        written.publish().expect("published");
        assert!(target.exists() && !mine.exists());
    }
}
