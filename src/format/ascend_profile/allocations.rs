//! Allocations column by column: what the CSV reader and the database reader fill, and what
//! matching and batch building work on.

use datafusion::arrow::array::{BooleanBuilder, Float64Builder, Int64Builder};

use crate::text::interner::Interner;

use super::schema::{Event, Wanted};

/// One allocation, as a file or database states it.
///
/// Times are exact nanoseconds, sizes and totals in the units of the table's columns. `start_ms` is
/// kept beside `start_ns` because the reference's value goes through a float of microseconds and
/// must be reproduced to the last bit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Allocation<'a> {
    /// Operator name, without surrounding white space.
    pub name: &'a str,
    /// Size in KB.
    pub size_kb: f64,
    /// Time of the allocation in ns; `None` for a release-only row.
    pub start_ns: Option<i64>,
    /// The same as the reference computes it: the float of the microseconds, divided by 1000.
    pub start_ms: Option<f64>,
    /// Duration in ms, 0 when there is none.
    pub duration_ms: f64,
    /// Allocated, reserved and active in all after the allocation, in MB.
    pub totals_mb: [Option<f64>; 3],
    /// Device as written.
    pub device_type: &'a str,
    /// Time of the release in ns.
    pub release_ns: Option<i64>,
    /// Time at which the block was no longer active, in ns.
    pub active_release_ns: Option<i64>,
    /// Whether it was released.
    pub released: bool,
    /// Active duration in ms.
    pub active_duration_ms: Option<f64>,
    /// Allocated, reserved and active in all after the release, in MB.
    pub release_totals_mb: [Option<f64>; 3],
    /// Address of the stream.
    pub stream_ptr: Option<i64>,
    /// Number of the row in its file, from 1.
    pub row_no: i64,
}

/// Some allocations of one profile, in file order. Columns that nobody wants stay empty.
#[derive(Debug)]
pub struct AllocationBlock {
    wanted: Wanted,
    rows: usize,
    /// Distinct operator names of the block.
    pub names: Interner,
    /// Per row: number in `names`. Always filled when the ops of the trace are wanted.
    pub name: Vec<u32>,
    /// Per row: time of the allocation in ns. Always filled when the ops of the trace are wanted.
    pub start_ns: Vec<Option<i64>>,
    /// Distinct device texts of the block.
    pub devices: Interner,
    /// Per row: number in `devices`.
    pub device: Vec<u32>,
    /// The float columns that are wanted, each with its place in [`FLOATS`].
    floats: Vec<(usize, Float64Builder)>,
    /// The integer columns that are wanted, each with its place in [`INTS`].
    ints: Vec<(usize, Int64Builder)>,
    /// Whether each allocation was released.
    pub released: BooleanBuilder,
}

const FLOATS: [Event; 10] = [
    Event::SizeKb,
    Event::StartTimeMs,
    Event::DurationMs,
    Event::TotalAllocatedMb,
    Event::TotalReservedMb,
    Event::TotalActiveMb,
    Event::ActiveDurationMs,
    Event::ReleaseTotalAllocatedMb,
    Event::ReleaseTotalReservedMb,
    Event::ReleaseTotalActiveMb,
];
const INTS: [Event; 4] = [Event::ReleaseTimeNs, Event::ActiveReleaseTimeNs, Event::StreamPtr, Event::RowNo];

impl AllocationBlock {
    /// An empty block for these columns, with room for `rows`.
    pub fn new(wanted: Wanted, rows: usize) -> Self {
        let room = |column: Event| if wanted.event(column) { rows } else { 0 };
        Self {
            wanted,
            rows: 0,
            names: Interner::new(),
            name: Vec::with_capacity(rows),
            start_ns: Vec::with_capacity(rows),
            devices: Interner::new(),
            device: Vec::with_capacity(room(Event::DeviceType)),
            floats: places(&FLOATS, wanted).map(|at| (at, Float64Builder::with_capacity(rows))).collect(),
            ints: places(&INTS, wanted).map(|at| (at, Int64Builder::with_capacity(rows))).collect(),
            released: BooleanBuilder::with_capacity(room(Event::Released)),
        }
    }

    /// Number of allocations.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }

    /// Adds one allocation, of which only the wanted columns are kept.
    pub fn push(&mut self, a: &Allocation<'_>) {
        self.rows += 1;
        if self.wanted.event(Event::Name) || self.wanted.ops() {
            let id = self.names.intern(a.name);
            self.name.push(id);
        }
        if self.wanted.event(Event::StartTimeNs) || self.wanted.ops() {
            self.start_ns.push(a.start_ns);
        }
        if self.wanted.event(Event::DeviceType) {
            let id = self.devices.intern(a.device_type);
            self.device.push(id);
        }
        let [allocated, reserved, active] = a.totals_mb;
        let [r_allocated, r_reserved, r_active] = a.release_totals_mb;
        let floats = [
            Some(a.size_kb),
            a.start_ms,
            Some(a.duration_ms),
            allocated,
            reserved,
            active,
            a.active_duration_ms,
            r_allocated,
            r_reserved,
            r_active,
        ];
        for (at, builder) in &mut self.floats {
            builder.append_option(floats.get(*at).copied().flatten());
        }
        let ints = [a.release_ns, a.active_release_ns, a.stream_ptr, Some(a.row_no)];
        for (at, builder) in &mut self.ints {
            builder.append_option(ints.get(*at).copied().flatten());
        }
        if self.wanted.event(Event::Released) {
            self.released.append_value(a.released);
        }
    }

    /// The builder of a float column that is wanted, or `None`.
    pub fn float(&mut self, column: Event) -> Option<&mut Float64Builder> {
        let place = FLOATS.iter().position(|c| *c == column)?;
        self.floats.iter_mut().find(|(at, _)| *at == place).map(|(_, builder)| builder)
    }

    /// The builder of an integer column that is stored as such, or `None`.
    pub fn int(&mut self, column: Event) -> Option<&mut Int64Builder> {
        let place = INTS.iter().position(|c| *c == column)?;
        self.ints.iter_mut().find(|(at, _)| *at == place).map(|(_, builder)| builder)
    }
}

/// The places of the columns that are wanted.
fn places(columns: &[Event], wanted: Wanted) -> impl Iterator<Item = usize> + '_ {
    columns.iter().enumerate().filter(move |(_, c)| wanted.event(**c)).map(|(at, _)| at)
}
