//! How results look: one printer per family of formats, and the way from record batches to stdout.
//!
//! A printer turns rows into bytes and knows nothing of files. [`Output`] writes them, a bounded
//! number of rows at a time, so that a result is never held as a whole. Only [`table`], which must
//! know all its rows before it can draw the first, keeps rows, and those up to a limit.

mod binary;
mod cell;
mod delimited;
mod destination;
mod html;
mod json;
mod line;
mod markdown;
mod table;

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::ValueEnum;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::failure::Failure;
use super::watch::Watch;

pub(crate) use destination::{Destination, StagedResults};
pub(crate) use html::escaped;
pub(crate) use json::{BigIntegers, JsonRows, JsonStyle, Nonfinite};
pub(crate) use table::visible;

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
    /// One value per line, for wide rows
    Line,
    /// An HTML table
    Html,
    /// A stream in Arrow's IPC format
    Arrow,
    /// A Parquet file
    Parquet,
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

    /// The format that the name of a file stands for.
    pub(crate) fn of_file(path: &Path) -> Option<Self> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "csv" => Format::Csv,
            "tsv" | "tab" => Format::Tsv,
            "json" => Format::Json,
            "ndjson" | "jsonl" => Format::Ndjson,
            "md" | "markdown" => Format::Markdown,
            "html" | "htm" => Format::Html,
            "arrow" | "arrows" => Format::Arrow,
            "parquet" => Format::Parquet,
            _ => return None,
        })
    }

    /// What to do instead, when the name of a file stands for something that results are not written as.
    pub(crate) fn instead_of(path: &Path) -> Option<&'static str> {
        Some(match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "db" | "sqlite" | "sqlite3" => {
                "COPY (SELECT ...) TO 'FILE' STORED AS SQLITE writes a database, STORED AS TREND_DB one of a dump"
            }
            "xlsx" | "xls" | "ods" => "name it .csv, which spreadsheets open",
            "gz" | "zst" | "bz2" | "xz" | "zip" => {
                "leave -o out, and let a program such as gzip take what is written"
            }
            _ => return None,
        })
    }

    /// Whether it is bytes and not text: one result per file, and none on a terminal.
    pub(crate) fn is_binary(self) -> bool {
        matches!(self, Format::Arrow | Format::Parquet)
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

    /// How many columns it was given and does not show.
    fn columns_left_out(&self) -> usize {
        0
    }

    /// What to write when the result breaks off, so that it cannot be taken for a complete one.
    fn broken_off(&self) -> &'static [u8] {
        b""
    }
}

/// How results look.
#[derive(Debug, Clone)]
pub(crate) struct Look {
    /// The format.
    pub(crate) format: Format,
    /// How many rows a table shows; `None` for all.
    pub(crate) max_rows: Option<usize>,
    /// How wide a table may be, in columns of the screen; `None` for any width.
    pub(crate) width: Option<usize>,
    /// Whether csv and tsv begin with the names of the columns.
    pub(crate) headers: bool,
    /// What stands for NULL in text; `None` for what the format has for it.
    pub(crate) null: Option<String>,
    /// Whether a table groups the digits of numbers.
    pub(crate) group_digits: bool,
    /// How JSON writes what some readers cannot take.
    pub(crate) json: JsonStyle,
    /// Whether what is longer than the screen goes through the pager.
    pub(crate) pager: bool,
    /// Whether somebody is at the prompt, who is told of its commands and not of flags.
    pub(crate) at_prompt: bool,
}

/// One result on its way to its destination.
pub(crate) struct Output {
    printer: Box<dyn Printer>,
    destination: Destination,
    buffer: Vec<u8>,
    stopped: Arc<AtomicBool>,
    watch: Watch,
    begun: bool,
    wrote: bool,
    rows: u64,
    /// Whether the text is handed back at the end, because it may be longer than the screen.
    hold: bool,
}

/// What became of a result.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// Rows of the result.
    pub(crate) rows: u64,
    /// Rows that the format did not show.
    pub(crate) left_out: u64,
    /// Columns that it did not show.
    pub(crate) columns_left_out: usize,
    /// The text, when it was not written but is to be shown in a pager.
    pub(crate) held: Option<Vec<u8>>,
}

/// So many rows are turned into bytes at a time. Repeated texts that a batch shares are spelled out
/// by then, so whole batches could take a hundred times their own memory.
const ROWS_AT_A_TIME: usize = 1024;

impl Output {
    /// Prepares for a result with these columns. Nothing is written once `stopped` is set.
    ///
    /// # Errors
    /// When the format cannot hold it: a type that it does not know, a second result in one file.
    pub(crate) fn new(
        look: &Look,
        schema: &SchemaRef,
        destination: Destination,
        stopped: Arc<AtomicBool>,
        watch: Watch,
    ) -> Result<Self, Failure> {
        let results = destination.next_result();
        if look.format.is_binary() && results > 0 {
            return Err(Failure::Output(format!(
                "{} holds one result per file, and there is a second\nhint: write each to a file of its own, or \
                 combine them with UNION ALL",
                look.format.name()
            )));
        }
        let null = || look.null.clone();
        let word = look.null.as_deref().unwrap_or("NULL");
        let printer: Box<dyn Printer> = match look.format {
            Format::Table => {
                let table = table::Table::new(schema, look.max_rows).fit(look.width).null(word);
                Box::new(table.group_digits(look.group_digits))
            }
            Format::Csv => Box::new(delimited::Delimited::csv(schema).headers(look.headers).null(null())),
            Format::Tsv => Box::new(delimited::Delimited::tsv(schema).headers(look.headers).null(null())),
            Format::Json => Box::new(json::Json::array(schema, look.json)),
            Format::Ndjson => Box::new(json::Json::lines(schema, look.json)),
            Format::Markdown => Box::new(markdown::Markdown::new(schema)),
            Format::Line => Box::new(line::Line::new(schema, word)),
            Format::Html => Box::new(html::Html::new(schema)),
            Format::Arrow => Box::new(binary::Arrow::new(schema)?),
            Format::Parquet => Box::new(binary::Parquet::new(schema)?),
        };
        let hold = look.pager && look.format == Format::Table && matches!(destination, Destination::Stdout);
        let mut buffer = Vec::new();
        // Without an empty line, a table of Markdown goes on with the names of the next one as a row.
        if results > 0 && matches!(look.format, Format::Markdown | Format::Line) {
            buffer.push(b'\n');
        }
        Ok(Self { printer, destination, buffer, stopped, watch, begun: false, wrote: false, rows: 0, hold })
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
        let held = self.hold.then(|| std::mem::take(&mut self.buffer));
        self.flush()?;
        let (left_out, columns_left_out) = (self.printer.left_out(), self.printer.columns_left_out());
        Ok(Written { rows: self.rows, left_out, columns_left_out, held })
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
        // Whoever stops a query waits for this lock: nothing is written after that.
        let guard = io::stdout().lock();
        if self.stopped.load(Ordering::Relaxed) {
            return Err(Failure::Interrupted);
        }
        self.watch.make_room();
        let written = self.destination.write(&self.buffer);
        drop(guard);
        self.buffer.clear();
        self.wrote = true;
        written
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
