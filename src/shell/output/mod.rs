//! How results look: one printer per family of formats, and the way from record batches to stdout.
//!
//! A printer turns rows into bytes and knows nothing of files. [`Output`] writes them, a bounded
//! number of rows at a time, so that a result is never held as a whole. Only [`table`], which must
//! know all its rows before it can draw the first, keeps rows, and those up to a limit.

mod cell;
mod delimited;
mod json;
mod markdown;
mod table;

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::failure::Failure;

/// How results are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// Aligned columns, for people
    Table,
    /// Comma-separated, quoted where needed (RFC 4180)
    Csv,
    /// Tab-separated, escaped instead of quoted
    Tsv,
    /// One JSON array of objects per result
    Json,
    /// One JSON object per row and line
    Ndjson,
    /// A table as GitHub shows it
    Markdown,
}

impl Format {
    /// The names that can be given on the command line.
    pub(crate) fn names() -> Vec<String> {
        Self::value_variants()
            .iter()
            .filter_map(|f| Some(f.to_possible_value()?.get_name().to_owned()))
            .collect()
    }

    /// The format with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::from_str(name, true).ok()
    }

    /// Its name.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map(|v| v.get_name().to_owned()).unwrap_or_default()
    }
}

/// Turns one result into bytes. Everything is appended to `out`, which the caller empties.
trait Printer: Send {
    /// What comes before the first row.
    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError>;

    /// Some rows. May keep them for [`end`](Self::end).
    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError>;

    /// What comes after the last row, and everything that was kept.
    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError>;

    /// How many rows it was given and does not show.
    fn left_out(&self) -> u64 {
        0
    }

    /// What to write when the result breaks off, so that it cannot be taken for a complete one.
    fn broken_off(&self) -> &'static [u8] {
        b""
    }
}

/// One result on its way to stdout.
pub(crate) struct Output {
    printer: Box<dyn Printer>,
    buffer: Vec<u8>,
    stopped: Arc<AtomicBool>,
    begun: bool,
    wrote: bool,
    rows: u64,
}

/// What became of a result.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Written {
    /// Rows of the result.
    pub(crate) rows: u64,
    /// Rows that the format did not show.
    pub(crate) left_out: u64,
}

/// So many rows are turned into bytes at a time. Repeated texts that a batch shares are spelled out
/// by then, so whole batches could take a hundred times their own memory.
const ROWS_AT_A_TIME: usize = 1024;

impl Output {
    /// Prepares for a result with these columns. A table shows up to `max_rows`. Nothing is written
    /// once `stopped` is set.
    pub(crate) fn new(
        format: Format,
        schema: &SchemaRef,
        max_rows: Option<usize>,
        stopped: Arc<AtomicBool>,
    ) -> Self {
        let printer: Box<dyn Printer> = match format {
            Format::Table => Box::new(table::Table::new(schema, max_rows)),
            Format::Csv => Box::new(delimited::Delimited::csv(schema)),
            Format::Tsv => Box::new(delimited::Delimited::tsv(schema)),
            Format::Json => Box::new(json::Json::array(schema)),
            Format::Ndjson => Box::new(json::Json::lines(schema)),
            Format::Markdown => Box::new(markdown::Markdown::new(schema)),
        };
        Self { printer, buffer: Vec::new(), stopped, begun: false, wrote: false, rows: 0 }
    }

    /// Writes a batch.
    ///
    /// # Errors
    /// When it cannot be written, or a value cannot be shown.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        if batch.num_rows() == 0 {
            return Ok(());
        }
        self.begin()?;
        let mut start = 0;
        while start < batch.num_rows() {
            let some = batch.slice(start, ROWS_AT_A_TIME.min(batch.num_rows() - start));
            start += some.num_rows();
            self.printer.rows(&some, &mut self.buffer)?;
            self.flush()?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    /// Writes what is left.
    ///
    /// # Errors
    /// As [`batch`](Self::batch).
    pub(crate) fn finish(mut self) -> Result<Written, Failure> {
        self.begin()?;
        self.printer.end(&mut self.buffer)?;
        self.flush()?;
        Ok(Written { rows: self.rows, left_out: self.printer.left_out() })
    }

    /// Ends a result that failed on the way.
    pub(crate) fn break_off(mut self) {
        self.buffer.clear();
        if self.wrote {
            self.buffer.extend_from_slice(self.printer.broken_off());
            // There is an error to report already, and it came first.
            let _ = self.flush();
        }
    }

    /// Nothing is written before the first batch is there: a query that fails at once leaves no trace.
    fn begin(&mut self) -> Result<(), Failure> {
        if !self.begun {
            self.printer.begin(&mut self.buffer)?;
            self.begun = true;
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), Failure> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let mut stdout = io::stdout().lock();
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        let written = stdout.write_all(&self.buffer).and_then(|()| stdout.flush());
        self.buffer.clear();
        self.wrote = true;
        written.map_err(|e| Failure::writing(&e))
    }
}

#[cfg(test)]
mod testing {
    //! What the printers' tests share.

    use std::sync::Arc;

    use datafusion::arrow::array::{
        ArrayRef, DictionaryArray, Float64Array, Int64Array, RecordBatch, StringArray, StringViewArray,
    };
    use datafusion::arrow::datatypes::Int32Type;

    use super::Printer;

    /// Rows with a null and awkward values in each column.
    pub(super) fn batch() -> RecordBatch {
        let view = StringViewArray::from(vec![Some("a.py(1): <module>;\r\nb.py(2): f"), None, Some("")]);
        // The last value is null in the dictionary, not in the keys.
        let values = StringArray::from(vec![Some("x|y\t\"z\\"), None]);
        let keys = [Some(0), None, Some(1)].into_iter().collect();
        let dictionary = DictionaryArray::<Int32Type>::try_new(keys, Arc::new(values)).unwrap();
        let columns: [(&str, ArrayRef); 4] = [
            ("id", Arc::new(Int64Array::from(vec![Some(i64::MAX), None, Some(-1)]))),
            ("ms", Arc::new(Float64Array::from(vec![Some(1_779_785_515_000.12), None, Some(f64::NAN)]))),
            ("stack", Arc::new(view)),
            ("kind", Arc::new(dictionary)),
        ];
        RecordBatch::try_from_iter(columns).unwrap()
    }

    /// Everything that a printer makes of one batch.
    pub(super) fn print(mut printer: impl Printer, batch: &RecordBatch) -> String {
        let mut out = Vec::new();
        printer.begin(&mut out).unwrap();
        printer.rows(batch, &mut out).unwrap();
        printer.end(&mut out).unwrap();
        String::from_utf8(out).unwrap()
    }
}
