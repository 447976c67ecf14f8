//! Many at once: sessions on one path, queries in one session, and the window that reads several units
//! ahead and hands their rows out in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use datafusion::arrow::array::{AsArray, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Field, Int64Type, Schema, SchemaRef};
use datafusion::common::Result;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, execute_stream};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use futures::future::join_all;
use rl_insight_sql::scan::{OnError, ScanSpec, UnitScanExec};
use rl_insight_sql::session;
use rl_insight_sql::source::{
    DataError, Finding, Format, Host, KeyColumn, KeyType, KeyValue, Kind, Layout, ReadError, ReadRequest,
    Root, Unit, UnitReader,
};

use super::answer::ask;
use super::pool::FailingPool;
use super::random::Random;
use super::sample::{CALLS, call, make};
use super::size::pick;

fn context(partitions: usize) -> SessionContext {
    session::context(session::config().with_target_partitions(partitions)).unwrap()
}

fn queries(dir: &std::path::Path) -> Vec<String> {
    let sql = |(_, part, function, arguments): (_, &str, &str, &str)| {
        format!("SELECT * FROM {}", call(dir, part, function, arguments, false))
    };
    CALLS.map(sql).into_iter().collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sessions_on_one_path_give_the_same_answers() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    for sql in queries(dir.path()) {
        let right = ask(&context(2), &sql).await.unwrap();
        let sessions = (0..32).map(|at| {
            let sql = sql.clone();
            tokio::spawn(async move { ask(&context(1 + at % 4), &sql).await })
        });
        for found in join_all(sessions).await {
            assert_eq!(found.unwrap().unwrap(), right, "{sql}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn queries_of_one_session_do_not_disturb_each_other() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let context = context(2);
    let queries: Vec<String> = queries(dir.path()).into_iter().cycle().take(32).collect();
    let mut right = vec![];
    for sql in &queries {
        right.push(ask(&context, sql).await.unwrap());
    }
    for _ in 0..pick(2, 20) {
        let asked = queries.iter().map(|sql| {
            let (context, sql) = (context.clone(), sql.clone());
            tokio::spawn(async move { ask(&context, &sql).await })
        });
        for ((found, right), sql) in join_all(asked).await.into_iter().zip(&right).zip(&queries) {
            assert_eq!(&found.unwrap().unwrap(), right, "{sql}");
        }
    }
}

/// Units of numbered rows that are read at random speed, and of which some fail.
#[derive(Debug)]
struct Erratic {
    seed: u64,
    /// Rows of each unit.
    rows: Vec<i64>,
    /// The units in which reading ends with a problem, and behind how many rows.
    fails: Vec<(usize, i64)>,
    open: Arc<AtomicUsize>,
}

/// What one row says: its unit and its number in it.
fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("unit", DataType::Int64, true),
        Field::new("row", DataType::Int64, false),
    ]))
}

impl Format for Erratic {
    fn name(&self) -> &'static str {
        "erratic"
    }

    fn schema(&self) -> SchemaRef {
        schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &[KeyColumn { name: "unit", kind: KeyType::Int }]
    }

    fn discover(&self, _: &[Root]) -> Result<Layout, DataError> {
        let unit = |at: usize| Unit {
            keys: vec![KeyValue::Int(at as i64)],
            inner_keys: vec![],
            source_path: format!("unit/{at}"),
            form: "text".into(),
            files: vec![],
            findings: vec![],
        };
        Ok(Layout { units: (0..self.rows.len()).map(unit).collect(), findings: vec![] })
    }

    fn known_problems(&self, _: &Unit, _: &[usize]) -> Vec<Finding> {
        vec![]
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let Some(KeyValue::Int(number)) = unit.keys.first() else { panic!("no key") };
        let at = *number as usize;
        let mut random = Random::new(self.seed ^ (at as u64) << 20);
        random.pause();
        self.open.fetch_add(1, Ordering::SeqCst);
        Ok(Box::new(ErraticReader {
            unit: *number,
            row: 0,
            rows: self.rows[at],
            fails: self.fails.iter().filter(|(unit, _)| *unit == at).map(|(_, row)| *row).min(),
            request: request.clone(),
            random,
            host,
            open: Arc::clone(&self.open),
        }))
    }
}

struct ErraticReader {
    unit: i64,
    row: i64,
    rows: i64,
    fails: Option<i64>,
    request: ReadRequest,
    random: Random,
    host: Arc<dyn Host>,
    open: Arc<AtomicUsize>,
}

impl Drop for ErraticReader {
    fn drop(&mut self) {
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

impl UnitReader for ErraticReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if self.host.stopped() {
            return Err(ReadError::Stopped);
        }
        self.random.pause();
        if let Some(fails) = self.fails.filter(|fails| self.row >= *fails) {
            self.fails = None;
            let message = format!("fails behind row {fails}");
            self.host.report(Finding::problem(Kind::BadRow, format!("unit/{}", self.unit), message))?;
        }
        if self.row >= self.rows {
            return Ok(None);
        }
        let most = (self.random.below(self.request.batch_rows) + 1) as i64;
        let end = (self.row + most).min(self.rows).min(self.fails.unwrap_or(i64::MAX));
        self.host.reserve(100 << 10)?;
        let rows: Int64Array = (self.row..end).collect();
        let unit = Int64Array::from(vec![self.unit; rows.len()]);
        let batch = RecordBatch::try_new(schema(), vec![Arc::new(unit), Arc::new(rows)])?;
        self.row = end;
        Ok(Some(batch.project(&self.request.projection)?))
    }
}

/// One scan with everything drawn at random.
async fn stress(seed: u64) {
    let mut random = Random::new(seed);
    let units = 1 + random.below(40);
    let rows: Vec<i64> = (0..units).map(|_| *random.pick(&[0, 1, 7, 40])).collect();
    let fails: Vec<(usize, i64)> = match random.below(3) {
        0 => (0..1 + random.below(3))
            .map(|_| {
                let unit = random.below(units);
                (unit, random.below(rows[unit] as usize + 1) as i64)
            })
            .collect(),
        _ => vec![],
    };
    let skip = random.below(2) == 0;
    let limit = (random.below(3) == 0).then(|| random.below(200));
    let gives_up = (random.below(4) == 0).then(|| random.below(6));
    let refuses = if random.below(4) == 0 { 1 + random.below(10) } else { 0 };
    let open = Arc::new(AtomicUsize::new(0));
    let format =
        Arc::new(Erratic { seed, rows: rows.clone(), fails: fails.clone(), open: Arc::clone(&open) });
    let found = format.discover(&[]).unwrap().units;
    let spec = ScanSpec::new(format, vec![found], units, vec![], 1 + random.below(8))
        .with_limit(limit)
        .with_on_error(if skip { OnError::Skip } else { OnError::Strict })
        .in_order();
    let plan: Arc<dyn ExecutionPlan> = Arc::new(UnitScanExec::new(spec));

    let pool = Arc::new(FailingPool::new(refuses, random.below(2) == 0));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool) as _).build_arc().unwrap();
    let config = session::config().with_batch_size(1 + random.below(9));
    let context = session::context_with(config, runtime).unwrap();

    let mut right = (0i64..).zip(&rows).flat_map(|(unit, rows)| (0..*rows).map(move |row| (unit, row)));
    let (mut rows_got, mut batches, mut error) = (0, 0, None);
    let mut stream = execute_stream(plan, context.task_ctx()).unwrap();
    loop {
        if gives_up == Some(batches) {
            break;
        }
        match stream.next().await {
            None => break,
            Some(Err(e)) => error = Some(e.to_string()),
            Some(Ok(batch)) => {
                assert!(error.is_none(), "seed {seed}: rows behind an error");
                let columns: Vec<&Int64Array> =
                    batch.columns().iter().map(|c| c.as_primitive::<Int64Type>()).collect();
                for row in 0..batch.num_rows() {
                    assert_eq!(
                        Some((columns[0].value(row), columns[1].value(row))),
                        right.next(),
                        "seed {seed}"
                    );
                }
                rows_got += batch.num_rows();
                batches += 1;
            }
        }
    }
    drop(stream);
    let total: usize = rows.iter().map(|rows| *rows as usize).sum();
    let wanted = limit.map_or(total, |limit| limit.min(total));
    match error {
        _ if gives_up == Some(batches) => {}
        None => {
            assert_eq!(rows_got, wanted, "seed {seed}");
            let first = fails.iter().map(|(unit, row)| rows[..*unit].iter().sum::<i64>() + row).min();
            let met = first.is_some_and(|first| (first as usize) < wanted);
            assert!(
                skip || !met,
                "seed {seed}: the problem of a strict scan is lost: {fails:?} of {rows:?}, limit {limit:?}"
            );
        }
        Some(e) if e.contains("fails behind row") => assert!(!skip && !fails.is_empty(), "seed {seed}: {e}"),
        Some(e) => assert!(pool.refused() && e.contains(super::pool::LIMIT), "seed {seed}: {e}"),
    }
    let start = std::time::Instant::now();
    while open.load(Ordering::SeqCst) + datafusion::execution::memory_pool::MemoryPool::reserved(&*pool) > 0 {
        assert!(start.elapsed() < super::size::patience(), "seed {seed}: readers or memory are left");
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_row_is_lost_or_out_of_order_in_the_window() {
    let first = std::env::var("RELIABILITY_SEED").ok().and_then(|seed| seed.parse().ok());
    let seeds = first.map_or(0..pick(400, 20_000), |seed: u64| seed..seed + 1);
    futures::stream::iter(seeds)
        .for_each_concurrent(16, |seed| async move {
            let done = tokio::time::timeout(Duration::from_secs(300), stress(seed)).await;
            assert!(done.is_ok(), "seed {seed} hangs");
        })
        .await;
}
