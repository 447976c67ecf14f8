//! `diagnostics`: what was found under a path, and everything that is odd or wrong in it.
//!
//! It is a format over formats: its units are theirs, and reading one means reading it completely
//! and keeping what the reader says instead of its rows. So it runs in parallel, can be pruned and
//! stopped, and can never disagree with what a query meets.

use std::collections::HashSet;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int64Builder, RecordBatch, StringViewBuilder};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};

use crate::source::{
    DataError, Degree, Finding, Format, Host, KeyColumn, KeyType, KeyValue, Kind, Layout, Place, ReadError,
    ReadRequest, Root, Unit, UnitReader,
};

use super::collector::Collector;

/// One value per unit. The first is the table function that reads it.
const KEYS: [KeyColumn; 4] = [
    KeyColumn { name: "source", kind: KeyType::Text },
    KeyColumn { name: "role", kind: KeyType::Text },
    KeyColumn { name: "rank_id", kind: KeyType::Int },
    KeyColumn { name: "step", kind: KeyType::Int },
];

/// Name, type (text or integer), whether it can be NULL, and meaning of each column.
const COLUMNS: [(&str, bool, bool, &str); 15] = [
    (
        "entry",
        true,
        false,
        "unit: something that was found; problem: something lost or doubtful; note: a variety",
    ),
    ("source", true, false, "table function that reads it"),
    ("role", true, true, "RL role of the unit"),
    ("rank_id", false, true, "rank of the unit"),
    ("step", false, true, "step of the unit, where the format has steps"),
    ("source_path", true, false, "directory or file of the unit"),
    ("form", true, true, "how the unit is stored, for example text or db"),
    ("file", true, true, "file that the problem or note is about"),
    ("place", true, true, "where in the file: a line, a byte or a key (the first place of several)"),
    ("kind", true, true, "what the problem or note is about, in one word"),
    ("message", true, true, "what was found and what was expected"),
    ("count", false, false, "how often it occurs in the file; 1 for a unit"),
    ("files", false, true, "number of files of the unit"),
    ("bytes", false, true, "size of these files in bytes"),
    ("rows", false, true, "rows that queries see with on_error => 'skip'"),
];

/// The schema of `diagnostics`.
pub fn diagnostics_schema() -> SchemaRef {
    static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
        let field = |(name, text, nullable, comment): &(&str, bool, bool, &str)| {
            let kind = if *text { DataType::Utf8View } else { DataType::Int64 };
            Field::new(*name, kind, *nullable)
                .with_metadata([("comment".to_owned(), (*comment).to_owned())].into())
        };
        Arc::new(Schema::new(COLUMNS.iter().map(field).collect::<Vec<_>>()))
    });
    Arc::clone(&SCHEMA)
}

/// The format behind `diagnostics`.
#[derive(Debug, Clone)]
pub struct Diagnostics {
    formats: Vec<(Arc<dyn Format>, bool)>,
}

impl Diagnostics {
    /// Diagnoses these formats. Those marked `false` only add to what others found: that they
    /// have nothing in a unit is no finding.
    pub fn new(formats: Vec<(Arc<dyn Format>, bool)>) -> Self {
        Self { formats }
    }

    fn format_of(&self, unit: &Unit) -> Option<&Arc<dyn Format>> {
        let Some(KeyValue::Text(name)) = unit.keys.first() else { return None };
        self.formats.iter().map(|(format, _)| format).find(|format| format.name() == name)
    }
}

/// Whether a key of a format means the same as one of ours.
fn same_key(ours: &KeyColumn, theirs: &KeyColumn) -> bool {
    match ours.name {
        "rank_id" => matches!(theirs.name, "rank_id" | "rank"),
        "step" => matches!(theirs.name, "step" | "source_step"),
        name => name == theirs.name,
    }
}

/// Keys of ours from keys of a format.
fn outer_keys(format: &dyn Format, inner: &[KeyValue]) -> Vec<KeyValue> {
    let of = |key: &KeyColumn| {
        let at = format.key_columns().iter().position(|k| same_key(key, k));
        at.and_then(|at| inner.get(at).cloned()).unwrap_or(KeyValue::Null)
    };
    std::iter::once(KeyValue::Text(format.name().to_owned())).chain(KEYS.iter().skip(1).map(of)).collect()
}

/// A finding that belongs to no unit, in the form of one.
fn loose(format: &dyn Format, finding: Finding) -> Unit {
    let source = KeyValue::Text(format.name().to_owned());
    Unit {
        keys: vec![source, KeyValue::Null, KeyValue::Null, KeyValue::Null],
        inner_keys: vec![],
        source_path: finding.file.display().to_string(),
        form: String::new(),
        files: vec![],
        findings: vec![finding],
    }
}

impl Format for Diagnostics {
    fn name(&self) -> &'static str {
        "diagnostics"
    }

    fn schema(&self) -> SchemaRef {
        diagnostics_schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEYS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let (mut units, mut nothing, mut told) = (Vec::new(), Vec::new(), HashSet::new());
        for (format, main) in &self.formats {
            let found = match format.discover(roots) {
                Ok(found) => found,
                Err(e) => {
                    nothing.extend(e.problems().iter().cloned());
                    continue;
                }
            };
            // The formats that only add look at the same places again and find the same, unless the system
            // failed just then.
            let mut tell = |f: &Finding| told.insert((f.file.clone(), f.message.clone())) || *main;
            units.extend(found.findings.into_iter().filter(&mut tell).map(|f| loose(format.as_ref(), f)));
            let (present, absent): (Vec<Unit>, Vec<Unit>) =
                found.units.into_iter().partition(|u| *main || !u.files.is_empty());
            // That there is nothing is no finding, unless nobody could look.
            let unseen = absent.into_iter().flat_map(|u| u.findings).filter(|f| f.kind == Kind::Unreadable);
            units.extend(unseen.filter(&mut tell).map(|f| loose(format.as_ref(), f)));
            units.extend(present.into_iter().map(|mut unit| {
                unit.inner_keys = std::mem::take(&mut unit.keys);
                unit.keys = outer_keys(format.as_ref(), &unit.inner_keys);
                unit.findings.retain(|f| tell(f) && (*main || f.is_problem()));
                unit
            }));
        }
        if units.is_empty() {
            nothing.dedup_by(|a, b| a.message == b.message);
            return Err(DataError::new(self.name(), nothing, "give the directory of a run, or one above it"));
        }
        Ok(Layout { units, findings: vec![] })
    }

    fn known_problems(&self, _: &Unit, _: &[usize]) -> Vec<Finding> {
        // A unit's problems are rows here, they never fail the query.
        vec![]
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        Ok(Box::new(DiagnosticsReader {
            format: self.format_of(unit).cloned(),
            unit: unit.clone(),
            request: request.clone(),
            host,
            rows: None,
        }))
    }
}

/// Reads one unit for what is said about it.
struct DiagnosticsReader {
    format: Option<Arc<dyn Format>>,
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    /// What is still to be handed out, once the unit was read.
    rows: Option<RecordBatch>,
}

impl UnitReader for DiagnosticsReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let rows = match self.rows.take() {
            Some(rows) => rows,
            None => self.diagnose()?,
        };
        let most = self.request.batch_rows.max(1).min(rows.num_rows());
        self.rows = Some(rows.slice(most, rows.num_rows() - most));
        Ok((most > 0).then(|| rows.slice(0, most)))
    }
}

impl DiagnosticsReader {
    fn diagnose(&self) -> Result<RecordBatch, ReadError> {
        let Some(format) = &self.format else { return self.batch(&self.unit.findings, None) };
        if self.unit.form.is_empty() {
            return self.batch(&self.unit.findings, None);
        }
        let mut inner = self.unit.clone();
        inner.keys = std::mem::take(&mut inner.inner_keys);
        let mut request = ReadRequest::new((0..format.schema().fields().len()).collect());
        request.threads = self.request.threads;
        let host = Arc::new(Collector::new(&inner, Some(Arc::clone(&self.host))));
        let mut reader = format.open(&inner, &request, Arc::clone(&host) as Arc<dyn Host>)?;
        let mut rows = 0usize;
        while let Some(batch) = reader.next_batch()? {
            rows += batch.num_rows();
        }
        let notes = inner.findings.iter().filter(|f| !f.is_problem()).cloned();
        let mut findings: Vec<Finding> = format.known_problems(&inner, &request.projection);
        findings.extend(notes.chain(host.take()));
        findings.sort_by_key(|f| f.degree == Degree::Note);
        self.batch(&findings, Some(rows))
    }

    /// A row for the unit, when it was read, and one for each finding.
    fn batch(&self, findings: &[Finding], rows: Option<usize>) -> Result<RecordBatch, ReadError> {
        let schema = diagnostics_schema();
        let columns: Result<Vec<ArrayRef>, ReadError> = self
            .request
            .projection
            .iter()
            .map(|index| {
                let (name, text, ..) = COLUMNS.get(*index).copied().unwrap_or_default();
                let cells = rows.map(|rows| self.unit_cell(name, rows)).into_iter();
                let cells = cells.chain(findings.iter().map(|f| self.finding_cell(name, f)));
                Ok(column(text, cells))
            })
            .collect();
        let total = findings.len() + usize::from(rows.is_some());
        let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(total));
        let schema = Arc::new(schema.project(&self.request.projection)?);
        Ok(RecordBatch::try_new_with_options(schema, columns?, &options)?)
    }

    fn unit_cell(&self, name: &str, rows: usize) -> Cell {
        match name {
            "entry" => Cell::text("unit"),
            "message" => Cell::text(format!(
                "{} files, {} bytes, {rows} rows",
                self.unit.files.len(),
                self.unit.bytes()
            )),
            "count" => Cell::Int(1),
            "files" => Cell::int(self.unit.files.len() as u64),
            "bytes" => Cell::int(self.unit.bytes()),
            "rows" => Cell::int(rows as u64),
            other => self.shared_cell(other),
        }
    }

    fn finding_cell(&self, name: &str, finding: &Finding) -> Cell {
        match name {
            "entry" => Cell::text(finding.degree.name()),
            "file" => Cell::text(finding.file.display().to_string()),
            "place" if finding.place != Place::File => Cell::text(finding.place.to_string()),
            "kind" => Cell::text(finding.kind.name()),
            "message" => Cell::text(finding.message.as_str()),
            "count" => Cell::int(finding.count),
            other => self.shared_cell(other),
        }
    }

    /// What is the same in all rows of the unit.
    fn shared_cell(&self, name: &str) -> Cell {
        let key = KEYS.iter().position(|k| k.name == name).and_then(|at| self.unit.keys.get(at));
        match (name, key) {
            (_, Some(KeyValue::Text(text))) => Cell::text(text.as_str()),
            (_, Some(KeyValue::Int(n))) => Cell::Int(*n),
            ("source_path", _) => Cell::text(self.unit.source_path.as_str()),
            ("form", _) if !self.unit.form.is_empty() => Cell::text(self.unit.form.as_str()),
            _ => Cell::Null,
        }
    }
}

/// One value of the table.
enum Cell {
    Text(String),
    Int(i64),
    Null,
}

impl Cell {
    fn text(text: impl Into<String>) -> Self {
        Cell::Text(text.into())
    }

    fn int(n: u64) -> Self {
        Cell::Int(i64::try_from(n).unwrap_or(i64::MAX))
    }
}

fn column(text: bool, cells: impl Iterator<Item = Cell>) -> ArrayRef {
    let (mut texts, mut ints) = (StringViewBuilder::new(), Int64Builder::new());
    for cell in cells {
        match (text, cell) {
            (true, Cell::Text(value)) => texts.append_value(value),
            (true, _) => texts.append_null(),
            (false, Cell::Int(value)) => ints.append_value(value),
            (false, _) => ints.append_null(),
        }
    }
    if text { Arc::new(texts.finish()) } else { Arc::new(ints.finish()) }
}
