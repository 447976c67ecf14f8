//! From the entries of a dump to rows: renaming, metric, target, and what is left out on the way.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use xxhash_rust::xxh3::xxh3_64;

use crate::source::{Finding, Kind, Place, ReadError};

use super::entry::{Detail, Entry};
use super::mapping::Mapping;
use super::micro_step::{Found, InTurn, MicroSteps};
use super::pattern::Pattern;
use super::rows::{EntryValues, RowBlock, UnitValues, Words};
use super::schema::Wanted;
use super::section::Skip;
use super::target::{Marker, classify, classify_whole_parts, index_position, take_index};
use crate::text::json::cursor::{Cursor, Stop, decode};

/// Turns entries into rows.
pub(super) struct Entries {
    wanted: Wanted,
    detail: Detail,
    mapping: Arc<Mapping>,
    steps: Option<InTurn>,
    block: RowBlock,
    words: Words,
    pattern: Pattern,
    /// The key as it is understood, and the name of the module in it; kept to save allocations.
    name: String,
    stem: String,
    /// The name of the module as the reference finds it, where it is looked for apart.
    reference_stem: String,
    /// How many entries were read.
    read: i64,
    left: LeftOut,
}

/// What became of an entry.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// Its rows.
    pub(super) rows: usize,
    /// The hash of its key.
    pub(super) key_hash: u64,
    /// A key and what is wrong with it.
    pub(super) fault: Option<(String, String)>,
}

/// Entries that have no rows, as in the reference.
#[derive(Debug, Default)]
struct LeftOut {
    /// By reason, with the key of the first one.
    by_reason: [(u64, Option<String>); 4],
    /// Keys that had a marker until the mapping changed it.
    lost_markers: u64,
    /// Texts in which something had to be replaced.
    odd_texts: u64,
}

/// Reasons to leave out an entry, with their words for people.
const REASONS: [(Skip, &str); 3] = [
    (Skip::NotInConstruct, "not listed in construct.json"),
    (Skip::OutsideModules, "in no module"),
    (Skip::NoMetric, "without forward, backward or parameters_grad in their key"),
];

impl Entries {
    /// Makes rows with these columns; all tensors or only those that the reference takes.
    pub(super) fn new(wanted: Wanted, all: bool, mapping: Arc<Mapping>) -> Self {
        Self {
            wanted,
            detail: Detail { all, statistics: wanted.statistics() },
            mapping,
            steps: None,
            block: RowBlock::new(wanted),
            words: Words::default(),
            pattern: Pattern::default(),
            name: String::new(),
            stem: String::new(),
            reference_stem: String::new(),
            read: 0,
            left: LeftOut::default(),
        }
    }

    /// Places keys in micro-steps from now on.
    pub(super) fn place(&mut self, steps: Arc<MicroSteps>) {
        self.steps = Some(InTurn::new(steps));
    }

    /// Rows that were not finished yet.
    pub(super) fn rows(&self) -> usize {
        self.block.rows()
    }

    /// About how much memory they take, in bytes.
    pub(super) fn allocated(&self) -> usize {
        self.block.allocated()
    }

    /// Memory of what is kept for all rows of the file, in bytes.
    pub(super) fn kept(&self) -> usize {
        self.words.allocated()
    }

    /// How many entries have no rows because the mapping took the marker out of their keys.
    pub(super) fn lost_markers(&self) -> u64 {
        self.left.lost_markers
    }

    /// Starts anew, because the file is read again.
    pub(super) fn forget(&mut self) {
        self.block = RowBlock::new(self.wanted);
        self.read = 0;
        self.left = LeftOut::default();
    }

    /// The rows as a batch.
    ///
    /// # Errors
    /// As [`RowBlock::finish`].
    pub(super) fn finish(
        &mut self,
        schema: &SchemaRef,
        projection: &[usize],
        unit: &UnitValues,
    ) -> Result<RecordBatch, ReadError> {
        self.block.finish(schema, projection, unit, &self.words)
    }

    /// Passes the value of an entry and adds its rows. Nothing is changed when it is not complete.
    pub(super) fn read(&mut self, c: &mut Cursor<'_>, raw: &[u8]) -> Result<Outcome, Stop> {
        let (key, odd) = decode(c, raw)?;
        let mut outcome = Outcome { key_hash: xxh3_64(key.as_bytes()), ..Outcome::default() };
        let (micro, mut skip) = self.understand(&key, outcome.key_hash);
        if !self.mapping.apply(&mut self.name) {
            c.skip()?;
            self.read += 1;
            outcome.fault =
                Some((key.into_owned(), "the mapping makes a name of more than 1 MB of it".to_owned()));
            return Ok(outcome);
        }
        if skip.is_some() && !self.detail.all {
            c.skip()?;
            self.pass(skip, &key);
            return Ok(outcome);
        }
        let (marker, own) = self.split();
        if marker == Marker::None {
            skip = skip.or(Some(Skip::NoMetric));
        }
        if c.token()? != b'{' || (marker == Marker::None && !self.detail.all) {
            let object = c.token()? == b'{';
            c.skip()?;
            if object {
                let had_marker = classify(&key, &mut String::new()) != Marker::None;
                self.left.lost_markers += u64::from(had_marker);
                self.pass(Some(Skip::NoMetric), &key);
            } else {
                self.pass(None, &key);
            }
            return Ok(outcome);
        }
        let entry = Entry::read(c, marker, own, self.detail, &mut self.pattern)?;
        self.read += 1;
        self.left.odd_texts += u64::from(odd.any());
        if odd.lone_surrogate {
            let message = "the key holds half of a surrogate pair, which is no text";
            outcome.fault = Some((key.into_owned(), message.to_owned()));
            return Ok(outcome);
        }
        // Where the reference finds an index, it is a number too.
        let index = take_index(&mut self.stem).filter(|_| take_index(&mut self.reference_stem).is_some());
        let Some(index) = index else {
            let message = "the call index does not fit into 64 bits";
            outcome.fault = Some((key.into_owned(), message.to_owned()));
            return Ok(outcome);
        };
        if let Some((member, expected)) = entry.fault {
            outcome.fault = Some((key.to_string(), format!("{member} of the entry: expected {expected}")));
        }
        let values = EntryValues {
            metric: own.metric(entry.recompute),
            micro,
            index,
            stem: &self.stem,
            key: &key,
            entry_no: self.read,
            skip,
        };
        outcome.rows = self.block.push(&values, entry.tensors(), &mut self.words);
        Ok(outcome)
    }

    /// Counts an entry without rows.
    fn pass(&mut self, skip: Option<Skip>, key: &str) {
        self.read += 1;
        let at = REASONS.iter().position(|(reason, _)| Some(*reason) == skip).unwrap_or(REASONS.len());
        if let Some((count, first)) = self.left.by_reason.get_mut(at) {
            *count += 1;
            if first.is_none() {
                *first = Some(key.to_owned());
            }
        }
    }

    /// Writes the key as it is understood to `name`, with a new call index. Tells the micro-step, and why
    /// the reference leaves the entry out.
    fn understand(&mut self, key: &str, hash: u64) -> (Option<i64>, Option<Skip>) {
        self.name.clear();
        let (micro, skip) = match self.steps.as_ref().filter(|s| s.steps().any()) {
            // Without any micro-step the reference takes all keys as they are.
            None => {
                self.name.push_str(key);
                (Some(0), None)
            }
            Some(steps) => match steps.find_hashed(key, hash) {
                Found::At { micro, index } => {
                    push_with_index(&mut self.name, key, index);
                    (Some(micro), None)
                }
                found => {
                    self.name.push_str(key);
                    if key.contains("parameters_grad") {
                        // Gradients are never listed; they belong to the forward call of their name.
                        let micro = match steps.steps().find(&key.replace(".parameters_grad", ".forward")) {
                            Found::At { micro, .. } => micro,
                            _ => 0,
                        };
                        (Some(micro), None)
                    } else if found == Found::Unlisted {
                        (None, Some(Skip::NotInConstruct))
                    } else {
                        (None, Some(Skip::OutsideModules))
                    }
                }
            },
        };
        (micro, skip)
    }

    /// Finds the marker in `name` and writes the rest to `stem`. Tells what the reference takes for the
    /// marker, and what is one: by the first it looks for tensors, the second names them.
    fn split(&mut self) -> (Marker, Marker) {
        if self.detail.all {
            let marker = classify(&self.name, &mut self.reference_stem);
            (marker, classify_whole_parts(&self.name, &mut self.stem))
        } else {
            let marker = classify(&self.name, &mut self.stem);
            (marker, marker)
        }
    }

    /// What was left out of the file without a word by the reference, and other varieties.
    pub(super) fn notes(&self, path: &Path) -> Vec<Finding> {
        let mut notes = Vec::new();
        let reasons = REASONS.iter().map(|(_, words)| *words).chain(["whose value is no object"]);
        let said: Vec<String> = self
            .left
            .by_reason
            .iter()
            .zip(reasons)
            .filter(|((count, _), _)| *count > 0)
            .map(|((count, _), words)| format!("{count} {words}"))
            .collect();
        let total: u64 = self.left.by_reason.iter().map(|(count, _)| count).sum();
        if let Some(first) = self.left.by_reason.iter().find_map(|(_, first)| first.clone()) {
            let message = format!(
                "entries without rows, as in the reference: {}; scope => 'all' shows their tensors",
                said.join(", ")
            );
            notes.push(Finding::note(Kind::Unused, path, message).at(Place::Key(first)).times(total));
        }
        if self.left.lost_markers > 0 {
            let message =
                "the mapping takes forward, backward or parameters_grad out of keys, so they have no rows";
            notes.push(Finding::note(Kind::Columns, path, message).times(self.left.lost_markers));
        }
        if self.left.odd_texts > 0 {
            let message = "keys with control characters or bytes that are not UTF-8, which were replaced";
            notes.push(Finding::note(Kind::Encoding, path, message).times(self.left.odd_texts));
        }
        notes
    }
}

/// Writes a key with another call index.
fn push_with_index(out: &mut String, key: &str, index: u32) {
    let Some(at) = index_position(key) else {
        out.push_str(key);
        return;
    };
    out.push_str(key.get(..at.start).unwrap_or_default());
    // Most calls keep the index that they have.
    let digits = key.get(at.clone()).unwrap_or_default();
    if digits.len() == 1 && index < 10 {
        out.extend(char::from_digit(index, 10));
    } else {
        out.push_str(&index.to_string());
    }
    out.push_str(key.get(at.end..).unwrap_or_default());
}
