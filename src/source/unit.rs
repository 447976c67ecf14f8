//! Units: the pieces into which a path falls apart, as plain serialisable data.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{Finding, InputFile, Kind};

/// The type of a key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum KeyType {
    /// Text (`Utf8View` in Arrow).
    Text,
    /// A 64-bit integer.
    Int,
}

/// A column whose value is the same in every row of a unit, such as `role` or `rank_id`.
///
/// Units are sorted by their key columns, in the order in which the format lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeyColumn {
    /// Name of the column in the format's schema.
    pub name: &'static str,
    /// Its type.
    pub kind: KeyType,
}

/// The value of one key column in one unit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum KeyValue {
    /// A text.
    Text(String),
    /// An integer.
    Int(i64),
    /// Not known; sorts last, as `NULLS LAST` does.
    Null,
}

/// One file that belongs to a unit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitFile {
    /// What the file is to its format, for example `operator_memory` or `trace_view`.
    pub part: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its size when it was listed, in bytes.
    pub bytes: u64,
}

impl UnitFile {
    /// The problem that a file which was opened is shorter than the one that was listed.
    pub fn shrunk(files: &[UnitFile], opened: &InputFile) -> Option<Finding> {
        let listed = files.iter().find(|f| f.path == opened.path())?;
        let message = format!(
            "it had {} bytes when it was listed and has {} now: it is being written anew; run the query again",
            listed.bytes,
            opened.len()
        );
        (opened.len() < listed.bytes).then(|| Finding::problem(Kind::Unreadable, opened.path(), message))
    }
}

/// The smallest piece of input that is read as a whole: one profile directory, one dump file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unit {
    /// Values of the format's key columns, in the format's order.
    pub keys: Vec<KeyValue>,
    /// Where the format wraps others: the keys that the unit has in the one that reads it.
    #[serde(default)]
    pub inner_keys: Vec<KeyValue>,
    /// The directory or file that the unit comes from, written as the user wrote the path to it.
    pub source_path: String,
    /// How the data is stored, for example `text` or `db`.
    pub form: String,
    /// The files that may be read for it.
    pub files: Vec<UnitFile>,
    /// What was already seen while listing, before any of the files was opened.
    pub findings: Vec<Finding>,
}

impl Unit {
    /// Size of all its files together, in bytes.
    pub fn bytes(&self) -> u64 {
        self.files.iter().map(|f| f.bytes).sum()
    }

    /// The first file with this part, if there is one.
    pub fn file(&self, part: &str) -> Option<&UnitFile> {
        self.files.iter().find(|f| f.part == part)
    }

    /// All files with this part, in the order in which they are to be read.
    pub fn parts<'a>(&'a self, part: &'a str) -> impl Iterator<Item = &'a UnitFile> + 'a {
        self.files.iter().filter(move |f| f.part == part)
    }

    /// The problems that were seen while listing.
    pub fn problems(&self) -> impl Iterator<Item = Finding> + '_ {
        self.findings.iter().filter(|f| f.is_problem()).cloned()
    }

    /// The directory or file that the unit comes from.
    pub fn path(&self) -> &Path {
        Path::new(&self.source_path)
    }
}

/// Everything that was found under the given roots.
#[derive(Debug, Clone, Default)]
pub struct Layout {
    /// The units, in any order.
    pub units: Vec<Unit>,
    /// What belongs to no unit: an unreadable directory, a profile whose rank cannot be told.
    ///
    /// A problem in this list fails every strict query, whatever its filter: nobody can know
    /// whether the filter would have selected the data behind it.
    pub findings: Vec<Finding>,
}
