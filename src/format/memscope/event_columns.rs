//! From records to the columns of `memscope_events`.

use std::borrow::Cow;
use std::collections::HashSet;

use datafusion::arrow::array::ArrayRef;

use crate::source::{Condition, ReadError, ReadRequest};

use super::attributes::{Attributes, Key, Keys};
use super::columns::{Column, TextColumn};
use super::database::Needs;
use super::faults::Varieties;
use super::number;
use super::record::Record;
use super::rows::Collect;
use super::schema::{Event, Wanted};

/// A block of a process: process id and number of the block.
pub(super) type BlockKey = (Option<i64>, i64);

/// The columns on which records are left out before anything is made of them.
pub(super) const CONDITION_COLUMNS: [usize; 8] = [
    Event::Id as usize,
    Event::Event as usize,
    Event::EventType as usize,
    Event::TsNs as usize,
    Event::Pid as usize,
    Event::Tid as usize,
    Event::Device as usize,
    Event::DeviceId as usize,
];

/// Makes columns of records. Columns that nobody wants are not made.
#[derive(Debug)]
pub(super) struct EventCollect {
    projection: Vec<usize>,
    conditions: Vec<Condition>,
    wanted: Wanted,
    keys: Keys,
    /// Whether events without a device are to be noted.
    device_less: bool,
}

impl EventCollect {
    /// For this request. `several_files` when the unit has more than one.
    pub(super) fn new(request: &ReadRequest, several_files: bool) -> Self {
        let projection = &request.projection;
        let wanted = Wanted::new(projection);
        let keys = Event::ALL
            .iter()
            .filter(|c| wanted.has(c.index()))
            .fold(Keys::default(), |k, c| k.and(keys_of(*c)));
        Self {
            projection: projection.clone(),
            conditions: request.conditions.clone(),
            wanted,
            keys,
            device_less: several_files,
        }
    }
}

/// The attributes that a column is made from.
fn keys_of(column: Event) -> Keys {
    const fn of(key: Key) -> Keys {
        Keys::of(&[key])
    }
    match column {
        Event::Pool => const { Keys::of(&[Key::AllocationId, Key::Owner, Key::Type]) },
        Event::AllocationId => of(Key::AllocationId),
        Event::Size => of(Key::Size),
        Event::PoolTotal | Event::DeviceTotal => of(Key::Total),
        Event::PoolUsed => of(Key::Used),
        Event::ProcessUsed => of(Key::ProcessUsed),
        Event::DeviceUsed => of(Key::DeviceUsed),
        Event::Owner | Event::Role => of(Key::Owner),
        Event::InefficientType => of(Key::Inefficient),
        Event::Shadow => of(Key::Shadow),
        Event::Pinned => of(Key::Pinned),
        Event::PageType => of(Key::PageType),
        Event::AllocType => of(Key::AllocType),
        Event::ModuleId => of(Key::Module),
        Event::Dtype => of(Key::Dtype),
        Event::Shape => of(Key::Shape),
        Event::Format => of(Key::Format),
        Event::OpPath => of(Key::Path),
        Event::WorkspacePtr => of(Key::WorkspacePtr),
        Event::WorkspaceSize => of(Key::WorkspaceSize),
        Event::StreamId => of(Key::Stream),
        Event::TaskId => of(Key::Task),
        Event::Reserved => of(Key::Reserved),
        Event::MaxReserved => of(Key::MaxReserved),
        Event::Allocated => of(Key::Allocated),
        Event::MaxAllocated => of(Key::MaxAllocated),
        Event::DeviceFree => of(Key::Free),
        Event::DeviceRate => of(Key::DeviceRate),
        Event::ReservedRate => of(Key::ReservedRate),
        Event::OomFunc => of(Key::Func),
        Event::OomRequest => of(Key::Request),
        Event::OomFlag => of(Key::Flag),
        Event::OomRet => of(Key::Return),
        Event::OomPool => of(Key::Pool),
        Event::OomPtr => of(Key::Ptr),
        Event::OomAllocTs => of(Key::Timestamp),
        _ => Keys::default(),
    }
}

/// The columns of one piece.
#[derive(Debug)]
pub(super) struct EventPart {
    rows: usize,
    columns: Vec<(Event, Column)>,
    pool: Option<TextColumn>,
    /// Workspace blocks that were allocated and not yet freed.
    workspaces: HashSet<BlockKey>,
    /// FREE rows whose MALLOC may be in an earlier piece.
    open_frees: Vec<(Option<usize>, BlockKey)>,
    device_less: Vec<(Option<usize>, BlockKey)>,
    not_numbers: u64,
}

/// What became of one piece.
#[derive(Debug)]
pub(super) struct EventPiece {
    /// Number of rows.
    pub(super) rows: usize,
    /// One for each projected column that the records themselves give.
    pub(super) arrays: Vec<(Event, ArrayRef)>,
    /// The column `pool`, if it is wanted: it is complete only with what earlier pieces know.
    pub(super) pool: Option<TextColumn>,
    /// Workspace blocks that were allocated and not freed in this piece.
    pub(super) workspaces: HashSet<BlockKey>,
    /// Each FREE printed as PTA whose MALLOC is not in this piece as one of a workspace, with its row;
    /// without one when it is left out.
    pub(super) open_frees: Vec<(Option<usize>, BlockKey)>,
    /// Each event without a device, by process id and id, with its row; without one when it is left out.
    pub(super) device_less: Vec<(Option<usize>, BlockKey)>,
}

/// The name of the pool of workspaces.
pub(super) const WORKSPACE: &str = "PTA_WORKSPACE";

impl Collect for EventCollect {
    type Part = EventPart;
    type Output = EventPiece;

    fn needs(&self) -> Needs {
        Needs {
            attributes: !self.keys.is_empty() || self.wanted.has(Event::Attr.index()),
            stacks: self.wanted.any([Event::PyStack.index(), Event::CStack.index()]),
        }
    }

    fn begin(&self) -> EventPart {
        let of_unit = |c: &Event| {
            matches!(c, Event::Pool | Event::RunDir | Event::RunPid | Event::File | Event::SourcePath)
        };
        let wanted = Event::ALL.iter().filter(|c| self.wanted.has(c.index()) && !of_unit(c));
        let kind = |c: Event| Event::SPECS.get(c.index()).map(|s| Column::new(s.kind));
        EventPart {
            rows: 0,
            columns: wanted.filter_map(|c| Some((*c, kind(*c)?))).collect(),
            pool: self.wanted.has(Event::Pool.index()).then(TextColumn::default),
            workspaces: HashSet::new(),
            open_frees: vec![],
            device_less: vec![],
            not_numbers: 0,
        }
    }

    #[inline]
    fn record(&self, part: &mut EventPart, record: &Record<'_>, row: u64) {
        let kept = self.conditions.iter().all(|c| holds(c, record));
        // What is left out still tells others apart: its copies, and blocks that end later.
        let place = kept.then_some(part.rows);
        if self.device_less && record.device_name().is_none() {
            part.device_less.push((place, (record.pid, record.id)));
        }
        if !kept {
            if part.pool.is_some() && record.event_type == b"PTA" {
                let attributes = Attributes::parse(record.attributes, keys_of(Event::Pool));
                part.pool_of(record, &attributes, None);
            }
            return;
        }
        if part.pool.is_some() || !part.columns.is_empty() {
            let attributes = Attributes::parse(record.attributes, self.keys);
            if part.pool.is_some() {
                let name = part.pool_of(record, &attributes, place);
                part.pool.iter_mut().for_each(|pool| pool.push(name));
            }
            let mut values = Values { record, attributes: &attributes, not_numbers: 0 };
            for (column, builder) in &mut part.columns {
                values.push(*column, builder, row);
            }
            part.not_numbers += values.not_numbers;
        }
        part.rows += 1;
    }

    fn finish(&self, part: EventPart, varieties: &mut Varieties) -> Result<EventPiece, ReadError> {
        varieties.not_numbers += part.not_numbers;
        let mut arrays = Vec::with_capacity(part.columns.len());
        for (column, builder) in part.columns {
            varieties.replaced += builder.replaced();
            arrays.push((column, builder.finish()?));
        }
        Ok(EventPiece {
            rows: part.rows,
            arrays,
            pool: part.pool,
            workspaces: part.workspaces,
            open_frees: part.open_frees,
            device_less: part.device_less,
        })
    }
}

impl EventCollect {
    /// The projected columns, in order.
    pub(super) fn projection(&self) -> impl Iterator<Item = Event> + '_ {
        self.projection.iter().filter_map(|at| Event::ALL.get(*at).copied())
    }
}

impl EventPart {
    /// The pool of an event, as far as this piece tells; `place` is its row, unless it is left out.
    fn pool_of<'a>(
        &mut self,
        record: &Record<'a>,
        attributes: &Attributes<'a>,
        place: Option<usize>,
    ) -> Option<&'a [u8]> {
        let key = || Some((record.pid, attributes.get(Key::AllocationId).and_then(number::integer)?));
        match record.event {
            b"MALLOC" => {
                let workspace = is_workspace(record, attributes);
                if workspace {
                    self.workspaces.extend(key());
                }
                Some(if workspace { WORKSPACE.as_bytes() } else { record.event_type })
            }
            b"FREE" => {
                let workspace = record.event_type == b"PTA"
                    && key().is_some_and(|key| {
                        let here = self.workspaces.remove(&key);
                        if !here {
                            self.open_frees.push((place, key));
                        }
                        here
                    });
                Some(if workspace { WORKSPACE.as_bytes() } else { record.event_type })
            }
            b"ACCESS" => attributes.text(Key::Type),
            _ => None,
        }
    }
}

/// Whether a condition holds for a record; for columns that none can be set on, it does.
#[inline]
fn holds(condition: &Condition, record: &Record<'_>) -> bool {
    match Event::ALL.get(condition.column) {
        Some(Event::Id) => condition.holds_for_number(Some(record.id)),
        Some(Event::Event) => condition.holds_for_text(Some(record.event)),
        Some(Event::EventType) => condition.holds_for_text(Some(record.event_type)),
        Some(Event::TsNs) => condition.holds_for_number(Some(record.time_ns())),
        Some(Event::Pid) => condition.holds_for_number(record.pid),
        Some(Event::Tid) => condition.holds_for_number(record.tid),
        Some(Event::Device) => condition.holds_for_text(record.device_name()),
        Some(Event::DeviceId) => condition.holds_for_number(device_id(record)),
        _ => true,
    }
}

/// Whether a MALLOC is one of the workspace pool: newer versions print it as PTA, and only the owner
/// tells.
#[inline]
pub(super) fn is_workspace(record: &Record<'_>, attributes: &Attributes<'_>) -> bool {
    record.event_type == b"PTA"
        && attributes.get(Key::Owner).is_some_and(|o| o.starts_with(WORKSPACE.as_bytes()))
}

/// The values of one record.
struct Values<'a> {
    record: &'a Record<'a>,
    attributes: &'a Attributes<'a>,
    not_numbers: u64,
}

impl Values<'_> {
    fn number(&mut self, key: Key) -> Option<i64> {
        let text = self.attributes.get(key)?;
        let value = number::integer(text);
        self.not_numbers += u64::from(value.is_none() && !number::is_absent(text));
        value
    }

    fn float(&mut self, key: Key) -> Option<f64> {
        let text = self.attributes.text(key)?;
        let value = std::str::from_utf8(text).ok().and_then(|t| t.parse().ok());
        self.not_numbers += u64::from(value.is_none() && !number::is_absent(text));
        value
    }

    #[inline]
    fn push(&mut self, column: Event, builder: &mut Column, row: u64) {
        let record = self.record;
        let attributes = self.attributes;
        let is = |events: &[&[u8]]| events.contains(&record.event);
        match column {
            Event::Id => builder.int(Some(record.id)),
            Event::Event => builder.text(Some(record.event)),
            Event::EventType => builder.text(Some(record.event_type)),
            Event::Name => builder.text(Some(record.name).filter(|n| *n != b"N/A")),
            Event::TsNs => builder.int(Some(record.time_ns())),
            Event::Pid => builder.int(record.pid),
            Event::Tid => builder.int(record.tid),
            Event::Device => builder.text(record.device_name()),
            Event::DeviceId => builder.int(device_id(record)),
            Event::Ptr => builder.int(number::integer(record.pointer)),
            Event::Attr => builder.text(Some(record.attributes).filter(|a| !matches!(*a, b"" | b"{}"))),
            Event::PyStack => builder.text(stack(record.py_stack).as_deref()),
            Event::CStack => builder.text(stack(record.c_stack).as_deref()),
            Event::AllocationId => builder.int(self.number(Key::AllocationId)),
            Event::Size => builder.int(self.number(Key::Size).map(i64::saturating_abs)),
            Event::PoolTotal if is(&[b"MALLOC", b"FREE"]) => builder.int(self.number(Key::Total)),
            Event::PoolUsed if is(&[b"MALLOC", b"FREE"]) => builder.int(self.number(Key::Used)),
            Event::ProcessUsed if is(&[b"MALLOC", b"FREE"]) => builder.int(self.number(Key::ProcessUsed)),
            Event::DeviceUsed if is(&[b"MALLOC", b"FREE"]) => {
                builder.int(self.number(Key::DeviceUsed).filter(|n| *n != -1));
            }
            Event::PoolTotal | Event::PoolUsed | Event::ProcessUsed | Event::DeviceUsed => builder.int(None),
            Event::Owner => builder.text(owner(attributes)),
            Event::Role => builder.text(owner(attributes).and_then(role).map(str::as_bytes)),
            Event::InefficientType => builder.text(attributes.text(Key::Inefficient)),
            Event::Shadow => builder.bool(Some(attributes.is_true(Key::Shadow))),
            Event::Pinned => builder.bool(attributes.is_true(Key::Pinned).then_some(true)),
            Event::PageType => builder.text(attributes.get(Key::PageType)),
            Event::AllocType => builder.text(attributes.get(Key::AllocType)),
            Event::ModuleId => builder.int(self.number(Key::Module)),
            Event::Dtype => builder.text(attributes.get(Key::Dtype)),
            Event::Shape => builder.text(attributes.get(Key::Shape)),
            Event::Format => builder.text(attributes.get(Key::Format)),
            Event::OpPath => builder.text(attributes.get(Key::Path)),
            Event::WorkspacePtr => builder.text(attributes.text(Key::WorkspacePtr)),
            Event::WorkspaceSize => builder.int(self.number(Key::WorkspaceSize)),
            Event::StreamId => builder.int(self.number(Key::Stream)),
            Event::TaskId => builder.int(self.number(Key::Task)),
            Event::DeviceTotal | Event::DeviceFree if is(&[b"SNAPSHOT", b"SYSTEM"]) => {
                builder.int(self.number(if column == Event::DeviceTotal { Key::Total } else { Key::Free }));
            }
            Event::Reserved if is(&[b"SNAPSHOT"]) => builder.int(self.number(Key::Reserved)),
            Event::MaxReserved if is(&[b"SNAPSHOT"]) => builder.int(self.number(Key::MaxReserved)),
            Event::Allocated if is(&[b"SNAPSHOT"]) => builder.int(self.number(Key::Allocated)),
            Event::MaxAllocated if is(&[b"SNAPSHOT"]) => builder.int(self.number(Key::MaxAllocated)),
            Event::DeviceTotal
            | Event::DeviceFree
            | Event::Reserved
            | Event::MaxReserved
            | Event::Allocated
            | Event::MaxAllocated => builder.int(None),
            Event::DeviceRate if is(&[b"SNAPSHOT"]) => builder.float(self.float(Key::DeviceRate)),
            Event::ReservedRate if is(&[b"SNAPSHOT"]) => builder.float(self.float(Key::ReservedRate)),
            Event::DeviceRate | Event::ReservedRate => builder.float(None),
            Event::OomFunc | Event::OomPool if is(&[b"OOM_DETAIL"]) => {
                builder.text(attributes.get(if column == Event::OomFunc { Key::Func } else { Key::Pool }));
            }
            Event::OomFunc | Event::OomPool => builder.text(None),
            Event::OomRequest if is(&[b"OOM_DETAIL"]) => builder.int(self.number(Key::Request)),
            Event::OomFlag if is(&[b"OOM_DETAIL"]) => builder.int(self.number(Key::Flag)),
            Event::OomRet if is(&[b"OOM_DETAIL"]) => builder.int(self.number(Key::Return)),
            Event::OomPtr if is(&[b"OOM_DETAIL"]) => builder.int(self.number(Key::Ptr)),
            Event::OomAllocTs if is(&[b"OOM_DETAIL"]) => builder.int(self.number(Key::Timestamp)),
            Event::OomRequest | Event::OomFlag | Event::OomRet | Event::OomPtr | Event::OomAllocTs => {
                builder.int(None);
            }
            Event::RowNo => builder.int(Some(i64::try_from(row).unwrap_or(i64::MAX).saturating_add(1))),
            Event::Pool | Event::RunDir | Event::RunPid | Event::File | Event::SourcePath => {}
        }
    }
}

/// The number of the card, when the device is one.
pub(super) fn device_id(record: &Record<'_>) -> Option<i64> {
    let (id, rest) = number::leading(record.device)?;
    if rest.is_empty() { i64::try_from(id).ok() } else { None }
}

/// The owner without the empty level in front of it.
#[inline]
pub(super) fn owner<'a>(attributes: &Attributes<'a>) -> Option<&'a [u8]> {
    let mut owner = attributes.text(Key::Owner)?;
    while let Some(rest) = owner.strip_prefix(b"@") {
        owner = rest;
    }
    Some(owner)
}

/// What the process does for the job, as far as an owner tells: `rollout` for vLLM, `train` for FSDP.
pub(super) fn role(owner: &[u8]) -> Option<&'static str> {
    owner.split(|b| *b == b'@').find_map(|level| {
        if level.starts_with(b"vllm") {
            Some("rollout")
        } else if level.starts_with(b"fsdp") {
            Some("train")
        } else {
            None
        }
    })
}

/// A stack as text: NULL where there is none (the tool then writes `NA`), without the CR that some
/// editors put at the end of lines.
#[inline]
pub(super) fn stack(text: &[u8]) -> Option<Cow<'_, [u8]>> {
    if matches!(text, b"" | b"NA" | b"N/A") {
        return None;
    }
    if memchr::memchr(b'\r', text).is_none() {
        return Some(Cow::Borrowed(text));
    }
    let mut out = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|b| *b == b'\n') {
        match line.strip_suffix(b"\r\n") {
            Some(line) => {
                out.extend_from_slice(line);
                out.push(b'\n');
            }
            None => out.extend_from_slice(line),
        }
    }
    Some(Cow::Owned(out))
}
