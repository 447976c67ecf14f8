//! `memscope_events`: one row for each event.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, BooleanArray, Int64Array, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;
use datafusion::arrow::datatypes::{Int64Type, SchemaRef};

use crate::source::{
    DataError, Finding, Format, Host, KeyColumn, Layout, ReadError, ReadRequest, Root, Unit, UnitReader,
};

use super::columns::{UnitColumns, batch_of, repeated};
use super::event_columns::{BlockKey, CONDITION_COLUMNS, EventCollect, EventPiece, WORKSPACE};
use super::faults::Varieties;
use super::layout;
use super::rows::{Piece, UnitRows};
use super::schema::{Event, KEY_COLUMNS};

/// The format behind `memscope_events`.
///
/// A unit is a process. Of events without a device, which the tool writes into each file of a
/// process, the first file that holds them gives the row; files are read in the order of the numbers
/// of their devices.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeEvents;

impl Format for MemscopeEvents {
    fn name(&self) -> &'static str {
        "memscope_events"
    }

    fn schema(&self) -> SchemaRef {
        Event::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn condition_columns(&self) -> &'static [usize] {
        &CONDITION_COLUMNS
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
        Ok(Box::new(EventReader::new(unit, request, UnitRows::new(unit), host)?))
    }
}

/// Reads the events of one process.
pub(super) struct EventReader {
    rows: UnitRows<EventPiece>,
    collect: Arc<EventCollect>,
    columns: UnitColumns,
    /// What the files are called.
    names: Vec<String>,
    paths: Vec<PathBuf>,
    schema: SchemaRef,
    threads: usize,
    most: usize,
    host: Arc<dyn Host>,
    /// Workspace blocks that are not freed yet.
    workspaces: HashSet<BlockKey>,
    repeats: Repeats,
    ready: VecDeque<RecordBatch>,
    done: bool,
}

/// Which events without a device were met.
#[derive(Debug, Default)]
pub(super) struct Repeats {
    file: usize,
    /// In earlier files.
    earlier: HashSet<BlockKey>,
    /// In the current file.
    current: Vec<BlockKey>,
}

impl Repeats {
    /// Whether an earlier file held this event too.
    pub(super) fn is_repeated(&mut self, file: usize, key: BlockKey) -> bool {
        if file != self.file {
            self.file = file;
            self.earlier.extend(self.current.drain(..));
        }
        let repeated = self.earlier.contains(&key);
        if !repeated {
            self.current.push(key);
        }
        repeated
    }
}

impl EventReader {
    pub(super) fn new(
        unit: &Unit,
        request: &ReadRequest,
        rows: UnitRows<EventPiece>,
        host: Arc<dyn Host>,
    ) -> Result<Self, ReadError> {
        let names = layout::file_names(unit);
        Ok(Self {
            rows,
            collect: Arc::new(EventCollect::new(request, names.len() > 1)),
            columns: UnitColumns::new(unit),
            names,
            paths: unit.files.iter().map(|f| f.path.clone()).collect(),
            schema: Arc::new(Event::schema().project(&request.projection)?),
            threads: if request.limit.is_some() { 1 } else { request.threads },
            most: request.batch_rows.max(1),
            host,
            workspaces: HashSet::new(),
            repeats: Repeats::default(),
            ready: VecDeque::new(),
            done: false,
        })
    }

    /// The rows of a piece, with what only the pieces before it tell.
    fn batch(&mut self, piece: Piece<EventPiece>) -> Result<RecordBatch, ReadError> {
        let Piece { file, rows_before, output } = piece;
        let EventPiece { rows, arrays, pool, workspaces, open_frees, device_less } = output;
        let pool = match pool {
            Some(mut pool) => {
                for (row, key) in open_frees {
                    if !self.workspaces.is_empty() && self.workspaces.remove(&key) {
                        row.into_iter().for_each(|row| pool.set(row, WORKSPACE));
                    }
                }
                self.workspaces.extend(workspaces);
                Some(pool.finish()?)
            }
            None => None,
        };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(arrays.len() + 2);
        for column in self.collect.projection() {
            let made = arrays.iter().find(|(c, _)| *c == column).map(|(_, array)| array);
            columns.push(match (column, made) {
                (Event::RowNo, Some(numbers)) => shifted(numbers, rows_before),
                (_, Some(array)) => Arc::clone(array),
                (Event::RunDir, _) => self.columns.run_dir(rows)?,
                (Event::RunPid, _) => self.columns.run_pid(rows),
                (Event::SourcePath, _) => self.columns.source_path(rows)?,
                (Event::File, _) => repeated(self.names.get(file).map_or("", String::as_str), rows)?,
                (_, None) => match &pool {
                    Some(pool) => Arc::clone(pool),
                    None => continue,
                },
            });
        }
        let repeated: Vec<usize> = device_less
            .into_iter()
            .filter_map(|(row, key)| if self.repeats.is_repeated(file, key) { row } else { None })
            .collect();
        let batch = batch_of(&self.schema, columns, rows)?;
        if repeated.is_empty() {
            return Ok(batch);
        }
        if let Some(path) = self.paths.get(file) {
            let repeated = repeated.len() as u64;
            Varieties { repeated, ..Varieties::default() }.report(path, self.host.as_ref())?;
        }
        if batch.num_columns() == 0 {
            return batch_of(&self.schema, vec![], rows - repeated.len());
        }
        let mut keep = vec![true; rows];
        for row in repeated {
            if let Some(keep) = keep.get_mut(row) {
                *keep = false;
            }
        }
        Ok(filter_record_batch(&batch, &BooleanArray::from(keep))?)
    }
}

fn shifted(numbers: &ArrayRef, by: i64) -> ArrayRef {
    match numbers.as_any().downcast_ref::<Int64Array>() {
        Some(numbers) if by != 0 => Arc::new(numbers.unary::<_, Int64Type>(|n| n.saturating_add(by))),
        _ => Arc::clone(numbers),
    }
}

/// Takes at most `most` rows from what is ready.
pub(super) fn take_ready(ready: &mut VecDeque<RecordBatch>, most: usize) -> Option<RecordBatch> {
    let batch = ready.pop_front()?;
    if batch.num_rows() <= most {
        return Some(batch);
    }
    ready.push_front(batch.slice(most, batch.num_rows() - most));
    Some(batch.slice(0, most))
}

impl UnitReader for EventReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        loop {
            if let Some(batch) = take_ready(&mut self.ready, self.most) {
                return Ok(Some(batch));
            }
            if self.done {
                return Ok(None);
            }
            let host = Arc::clone(&self.host);
            match self.rows.next_piece(&self.collect, self.threads, host.as_ref())? {
                Some(piece) => {
                    let batch = self.batch(piece)?;
                    self.ready.extend((batch.num_rows() > 0).then_some(batch));
                }
                None => self.done = true,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of more than 2^31 rows would be too large for a test.
    #[test]
    fn rows_are_numbered_beyond_32_bits() {
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        for before in [0, 1 << 31, 1 << 32, 1 << 40] {
            let expected: ArrayRef = Arc::new(Int64Array::from(vec![before + 1, before + 2]));
            assert_eq!(&shifted(&numbers, before), &expected);
        }
    }
}
