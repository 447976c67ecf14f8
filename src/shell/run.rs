//! Runs statements: from a script to results on stdout.
//!
//! Queries run on worker threads of their own. The thread that waits for Ctrl-C does nothing else,
//! so a query that keeps all workers busy can still be cancelled.

use std::io;
use std::num::{NonZeroU64, NonZeroUsize};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use datafusion::arrow::array::{AsArray, RecordBatch};
use datafusion::arrow::datatypes::UInt64Type;
use datafusion::config::SqlParserOptions;
use datafusion::error::Result;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use datafusion::sql::parser::Statement;
use futures::StreamExt;
use rl_insight_sql::scan::PROBLEMS_LEFT_OUT;
use rl_insight_sql::session;
use rl_insight_sql::sink::REMARKS;
use tokio::signal::ctrl_c;

use super::failure::{Failure, join_text, tell};
use super::flags::Invocation;
use super::output::{Format, Output, Written};
use super::parameters::Parameters;
use super::script::{Piece, Script};
use super::workers::Workers;

/// Runs scripts, one at a time, in one session.
pub(crate) struct Runner {
    session: Session,
    workers: Workers,
}

/// The part of a [`Runner`] that goes to the worker threads. Clones share the tables and settings.
#[derive(Clone)]
struct Session {
    context: SessionContext,
    format: Format,
    max_rows: Option<usize>,
    quiet: bool,
    parameters: Arc<Parameters>,
    /// Set when nobody waits for the script that is running any more.
    stopped: Arc<AtomicBool>,
}

impl Runner {
    /// A fresh session as the command line wants it.
    ///
    /// # Errors
    /// When the session cannot be set up, or there are no threads to be had.
    pub(crate) fn new(invocation: &Invocation) -> Result<Self, Failure> {
        let config = session::config().with_target_partitions(invocation.threads.get());
        let context = match invocation.memory_limit {
            Some(bytes) => session::context_with(config, limited(bytes)?)?,
            None => session::context(config)?,
        };
        let Invocation { max_rows, quiet, format, .. } = *invocation;
        let parameters = Arc::new(invocation.parameters.clone());
        let session = Session { context, format, max_rows, quiet, parameters, stopped: Arc::default() };
        let workers = Workers::start(invocation.threads).map_err(|e| no_threads(&e))?;
        Ok(Self { session, workers })
    }

    /// The session that statements run in.
    pub(crate) fn context(&self) -> &SessionContext {
        &self.session.context
    }

    /// Whether remarks are left out.
    pub(crate) fn quiet(&self) -> bool {
        self.session.quiet
    }

    /// How results are written.
    pub(crate) fn format(&self) -> Format {
        self.session.format
    }

    /// Changes how results are written from now on.
    pub(crate) fn set_format(&mut self, format: Format) {
        self.session.format = format;
    }

    /// Runs the statements of a script one after the other, up to the first failure.
    ///
    /// After Ctrl-C it returns at once. An operator that is deep in a calculation goes on until it
    /// looks up, but whatever it finds is not written any more.
    ///
    /// # Errors
    /// What made a statement fail, naming the statement; or Ctrl-C.
    pub(crate) async fn run(&mut self, script: Script) -> Result<(), Failure> {
        let stopped = Arc::<AtomicBool>::default();
        let session = Session { stopped: Arc::clone(&stopped), ..self.session.clone() };
        let Some(mut job) = self.workers.spawn(async move { session.statements(&script).await }) else {
            return Err(Failure::Query("the worker threads have ended".into()));
        };
        tokio::select! {
            done = &mut job => done.unwrap_or_else(|e| Err(Failure::Query(join_text(&e)))),
            Ok(()) = ctrl_c() => {
                stopped.store(true, Ordering::Relaxed);
                job.abort();
                self.workers.renew().map_err(|e| no_threads(&e))?;
                Err(Failure::Interrupted)
            }
        }
    }
}

impl Session {
    /// How statements are read at the moment.
    fn parser_options(&self) -> SqlParserOptions {
        self.context.copied_config().options().sql_parser.clone()
    }

    async fn statements(&self, script: &Script) -> Result<(), Failure> {
        let pieces = script.pieces(&self.parser_options())?;
        let count = pieces.len();
        for (piece, number) in pieces.into_iter().zip(1..) {
            let line = piece.line;
            let done = self.piece(piece).await;
            done.map_err(|failure| failure.at(&script.place(number, count, line)))?;
        }
        Ok(())
    }

    async fn piece(&self, piece: Piece) -> Result<(), Failure> {
        // Not earlier: a statement before it may have changed the options.
        let statement = piece.parse(&self.parser_options(), &self.parameters)?;
        self.statement(statement).await
    }

    async fn statement(&self, statement: Statement) -> Result<(), Failure> {
        let logical = self.context.state().statement_to_plan(statement).await?;
        let writes = matches!(logical, LogicalPlan::Copy(_) | LogicalPlan::Dml(_));
        let frame = self.context.execute_logical_plan(logical).await?;
        let task = Arc::new(frame.task_ctx());
        let plan = frame.create_physical_plan().await?;
        if writes {
            self.written(&plan, task).await?;
        } else {
            self.result(&plan, task).await?;
        }
        tell_left_out(&plan);
        Ok(())
    }

    /// A statement with a result.
    async fn result(&self, plan: &Plan, task: Arc<Task>) -> Result<(), Failure> {
        let mut stream = execute_stream(Arc::clone(plan), task)?;
        let schema = stream.schema();
        if schema.fields().is_empty() {
            // SET and everything that defines something: no columns, nothing to print.
            while let Some(batch) = stream.next().await {
                batch?;
            }
            return Ok(());
        }
        let mut output = Output::new(self.format, &schema, self.max_rows, Arc::clone(&self.stopped));
        while let Some(batch) = stream.next().await {
            let printed = batch.map_err(Failure::from).and_then(|b| output.batch(&b));
            if let Err(failure) = printed {
                output.break_off();
                return Err(failure);
            }
        }
        let written = output.finish()?;
        if self.format == Format::Table {
            self.tell_rows(written);
        }
        Ok(())
    }

    /// COPY and INSERT: how many rows they wrote is a remark, not a result.
    async fn written(&self, plan: &Plan, task: Arc<Task>) -> Result<(), Failure> {
        let mut stream = execute_stream(Arc::clone(plan), task)?;
        let mut rows = 0;
        while let Some(batch) = stream.next().await {
            rows += written_rows(&batch?);
        }
        if !self.quiet {
            tell(format_args!("{} written", counted(rows)));
        }
        // That values were changed is said even when remarks are not wanted.
        for (metric, text) in REMARKS {
            if let Some(count) = NonZeroU64::new(summed(plan, metric)) {
                tell(format_args!("note: {count} {text}"));
            }
        }
        Ok(())
    }

    /// The line below a table. That rows are missing is said even when remarks are not wanted.
    fn tell_rows(&self, written: Written) {
        let Written { rows, left_out } = written;
        if left_out > 0 {
            tell(format_args!("({}, {} shown; --max-rows 0 shows all)", counted(rows), rows - left_out));
        } else if !self.quiet {
            tell(format_args!("({})", counted(rows)));
        }
    }
}

fn no_threads(error: &io::Error) -> Failure {
    Failure::Query(format!("threads cannot be started: {error}"))
}

type Plan = Arc<dyn ExecutionPlan>;
type Task = datafusion::execution::TaskContext;

/// Memory that the operators of all queries share fairly; they spill to disk when it gets short. An
/// error names the biggest consumers.
fn limited(bytes: usize) -> Result<Arc<RuntimeEnv>> {
    const NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
    let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED);
    RuntimeEnvBuilder::new().with_memory_pool(Arc::new(pool)).build_arc()
}

fn written_rows(batch: &RecordBatch) -> u64 {
    let counts = batch.columns().first().and_then(|c| c.as_primitive_opt::<UInt64Type>());
    counts.map_or(0, |c| c.iter().flatten().sum())
}

fn counted(rows: u64) -> String {
    if rows == 1 { "1 row".into() } else { format!("{rows} rows") }
}

/// Under `on_error => 'skip'` a result can be incomplete; nobody should have to guess that.
fn tell_left_out(plan: &Plan) {
    let Some(problems) = NonZeroU64::new(summed(plan, PROBLEMS_LEFT_OUT)) else { return };
    let (noun, verb) = if problems.get() == 1 { ("problem", "was") } else { ("problems", "were") };
    tell(format_args!("note: {problems} {noun} {verb} left out; SELECT * FROM diagnostics(path) lists them"));
}

/// Sums a metric over all operators.
fn summed(plan: &Plan, metric: &str) -> u64 {
    let own = plan.metrics().and_then(|m| m.sum_by_name(metric));
    let below: u64 = plan.children().into_iter().map(|child| summed(child, metric)).sum();
    own.map_or(0, |v| v.as_usize() as u64) + below
}
