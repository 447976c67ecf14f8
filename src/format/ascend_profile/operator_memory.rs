//! `operator_memory.csv`: one allocation a row.
//!
//! Read by column name, so that all known writers are covered: torch_npu of 2023 (10 columns) and
//! since 2024 (15), MindSpore (`N/A` for missing cells), CANN's msprof (KB instead of MB, no release
//! time). Which cells decide about a row is the reference's rule: size, allocation time, duration
//! and the three allocation totals; a bad cell elsewhere costs only that cell.

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::source::{Host, Kind, ReadError};
use crate::text::csv::{CsvBlock, Records, Step};

use super::allocations::{Allocation, AllocationBlock};
use super::schema::{Event, Wanted};
use super::table_csv::{BadCell, BlockFaults, Expected, Header, Row, RowFaults, Varieties, or_null};

const KB: f64 = 1024.0;

const NAME: usize = 0;
const SIZE: usize = 1;
const START: usize = 2;
const RELEASE: usize = 3;
const ACTIVE_RELEASE: usize = 4;
const DURATION: usize = 5;
const ACTIVE_DURATION: usize = 6;
const ALLOCATED: usize = 7;
const RESERVED: usize = 8;
const ACTIVE: usize = 9;
const RELEASE_ALLOCATED: usize = 10;
const RELEASE_RESERVED: usize = 11;
const RELEASE_ACTIVE: usize = 12;
const STREAM: usize = 13;
const DEVICE: usize = 14;

/// The columns by the constants above.
const EXPECTED: &[Expected] = &[
    Expected { names: &[("Name", 1.0)], required: true },
    Expected { names: &[("Size(KB)", 1.0)], required: true },
    Expected { names: &[("Allocation Time(us)", 1.0)], required: true },
    Expected { names: &[("Release Time(us)", 1.0)], required: false },
    Expected { names: &[("Active Release Time(us)", 1.0)], required: false },
    Expected { names: &[("Duration(us)", 1.0)], required: false },
    Expected { names: &[("Active Duration(us)", 1.0)], required: false },
    Expected {
        names: &[("Allocation Total Allocated(MB)", 1.0), ("Allocation Total Allocated(KB)", KB)],
        required: false,
    },
    Expected {
        names: &[("Allocation Total Reserved(MB)", 1.0), ("Allocation Total Reserved(KB)", KB)],
        required: false,
    },
    Expected {
        names: &[("Allocation Total Active(MB)", 1.0), ("Allocation Total Active(KB)", KB)],
        required: false,
    },
    Expected {
        names: &[("Release Total Allocated(MB)", 1.0), ("Release Total Allocated(KB)", KB)],
        required: false,
    },
    Expected {
        names: &[("Release Total Reserved(MB)", 1.0), ("Release Total Reserved(KB)", KB)],
        required: false,
    },
    Expected {
        names: &[("Release Total Active(MB)", 1.0), ("Release Total Active(KB)", KB)],
        required: false,
    },
    Expected { names: &[("Stream Ptr", 1.0)], required: false },
    Expected { names: &[("Device Type", 1.0), ("Device", 1.0)], required: false },
];

/// The header of one file, with what is needed to read its blocks.
#[derive(Debug, Clone)]
pub(super) struct OperatorMemory {
    path: PathBuf,
    header: Header,
    wanted: Wanted,
}

/// What one block gave.
#[derive(Debug)]
pub(super) struct BlockRows {
    /// The allocations; `row_no` counts from 1 within the block.
    pub(super) allocations: AllocationBlock,
    /// What was found, to be reported once the block counts.
    pub(super) faults: BlockFaults,
    /// Where a record is open at the end of the block, if one is: the block ended too early.
    pub(super) open: Option<usize>,
}

impl OperatorMemory {
    /// Reads the header from the first block and cuts it off.
    ///
    /// `None` when the file cannot be read as this table, which was reported.
    ///
    /// # Errors
    /// [`ReadError::Refused`] when the host refuses to go on without the file.
    pub(super) fn start(
        path: &Path,
        first: &mut CsvBlock,
        wanted: Wanted,
        host: &dyn Host,
    ) -> Result<Option<Self>, ReadError> {
        let header = Header::take(first, path, EXPECTED, host)?;
        Ok(header.map(|header| Self { path: path.to_path_buf(), header, wanted }))
    }

    /// Reads the rows of a block. Blocks may be read in parallel.
    pub(super) fn rows(&self, block: &CsvBlock) -> BlockRows {
        let mut allocations = AllocationBlock::new(self.wanted, block.bytes.len() / 128);
        let mut records = Records::new(block);
        let varieties = Cell::new(Varieties::default());
        let mut faults = RowFaults::new(block, &self.path);
        let mut rows_read = 0i64;
        let open = loop {
            let at = match records.advance() {
                Step::Record(at) => at,
                Step::Open(at) => break Some(at),
                Step::End => break None,
            };
            let row = Row::new(&self.header, &records, &varieties);
            match row.shape() {
                Ok(true) => rows_read += 1,
                Ok(false) => continue,
                Err(message) => {
                    rows_read += 1;
                    faults.leave_out(at, Kind::BadRow, message);
                    continue;
                }
            }
            let name = row.text(NAME);
            let device = if self.wanted.event(Event::DeviceType) { row.text(DEVICE) } else { "".into() };
            let mut allocation =
                Allocation { name: &name, device_type: &device, row_no: rows_read, ..Allocation::default() };
            if let Err(bad) = self.deciding_cells(&row, &mut allocation) {
                faults.leave_out(at, Kind::BadValue, bad.message());
                continue;
            }
            self.optional_cells(&row, &mut allocation, &mut |bad| faults.leave_out_cell(at, bad));
            allocations.push(&allocation);
        };
        BlockRows { allocations, faults: faults.finish(&varieties.get(), rows_read), open }
    }

    /// The cells that decide whether there is a row, whatever the query asks for: so the same rows
    /// come out of every query.
    fn deciding_cells(&self, row: &Row<'_>, a: &mut Allocation<'_>) -> Result<(), BadCell> {
        a.size_kb = row.required_number(SIZE, "Size(KB)")?;
        // NaN is none of them either.
        let countable = a.size_kb.abs() * 1024.0 < i64::MAX as f64;
        if !countable {
            row.count(|v| v.uncountable += 1);
        }
        match row.time(START, "Allocation Time(us)")? {
            Some((ns, ms)) => (a.start_ns, a.start_ms) = (Some(ns), Some(ms)),
            // The documented release-only row: a negative size and empty allocation cells.
            None if a.size_kb < 0.0 => row.count(|v| v.release_only += 1),
            None => return Err(BadCell::new("Allocation Time(us)", b"", "a time in microseconds")),
        }
        a.duration_ms = row.number(DURATION, "Duration(us)")?.unwrap_or(0.0) / 1000.0;
        let totals = [
            (ALLOCATED, Event::TotalAllocatedMb, "Allocation Total Allocated(MB)"),
            (RESERVED, Event::TotalReservedMb, "Allocation Total Reserved(MB)"),
            (ACTIVE, Event::TotalActiveMb, "Allocation Total Active(MB)"),
        ];
        for (slot, (column, event, name)) in a.totals_mb.iter_mut().zip(totals) {
            if self.wanted.event(event) {
                *slot = row.number(column, name)?;
            } else {
                row.check_number(column, name)?;
            }
        }
        Ok(())
    }

    /// The cells that the reference does not read; each is made only when a query asks for it.
    fn optional_cells(&self, row: &Row<'_>, a: &mut Allocation<'_>, bad: &mut dyn FnMut(&BadCell)) {
        let wanted = |column: Event| self.wanted.event(column);
        if wanted(Event::ActiveDurationMs) {
            a.active_duration_ms =
                or_null(row.number(ACTIVE_DURATION, "Active Duration(us)"), bad).map(|us| us / 1000.0);
        }
        let totals = [
            (RELEASE_ALLOCATED, Event::ReleaseTotalAllocatedMb, "Release Total Allocated(MB)"),
            (RELEASE_RESERVED, Event::ReleaseTotalReservedMb, "Release Total Reserved(MB)"),
            (RELEASE_ACTIVE, Event::ReleaseTotalActiveMb, "Release Total Active(MB)"),
        ];
        for (slot, (column, event, name)) in a.release_totals_mb.iter_mut().zip(totals) {
            if wanted(event) {
                *slot = or_null(row.number(column, name), bad);
            }
        }
        if wanted(Event::ActiveReleaseTimeNs) {
            a.active_release_ns =
                or_null(row.time(ACTIVE_RELEASE, "Active Release Time(us)"), bad).map(|t| t.0);
        }
        if wanted(Event::StreamPtr) {
            a.stream_ptr = or_null(row.integer(STREAM, "Stream Ptr"), bad);
        }
        if wanted(Event::ReleaseTimeNs) || wanted(Event::Released) {
            a.release_ns = self.release(row, a, bad);
            a.released = a.release_ns.is_some();
        }
    }

    /// When the block was released, in ns.
    ///
    /// `cann::` rows that were never released carry their allocation time as release time and a
    /// duration of 0; files without a release time (msprof) tell it by the duration alone.
    fn release(&self, row: &Row<'_>, a: &Allocation<'_>, bad: &mut dyn FnMut(&BadCell)) -> Option<i64> {
        let at_once = a.duration_ms == 0.0;
        if self.header.has(RELEASE) {
            let time = or_null(row.time(RELEASE, "Release Time(us)"), bad)?.0;
            return (!(at_once && a.name.starts_with("cann::"))).then_some(time);
        }
        if at_once {
            return None;
        }
        let duration = or_null(row.time(DURATION, "Duration(us)"), bad)?.0;
        a.start_ns?.checked_add(duration)
    }
}
