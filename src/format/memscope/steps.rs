//! `memscope_steps`: where steps begin and where the tool looks for leaks.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringViewArray};

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};
use crate::text::encoding::replace_invalid;

use super::columns::{UnitColumns, batch_of};
use super::database::Needs;
use super::events::Repeats;
use super::faults::Varieties;
use super::layout;
use super::number;
use super::record::Record;
use super::rows::{Collect, UnitRows};
use super::schema::{KEY_COLUMNS, Step};

/// The format behind `memscope_steps`.
///
/// The rules are those of the tool: whichever of mstx ranges and `msmemscope.step()` comes first in a
/// process counts, and the end of any range inside a step makes the tool look for leaks, because it
/// does not record which range ends. `step_end` tells the two apart.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeSteps;

impl Format for MemscopeSteps {
    fn name(&self) -> &'static str {
        "memscope_steps"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Step::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        layout::discover_dumps(self.name(), roots)
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
        Ok(Box::new(StepReader { unit: unit.clone(), request: request.clone(), host, ready: None }))
    }
}

/// An event that may be the boundary of a step.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Boundary {
    id: i64,
    what: What,
    ts: i64,
    device: Option<String>,
    file: usize,
}

/// What kind of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// `msmemscope.step()`, which ends the step with this number.
    Py(i64),
    /// A range named `step start` begins.
    StepStart,
    /// Any other range begins.
    Start,
    /// The range with this number ends; the number may not be readable.
    End(i64),
}

/// Gathers boundaries.
#[derive(Debug)]
struct Boundaries;

impl Collect for Boundaries {
    type Part = Vec<(Option<i64>, Boundary)>;
    type Output = Self::Part;

    fn needs(&self) -> Needs {
        Needs::default()
    }

    fn begin(&self) -> Self::Part {
        vec![]
    }

    #[inline]
    fn record(&self, part: &mut Self::Part, record: &Record<'_>, _: u64) {
        let what = match (record.event, record.event_type) {
            (b"SYSTEM", b"STEP") => number::integer(record.name).map(What::Py),
            (b"MSTX", b"Range_start") if record.name == b"step start" => Some(What::StepStart),
            (b"MSTX", b"Range_start") => Some(What::Start),
            (b"MSTX", b"Range_end") => {
                let digits = record.name.iter().rposition(|b| !b.is_ascii_digit()).map_or(0, |at| at + 1);
                let number = record.name.get(digits..).and_then(number::integer);
                Some(What::End(number.unwrap_or(-1)))
            }
            _ => None,
        };
        if let Some(what) = what {
            let device = record.device_name().map(|d| replace_invalid(d).into_owned());
            let boundary = Boundary { id: record.id, what, ts: record.time_ns(), device, file: 0 };
            part.push((record.pid, boundary));
        }
    }

    fn finish(&self, part: Self::Part, _: &mut Varieties) -> Result<Self::Output, ReadError> {
        Ok(part)
    }
}

/// One row.
#[derive(Debug)]
struct StepRow {
    pid: Option<i64>,
    device: Option<String>,
    id: i64,
    ts: i64,
    src: &'static str,
    kind: &'static str,
    step: i64,
    step_end: bool,
    file: usize,
}

/// The rows of one process, from its boundaries in the order of their ids.
fn rows_of(pid: Option<i64>, boundaries: &[Boundary], out: &mut Vec<StepRow>) {
    let first = |wanted: fn(&What) -> bool| boundaries.iter().find(|b| wanted(&b.what)).map(|b| b.id);
    let py = first(|w| matches!(w, What::Py(_)));
    let mstx = first(|w| matches!(w, What::StepStart));
    // Without a `step start` there are no steps of ranges.
    let by_py = match (py, mstx) {
        (Some(py), Some(mstx)) => py < mstx,
        (py, _) => py.is_some(),
    };
    let src = if by_py { "py" } else { "mstx" };
    let (mut step, mut ranges, mut current_range) = (0, 0, None);
    for b in boundaries {
        let mut row = |kind: &'static str, step: i64, step_end: bool| {
            let device = b.device.clone();
            out.push(StepRow { pid, device, id: b.id, ts: b.ts, src, kind, step, step_end, file: b.file });
        };
        match b.what {
            What::Py(number) if by_py => {
                row("check", number, true);
                row("open", number.saturating_add(1), false);
            }
            What::StepStart => {
                ranges += 1;
                if !by_py {
                    step += 1;
                    current_range = Some(ranges);
                    row("open", step, false);
                }
            }
            What::Start => ranges += 1,
            What::End(range) if !by_py && step > 0 => row("check", step, current_range == Some(range)),
            What::Py(_) | What::End(_) => {}
        }
    }
}

/// Reads the steps of one process.
struct StepReader {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    /// All rows, once the files were read.
    ready: Option<std::vec::IntoIter<StepRow>>,
}

impl StepReader {
    fn read(&self) -> Result<Vec<StepRow>, ReadError> {
        let mut rows = UnitRows::new(&self.unit);
        let mut repeats = Repeats::default();
        let mut processes: BTreeMap<Option<i64>, Vec<Boundary>> = BTreeMap::new();
        let collect = Arc::new(Boundaries);
        while let Some(piece) = rows.next_piece(&collect, self.request.threads, self.host.as_ref())? {
            self.host.reserve(piece.output.len() * size_of::<Boundary>())?;
            for (pid, mut boundary) in piece.output {
                boundary.file = piece.file;
                let again = boundary.device.is_none() && repeats.is_repeated(piece.file, (pid, boundary.id));
                if !again {
                    processes.entry(pid).or_default().push(boundary);
                }
            }
        }
        let mut out = vec![];
        for (pid, mut boundaries) in processes {
            boundaries.sort();
            rows_of(pid, &boundaries, &mut out);
        }
        Ok(out)
    }

    fn batch(&self, rows: &[StepRow]) -> Result<RecordBatch, ReadError> {
        let unit = UnitColumns::new(&self.unit);
        let names = layout::file_names(&self.unit);
        let ints = |value: fn(&StepRow) -> i64| -> ArrayRef {
            Arc::new(Int64Array::from_iter_values(rows.iter().map(value)))
        };
        let texts = |value: fn(&StepRow) -> &'static str| -> ArrayRef {
            Arc::new(StringViewArray::from_iter_values(rows.iter().map(value)))
        };
        let mut columns = vec![];
        for column in self.request.projection.iter().filter_map(|at| Step::ALL.get(*at)) {
            columns.push(match column {
                Step::Pid => Arc::new(rows.iter().map(|r| r.pid).collect::<Int64Array>()) as ArrayRef,
                Step::Device => {
                    Arc::new(rows.iter().map(|r| r.device.as_deref()).collect::<StringViewArray>())
                }
                Step::Id => ints(|r| r.id),
                Step::TsNs => ints(|r| r.ts),
                Step::Src => texts(|r| r.src),
                Step::Kind => texts(|r| r.kind),
                Step::Step => ints(|r| r.step),
                Step::StepEnd => Arc::new(rows.iter().map(|r| Some(r.step_end)).collect::<BooleanArray>()),
                Step::RunDir => unit.run_dir(rows.len())?,
                Step::RunPid => unit.run_pid(rows.len()),
                Step::File => {
                    let name = |r: &StepRow| names.get(r.file).map_or("", String::as_str);
                    Arc::new(StringViewArray::from_iter_values(rows.iter().map(name)))
                }
                Step::SourcePath => unit.source_path(rows.len())?,
            });
        }
        batch_of(&Arc::new(Step::schema().project(&self.request.projection)?), columns, rows.len())
    }
}

impl UnitReader for StepReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let mut rest = match self.ready.take() {
            Some(rest) => rest,
            None => self.read()?.into_iter(),
        };
        let rows: Vec<StepRow> = rest.by_ref().take(self.request.batch_rows.max(1)).collect();
        self.ready = Some(rest);
        if rows.is_empty() { Ok(None) } else { self.batch(&rows).map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(events: &[What]) -> Vec<String> {
        let boundary = |(id, what): (usize, &What)| Boundary {
            id: id as i64,
            what: *what,
            ts: 0,
            device: None,
            file: 0,
        };
        let boundaries: Vec<_> = events.iter().enumerate().map(boundary).collect();
        let mut out = vec![];
        rows_of(Some(1), &boundaries, &mut out);
        out.iter()
            .map(|r| format!("{} {} {}{}", r.id, r.kind, r.step, if r.step_end { " end" } else { "" }))
            .collect()
    }

    #[test]
    fn the_end_of_a_nested_range_is_a_check_but_no_end_of_the_step() {
        let got =
            rows(&[What::End(7), What::StepStart, What::Start, What::End(2), What::End(1), What::StepStart]);
        assert_eq!(got, ["1 open 1", "3 check 1", "4 check 1 end", "5 open 2"]);
    }

    #[test]
    fn the_source_that_comes_first_counts() {
        assert_eq!(rows(&[What::Py(1), What::StepStart, What::End(1)]), ["0 check 1 end", "0 open 2"]);
        assert_eq!(rows(&[What::StepStart, What::Py(1)]), ["0 open 1"]);
        assert!(rows(&[What::Start, What::End(1)]).is_empty());
    }
}
