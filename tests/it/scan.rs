//! What the scan promises: truthful claims, the same rows however it runs, nothing left behind.

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::util::pretty::pretty_format_batches;
use datafusion::common::ScalarValue;
use datafusion::execution::memory_pool::{GreedyMemoryPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, Partitioning, execute_stream};
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use rl_insight_sql::session;

fn context(partitions: usize, batch: usize) -> SessionContext {
    session::context(session::config().with_target_partitions(partitions).with_batch_size(batch)).unwrap()
}

fn sample() -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/run").display().to_string()
}

/// A profile with a table of several blocks, of which one boundary is hard to guess, and a trace
/// that is large enough to be split.
fn large_profile(dir: &Path, rows: usize) {
    let profile = dir.join("actor/host_1_20260101120000000_ascend_pt");
    let output = profile.join("ASCEND_PROFILER_OUTPUT");
    std::fs::create_dir_all(&output).unwrap();
    std::fs::write(profile.join("profiler_info_0.json"), "{}").unwrap();
    let mut csv = String::from(
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),\
         Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
         Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n",
    );
    let mut trace = String::from("[");
    for i in 0..rows {
        let at = 1_779_785_515_000_000u64 + i as u64 * 10;
        let name = match i % 50 {
            7 => "\"aten::odd\r\n,name\"".to_owned(),
            9 => "aten::stray\"quote".to_owned(),
            n => format!("aten::op{n}"),
        };
        write!(
            csv,
            "{name},{}.5,{at}.120\t,{}.500\t,,2.380\t,,{i}.25,4096.0,1.5,,,,140000,NPU:0\r\n",
            i % 900,
            at + 2
        )
        .unwrap();
        let stack = format!("file_{}.py({}): f;\\r\\nmain.py(1): <module>", i % 300, i % 7);
        let comma = if i == 0 { "" } else { ", " };
        write!(
            trace,
            "{comma}{{\"ph\": \"X\", \"name\": \"aten::op{}\", \"pid\": 1, \"tid\": 2, \"ts\": \"{at}.000\", \"dur\": 5, \
             \"cat\": \"cpu_op\", \"args\": {{\"Sequence number\": {i}, \"Call stack\": \"{stack}\"}}}}",
            i % 50
        )
        .unwrap();
    }
    trace.push(']');
    std::fs::write(output.join("operator_memory.csv"), csv).unwrap();
    std::fs::write(output.join("trace_view.json"), trace).unwrap();
}

async fn rows(context: &SessionContext, sql: &str) -> Vec<RecordBatch> {
    context.sql(sql).await.unwrap().collect().await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_hold_what_they_claim() {
    for target in 1..=5 {
        let context = context(target, 7);
        let sql = format!("SELECT role, rank_id, size_kb FROM memory_events('{}')", sample());
        let plan = context.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
        assert!(
            matches!(plan.output_partitioning(), Partitioning::Range(_)),
            "{target}: {:?}",
            plan.output_partitioning()
        );
        let mut keys: Vec<(String, i64)> = vec![];
        let mut starts = vec![];
        for partition in 0..plan.output_partitioning().partition_count() {
            let mut stream = plan.execute(partition, context.task_ctx()).unwrap();
            let mut first = true;
            while let Some(batch) = stream.next().await {
                let batch = batch.unwrap();
                assert!(batch.num_rows() <= 7);
                let (roles, ranks) =
                    (batch.column(0).as_string_view(), batch.column(1).as_primitive::<Int64Type>());
                for row in 0..batch.num_rows() {
                    let key = (roles.value(row).to_owned(), ranks.value(row));
                    if std::mem::take(&mut first) {
                        starts.push(key.clone());
                    }
                    keys.push(key);
                }
            }
        }
        // Sorted inside each partition and over all of them, and no key in two partitions.
        assert!(keys.is_sorted());
        starts.dedup();
        assert_eq!(starts.len(), target.min(4));
        assert_eq!(keys.len(), 324);
    }
}

/// A plain dump, whose role is NULL, and beside its steps the dump of a role; both with several ranks.
fn dump_with_and_without_a_role(dir: &Path) {
    for place in ["step0", "step1", "step12", "ref/step0", "ref/step1"] {
        for rank in [0, 1, 2, 11] {
            let dir = dir.join(place).join(format!("rank{rank}"));
            std::fs::create_dir_all(&dir).unwrap();
            let tensor = r#"{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [2], "Max": 1.0}"#;
            // Files of different sizes, so that the cuts lie anywhere.
            let tensors = vec![tensor; 1 + rank * 7].join(", ");
            let data = format!(r#"{{"data": {{"Module.m.L.forward.0": {{"output": [{tensors}]}}}}}}"#);
            std::fs::write(dir.join("dump.json"), data).unwrap();
            std::fs::write(dir.join("construct.json"), r#"{"Module.m.L.forward.0": null}"#).unwrap();
        }
    }
}

/// A role of NULL, which comes last, then step and rank.
type DumpKey = (bool, String, i64, i64);

fn dump_key(role: Option<&str>, step: i64, rank: i64) -> DumpKey {
    (role.is_none(), role.unwrap_or_default().to_owned(), step, rank)
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_of_a_dump_hold_what_they_claim_also_without_a_role() {
    let dir = tempfile::tempdir().unwrap();
    dump_with_and_without_a_role(dir.path());
    let mut rows = vec![];
    for target in [1, 2, 3, 5, 7, 20, 40] {
        let context = context(target, 7);
        let path = dir.path().join("*");
        let sql = format!("SELECT rank, max, role, source_step FROM dump_trend('{}')", path.display());
        let plan = context.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
        let partitioning = plan.output_partitioning().clone();
        let Partitioning::Range(ranges) = &partitioning else { panic!("{target}: {partitioning:?}") };
        let splits: Vec<DumpKey> = ranges
            .split_points()
            .iter()
            .map(|split| match split.values() {
                [
                    ScalarValue::Utf8View(role),
                    ScalarValue::Int64(Some(step)),
                    ScalarValue::Int64(Some(rank)),
                ] => dump_key(role.as_deref(), *step, *rank),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(splits.len() + 1, target.min(20));
        let mut keys = vec![];
        for partition in 0..partitioning.partition_count() {
            // One by one, so that none can take what belongs to another.
            let mut stream = plan.execute(partition, context.task_ctx()).unwrap();
            let mut count = 0;
            while let Some(batch) = stream.next().await {
                let batch = batch.unwrap();
                let rank = batch.column(0).as_primitive::<Int64Type>();
                let role = batch.column(2).as_string_view();
                let step = batch.column(3).as_primitive::<Int64Type>();
                for row in 0..batch.num_rows() {
                    let role = role.is_valid(row).then(|| role.value(row));
                    let key = dump_key(role, step.value(row), rank.value(row));
                    assert!(partition == 0 || splits[partition - 1] <= key, "{target}, {partition}: {key:?}");
                    assert!(
                        splits.get(partition).is_none_or(|end| key < *end),
                        "{target}, {partition}: {key:?}"
                    );
                    keys.push(key);
                    count += 1;
                }
            }
            assert!(count > 0, "{target}: partition {partition} is empty");
        }
        assert!(keys.is_sorted());
        rows.push(keys);
    }
    // Five step directories with 1 + 8 + 15 + 78 rows each, whatever the number of partitions.
    assert_eq!(rows[0].len(), 5 * 102);
    assert!(rows[0].iter().any(|key| key.0) && rows[0].iter().any(|key| !key.0));
    rows.dedup();
    assert_eq!(rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_and_batches_do_not_change_the_answer() {
    let dir = tempfile::tempdir().unwrap();
    large_profile(dir.path(), 40_000);
    for rule in ["nearest", "inside"] {
        let sql = format!(
            "SELECT * FROM memory_events('{}', match => '{rule}') ORDER BY row_no",
            dir.path().display()
        );
        let digest = async |partitions, batch| {
            let context = context(partitions, batch);
            let batches = rows(&context, &sql).await;
            let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
            assert_eq!(total, 40_000);
            let text = pretty_format_batches(&batches).unwrap().to_string();
            xxhash_rust::xxh3::xxh3_128(text.as_bytes())
        };
        let one = digest(1, 8192).await;
        assert_eq!(digest(2, 8192).await, one, "2 threads, {rule}");
        assert_eq!(digest(4, 1000).await, one, "4 threads, {rule}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_is_given_back_and_a_small_limit_is_a_clean_error() {
    let dir = tempfile::tempdir().unwrap();
    large_profile(dir.path(), 20_000);
    let sql = format!("SELECT count(DISTINCT call_stack_id) FROM memory_events('{}')", dir.path().display());
    let run = async |limit: usize| {
        let pool: Arc<dyn MemoryPool> = Arc::new(GreedyMemoryPool::new(limit));
        let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool)).build_arc().unwrap();
        let context = session::context_with(session::config().with_target_partitions(2), runtime).unwrap();
        let result = context.sql(&sql).await.unwrap().collect().await;
        // The blocking reader may need a moment to see that nobody waits any more.
        let start = Instant::now();
        while pool.reserved() > 0 && start.elapsed() < Duration::from_secs(60) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(pool.reserved(), 0, "with a limit of {limit}");
        result
    };
    assert!(run(1 << 30).await.is_ok());
    for limit in [1 << 10, 100 << 10, 400 << 10] {
        let error = run(limit).await.unwrap_err().to_string();
        assert!(error.contains("memory_events[0]"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_stream_stops_the_reader() {
    let dir = tempfile::tempdir().unwrap();
    large_profile(dir.path(), 40_000);
    let context = context(1, 16);
    let sql = format!("SELECT name FROM memory_events('{}')", dir.path().display());
    let plan = context.sql(&sql).await.unwrap().create_physical_plan().await.unwrap();
    let mut stream = execute_stream(Arc::clone(&plan), context.task_ctx()).unwrap();
    assert_eq!(stream.next().await.unwrap().unwrap().num_rows(), 16);
    drop(stream);
    tokio::time::sleep(Duration::from_millis(300)).await;
    let read = read_rows(&plan);
    assert!(read < 20_000, "{read} of 40000 rows were read for the first 16");
}

/// Sums what the leaves of a plan counted as read.
fn read_rows(plan: &Arc<dyn ExecutionPlan>) -> usize {
    let own = plan.metrics().and_then(|m| m.sum_by_name("rows_read")).map_or(0, |v| v.as_usize());
    own + plan.children().into_iter().map(read_rows).sum::<usize>()
}
