//! `memory_record.csv`: the level of device memory, one moment a row.
//!
//! Writers since 2023 (5 columns) and 2024 (7), and CANN's msprof (KB instead of MB).

use std::cell::Cell;
use std::path::{Path, PathBuf};

use crate::source::{Host, Kind, ReadError};
use crate::text::csv::{CsvBlock, Records, Step};

use super::records::{LevelRecord, RecordBlock};
use super::schema::{Record, Wanted};
use super::table_csv::{BadCell, BlockFaults, Expected, Header, Row, RowFaults, Varieties, or_null};

const KB: f64 = 1024.0;
const COMPONENT: usize = 0;
const TIME: usize = 1;
const ALLOCATED: usize = 2;
const RESERVED: usize = 3;
const ACTIVE: usize = 4;
const STREAM: usize = 5;
const DEVICE: usize = 6;

const EXPECTED: &[Expected] = &[
    Expected { names: &[("Component", 1.0)], required: true },
    Expected { names: &[("Timestamp(us)", 1.0)], required: true },
    Expected { names: &[("Total Allocated(MB)", 1.0), ("Total Allocated(KB)", KB)], required: false },
    Expected { names: &[("Total Reserved(MB)", 1.0), ("Total Reserved(KB)", KB)], required: false },
    Expected { names: &[("Total Active(MB)", 1.0), ("Total Active(KB)", KB)], required: false },
    Expected { names: &[("Stream Ptr", 1.0)], required: false },
    Expected { names: &[("Device Type", 1.0), ("Device", 1.0)], required: false },
];

/// The header of one file, with what is needed to read its blocks.
#[derive(Debug, Clone)]
pub(super) struct MemoryRecordTable {
    path: PathBuf,
    header: Header,
    wanted: Wanted,
}

impl MemoryRecordTable {
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

    /// Reads the rows of a block: what they are, what was found, and where a record is open at the
    /// end of the block. Blocks may be read in parallel.
    pub(super) fn rows(&self, block: &CsvBlock) -> (RecordBlock, BlockFaults, Option<usize>) {
        let mut out = RecordBlock::new(self.wanted, block.bytes.len() / 64);
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
            let (component, device) = (row.text(COMPONENT), row.text(DEVICE));
            let mut record = LevelRecord {
                component: &component,
                device_type: &device,
                row_no: rows_read,
                ..LevelRecord::default()
            };
            if let Err(bad) = fill(&row, &mut record) {
                faults.leave_out(at, Kind::BadValue, bad.message());
                continue;
            }
            if self.wanted.record(Record::StreamPtr) {
                record.stream_ptr =
                    or_null(row.integer(STREAM, "Stream Ptr"), &mut |bad| faults.leave_out_cell(at, bad));
            }
            out.push(&record);
        };
        (out, faults.finish(&varieties.get(), rows_read), open)
    }
}

/// The cells that decide whether there is a row.
fn fill(row: &Row<'_>, record: &mut LevelRecord<'_>) -> Result<(), BadCell> {
    let time = row.time(TIME, "Timestamp(us)")?;
    (record.time_ns, record.time_ms) =
        time.ok_or_else(|| BadCell::new("Timestamp(us)", b"", "a time in microseconds"))?;
    let names = ["Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)"];
    for ((slot, column), name) in record.totals_mb.iter_mut().zip([ALLOCATED, RESERVED, ACTIVE]).zip(names) {
        *slot = row.number(column, name)?;
    }
    Ok(())
}
