//! `memscope_compare`: the launches of two runs side by side.

use std::collections::{BTreeSet, VecDeque};
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitFile,
    UnitReader,
};

use super::columns::{batch_of, repeated};
use super::edit_script::{Edit, MAX_DIFFERENCES, align};
use super::launches::{self, Launch, Launches, Level, Names};
use super::layout::{self, FileKind};
use super::schema::Compare;

/// The format behind `memscope_compare(base, target)`: the first argument is the base run, the second
/// the target run. Both are one unit.
///
/// Launches are aligned by their names, device by device, as the tool does it.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeCompare {
    level: Level,
}

impl MemscopeCompare {
    /// Compares launches of this level.
    pub fn new(level: Level) -> Self {
        Self { level }
    }
}

/// What the parts of the base run's files start with; those of the target run start with [`TARGET`].
const BASE: &str = "base:";
const TARGET: &str = "target:";
/// The part that only carries what the base run was called.
const BASE_PATH: &str = "base_path";

/// The roots of each of the two arguments.
fn two(roots: &[Root]) -> Option<(Vec<Root>, Vec<Root>)> {
    if let [base, target] = roots {
        return Some((vec![base.clone()], vec![target.clone()]));
    }
    let first = &roots.first()?.argument;
    let (base, target): (Vec<Root>, Vec<Root>) = roots.iter().cloned().partition(|r| r.argument == *first);
    let arguments: BTreeSet<&str> = target.iter().map(|r| r.argument.as_str()).collect();
    (arguments.len() == 1).then_some((base, target))
}

impl Format for MemscopeCompare {
    fn name(&self) -> &'static str {
        "memscope_compare"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Compare::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &[]
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let Some((base, target)) = two(roots) else {
            let found: BTreeSet<&str> = roots.iter().map(|r| r.argument.as_str()).collect();
            let found = found.into_iter().collect::<Vec<_>>().join(", ");
            let message = format!("two runs are compared, got: {found}");
            let problem = Finding::problem(Kind::Missing, found, message);
            return Err(DataError::new(self.name(), vec![problem], "give the base run and the target run"));
        };
        let what = "memscope_dump_*.csv and memscope_dump_*.db";
        let kinds = [FileKind::DumpCsv, FileKind::DumpDb];
        let (mut files, mut findings) = (vec![], vec![]);
        for (prefix, roots) in [(BASE, &base), (TARGET, &target)] {
            let (found, said) = layout::find(self.name(), roots, &kinds, what)?;
            findings.extend(said);
            files.extend(found.iter().map(|f| {
                let file = f.unit_file();
                UnitFile { part: format!("{prefix}{}", file.part), ..file }
            }));
        }
        let argument = |roots: &[Root]| roots.first().map_or_else(String::new, |r| r.argument.clone());
        files.push(UnitFile { part: BASE_PATH.to_owned(), path: argument(&base).into(), bytes: 0 });
        let unit = Unit {
            keys: vec![],
            inner_keys: vec![],
            source_path: argument(&target),
            form: "pair".to_owned(),
            files,
            findings: vec![],
        };
        Ok(Layout { units: vec![unit], findings })
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let base_path = unit.file(BASE_PATH).map_or_else(String::new, |f| f.path.display().to_string());
        Ok(Box::new(CompareReader {
            level: self.level,
            unit: unit.clone(),
            base_path,
            request: request.clone(),
            host,
            runs: None,
            rows: VecDeque::new(),
        }))
    }
}

/// One side of the comparison as a unit of its own.
fn side(unit: &Unit, prefix: &str) -> Unit {
    let files = unit.files.iter().filter_map(|f| {
        let part = f.part.strip_prefix(prefix)?.to_owned();
        Some(UnitFile { part, ..f.clone() })
    });
    Unit { files: files.collect(), ..unit.clone() }
}

/// Both runs, once they were read.
struct Runs {
    names: Names,
    base: Launches,
    target: Launches,
    devices: VecDeque<(i64, String)>,
}

/// One row: a launch of the base run, of the target run, or of both.
struct Pair {
    device: Arc<str>,
    number: i64,
    base: Option<Launch>,
    target: Option<Launch>,
}

struct CompareReader {
    level: Level,
    unit: Unit,
    base_path: String,
    request: ReadRequest,
    host: Arc<dyn Host>,
    runs: Option<Runs>,
    rows: VecDeque<Pair>,
}

impl CompareReader {
    fn read(&self) -> Result<Runs, ReadError> {
        let (threads, host) = (self.request.threads, self.host.as_ref());
        let mut names = Names::default();
        let base = launches::read(&side(&self.unit, BASE), self.level, threads, &mut names, host)?;
        let target = launches::read(&side(&self.unit, TARGET), self.level, threads, &mut names, host)?;
        let devices: BTreeSet<&(i64, String)> = base.keys().chain(target.keys()).collect();
        let devices = devices.into_iter().cloned().collect();
        Ok(Runs { names, base, target, devices })
    }

    /// Aligns the launches of one device.
    fn align(&mut self, runs: &mut Runs, device: &(i64, String)) -> Result<(), ReadError> {
        let base = runs.base.remove(device).unwrap_or_default();
        let target = runs.target.remove(device).unwrap_or_default();
        let names = |launches: &[Launch]| launches.iter().map(|l| l.name).collect::<Vec<u32>>();
        let edits = align(&names(&base), &names(&target), MAX_DIFFERENCES, self.host.as_ref())?;
        let Some(edits) = edits else {
            let message = format!(
                "device {}: the {} launches of the base run and the {} of the target run differ in more than \
                 {MAX_DIFFERENCES} places, so an alignment says nothing; compare shorter recordings of the same \
                 steps, or call by call with memscope_compare_by_occurrence",
                device.1,
                base.len(),
                target.len()
            );
            return self.host.report(Finding::problem(
                Kind::BadStructure,
                Path::new(&self.unit.source_path),
                message,
            ));
        };
        let name: Arc<str> = device.1.as_str().into();
        for (edit, number) in edits.into_iter().zip(1..) {
            let (b, t) = match edit {
                Edit::Both(b, t) => (base.get(b), target.get(t)),
                Edit::Base(b) => (base.get(b), None),
                Edit::Target(t) => (None, target.get(t)),
            };
            self.rows.push_back(Pair {
                device: Arc::clone(&name),
                number,
                base: b.cloned(),
                target: t.cloned(),
            });
        }
        Ok(())
    }

    fn batch(&self, pairs: &[Pair], names: &Names) -> Result<RecordBatch, ReadError> {
        let ints = |value: &dyn Fn(&Pair) -> Option<i64>| -> ArrayRef {
            Arc::new(pairs.iter().map(value).collect::<Int64Array>())
        };
        let base = |value: fn(&Launch) -> Option<i64>| ints(&|p| p.base.as_ref().and_then(value));
        let target = |value: fn(&Launch) -> Option<i64>| ints(&|p| p.target.as_ref().and_then(value));
        let allocated = |l: &Launch| l.own.map(|own| own.0);
        let level = self.level;
        let mut columns = vec![];
        for column in self.request.projection.iter().filter_map(|at| Compare::ALL.get(*at)) {
            columns.push(match column {
                Compare::Device => {
                    Arc::new(StringViewArray::from_iter_values(pairs.iter().map(|p| &p.device))) as ArrayRef
                }
                Compare::PairNo => ints(&|p| Some(p.number)),
                Compare::Event => repeated(level.event(), pairs.len())?,
                Compare::Name => {
                    let name =
                        |p: &Pair| p.base.as_ref().or(p.target.as_ref()).map_or("", |l| names.text(l.name));
                    Arc::new(StringViewArray::from_iter_values(pairs.iter().map(name)))
                }
                Compare::BaseBytes => base(|l| Some(l.following)),
                Compare::TargetBytes => target(|l| Some(l.following)),
                Compare::DiffBytes => ints(&|p| {
                    let bytes = |l: &Option<Launch>| l.as_ref().map_or(0, |l| l.following);
                    Some(bytes(&p.target).saturating_sub(bytes(&p.base)))
                }),
                Compare::BaseAlloc => base(allocated),
                Compare::TargetAlloc => target(allocated),
                Compare::DiffAlloc => ints(&|p| {
                    let bytes = |l: &Option<Launch>| l.as_ref().and_then(allocated).unwrap_or(0);
                    (level == Level::Op).then(|| bytes(&p.target).saturating_sub(bytes(&p.base)))
                }),
                Compare::BaseFreed => base(|l| l.own.map(|own| own.1)),
                Compare::TargetFreed => target(|l| l.own.map(|own| own.1)),
                Compare::BaseId => base(|l| Some(l.id)),
                Compare::TargetId => target(|l| Some(l.id)),
                Compare::BasePath => repeated(&self.base_path, pairs.len())?,
                Compare::SourcePath => repeated(&self.unit.source_path, pairs.len())?,
            });
        }
        batch_of(&Arc::new(Compare::schema().project(&self.request.projection)?), columns, pairs.len())
    }
}

impl UnitReader for CompareReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let mut runs = match self.runs.take() {
            Some(runs) => runs,
            None => self.read()?,
        };
        while self.rows.is_empty()
            && let Some(device) = runs.devices.pop_front()
        {
            self.align(&mut runs, &device)?;
        }
        let most = self.request.batch_rows.max(1).min(self.rows.len());
        let pairs: Vec<Pair> = self.rows.drain(..most).collect();
        let batch = if pairs.is_empty() { None } else { Some(self.batch(&pairs, &runs.names)?) };
        self.runs = Some(runs);
        Ok(batch)
    }
}
