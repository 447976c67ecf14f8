//! Reads one table of one profile, from the text export or from the database.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;

use crate::source::{Host, ReadError, ReadRequest, Unit, UnitReader};

use super::csv_files::{CsvFiles, CsvTable};
use super::layout::{DB, PROFILER_DB};
use super::profiler_db::ProfilerDb;

/// A table that profiles hold as CSV files or in their database.
pub(super) trait ProfileTable: CsvTable + Send {
    /// [`crate::source::UnitFile::part`] of its CSV files.
    const PART: &'static str;
    /// Position of `row_no` in its schema.
    const ROW_NO: usize;

    /// Gets ready before the first row is read. `db` is the database, when the rows come from it.
    fn prepare(
        &mut self,
        unit: &Unit,
        db: Option<&ProfilerDb>,
        threads: usize,
        host: &dyn Host,
    ) -> Result<(), ReadError>;

    /// Whether blocks may be read in parallel already.
    fn may_run_ahead(&self) -> bool;

    /// The next rows of the database, at most so many, and whether there may be more.
    fn next_of_db(
        &self,
        db: &mut ProfilerDb,
        most: usize,
        host: &dyn Host,
    ) -> Result<(RecordBatch, bool), ReadError>;
}

/// Reads the rows of one profile.
pub(super) struct ProfileReader<T: ProfileTable> {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    table: T,
    rows: Rows<T::Open>,
    /// Batches that were built and not yet handed out.
    ready: VecDeque<RecordBatch>,
}

/// Where rows come from.
enum Rows<Open> {
    /// Nothing was opened yet.
    Start,
    /// From the text export.
    Text(CsvFiles<Open>),
    /// From the database.
    Db(Box<ProfilerDb>),
    /// There are no more.
    Done,
}

impl<T: ProfileTable> ProfileReader<T> {
    /// A reader that has not opened anything yet.
    pub(super) fn new(unit: &Unit, request: &ReadRequest, table: T, host: Arc<dyn Host>) -> Self {
        let (unit, request) = (unit.clone(), request.clone());
        Self { unit, request, host, table, rows: Rows::Start, ready: VecDeque::new() }
    }

    fn start(&mut self) -> Result<Rows<T::Open>, ReadError> {
        let (unit, host, threads) = (&self.unit, self.host.as_ref(), self.request.threads);
        if unit.form == DB {
            let Some(file) = unit.file(PROFILER_DB) else { return Ok(Rows::Done) };
            let Some(db) = ProfilerDb::open(&file.path, host)? else { return Ok(Rows::Done) };
            self.table.prepare(unit, Some(&db), threads, host)?;
            return Ok(Rows::Db(Box::new(db)));
        }
        self.table.prepare(unit, None, threads, host)?;
        Ok(Rows::Text(CsvFiles::new(unit.parts(T::PART).map(|f| f.path.clone()))))
    }

    /// Takes at most one batch's worth of rows from what is ready.
    fn take_ready(&mut self) -> Option<RecordBatch> {
        let batch = self.ready.pop_front()?;
        let most = self.request.batch_rows.max(1);
        if batch.num_rows() <= most {
            return Some(batch);
        }
        self.ready.push_front(batch.slice(most, batch.num_rows() - most));
        Some(batch.slice(0, most))
    }
}

impl<T: ProfileTable> UnitReader for ProfileReader<T> {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        /// Rows that are taken from the database at a time.
        const DB_ROWS: usize = 8192;
        loop {
            if let Some(batch) = self.take_ready() {
                return Ok(Some(batch));
            }
            if self.host.stopped() {
                return Err(ReadError::Stopped);
            }
            let host = self.host.as_ref();
            match &mut self.rows {
                Rows::Done => return Ok(None),
                Rows::Start => self.rows = self.start()?,
                Rows::Text(files) => {
                    let alone = self.request.limit.is_some() || !self.table.may_run_ahead();
                    let threads = if alone { 1 } else { self.request.threads };
                    match files.next_round(&self.table, threads, &self.request.projection, T::ROW_NO, host)? {
                        Some(batches) => self.ready.extend(batches.into_iter().filter(|b| b.num_rows() > 0)),
                        None => self.rows = Rows::Done,
                    }
                }
                Rows::Db(db) => {
                    let most = self.request.batch_rows.clamp(1, DB_ROWS);
                    let (batch, more) = self.table.next_of_db(db, most, host)?;
                    self.ready.extend((batch.num_rows() > 0).then_some(batch));
                    if !more {
                        self.rows = Rows::Done;
                    }
                }
            }
        }
    }
}
