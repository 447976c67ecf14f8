//! What a format must be able to do, and what it may expect from whoever drives it.

use std::any::Any;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::{Condition, DataError, Finding, InputFile, KeyColumn, Layout, Root, Unit};

/// A diagnostic format that is read as one table.
///
/// It is [`Any`], so that an export can ask the format that it is made for what a schema cannot say.
pub trait Format: Any + fmt::Debug + Send + Sync {
    /// Name of the table function, for messages and EXPLAIN.
    fn name(&self) -> &'static str;

    /// All columns. Fixed: it never depends on the data.
    fn schema(&self) -> SchemaRef;

    /// The columns that have one value per unit; units are sorted by them, in this order.
    ///
    /// `source_path` is known for every unit and is not listed here.
    fn key_columns(&self) -> &'static [KeyColumn];

    /// The columns, by index, whose conditions ([`ReadRequest::conditions`]) the readers decide: they
    /// leave out every row for which one does not hold. None, unless a format says otherwise.
    fn condition_columns(&self) -> &'static [usize] {
        &[]
    }

    /// Lists the units below the roots without opening their data files.
    ///
    /// # Errors
    /// When a root holds nothing that this format can read; the message says what was looked for.
    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError>;

    /// The problems of a unit that can be told from the listing alone, given the columns that are
    /// asked for: those seen while listing ([`Unit::problems`]), and files that are missing.
    fn known_problems(&self, unit: &Unit, projection: &[usize]) -> Vec<Finding>;

    /// Starts reading one unit. Opens files only when they are needed for the projection.
    ///
    /// # Errors
    /// As [`UnitReader::next_batch`].
    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError>;
}

/// Reads one unit, batch by batch.
pub trait UnitReader: Send {
    /// The next rows, in the order in which they stand in the unit, with exactly the projected
    /// columns; `None` at the end.
    ///
    /// # Errors
    /// [`ReadError::Stopped`] when the consumer is gone, [`ReadError::Memory`] when the budget is
    /// used up, [`ReadError::Refused`] when the host refused to go on after a problem.
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError>;
}

/// What a scan wants from a unit.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ReadRequest {
    /// Indices into [`Format::schema`], in output order. May be empty: only the number of rows counts.
    pub projection: Vec<usize>,
    /// What must hold for a row, all of it. Only on columns of [`Format::condition_columns`], which need
    /// not be projected.
    pub conditions: Vec<Condition>,
    /// The largest number of rows in a batch; at least 1.
    pub batch_rows: usize,
    /// Stop after this many rows.
    pub limit: Option<usize>,
    /// How many threads may work on this one unit at the same time; at least 1.
    pub threads: usize,
}

impl ReadRequest {
    /// A request for these columns of all rows, with one thread, batches of 8192 rows and no limit.
    pub fn new(projection: Vec<usize>) -> Self {
        Self { projection, conditions: vec![], batch_rows: 8192, limit: None, threads: 1 }
    }

    /// Whether this column of the format's schema is asked for.
    pub fn wants(&self, column: usize) -> bool {
        self.projection.contains(&column)
    }
}

/// What a reader counts for EXPLAIN ANALYZE and `diagnostics`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Counter {
    /// Files that were opened.
    FilesOpened,
    /// Bytes that were read from files (compressed size for compressed files).
    BytesRead,
    /// Rows (records) met in the input.
    RowsRead,
    /// Rows that were left out because something in them is wrong.
    RowsLeftOut,
    /// Trace events or similar side records that were looked at.
    EventsRead,
    /// Entries of a dump that have no rows because the mapping took out of their keys what tells a forward
    /// call from a backward one.
    MarkersLost,
}

/// The side of the scan that a reader talks to. Shared by all threads that work on a unit.
pub trait Host: Send + Sync {
    /// True as soon as nobody wants the rows any more. To be asked every few thousand records.
    fn stopped(&self) -> bool;

    /// Reserves memory for something that grows with the input.
    ///
    /// # Errors
    /// [`ReadError::Memory`] when the budget does not allow it.
    fn reserve(&self, bytes: usize) -> Result<(), ReadError>;

    /// Counts for EXPLAIN ANALYZE.
    fn count(&self, counter: Counter, n: u64);

    /// Tells that a file was opened, before it is read. A host that knows the size that the file had when
    /// it was listed reports one that has become shorter: it is being written anew, and its rows may be
    /// only the first ones.
    ///
    /// # Errors
    /// As [`Host::report`].
    fn opened(&self, _: &InputFile) -> Result<(), ReadError> {
        self.count(Counter::FilesOpened, 1);
        Ok(())
    }

    /// Tells about something odd or wrong.
    ///
    /// # Errors
    /// [`ReadError::Refused`] for a problem in a strict scan: the reader returns it at once.
    /// `Ok` means: leave out the smallest bad piece and go on.
    fn report(&self, finding: Finding) -> Result<(), ReadError>;
}

/// Why reading ended early.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The consumer is gone.
    Stopped,
    /// A problem was reported to a strict host, which remembers it.
    Refused,
    /// The memory budget is used up; the error of the memory pool, kept as it is.
    Memory(Box<dyn std::error::Error + Send + Sync>),
    /// A batch could not be built: a fault of ours.
    Arrow(ArrowError),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::Stopped => f.write_str("stopped"),
            ReadError::Refused => f.write_str("stopped at a problem in the input"),
            ReadError::Memory(e) => write!(f, "{e}"),
            ReadError::Arrow(e) => write!(f, "{e}"),
        }
    }
}

impl std::error::Error for ReadError {}

impl From<ArrowError> for ReadError {
    fn from(e: ArrowError) -> Self {
        ReadError::Arrow(e)
    }
}
