//! The one JSON object of `--agent`.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use rl_insight_sql::reference::sql_type;
use serde_json::{Map, Value, json};

use super::failure::Failure;
use super::invocation::Caps;
use super::output::{JsonRows, JsonStyle};
use super::voice::Voice;

/// What will be answered: the last result, as much of it as the caps allow. Clones share it.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    caps: Caps,
    style: JsonStyle,
    last: Arc<Mutex<Last>>,
}

#[derive(Debug, Default)]
struct Last {
    columns: Vec<Value>,
    rows: Vec<Value>,
    bytes: usize,
    truncated: bool,
    results: usize,
    /// Whether there was no statement and no command.
    idle: bool,
}

impl Answer {
    /// Nothing to answer yet.
    pub(crate) fn new(caps: Caps, style: JsonStyle) -> Self {
        Self { caps, style, last: Arc::default() }
    }

    /// A result with these columns begins; it takes the place of the one before.
    pub(crate) fn begin(&self, schema: &SchemaRef) -> Collector {
        let rows = JsonRows::new(schema, self.style);
        let columns = rows.names().iter().zip(schema.fields());
        let columns = columns.map(|(name, field)| json!({"name": name, "type": sql_type(field.data_type())}));
        if let Ok(mut last) = self.last.lock() {
            let results = last.results + 1;
            *last = Last { columns: columns.collect(), results, ..Last::default() };
        }
        Collector { answer: self.clone(), rows }
    }

    /// Prints the object; `idle` when nothing was to be run.
    ///
    /// # Errors
    /// When stdout cannot be written to.
    pub(crate) fn print(
        &self,
        voice: &Voice,
        partial: bool,
        idle: bool,
        failure: Option<&Failure>,
    ) -> Result<(), Failure> {
        let mut diagnostics = voice.take();
        let mut last = match self.last.lock() {
            Ok(mut last) => std::mem::take(&mut *last),
            Err(_) => Last::default(),
        };
        if failure.is_some() {
            // Rows of a result that broke off, or of a statement before the one that failed.
            last = Last { results: last.results, ..Last::default() };
        }
        last.idle = idle;
        if last.results > 1 {
            diagnostics.push(format!("{} statements had a result; this is the last one", last.results));
        }
        if last.truncated {
            diagnostics.push(format!(
                "only the first {} rows are here (at most {} rows and {} bytes): aggregate, select fewer \
                 columns, or raise --max-rows and --max-bytes",
                last.rows.len(),
                self.caps.rows,
                self.caps.bytes
            ));
        }
        object(failure, partial, last, diagnostics)
    }
}

/// Prints the object for `--help` and `--version`: what to do, and the whole page.
pub(crate) fn print_help(page: &str) -> Result<(), Failure> {
    let message = "rl-insight-sql --agent PATH -c SQL answers with one JSON object like this one";
    write(json!({
        "status": "ok",
        "code": 0,
        "message": message,
        "suggestion": FIRST_CALLS,
        "columns": [],
        "rows": [],
        "truncated": false,
        "diagnostics": [page.trim_end()],
    }))
}

/// What a program that knows nothing yet asks first.
const FIRST_CALLS: &str = "ask first: -c 'SHOW TABLES' (views of PATH), -c 'SHOW FUNCTIONS' (questions and what they \
    are for), -c 'DESCRIBE memory' (columns of a view or function)";

/// Prints the object for a command line that is wrong.
pub(crate) fn print_failure(failure: &Failure) {
    // Nobody is left to be told when this fails.
    let _ = object(Some(failure), false, Last::default(), vec![]);
}

fn object(
    failure: Option<&Failure>,
    partial: bool,
    last: Last,
    diagnostics: Vec<String>,
) -> Result<(), Failure> {
    let (message, suggestion) = failure.map(Failure::parts).unwrap_or_default();
    let status = match failure {
        Some(Failure::Partial(_)) => "partial",
        Some(_) => "error",
        None if partial => "partial",
        None => "ok",
    };
    // Nothing was asked: say what can be.
    let suggestion = match failure {
        None if last.idle => Some(format!("no SQL was given; {FIRST_CALLS}")),
        _ => suggestion,
    };
    write(json!({
        "status": status,
        "code": failure.map_or(0, Failure::code),
        "message": if failure.is_some() { Value::from(message) } else { Value::Null },
        "suggestion": suggestion,
        "columns": last.columns,
        "rows": last.rows,
        "truncated": last.truncated,
        "diagnostics": diagnostics,
    }))
}

fn write(object: Value) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    writeln!(stdout, "{object}").and_then(|()| stdout.flush()).map_err(|e| Failure::writing(&e))
}

/// Takes the rows of one result.
pub(crate) struct Collector {
    answer: Answer,
    rows: JsonRows,
}

impl Collector {
    /// Takes some rows; `false` when there is no room for more.
    ///
    /// # Errors
    /// When a value has no JSON form.
    pub(crate) fn batch(&mut self, batch: &RecordBatch) -> Result<bool, ArrowError> {
        let lines = self.rows.lines(batch)?;
        let Ok(mut last) = self.answer.last.lock() else { return Ok(false) };
        for line in lines.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            if last.rows.len() >= self.answer.caps.rows || last.bytes + line.len() > self.answer.caps.bytes {
                last.truncated = true;
                return Ok(false);
            }
            let object: Map<String, Value> =
                serde_json::from_slice(line).map_err(|e| ArrowError::JsonError(e.to_string()))?;
            let names = self.rows.names().iter();
            let row: Vec<Value> = names.map(|name| object.get(name).cloned().unwrap_or_default()).collect();
            last.bytes += line.len();
            last.rows.push(Value::Array(row));
        }
        Ok(true)
    }
}
