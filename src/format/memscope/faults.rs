//! What is wrong or odd in one piece of a file, collected while it is parsed and told afterwards.

use std::path::Path;

use crate::source::{Counter, Finding, Host, Kind, Place, ReadError};

use super::misfit::Field;
use super::record::Flaw;

/// Varieties that were met; each becomes one note per file.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Varieties {
    /// Times in microseconds.
    pub(super) microseconds: u64,
    /// Texts whose invalid UTF-8 was replaced.
    pub(super) replaced: u64,
    /// Attributes that should be numbers and are not.
    pub(super) not_numbers: u64,
    /// Events without a device that an earlier file of the process holds too.
    pub(super) repeated: u64,
    /// A file whose last line does not end.
    pub(super) unended: u64,
}

/// Where a kind of flaw was met first in a piece, and how often.
#[derive(Debug, Clone)]
struct Met {
    what: What,
    /// What is wrong with the first one.
    message: String,
    at: usize,
    count: u64,
}

/// What is told once for each piece, with how often it was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum What {
    Flaw(Flaw),
    Field(Field),
}

/// The findings of one piece.
#[derive(Debug, Default)]
pub(super) struct Faults {
    met: Vec<Met>,
    /// All records met, also those that were left out.
    pub(super) rows: u64,
    left_out: u64,
    /// Varieties that were met.
    pub(super) varieties: Varieties,
}

impl Faults {
    /// Notes a flaw at a position of the piece; `lost` when its row is left out.
    pub(super) fn add(&mut self, flaw: Flaw, at: usize, lost: bool) {
        self.left_out += u64::from(lost);
        self.met(What::Flaw(flaw), at, || flaw.message().to_owned());
    }

    /// Notes a record at a position of the piece that is left out because of one of its fields.
    pub(super) fn add_field(&mut self, field: Field, found: &[u8], at: usize) {
        self.left_out += 1;
        self.met(What::Field(field), at, || field.message(found));
    }

    fn met(&mut self, what: What, at: usize, message: impl FnOnce() -> String) {
        match self.met.iter_mut().find(|m| m.what == what) {
            Some(met) => met.count += 1,
            None => self.met.push(Met { what, message: message(), at, count: 1 }),
        }
    }

    /// Tells the host. `place` turns a position of the piece into one of the file.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when there is a problem and the host is strict.
    pub(super) fn report(
        &self,
        path: &Path,
        mut place: impl FnMut(usize) -> Place,
        host: &dyn Host,
    ) -> Result<(), ReadError> {
        host.count(Counter::RowsRead, self.rows);
        host.count(Counter::RowsLeftOut, self.left_out);
        for met in &self.met {
            let stray = met.what == What::Flaw(Flaw::Stray);
            let kind = if stray { Kind::BadStructure } else { Kind::BadRow };
            let finding = Finding::problem(kind, path, met.message.as_str());
            host.report(finding.at(place(met.at)).times(met.count))?;
        }
        self.varieties.report(path, host)
    }
}

impl Varieties {
    /// Tells the host, as notes.
    ///
    /// # Errors
    /// As [`Host::report`].
    pub(super) fn report(&self, path: &Path, host: &dyn Host) -> Result<(), ReadError> {
        let notes = [
            (
                self.unended,
                Kind::BadRow,
                "the last line does not end with a line break: if the file was cut off there, \
              the last call stack may be missing",
            ),
            (
                self.microseconds,
                Kind::Time,
                "times are in microseconds, as msLeaks 8.x wrote them; they are multiplied by 1000",
            ),
            (self.replaced, Kind::Encoding, "characters that are not UTF-8 are replaced by U+FFFD"),
            (
                self.not_numbers,
                Kind::BadValue,
                "attributes that should be numbers and are not are read as NULL",
            ),
            (
                self.repeated,
                Kind::Unused,
                "events without a device that an earlier file of the process holds too are read once",
            ),
        ];
        notes.into_iter().filter(|(count, ..)| *count > 0).try_for_each(|(count, kind, message)| {
            host.report(Finding::note(kind, path, message).times(count))
        })
    }
}
