//! Dumps below a dump: they are not read, as in the reference, but nobody should have to miss them.
//!
//! A directory with step directories is a dump, and what lies beside these or beside the ranks in them
//! may be dumps as well, `step0/rank0` beside `extra/step7/rank3`. Their rows would be of another role,
//! of which a trend database holds only one. Inside of a rank directory that is read nothing is looked
//! for: it holds the collector's files, which may be a great many.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use crate::source::{Finding, Kind, list_directory};

use super::directories::{DUMP, StepDir, steps_of};

/// No deeper than this below a dump.
const MAX_DEPTH: usize = 8;

/// A dump that is not read.
#[derive(Debug)]
pub(super) struct Below {
    /// The dump that is read.
    outer: PathBuf,
    /// The directory with its step directories.
    dir: PathBuf,
    /// How many ranks it has in all its steps.
    ranks: usize,
}

/// Looks for dumps below a directory, of which these steps are read.
pub(super) fn dumps_below(dir: &Path, steps: &[StepDir], found: &mut Vec<Below>) {
    let mut seen: HashSet<PathBuf> = fs::canonicalize(dir).into_iter().collect();
    beside(dir, dir, steps, 0, &mut seen, found);
}

/// As [`dumps_below`], for a directory that is itself a step.
pub(super) fn dumps_in_step(step: &StepDir, found: &mut Vec<Below>) {
    let mut seen: HashSet<PathBuf> = fs::canonicalize(&step.path).into_iter().collect();
    in_step(&step.path, step, 0, &mut seen, found);
}

/// Tells of them, but not of those that are read after all, as roots of their own.
pub(super) fn notes<'a>(found: Vec<Below>, read: impl Iterator<Item = &'a Path>) -> Vec<Finding> {
    if found.is_empty() {
        return vec![];
    }
    let mut known: HashSet<PathBuf> = read.filter_map(|dir| fs::canonicalize(dir).ok()).collect();
    let new = found.into_iter().filter(|b| fs::canonicalize(&b.dir).is_ok_and(|real| known.insert(real)));
    new.map(|below| {
        let message = format!(
            "a dump with {} {DUMP} below another dump, {}: it is not read, as in the reference; \
             give its path, or a list of both",
            below.ranks,
            below.outer.display()
        );
        Finding::note(Kind::Unused, below.dir, message)
    })
    .collect()
}

/// Looks at everything in a dump but the ranks of its steps.
fn beside(
    outer: &Path,
    dir: &Path,
    steps: &[StepDir],
    depth: usize,
    seen: &mut HashSet<PathBuf>,
    found: &mut Vec<Below>,
) {
    let steps: HashMap<&Path, &StepDir> = steps.iter().map(|step| (step.path.as_path(), step)).collect();
    for path in directories(dir) {
        match steps.get(path.as_path()).copied() {
            Some(step) => in_step(outer, step, depth, seen, found),
            None => look(outer, &path, depth, seen, found),
        }
    }
}

fn in_step(outer: &Path, step: &StepDir, depth: usize, seen: &mut HashSet<PathBuf>, found: &mut Vec<Below>) {
    let ranks: HashSet<&Path> = step.ranks.iter().map(|rank| rank.path.as_path()).collect();
    for path in directories(&step.path).into_iter().filter(|path| !ranks.contains(path.as_path())) {
        look(outer, &path, depth, seen, found);
    }
}

fn look(outer: &Path, dir: &Path, depth: usize, seen: &mut HashSet<PathBuf>, found: &mut Vec<Below>) {
    // Links may lead in circles.
    if depth > MAX_DEPTH || !fs::canonicalize(dir).is_ok_and(|real| seen.insert(real)) {
        return;
    }
    // What is wrong with a dump that is not read is no matter.
    let steps = steps_of(dir, &mut vec![]);
    if !steps.is_empty() {
        let ranks = steps.iter().map(|step| step.ranks.len()).sum();
        found.push(Below { outer: outer.to_path_buf(), dir: dir.to_path_buf(), ranks });
    }
    beside(outer, dir, &steps, depth + 1, seen, found);
}

/// The directories in a directory, and links to some.
fn directories(dir: &Path) -> Vec<PathBuf> {
    let entries = list_directory(dir).unwrap_or_default().into_iter();
    let kind = |entry: &fs::DirEntry| entry.file_type().ok();
    let likely = entries.filter(|e| kind(e).is_some_and(|t| t.is_dir() || t.is_symlink()));
    likely.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}
