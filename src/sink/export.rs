//! What an export must be able to do.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::Result;
use datafusion::physical_expr::LexRequirement;
use datafusion::physical_plan::ExecutionPlan;

use super::SinkError;

/// An option of an export, given as `OPTIONS (name 'value')`.
#[derive(Debug, Clone, Copy)]
pub struct ExportOption {
    /// Its name.
    pub name: &'static str,
    /// The values it takes; nothing means any text. The first is the default.
    pub values: &'static [&'static str],
    /// What it does, in one line.
    pub purpose: &'static str,
}

/// Something that `COPY (query) TO 'file' STORED AS <name>` can write.
pub trait Export: fmt::Debug + Send + Sync {
    /// The name, in capital letters.
    fn name(&self) -> &'static str;

    /// What it writes, in one line.
    fn purpose(&self) -> &'static str;

    /// The options it takes.
    fn options(&self) -> &'static [ExportOption];

    /// Plans an export of the rows of `input`. Nothing is written yet.
    ///
    /// # Errors
    /// A plan error when the columns of the query do not suit, naming them.
    fn plan(&self, input: Arc<dyn ExecutionPlan>, request: ExportRequest) -> Result<ExportPlan>;
}

/// What a COPY asks for besides the rows.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ExportRequest {
    /// The file to write.
    pub target: PathBuf,
    /// Options that were checked against [`Export::options`].
    pub options: Vec<(String, String)>,
    /// The order of the input, where there is one.
    pub order: Option<LexRequirement>,
}

impl ExportRequest {
    /// The value of an option, if it was given.
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

/// Opens the file when the first rows can be expected, on a thread that may block.
pub type Opener = Arc<dyn Fn() -> Result<Box<dyn Writer>, SinkError> + Send + Sync>;

/// How an export is to be carried out.
pub struct ExportPlan {
    /// The rows in the order in which they are to be written, with the columns that are needed.
    pub input: Arc<dyn ExecutionPlan>,
    /// The order in which they must arrive.
    pub order: Option<LexRequirement>,
    /// Opens the file.
    pub open: Opener,
}

/// Writes the rows of one export. Dropped before [`Writer::finish`] it leaves nothing.
pub trait Writer: Send {
    /// Adds rows.
    ///
    /// # Errors
    /// When they do not suit or cannot be stored.
    fn write(&mut self, batch: &RecordBatch) -> Result<(), SinkError>;

    /// Puts the complete file in the place of the target; returns how many rows are in it, and what
    /// else is to be said about it.
    ///
    /// # Errors
    /// When something cannot be stored. Then the target is as it was before.
    fn finish(self: Box<Self>) -> Result<(u64, Vec<Remark>), SinkError>;
}

/// Something about an export that nobody should have to find out later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Remark {
    /// What it is about: a name in [`REMARKS`](super::REMARKS).
    pub name: &'static str,
    /// How often.
    pub count: u64,
}
