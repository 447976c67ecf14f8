//! Level records column by column, as [`super::allocations`] does it for allocations.

use datafusion::arrow::array::{Float64Builder, Int64Builder};

use crate::text::interner::Interner;

use super::schema::{Record, Wanted};

/// One line of `memory_record.csv`: the level of memory at a moment.
#[derive(Debug, Clone, Copy, Default)]
pub struct LevelRecord<'a> {
    /// Who holds the memory.
    pub component: &'a str,
    /// Time in ns.
    pub time_ns: i64,
    /// Time in ms, through the float of microseconds as for allocations.
    pub time_ms: f64,
    /// Allocated, reserved and active in all, in MB.
    pub totals_mb: [Option<f64>; 3],
    /// Address of the stream.
    pub stream_ptr: Option<i64>,
    /// Device as written.
    pub device_type: &'a str,
    /// Number of the row in its file, from 1.
    pub row_no: i64,
}

/// Some records of one profile, in file order. Columns that nobody wants stay empty.
#[derive(Debug)]
pub struct RecordBlock {
    wanted: Wanted,
    rows: usize,
    /// Distinct components of the block.
    pub components: Interner,
    /// Per row: number in `components`.
    pub component: Vec<u32>,
    /// Distinct device texts of the block.
    pub devices: Interner,
    /// Per row: number in `devices`.
    pub device: Vec<u32>,
    floats: [Float64Builder; FLOATS.len()],
    ints: [Int64Builder; INTS.len()],
}

const FLOATS: [Record; 4] =
    [Record::TimestampMs, Record::TotalAllocatedMb, Record::TotalReservedMb, Record::TotalActiveMb];
const INTS: [Record; 3] = [Record::TimestampNs, Record::StreamPtr, Record::RowNo];

impl RecordBlock {
    /// An empty block for these columns, with room for `rows`.
    pub fn new(wanted: Wanted, rows: usize) -> Self {
        let room = |column: Record| if wanted.record(column) { rows } else { 0 };
        Self {
            wanted,
            rows: 0,
            components: Interner::new(),
            component: Vec::with_capacity(room(Record::Component)),
            devices: Interner::new(),
            device: Vec::with_capacity(room(Record::DeviceType)),
            floats: FLOATS.map(|c| Float64Builder::with_capacity(room(c))),
            ints: INTS.map(|c| Int64Builder::with_capacity(room(c))),
        }
    }

    /// Number of records.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Adds one record, of which only the wanted columns are kept.
    pub fn push(&mut self, record: &LevelRecord<'_>) {
        self.rows += 1;
        if self.wanted.record(Record::Component) {
            let id = self.components.intern(record.component);
            self.component.push(id);
        }
        if self.wanted.record(Record::DeviceType) {
            let id = self.devices.intern(record.device_type);
            self.device.push(id);
        }
        let [allocated, reserved, active] = record.totals_mb;
        let floats = [Some(record.time_ms), allocated, reserved, active];
        for ((column, builder), value) in FLOATS.into_iter().zip(&mut self.floats).zip(floats) {
            if self.wanted.record(column) {
                builder.append_option(value);
            }
        }
        let ints = [Some(record.time_ns), record.stream_ptr, Some(record.row_no)];
        for ((column, builder), value) in INTS.into_iter().zip(&mut self.ints).zip(ints) {
            if self.wanted.record(column) {
                builder.append_option(value);
            }
        }
    }

    /// The builder of a float column, or `None` when this is not one.
    pub fn float(&mut self, column: Record) -> Option<&mut Float64Builder> {
        FLOATS.iter().position(|c| *c == column).and_then(|i| self.floats.get_mut(i))
    }

    /// The builder of an integer column, or `None` when this is not one.
    pub fn int(&mut self, column: Record) -> Option<&mut Int64Builder> {
        INTS.iter().position(|c| *c == column).and_then(|i| self.ints.get_mut(i))
    }
}
