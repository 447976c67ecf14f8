//! `step<N>/rank<R>/dump.json`: which directories of one dump hold data.
//!
//! Names are read as the reference reads them: what follows `step`, `rank` or `proc` is a number by
//! the rules of Python's `int()`. Unlike there, a directory is opened under the name that it has, and
//! two directories with the same number are a problem instead of one of them being lost.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::source::{Finding, Kind, is_directory, list_directory, look_at};
use crate::text::decimal;

/// Name of the file with the data.
pub(super) const DUMP: &str = "dump.json";
/// Name of the file that says which call is in which module.
pub(super) const CONSTRUCT: &str = "construct.json";

/// A directory of one step.
#[derive(Debug, Clone)]
pub(super) struct StepDir {
    /// Its number.
    pub(super) number: i64,
    /// Where it is.
    pub(super) path: PathBuf,
    /// The ranks in it, at least one.
    pub(super) ranks: Vec<RankDir>,
}

/// A directory of one rank in one step.
#[derive(Debug, Clone)]
pub(super) struct RankDir {
    /// Its rank.
    pub(super) rank: i64,
    /// The process id, when it is named by one.
    pub(super) pid: Option<i64>,
    /// Where it is.
    pub(super) path: PathBuf,
}

/// The number of a directory named `<prefix><number>`.
pub(super) fn number_of(name: &str, prefix: &str) -> Option<i64> {
    decimal::integer(name.strip_prefix(prefix)?)
}

/// Whether only its size keeps a name from being that of a numbered directory.
fn is_too_large(name: &str, prefix: &str) -> bool {
    let number = name.strip_prefix(prefix).unwrap_or_default();
    let digits = number.strip_prefix(['+', '-']).unwrap_or(number);
    digits.len() > 18 && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Whether a directory of this name can be one of a rank.
pub(super) fn is_rank_name(name: &str) -> bool {
    number_of(name, "rank").or_else(|| number_of(name, "proc")).is_some()
}

/// What a file in these directories, from the outermost on, belongs to.
pub(crate) fn input_name(directories: &[&str]) -> Option<&'static str> {
    let mut pairs = directories.iter().zip(directories.iter().skip(1));
    let is_dump = |(step, rank): (&&str, &&str)| number_of(step, "step").is_some() && is_rank_name(rank);
    pairs.any(is_dump).then_some("a part of an msprobe dump")
}

/// The steps of a dump, in order; empty when there is none in this directory.
pub(super) fn steps_of(dir: &Path, findings: &mut Vec<Finding>) -> Vec<StepDir> {
    let mut numbered = numbered(dir, "step", findings);
    numbered.retain(|(_, path)| leads_to_directory(path, findings));
    distinct(&mut numbered, "step", findings);
    let mut steps = Vec::new();
    for (number, path) in numbered {
        let ranks = ranks_of(&path, findings);
        if !ranks.is_empty() {
            steps.push(StepDir { number, path, ranks });
        }
    }
    steps
}

/// Whether a path is a directory; a problem when nobody can tell.
pub(super) fn leads_to_directory(path: &Path, findings: &mut Vec<Finding>) -> bool {
    is_directory(path).unwrap_or_else(|e| {
        findings.push(unknown(path, &e));
        false
    })
}

/// Nobody knows what a path leads to: there may be data behind it.
pub(super) fn unknown(path: &Path, e: &io::Error) -> Finding {
    Finding::problem(Kind::Unreadable, path, format!("cannot be looked at: {e}"))
}

/// Nobody knows what is in a directory.
pub(super) fn unlisted(dir: &Path, e: &io::Error) -> Finding {
    Finding::problem(Kind::Unreadable, dir, format!("the directory cannot be listed: {e}"))
}

/// The ranks of a step, in order.
pub(super) fn ranks_of(step: &Path, findings: &mut Vec<Finding>) -> Vec<RankDir> {
    let with_data = |prefix: &str, findings: &mut Vec<Finding>| {
        let mut found = numbered(step, prefix, findings);
        found.retain(|(_, path)| {
            let file = path.join(DUMP);
            let meta = match look_at(&file) {
                Ok(meta) => meta,
                Err(e) => {
                    findings.push(unknown(&file, &e));
                    return false;
                }
            };
            let data = meta.as_ref().is_some_and(fs::Metadata::is_file);
            let directory = meta.is_some_and(|m| m.is_dir());
            if !data && !directory && fs::symlink_metadata(&file).is_ok() {
                let message = "not a regular file, or a link that leads nowhere";
                findings.push(Finding::problem(Kind::Unreadable, file, message));
            } else if !data && leads_to_directory(path, findings) {
                let message = format!("there is no {DUMP} in it; it is left out, as the reference does");
                findings.push(Finding::note(Kind::Missing, path, message));
            }
            data
        });
        distinct(&mut found, prefix, findings);
        found
    };
    let ranks = with_data("rank", findings);
    let processes = with_data("proc", findings);
    // Processes come behind the ranks, or from 0 on when there are none.
    let base = ranks.last().map_or(0, |(rank, _)| rank.saturating_add(1));
    let named = ranks.into_iter().map(|(rank, path)| RankDir { rank, pid: None, path });
    let numbered = (0i64..).zip(processes).map(|(at, (pid, path))| RankDir {
        rank: base.saturating_add(at),
        pid: Some(pid),
        path,
    });
    named.chain(numbered).collect()
}

/// Entries named `<prefix><number>`, with their numbers.
fn numbered(dir: &Path, prefix: &str, findings: &mut Vec<Finding>) -> Vec<(i64, PathBuf)> {
    let entries = match list_directory(dir) {
        Ok(entries) => entries,
        Err(e) => {
            findings.push(unlisted(dir, &e));
            return vec![];
        }
    };
    let mut numbered = Vec::new();
    for entry in entries {
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        match number_of(name, prefix) {
            Some(number) => numbered.push((number, entry.path())),
            None if is_too_large(name, prefix) => {
                let message = format!("the number of the {prefix} is too large; expected one of 64 bits");
                findings.push(Finding::problem(Kind::Rank, entry.path(), message));
            }
            None => {}
        }
    }
    numbered
}

/// Sorts by number and keeps one directory for each: that with the plain name, if there is one.
fn distinct(numbered: &mut Vec<(i64, PathBuf)>, prefix: &str, findings: &mut Vec<Finding>) {
    let plain = |(number, path): &(i64, PathBuf)| {
        path.file_name().is_some_and(|name| name.to_str() == Some(format!("{prefix}{number}").as_str()))
    };
    numbered.sort_by_key(|n| (n.0, !plain(n), n.1.clone()));
    numbered.dedup_by(|later, kept| {
        let same = later.0 == kept.0;
        if same {
            let message = format!(
                "a second directory for {prefix} {}, besides {}; rename or remove one of them",
                later.0,
                kept.1.file_name().unwrap_or_default().to_string_lossy()
            );
            findings.push(Finding::problem(Kind::Rank, &later.1, message));
        }
        same
    });
    for (number, path) in numbered.iter().filter(|(n, _)| *n < 0) {
        let message = format!("{prefix} {number} is negative: the Trend Analyzer never offers it");
        findings.push(Finding::note(Kind::Rank, path, message));
    }
}
