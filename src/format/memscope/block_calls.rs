//! `memscope_block_calls`: for each block the API calls in which it was allocated, used and released.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::vec::IntoIter;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};

use super::api_calls::{self, BlockCalls as Calls, Event, What};
use super::attributes::{Attributes, Key, Keys};
use super::block::NONE;
use super::columns::{UnitColumns, batch_of};
use super::database::Needs;
use super::event_columns::is_workspace;
use super::events::Repeats;
use super::faults::Varieties;
use super::layout;
use super::number;
use super::record::Record;
use super::rows::{Collect, UnitRows};
use super::schema::{BlockCalls, KEY_COLUMNS};

/// The format behind `memscope_block_calls`.
///
/// Rows are not in the order of events, and a call is known only in that order, so all events of a
/// process are held, in few bytes each.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeBlockCalls {
    compat: bool,
}

impl MemscopeBlockCalls {
    /// With `compat`, what the tool's offline analysis counts as events of blocks.
    pub fn new(compat: bool) -> Self {
        Self { compat }
    }
}

impl Format for MemscopeBlockCalls {
    fn name(&self) -> &'static str {
        "memscope_block_calls"
    }

    fn schema(&self) -> SchemaRef {
        BlockCalls::schema()
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
        let (unit, request) = (unit.clone(), request.clone());
        Ok(Box::new(CallReader { unit, request, compat: self.compat, host, processes: None }))
    }
}

/// Gathers the events that calls are made of.
#[derive(Debug)]
struct CallCollect {
    compat: bool,
}

/// The events of one piece.
#[derive(Debug, Default)]
struct CallPart {
    events: Vec<(Option<i64>, Event)>,
    /// Those of them, by their places, that have no device.
    device_less: Vec<usize>,
    not_numbers: u64,
}

impl Collect for CallCollect {
    type Part = CallPart;
    type Output = CallPart;

    fn needs(&self) -> Needs {
        Needs { attributes: true, stacks: false }
    }

    fn begin(&self) -> CallPart {
        CallPart::default()
    }

    #[inline]
    fn record(&self, part: &mut CallPart, record: &Record<'_>, _: u64) {
        let atb = record.event_type == b"ATB";
        let of_pool = atb || record.event_type == b"PTA";
        let (what, keys) = match (record.event, record.event_type) {
            (b"OP_LAUNCH", b"ATEN_START" | b"ATB_START") => (What::Start, Keys::default()),
            (b"OP_LAUNCH", _) => (What::End, Keys::default()),
            (b"MALLOC", _) if of_pool => (What::Malloc, const { Keys::of(&[Key::AllocationId, Key::Owner]) }),
            (b"FREE", _) if of_pool => (What::Free, const { Keys::of(&[Key::AllocationId, Key::Shadow]) }),
            (b"ACCESS", _) => (What::Access, const { Keys::of(&[Key::AllocationId, Key::Type]) }),
            _ => return,
        };
        let attributes = Attributes::parse(record.attributes, keys);
        let what = match what {
            What::Malloc if !self.compat && is_workspace(record, &attributes) => What::WorkspaceMalloc,
            What::Free if !self.compat && attributes.is_true(Key::Shadow) => return,
            what => what,
        };
        let atb = match what {
            What::Start | What::End => matches!(record.event_type, b"ATB_START" | b"ATB_END"),
            What::Access => attributes.get(Key::Type) != Some(b"PTA"),
            _ => atb,
        };
        let text = attributes.get(Key::AllocationId);
        let block = text.and_then(number::integer);
        part.not_numbers += u64::from(block.is_none() && text.is_some_and(|t| !number::is_absent(t)));
        if record.device_name().is_none() {
            part.device_less.push(part.events.len());
        }
        part.events.push((record.pid, Event { id: record.id, what, block: block.unwrap_or(NONE), atb }));
    }

    fn finish(&self, part: CallPart, varieties: &mut Varieties) -> Result<CallPart, ReadError> {
        varieties.not_numbers += part.not_numbers;
        Ok(part)
    }
}

/// The rows of one process that are left.
type Rest = (Option<i64>, IntoIter<Calls>);

/// Reads the calls of one unit.
struct CallReader {
    unit: Unit,
    request: ReadRequest,
    compat: bool,
    host: Arc<dyn Host>,
    /// All rows by process, once the files were read.
    processes: Option<IntoIter<Rest>>,
}

impl CallReader {
    fn read(&self) -> Result<Vec<Rest>, ReadError> {
        let mut rows = UnitRows::new(&self.unit);
        let mut repeats = Repeats::default();
        let mut processes: BTreeMap<Option<i64>, Vec<Event>> = BTreeMap::new();
        let (mut held, mut without_number) = (0, 0);
        let collect = Arc::new(CallCollect { compat: self.compat });
        while let Some(piece) = rows.next_piece(&collect, self.request.threads, self.host.as_ref())? {
            self.host.reserve(piece.output.events.len() * size_of::<Event>())?;
            held += piece.output.events.len();
            let mut device_less = piece.output.device_less.into_iter().peekable();
            for (at, (pid, event)) in piece.output.events.into_iter().enumerate() {
                let again =
                    device_less.next_if_eq(&at).is_some() && repeats.is_repeated(piece.file, (pid, event.id));
                if !again {
                    without_number += u64::from(event.what == What::Malloc && event.block == NONE);
                    processes.entry(pid).or_default().push(event);
                }
            }
        }
        if without_number > 0 {
            let message = "allocations have no number of their block, as before August 2025: the calls that used \
                           and released them cannot be told, and they have no rows";
            let path = self.unit.files.first().map(|f| f.path.clone()).unwrap_or_default();
            self.host.report(Finding::note(Kind::Unused, path, message).times(without_number))?;
        }
        // The events of a process are gone when the next one's turn comes, so its blocks take their place.
        self.host.reserve(held.saturating_mul(size_of::<Calls>()) / 2)?;
        let swept = processes.into_iter().map(|(pid, events)| (pid, api_calls::sweep(events).into_iter()));
        Ok(swept.collect())
    }

    fn batch(&self, pid: Option<i64>, rows: &[Calls]) -> Result<RecordBatch, ReadError> {
        let unit = UnitColumns::new(&self.unit);
        let calls = |value: fn(&Calls) -> u32| -> ArrayRef {
            let values = rows.iter().map(value).map(|n| (n > 0).then_some(i64::from(n)));
            Arc::new(values.collect::<Int64Array>())
        };
        let mut columns = vec![];
        for column in self.request.projection.iter().filter_map(|at| BlockCalls::ALL.get(*at)) {
            columns.push(match column {
                BlockCalls::Pid => Arc::new(rows.iter().map(|_| pid).collect::<Int64Array>()) as ArrayRef,
                BlockCalls::AllocationId => {
                    Arc::new(Int64Array::from_iter_values(rows.iter().map(|r| r.block)))
                }
                BlockCalls::MallocCall => calls(|r| r.malloc),
                BlockCalls::UseCall => calls(|r| r.first_use),
                BlockCalls::ReleaseBeforeUse => calls(|r| r.release_before_use),
                BlockCalls::IdleBeforeUse => calls(|r| r.idle_before_use),
                BlockCalls::LongestIdle => calls(|r| r.longest_idle),
                BlockCalls::LastUseCall => calls(|r| r.last_use),
                BlockCalls::AllocBeforeFree => calls(|r| r.alloc_before_free),
                BlockCalls::FreeCall => calls(|r| r.free),
                BlockCalls::RunDir => unit.run_dir(rows.len())?,
                BlockCalls::RunPid => unit.run_pid(rows.len()),
                BlockCalls::SourcePath => unit.source_path(rows.len())?,
            });
        }
        batch_of(&Arc::new(BlockCalls::schema().project(&self.request.projection)?), columns, rows.len())
    }
}

impl UnitReader for CallReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let mut processes = match self.processes.take() {
            Some(processes) => processes,
            None => self.read()?.into_iter(),
        };
        let most = self.request.batch_rows.max(1);
        let mut batch = None;
        while let Some((pid, rest)) = processes.as_mut_slice().first_mut() {
            let rows: Vec<Calls> = rest.by_ref().take(most).collect();
            if !rows.is_empty() {
                batch = Some(self.batch(*pid, &rows)?);
                break;
            }
            processes.next();
        }
        self.processes = Some(processes);
        Ok(batch)
    }
}
