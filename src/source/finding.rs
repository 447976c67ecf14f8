//! Findings: what is odd or wrong in the input, in a form that can be listed, counted and printed.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How much a [`Finding`] matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Degree {
    /// A variety of the format that can be read without loss of meaning. Never fails a query.
    Note,
    /// Something lost or doubtful. Fails a strict query; is left out and counted otherwise.
    Problem,
}

impl Degree {
    /// `note` or `problem`, as `diagnostics` shows it.
    pub fn name(self) -> &'static str {
        match self {
            Degree::Note => "note",
            Degree::Problem => "problem",
        }
    }
}

/// What a finding is about; the `kind` column of `diagnostics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Kind {
    /// A file or directory that should be there is not.
    Missing,
    /// A file or directory could not be read (permissions, I/O error, not a regular file).
    Unreadable,
    /// A file is empty, or holds nothing of what is looked for.
    Empty,
    /// A cell, field or key does not hold what its name promises.
    BadValue,
    /// A row or record is cut off, or does not have the expected cells.
    BadRow,
    /// A trace event is cut off, or lacks a field that it needs.
    BadEvent,
    /// The file's structure is broken (header, brackets, end of file).
    BadStructure,
    /// The encoding is not plain UTF-8: a byte-order mark, replaced bytes, control characters.
    Encoding,
    /// Columns that are missing, unknown or in another unit.
    Columns,
    /// Metadata is missing, broken or of an unexpected type.
    Metadata,
    /// The rank cannot be told, or two sources disagree about it.
    Rank,
    /// Times do not fit together (relative against absolute), or have lost their precision.
    Time,
    /// More data of the same kind lies beside it and was not used.
    Unused,
}

impl Kind {
    /// The name that `diagnostics` shows.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Missing => "missing",
            Kind::Unreadable => "unreadable",
            Kind::Empty => "empty",
            Kind::BadValue => "bad_value",
            Kind::BadRow => "bad_row",
            Kind::BadEvent => "bad_event",
            Kind::BadStructure => "bad_structure",
            Kind::Encoding => "encoding",
            Kind::Columns => "columns",
            Kind::Metadata => "metadata",
            Kind::Rank => "rank",
            Kind::Time => "time",
            Kind::Unused => "unused",
        }
    }
}

/// Where in a file a finding is.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Place {
    /// The file as a whole.
    File,
    /// A line, counted from 1.
    Line(u64),
    /// A byte offset, counted from 0.
    Byte(u64),
    /// A key, column or table name.
    Key(String),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::File => Ok(()),
            Place::Line(n) => write!(f, "line {n}"),
            Place::Byte(n) => write!(f, "byte {n}"),
            Place::Key(k) => write!(f, "key {k}"),
        }
    }
}

/// One thing that is odd or wrong in the input.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// How much it matters.
    pub degree: Degree,
    /// What it is about.
    pub kind: Kind,
    /// The file or directory.
    pub file: PathBuf,
    /// Where in the file (the first place, when `count` is more than one).
    pub place: Place,
    /// What was found and what was expected, in one line.
    pub message: String,
    /// How often it occurs in that file.
    pub count: u64,
}

impl Finding {
    /// A note about a whole file.
    pub fn note(kind: Kind, file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::new(Degree::Note, kind, file, message)
    }

    /// A problem with a whole file.
    pub fn problem(kind: Kind, file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self::new(Degree::Problem, kind, file, message)
    }

    fn new(degree: Degree, kind: Kind, file: impl Into<PathBuf>, message: impl Into<String>) -> Self {
        Self { degree, kind, file: file.into(), place: Place::File, message: message.into(), count: 1 }
    }

    /// The same finding at a place inside the file.
    pub fn at(mut self, place: Place) -> Self {
        self.place = place;
        self
    }

    /// The same finding, occurring `count` times.
    pub fn times(mut self, count: u64) -> Self {
        self.count = count;
        self
    }

    /// Whether it fails a strict query.
    pub fn is_problem(&self) -> bool {
        self.degree == Degree::Problem
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.file.display())?;
        if self.place != Place::File {
            write!(f, ", {}", self.place)?;
        }
        write!(f, ": {}", self.message)?;
        if self.count > 1 {
            write!(f, " (and {} more like it)", self.count - 1)?;
        }
        Ok(())
    }
}

/// Findings of one unit, merged: what happens again in the same file is counted, not repeated.
///
/// Of each kind of problem a file has one, the first in the file: how many are told apart must not
/// depend on how the file was cut for reading. Notes are constant texts and are kept apart by them.
#[derive(Debug, Clone, Default)]
pub struct FindingLog {
    findings: Vec<Finding>,
}

impl FindingLog {
    /// Adds a finding, or counts it with one that is there.
    pub fn push(&mut self, finding: Finding) {
        let same = |f: &&mut Finding| {
            let alike = f.degree == finding.degree && f.kind == finding.kind && f.file == finding.file;
            alike && (finding.is_problem() || f.message == finding.message)
        };
        match self.findings.iter_mut().find(same) {
            // Readers that work in parallel may report a later place first.
            Some(old) if finding.place < old.place => {
                let count = old.count.saturating_add(finding.count);
                *old = finding.times(count);
            }
            Some(old) => old.count = old.count.saturating_add(finding.count),
            None => self.findings.push(finding),
        }
    }

    /// What was added, in order of first occurrence.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// The findings themselves.
    pub fn into_findings(self) -> Vec<Finding> {
        self.findings
    }
}

/// Input data that cannot be read as asked: what a strict query fails with.
///
/// The shell turns it into exit code 3; embedders find it with
/// `DataFusionError::find_root` and a downcast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DataError {
    function: String,
    problems: Vec<Finding>,
    hint: String,
}

/// How many problems an error message spells out.
const SHOWN: usize = 20;

impl DataError {
    /// The problems that a table function met in its input, and what to do about them.
    pub fn new(function: impl Into<String>, problems: Vec<Finding>, hint: impl Into<String>) -> Self {
        Self { function: function.into(), problems, hint: hint.into() }
    }

    /// The table function that was called.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// What is wrong, in input order.
    pub fn problems(&self) -> &[Finding] {
        &self.problems
    }
}

impl fmt::Display for DataError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.problems.as_slice() {
            [] => write!(f, "{}: the input cannot be read", self.function)?,
            [one] => write!(f, "{}: {one}", self.function)?,
            many => {
                write!(f, "{}: {} problems in the input", self.function, many.len())?;
                for p in many.iter().take(SHOWN) {
                    write!(f, "\n  {p}")?;
                }
                if many.len() > SHOWN {
                    write!(f, "\n  ... and {} more", many.len() - SHOWN)?;
                }
            }
        }
        if !self.hint.is_empty() {
            write!(f, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for DataError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repeated_findings_are_counted_and_keep_the_first_place() {
        let mut log = FindingLog::default();
        let at = |finding: Finding, line| finding.at(Place::Line(line));
        for line in [7, 3, 9] {
            log.push(at(Finding::problem(Kind::BadValue, "a.csv", format!("bad {line}")), line));
        }
        for (text, line) in [("x", 5), ("y", 6), ("x", 8)] {
            log.push(at(Finding::note(Kind::BadValue, "a.csv", text), line));
        }
        let texts: Vec<String> = log.findings().iter().map(Finding::to_string).collect();
        assert_eq!(
            texts,
            [
                "a.csv, line 3: bad 3 (and 2 more like it)",
                "a.csv, line 5: x (and 1 more like it)",
                "a.csv, line 6: y"
            ]
        );
    }
}
