//! One statement, from its text to its result. This is the part that runs on the worker threads.

use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::{SchemaRef, UInt64Type};
use datafusion::config::SqlParserOptions;
use datafusion::error::Result;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use datafusion::sql::sqlparser::ast::{ShowStatementFilter, Statement as SqlStatement};
use futures::StreamExt;
use rl_insight_sql::scan::PROBLEMS_LEFT_OUT;
use rl_insight_sql::session;
use rl_insight_sql::sink::REMARKS;
use rl_insight_sql::table::all_table_functions;

use super::agent::Answer;
use super::amount::counted;
use super::explain::explained;
use super::failure::Failure;
use super::footer;
use super::guard::Guard;
use super::habits;
use super::listing;
use super::output::{Destination, Look, Output};
use super::parameters::Parameters;
use super::script::Piece;
use super::voice::Voice;
use super::watch::{Watch, summed};

type Plan = Arc<dyn ExecutionPlan>;

/// Rows of a query, as they come.
pub(super) type Kept = Arc<Mutex<Vec<RecordBatch>>>;

/// What a statement runs in, and where its result goes. Clones share the tables and settings.
#[derive(Clone)]
pub(super) struct Session {
    pub(super) context: SessionContext,
    pub(super) look: Look,
    pub(super) voice: Voice,
    pub(super) guard: Guard,
    pub(super) destination: Destination,
    pub(super) answer: Option<Answer>,
    /// Where the rows of a query are kept instead of being written, when they are for a picture.
    pub(super) kept: Option<Kept>,
    pub(super) watch: Watch,
    pub(super) parameters: Arc<Parameters>,
    /// The paths that are open.
    pub(super) paths: Arc<[String]>,
    /// Problems that results leave out, so far.
    pub(super) left_out: Arc<AtomicU64>,
    /// Set when nobody waits for the statement that is running any more.
    pub(super) stopped: Arc<AtomicBool>,
}

impl Session {
    fn parser_options(&self) -> SqlParserOptions {
        self.context.copied_config().options().sql_parser.clone()
    }

    /// Runs one statement. Gives back what is to go through the pager.
    ///
    /// # Errors
    /// Whatever is wrong with it, its data or its result.
    pub(super) async fn piece(&self, piece: Piece, text: &str) -> Result<Option<Vec<u8>>, Failure> {
        let own = piece.cut(text);
        self.answer_to(piece, text).await.map_err(|failure| match failure {
            Failure::Data(message) => Failure::Data(self.about_calls(message, own)),
            other => other,
        })
    }

    /// The message about broken data, naming the function that the statement calls.
    fn about_calls(&self, message: String, text: &str) -> String {
        let library = session::library(&self.context).unwrap_or_default();
        let all = library.functions();
        let functions: Vec<&str> =
            all.iter().filter(|f| f.signature().contains("on_error")).map(|f| f.name()).collect();
        let views: Vec<&str> = all_table_functions().iter().filter_map(|f| f.view).collect();
        habits::called(message, text, &functions, &views)
    }

    async fn answer_to(&self, piece: Piece, text: &str) -> Result<Option<Vec<u8>>, Failure> {
        let line = piece.line;
        let explained = |e| explained(e, text, line, &self.context, &self.paths);
        // Not earlier: a statement before it may have changed the options.
        let statement = piece.parse(&self.parser_options(), &self.parameters).map_err(explained)?;
        if let Some(batch) = self.listed(&statement).await.map_err(explained)? {
            return self.print(&batch);
        }
        let logical = self.context.state().statement_to_plan(statement).await.map_err(explained)?;
        let logical = self.guard.pass(logical)?;
        let writes = matches!(logical, LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
        let frame = self.context.execute_logical_plan(logical).await.map_err(explained)?;
        let task = Arc::new(frame.task_ctx());
        let logical = frame.logical_plan().clone();
        let plan = frame.create_physical_plan().await.map_err(explained)?;
        self.guard.pass_targets(&logical)?;
        self.watch.plan(&plan);
        let stream = execute_stream(Arc::clone(&plan), task)?;
        let held = if writes {
            self.written(&plan, stream).await?;
            None
        } else {
            self.result(stream).await?
        };
        self.tell_left_out(&plan);
        Ok(held)
    }

    /// Rows of statements that the engine answers without our comments, or not at all.
    async fn listed(&self, statement: &Statement) -> Result<Option<RecordBatch>> {
        let Statement::Statement(statement) = statement else { return Ok(None) };
        match statement.as_ref() {
            SqlStatement::ShowFunctions { filter, .. } => {
                let pattern = match filter {
                    None => None,
                    Some(ShowStatementFilter::Like(p) | ShowStatementFilter::ILike(p)) => Some(p.as_str()),
                    Some(_) => return Ok(None),
                };
                listing::function_rows(&self.context, |name| {
                    pattern.is_none_or(|p| listing::matches(p, name))
                })
                .map(Some)
            }
            SqlStatement::ExplainTable { table_name, .. } => {
                listing::columns(&self.context, table_name.to_string().as_str()).await
            }
            _ => Ok(None),
        }
    }

    /// Prints rows that are there already. Gives back what is to go through the pager.
    ///
    /// # Errors
    /// When they cannot be written.
    pub(super) fn print(&self, batch: &RecordBatch) -> Result<Option<Vec<u8>>, Failure> {
        if let Some(answer) = &self.answer {
            answer.begin(&batch.schema()).batch(batch)?;
            return Ok(None);
        }
        let mut output = self.output(&batch.schema())?;
        output.batch(batch)?;
        Ok(footer::tell(&self.voice, &self.look, output.finish()?))
    }

    fn output(&self, schema: &SchemaRef) -> Result<Output, Failure> {
        let (stopped, watch) = (Arc::clone(&self.stopped), self.watch.clone());
        Output::new(&self.look, schema, self.destination.clone(), stopped, watch)
    }

    /// A statement with a result.
    async fn result(&self, mut stream: SendableRecordBatchStream) -> Result<Option<Vec<u8>>, Failure> {
        let schema = stream.schema();
        if schema.fields().is_empty() {
            // SET and everything that defines something: no columns, nothing to print.
            while let Some(batch) = stream.next().await {
                batch?;
            }
            return Ok(None);
        }
        if let Some(kept) = &self.kept {
            while let Some(batch) = stream.next().await {
                let batch = batch?;
                if let Ok(mut rows) = kept.lock() {
                    rows.push(batch);
                }
            }
            return Ok(None);
        }
        if let Some(answer) = &self.answer {
            let mut rows = answer.begin(&schema);
            while let Some(batch) = stream.next().await {
                if !rows.batch(&batch?)? {
                    break;
                }
            }
            return Ok(None);
        }
        let mut output = self.output(&schema)?;
        while let Some(batch) = stream.next().await {
            let printed = batch.map_err(Failure::from).and_then(|b| output.batch(&b));
            if let Err(failure) = printed {
                output.break_off();
                return Err(failure);
            }
        }
        Ok(footer::tell(&self.voice, &self.look, output.finish()?))
    }

    /// COPY and INSERT: how many rows they wrote is a remark, not a result.
    async fn written(&self, plan: &Plan, mut stream: SendableRecordBatchStream) -> Result<(), Failure> {
        let mut rows = 0;
        while let Some(batch) = stream.next().await {
            rows += written_rows(&batch?);
        }
        self.voice.remark(format_args!("{} written", counted(rows, "row")));
        // That values were changed is said even when remarks are not wanted.
        for (metric, text) in REMARKS {
            if let Some(count) = NonZeroU64::new(summed(plan, metric)) {
                self.voice.tell(format_args!("note: {count} {}", of_count(count.get(), text)));
            }
        }
        Ok(())
    }

    /// Under `on_error => 'skip'` a result can be incomplete; nobody should have to guess that.
    fn tell_left_out(&self, plan: &Plan) {
        let Some(problems) = NonZeroU64::new(summed(plan, PROBLEMS_LEFT_OUT)) else { return };
        self.left_out.fetch_add(problems.get(), Ordering::Relaxed);
        let (noun, verb) = if problems.get() == 1 { ("problem", "was") } else { ("problems", "were") };
        self.voice.tell(format_args!(
            "note: {problems} {noun} {verb} left out; SELECT * FROM diagnostics(path) lists them"
        ));
    }
}

/// A text about several things, for so many of them.
fn of_count(count: u64, text: &str) -> String {
    if count != 1 {
        return text.to_owned();
    }
    let one = text.replacen("s were ", " was ", 1).replacen(" were ", " was ", 1);
    one.replacen("they have ", "it has ", 1).replacen("their ", "its ", 1)
}

fn written_rows(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|c| c.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |c| c.iter().flatten().sum())
}
