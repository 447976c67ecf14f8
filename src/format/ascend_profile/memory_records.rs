//! `memory_records`: the level of device memory over time.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};
use crate::text::csv::CsvBlock;

use super::columns::{UnitColumns, record_batch};
use super::csv_files::{Built, CsvFiles, CsvTable};
use super::layout::{self, DB, MEMORY_RECORD, PROFILER_DB};
use super::memory_record::MemoryRecordTable;
use super::profiler_db::ProfilerDb;
use super::records::RecordBlock;
use super::schema::{KEY_COLUMNS, Record, Wanted, record_schema};

/// The format behind `memory_records`.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemoryRecords;

impl Format for MemoryRecords {
    fn name(&self) -> &'static str {
        "memory_records"
    }

    fn schema(&self) -> SchemaRef {
        record_schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        layout::discover(self.name(), roots, MEMORY_RECORD)
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        if unit.form == DB || unit.file(MEMORY_RECORD).is_some() {
            return vec![];
        }
        let message = "file not found: there is no level over time (was the job recorded with profile_memory=True?)";
        vec![layout::missing_table(layout::output_directory(unit), "memory_record.csv", message)]
    }

    fn open(&self, unit: &Unit, request: &ReadRequest, host: Arc<dyn Host>) -> Result<Box<dyn UnitReader>, ReadError> {
        let table = Levels {
            wanted: Wanted::new(&request.projection),
            schema: Arc::new(record_schema().project(&request.projection)?),
            projection: request.projection.clone(),
            columns: UnitColumns::new(unit),
        };
        let (unit, request) = (unit.clone(), request.clone());
        Ok(Box::new(RecordReader { unit, request, host, table, rows: Rows::Start, ready: VecDeque::new() }))
    }
}

/// Reads the records of one profile.
struct RecordReader {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    table: Levels,
    rows: Rows,
    ready: VecDeque<RecordBatch>,
}

enum Rows {
    Start,
    Text(CsvFiles<MemoryRecordTable>),
    Db(Box<ProfilerDb>),
    Done,
}

impl UnitReader for RecordReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if let Some(batch) = self.ready.pop_front() {
                let most = self.request.batch_rows.max(1);
                if batch.num_rows() > most {
                    self.ready.push_front(batch.slice(most, batch.num_rows() - most));
                    return Ok(Some(batch.slice(0, most)));
                }
                return Ok(Some(batch));
            }
            if self.host.stopped() {
                return Err(ReadError::Stopped);
            }
            let host = self.host.as_ref();
            match &mut self.rows {
                Rows::Done => return Ok(None),
                Rows::Start => self.rows = start(&self.unit, host)?,
                Rows::Text(files) => {
                    let threads = if self.request.limit.is_some() { 1 } else { self.request.threads };
                    let row_no = Record::RowNo.index();
                    match files.next_round(&self.table, threads, &self.request.projection, row_no, host)? {
                        Some(batches) => self.ready.extend(batches.into_iter().filter(|b| b.num_rows() > 0)),
                        None => self.rows = Rows::Done,
                    }
                }
                Rows::Db(db) => {
                    let mut block = RecordBlock::new(self.table.wanted, 0);
                    let most = self.request.batch_rows.clamp(1, 8192);
                    let more = db.next_records(most, host, &mut |r| block.push(r))?;
                    let batch = self.table.batch(block)?;
                    self.ready.extend((batch.num_rows() > 0).then_some(batch));
                    if !more {
                        self.rows = Rows::Done;
                    }
                }
            }
        }
    }
}

fn start(unit: &Unit, host: &dyn Host) -> Result<Rows, ReadError> {
    if unit.form == DB {
        let Some(file) = unit.file(PROFILER_DB) else { return Ok(Rows::Done) };
        let db = ProfilerDb::open(&file.path, host)?;
        return Ok(db.map_or(Rows::Done, |db| Rows::Db(Box::new(db))));
    }
    Ok(Rows::Text(CsvFiles::new(unit.parts(MEMORY_RECORD).map(|f| f.path.clone()))))
}

/// What turns records into batches.
struct Levels {
    wanted: Wanted,
    schema: SchemaRef,
    projection: Vec<usize>,
    columns: UnitColumns,
}

impl Levels {
    fn batch(&self, block: RecordBlock) -> Result<RecordBatch, ReadError> {
        record_batch(&self.schema, &self.projection, block, &self.columns)
    }
}

impl CsvTable for Levels {
    type Open = MemoryRecordTable;

    fn start(&self, path: &Path, first: &mut CsvBlock, host: &dyn Host) -> Result<Option<MemoryRecordTable>, ReadError> {
        MemoryRecordTable::start(path, first, self.wanted, host)
    }

    fn build(&self, open: &MemoryRecordTable, block: &CsvBlock) -> Result<Built, ReadError> {
        let (records, faults, open) = open.rows(block);
        Ok(Built { batch: self.batch(records)?, faults, open })
    }
}
