//! A session as sqllogictest sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;
use sqllogictest::{AsyncDB, ColumnType, DBOutput};

use crate::shell::explain::explained;
use crate::shell::failure::Failure;
use crate::shell::guard::Guard;
use crate::shell::invocation::Engine;
use crate::shell::output::visible;
use crate::shell::parameters::Parameters;
use crate::shell::script::Script;

/// The data that is asked. Clones share the session.
#[derive(Clone)]
pub(super) struct Data {
    context: SessionContext,
    parameters: Arc<Parameters>,
    paths: Arc<[String]>,
    timeout: Option<Duration>,
}

impl Data {
    /// The data behind a session. One path is `$run`.
    pub(super) fn new(context: SessionContext, engine: &Engine, paths: &[String]) -> Self {
        let mut parameters = engine.parameters.clone();
        parameters.open(paths, false);
        Self { context, parameters: Arc::new(parameters), paths: paths.into(), timeout: engine.timeout }
    }

    async fn answer(&self, sql: &str) -> Result<DBOutput<Kind>, Failure> {
        let options = self.context.copied_config().options().sql_parser.clone();
        let mut output = DBOutput::StatementComplete(0);
        for piece in Script::new(None, sql).pieces(&options)? {
            let line = piece.line;
            let explained = |e| explained(e, sql, line, &self.context, &self.paths);
            if piece.command().is_some() {
                return Err(Failure::Query("commands of the prompt are not allowed here".into()));
            }
            let statement = piece.parse(&options, &self.parameters).map_err(explained)?;
            let plan = self.context.state().statement_to_plan(statement).await.map_err(explained)?;
            let guard = Guard { read_only: true, ..Guard::default() };
            let frame = self.context.execute_logical_plan(guard.pass(plan)?).await.map_err(explained)?;
            let schema = frame.schema().as_arrow().clone();
            let batches = frame.collect().await.map_err(explained)?;
            let types: Vec<Kind> = schema.fields().iter().map(|f| Kind::of(f.data_type())).collect();
            if types.is_empty() {
                continue;
            }
            let mut rows = Vec::new();
            for batch in &batches {
                add_rows(batch, &mut rows)?;
            }
            output = DBOutput::Rows { types, rows };
        }
        Ok(output)
    }
}

#[async_trait]
impl AsyncDB for Data {
    type Error = EngineFailure;
    type ColumnType = Kind;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Kind>, EngineFailure> {
        let answer = self.answer(sql);
        let done = match self.timeout {
            None => answer.await,
            Some(limit) => tokio::time::timeout(limit, answer).await.unwrap_or_else(|_| {
                let seconds = limit.as_secs_f64();
                Err(Failure::Budget(format!("the statement took more than {seconds} s")))
            }),
        };
        done.map_err(|failure| EngineFailure(Arc::new(failure)))
    }

    fn engine_name(&self) -> &str {
        "rl-insight-sql"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn shutdown(&mut self) {}
}

/// Why a statement of the suite could not be run.
#[derive(Debug, Clone)]
pub(super) struct EngineFailure(Arc<Failure>);

impl EngineFailure {
    /// Whether the data is to blame, and not the suite.
    pub(super) fn is_data(&self) -> bool {
        matches!(*self.0, Failure::Data(_))
    }
}

impl fmt::Display for EngineFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.text().unwrap_or_default())
    }
}

impl std::error::Error for EngineFailure {}

/// The type letter of a column: `T`ext, `I`nteger, `R`eal, `B`oolean, `?` anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Integer,
    Real,
    Boolean,
    Other,
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(_, value) => Self::of(value),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
            DataType::Boolean => Kind::Boolean,
            t if t.is_integer() => Kind::Integer,
            t if t.is_floating() => Kind::Real,
            _ => Kind::Other,
        }
    }
}

impl ColumnType for Kind {
    fn from_char(letter: char) -> Option<Self> {
        [Kind::Text, Kind::Integer, Kind::Real, Kind::Boolean, Kind::Other]
            .into_iter()
            .find(|kind| kind.to_char() == letter)
    }

    fn to_char(&self) -> char {
        match self {
            Kind::Text => 'T',
            Kind::Integer => 'I',
            Kind::Real => 'R',
            Kind::Boolean => 'B',
            Kind::Other => '?',
        }
    }
}

/// Rows as they stand in a suite: `NULL`, `(empty)` for the empty text, floats in the shortest form, and every
/// row on one line: a line break in a value is `\n`, other control characters are spelled out.
fn add_rows(batch: &RecordBatch, rows: &mut Vec<Vec<String>>) -> Result<(), ArrowError> {
    let options = FormatOptions::default().with_null("NULL");
    let columns = batch
        .columns()
        .iter()
        .map(|c| Ok((c, ArrayFormatter::try_new(c.as_ref(), &options)?)))
        .collect::<Result<Vec<_>, ArrowError>>()?;
    for row in 0..batch.num_rows() {
        let value = |(column, formatter): &(&ArrayRef, ArrayFormatter<'_>)| {
            float(column, row).unwrap_or_else(|| {
                let text = formatter.value(row).to_string();
                if text.is_empty() { "(empty)".to_owned() } else { visible(&text).replace('\n', "\\n") }
            })
        };
        rows.push(columns.iter().map(value).collect());
    }
    Ok(())
}

fn float(column: &ArrayRef, row: usize) -> Option<String> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Float64 => Some(format!("{:?}", column.as_primitive::<Float64Type>().value(row))),
        DataType::Float32 => Some(format!("{:?}", column.as_primitive::<Float32Type>().value(row))),
        _ => None,
    }
}
