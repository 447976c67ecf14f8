//! Every reservation of memory can fail: the answer is right, or the query fails with an error that
//! tells the limit; nothing stays reserved, and an export leaves its target as it was.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use datafusion::common::{DataFusionError, Result};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use rl_insight_sql::library::Library;
use rl_insight_sql::session;

use super::answer::{Answer, ask};
use super::pool::{FailingPool, LIMIT};
use super::sample::{CALLS, call, make};
use super::size::{patience, pick};

/// Queries that hold something back: sorts, groups, windows, joins. `{dir}` is the sample.
const QUERIES: [&str; 51] = [
    "SELECT * FROM memory_events('{dir}/memory') ORDER BY size_kb, start_time_ns, row_no, role, rank_id",
    "SELECT call_stack_id, count(*), sum(size_kb) FROM memory_events('{dir}/memory') GROUP BY 1",
    "SELECT a.row_no, b.row_no FROM memory_events('{dir}/memory') a JOIN memory_events('{dir}/memory') b USING (name, size_kb)",
    "SELECT row_no, row_number() OVER (PARTITION BY name ORDER BY start_time_ns, role, rank_id, row_no) FROM memory_events('{dir}/memory')",
    "SELECT * FROM memory_at_peak('{dir}/memory')",
    "SELECT * FROM memory_by_operator('{dir}/memory')",
    "SELECT * FROM memory_by_stack('{dir}/memory')",
    "SELECT * FROM memory_diff('{dir}/memory/actor_update', '{dir}/memory/rollout_generate')",
    "SELECT * FROM memory_fragmentation('{dir}/memory')",
    "SELECT * FROM memory_imbalance('{dir}/memory')",
    "SELECT * FROM memory_lifetimes('{dir}/memory')",
    "SELECT * FROM memory_peaks('{dir}/memory')",
    "SELECT * FROM memory_timeline('{dir}/memory')",
    "SELECT * FROM memscope_compare('{dir}/compare/base', '{dir}/compare/target')",
    "SELECT * FROM memscope_held_at_marks('{dir}/memscope')",
    "SELECT * FROM memscope_never_freed('{dir}/memscope')",
    "SELECT * FROM memscope_owners('{dir}/memscope')",
    "SELECT * FROM memscope_pool_timeline('{dir}/memscope')",
    "SELECT * FROM memscope_step_leaks('{dir}/memscope')",
    "SELECT * FROM memscope_summary('{dir}/memscope')",
    "SELECT * FROM memscope_watch_changes('{dir}/watch')",
    "SELECT * FROM trend_summary('{dir}/trend')",
    "SELECT * FROM trend_rank_outliers('{dir}/trend')",
    "SELECT * FROM trend_differences('{dir}/trend/actor_update', '{dir}/trend/ref_log_prob')",
    "SELECT * FROM memory_at('{dir}/memory', at_ns => 1779785515133077800)",
    "SELECT * FROM memory_growth('{dir}/memory')",
    "SELECT * FROM memory_not_released('{dir}/memory')",
    "SELECT * FROM memory_short_lived('{dir}/memory')",
    "SELECT * FROM memscope_check_leaks('{dir}/memscope', 'leak_check')",
    "SELECT * FROM memscope_compare_by_occurrence('{dir}/compare/base', '{dir}/compare/target')",
    "SELECT * FROM memscope_driver_segments('{dir}/memscope')",
    "SELECT * FROM memscope_fluctuation('{dir}/memscope')",
    "SELECT * FROM memscope_growth_by_stack('{dir}/memscope')",
    "SELECT * FROM memscope_inefficient('{dir}/memscope')",
    "SELECT * FROM memscope_leaks('{dir}/memscope', 'leak_check', start_index => 1)",
    "SELECT * FROM memscope_oom('{dir}/memscope')",
    "SELECT * FROM memscope_oom_contents('{dir}/memscope')",
    "SELECT * FROM memscope_owner_tree('{dir}/memscope')",
    "SELECT * FROM memscope_owners_at('{dir}/memscope', 1790000000060000000)",
    "SELECT * FROM memscope_owners_at_peak('{dir}/memscope')",
    "SELECT * FROM memscope_pool_growth('{dir}/memscope')",
    "SELECT * FROM memscope_ranks('{dir}/memscope')",
    "SELECT * FROM memscope_timeline('{dir}/memscope')",
    "SELECT * FROM memscope_unaccounted('{dir}/memscope')",
    "SELECT * FROM memscope_window('{dir}/memscope', 1790000000040000000, 1790000000080000000)",
    "SELECT * FROM trend_first_divergence('{dir}/trend/actor_update', '{dir}/trend/ref_log_prob')",
    "SELECT * FROM trend_first_nonfinite('{dir}/trend')",
    "SELECT * FROM trend_jumps('{dir}/trend')",
    "SELECT * FROM trend_series('{dir}/trend', 'Module.n.N.output.0')",
    "SELECT * FROM dump_trend('{dir}/trend') ORDER BY norm, target_name, role, rank, step",
    "SELECT source, count(*) FROM diagnostics('{dir}') GROUP BY source ORDER BY source",
];

/// A function that is added later must not be forgotten here.
#[test]
fn every_function_of_the_library_is_asked() {
    let functions = Library::shipped().unwrap().functions();
    let asked = |name: &str| QUERIES.iter().any(|query| query.contains(&format!("FROM {name}(")));
    let missing: Vec<&str> = functions.iter().map(|f| f.name()).filter(|name| !asked(name)).collect();
    assert!(functions.len() > 20 && missing.is_empty(), "no query asks {missing:?}");
}

/// Exports of every kind; `{out}` is the directory of the target.
const EXPORTS: [(&str, &str); 8] = [
    ("x.csv", "COPY (SELECT * FROM memory_events('{dir}/memory')) TO '{out}/x.csv' STORED AS CSV"),
    ("x.json", "COPY (SELECT * FROM memory_events('{dir}/memory')) TO '{out}/x.json' STORED AS JSON"),
    (
        "x.parquet",
        "COPY (SELECT * FROM memory_events('{dir}/memory')) TO '{out}/x.parquet' STORED AS PARQUET",
    ),
    ("x.arrow", "COPY (SELECT * FROM memory_events('{dir}/memory')) TO '{out}/x.arrow' STORED AS ARROW"),
    ("x.db", "COPY (SELECT * FROM memory_events('{dir}/memory')) TO '{out}/x.db' STORED AS SQLITE"),
    (
        "y.db",
        "COPY (SELECT * FROM memory_events('{dir}/memory') ORDER BY size_kb, name, row_no, role, rank_id) \
         TO '{out}/y.db' STORED AS SQLITE",
    ),
    (
        "x.trend.db",
        "COPY (SELECT * FROM dump_trend('{dir}/trend/actor_update')) TO '{out}/x.trend.db' STORED AS TREND_DB",
    ),
    (
        "y.trend.db",
        "COPY (SELECT rank, step, metric_name, target_name, avg(norm) AS norm \
         FROM dump_trend('{dir}/trend/actor_update') GROUP BY ALL) TO '{out}/y.trend.db' STORED AS TREND_DB",
    ),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_reservation_gives_the_answer_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let path = dir.path().display().to_string();
    let calls = CALLS.map(|(_, part, function, arguments)| {
        format!("SELECT * FROM {}", call(dir.path(), part, function, arguments, false))
    });
    let queries: Vec<String> = calls.into_iter().chain(QUERIES.map(|q| q.replace("{dir}", &path))).collect();
    let mut tally = Tally::default();
    for (at, sql) in queries.iter().enumerate() {
        let right = run(sql, &Arc::new(FailingPool::default())).await;
        let right = right.unwrap_or_else(|e| panic!("{sql}: {e}"));
        // Planning the functions of the library takes time: in the ordinary run each query meets one kind of
        // refusal.
        for for_good in [false, true].into_iter().filter(|kind| pick(*kind == (at % 2 == 0), true)) {
            let mut n = 0;
            loop {
                n += pick(1 + n, 1);
                let pool = Arc::new(FailingPool::new(n, for_good));
                let found = run(sql, &pool).await;
                let refused = pool.refused();
                match found {
                    Ok(found) => {
                        assert_eq!(found, right, "{sql}: refusal {n}, for good: {for_good}");
                        tally.right += usize::from(refused);
                    }
                    Err(e) => {
                        assert!(refused, "{sql}: {e}");
                        is_clear(&e).unwrap_or_else(|what| panic!("{sql}: refusal {n}: {what}"));
                        tally.failed += 1;
                    }
                }
                if !refused {
                    break;
                }
            }
        }
    }
    println!("{} queries: {tally:?}", queries.len());
    assert!(tally.failed > queries.len(), "{tally:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_refused_reservation_leaves_the_target_of_an_export() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path());
    let out = dir.path().join("out");
    let mut tally = Tally::default();
    for (name, sql) in EXPORTS {
        let sql = sql.replace("{dir}", &dir.path().display().to_string());
        let sql = sql.replace("{out}", &out.display().to_string());
        let export = async |old: Option<&str>, pool: FailingPool| {
            let _ = fs::remove_dir_all(&out);
            fs::create_dir(&out).unwrap();
            if let Some(old) = old {
                fs::write(out.join(name), old).unwrap();
            }
            let pool = Arc::new(pool);
            let done = run(&sql, &pool).await;
            (done.map(|_| ()), pool.refused(), content(&out))
        };
        let (done, _, right) = export(None, FailingPool::default()).await;
        done.unwrap();
        assert_eq!(right.keys().collect::<Vec<_>>(), [name], "{sql}");
        for (for_good, old) in [(false, None), (true, Some("what was there before"))] {
            let before: BTreeMap<String, Vec<u8>> =
                old.iter().map(|old| (name.to_owned(), old.as_bytes().to_vec())).collect();
            let mut n = 0;
            loop {
                n += pick(1 + n / 2, 1);
                let (done, refused, left) = export(old, FailingPool::new(n, for_good)).await;
                match done {
                    Ok(()) => {
                        assert!(left == right, "{sql}: refusal {n} gives another file");
                        tally.right += usize::from(refused);
                    }
                    Err(e) => {
                        assert!(refused, "{sql}: {e}");
                        is_clear(&e).unwrap_or_else(|what| panic!("{sql}: refusal {n}: {what}"));
                        assert!(left == before, "{sql}: refusal {n} leaves {:?}", left.keys());
                        tally.failed += 1;
                    }
                }
                if !refused {
                    break;
                }
            }
        }
    }
    println!("{} exports: {tally:?}", EXPORTS.len());
    assert!(tally.failed > EXPORTS.len(), "{tally:?}");
}

/// How runs in which a reservation was refused ended.
#[derive(Debug, Default)]
struct Tally {
    right: usize,
    failed: usize,
}

/// Asks a query with this pool, and waits until everything is given back.
async fn run(sql: &str, pool: &Arc<FailingPool>) -> Result<Answer> {
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(pool) as _).build_arc()?;
    let config = session::config().with_target_partitions(2);
    let found = ask(&session::context_with(config, runtime)?, sql).await;
    let start = Instant::now();
    while pool.reserved() > 0 {
        assert!(start.elapsed() < patience(), "{} bytes stay reserved: {sql}", pool.reserved());
        tokio::time::sleep(std::time::Duration::from_millis(1)).await;
    }
    found
}

/// The error is that of the pool, whatever it went through.
fn is_clear(error: &DataFusionError) -> std::result::Result<(), String> {
    let resources = matches!(error.find_root(), DataFusionError::ResourcesExhausted(_));
    if !resources || !error.to_string().contains(LIMIT) {
        return Err(format!("no error about resources that tells the limit: {error}"));
    }
    Ok(())
}

/// All files in a directory.
fn content(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let file = |entry: std::io::Result<fs::DirEntry>| {
        let path = entry.unwrap().path();
        (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read(path).unwrap())
    };
    fs::read_dir(dir).unwrap().map(file).collect()
}
