//! `memory_records`: the level of device memory over time.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Kind, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};
use crate::text::csv::CsvBlock;

use super::columns::{UnitColumns, record_batch};
use super::csv_files::{Built, CsvTable};
use super::layout::{self, DB, MEMORY_RECORD, OPERATOR_MEMORY};
use super::memory_record::MemoryRecordTable;
use super::profiler_db::ProfilerDb;
use super::reader::{ProfileReader, ProfileTable};
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
        let mut layout = layout::discover(self.name(), roots, MEMORY_RECORD)?;
        // The profiler can leave this table out of a profile that is good otherwise. Where no profile
        // has it, the question is a mistake, and each of them says so.
        if layout.units.iter().any(|unit| !unit.files.is_empty()) {
            for unit in std::mem::take(&mut layout.units) {
                let file = || layout::output_directory(&unit).join("memory_record.csv");
                let lacks = || layout::has_table(&unit, OPERATOR_MEMORY);
                match unit.files.is_empty().then(lacks) {
                    None | Some(Ok(false)) => layout.units.push(unit),
                    Some(Ok(true)) => layout.findings.push(Finding::note(
                        Kind::Missing,
                        file(),
                        "file not found: this profile has no level over time",
                    )),
                    Some(Err(unlisted)) => layout.findings.push(unlisted),
                }
            }
        }
        Ok(layout)
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        let mut problems: Vec<Finding> = unit.problems().collect();
        if unit.form != DB && unit.file(MEMORY_RECORD).is_none() {
            let output = layout::output_directory(unit);
            let message = "file not found: there is no level over time (was the job recorded with profile_memory=True?)";
            problems.push(layout::missing_table(output, "memory_record.csv", message));
        }
        problems
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let table = Levels {
            wanted: Wanted::new(&request.projection),
            schema: Arc::new(record_schema().project(&request.projection)?),
            projection: request.projection.clone(),
            columns: UnitColumns::new(unit),
        };
        Ok(Box::new(ProfileReader::new(unit, request, table, host)))
    }
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

    fn start(
        &self,
        path: &Path,
        first: &mut CsvBlock,
        host: &dyn Host,
    ) -> Result<Option<MemoryRecordTable>, ReadError> {
        MemoryRecordTable::start(path, first, self.wanted, host)
    }

    fn build(&self, open: &MemoryRecordTable, block: &CsvBlock) -> Result<Built, ReadError> {
        let (records, faults, open) = open.rows(block);
        Ok(Built { batch: self.batch(records)?, faults, open })
    }
}

impl ProfileTable for Levels {
    const PART: &'static str = MEMORY_RECORD;
    const ROW_NO: usize = Record::RowNo as usize;

    fn prepare(&mut self, _: &Unit, _: Option<&ProfilerDb>, _: usize, _: &dyn Host) -> Result<(), ReadError> {
        Ok(())
    }

    fn may_run_ahead(&self) -> bool {
        true
    }

    fn next_of_db(
        &self,
        db: &mut ProfilerDb,
        most: usize,
        host: &dyn Host,
    ) -> Result<(RecordBatch, bool), ReadError> {
        let mut block = RecordBlock::new(self.wanted, 0);
        let more = db.next_records(most, host, &mut |record| block.push(record))?;
        Ok((self.batch(block)?, more))
    }
}
