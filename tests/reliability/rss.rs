//! Memory is bounded: what a process uses does not grow with the number of ranks, what grows within a
//! rank is reserved from the pool, and a limit that is too small ends a query cleanly.

use std::ffi::OsString;
use std::fs;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use futures::StreamExt;
use rl_insight_sql::session;

use super::large::{Input, make};
use super::own_process;
use super::pool::FailingPool;
use super::sample::repository;
use super::size::pick;

const MB: u64 = 1 << 20;

/// Every table function that reads these inputs row by row.
const READERS: [(Input, &str); 8] = [
    (Input::Profile, "memory_events('{run}')"),
    (Input::Memscope, "memscope_blocks('{run}')"),
    (Input::Dump, "dump_trend('{run}')"),
    (Input::Dump, "dump_trend('{run}', micro_step => false)"),
    (Input::Memscope, "memscope_events('{run}')"),
    (Input::Memscope, "memscope_block_calls('{run}')"),
    (Input::Memscope, "diagnostics('{run}')"),
    (Input::Profile, "diagnostics('{run}')"),
];

/// What reading cost.
#[derive(Debug, Clone, Copy)]
struct Cost {
    /// The most memory that the process had, in bytes.
    peak: u64,
    /// The most that was reserved from the pool, in bytes.
    reserved: u64,
}

/// Reads an input to its end in a process of its own.
fn cost(call: &str) -> Cost {
    cost_in(call, 2, 8192)
}

/// The same with so many partitions and rows a batch.
fn cost_in(call: &str, partitions: usize, batch: usize) -> Cost {
    let sql = OsString::from(format!("SELECT * FROM {call}"));
    let [partitions, batch] = [partitions, batch].map(|number| OsString::from(number.to_string()));
    let text = own_process::run(
        "rss::reads_to_the_end",
        [
            ("RELIABILITY_SQL", &*sql),
            ("RELIABILITY_PARTITIONS", &*partitions),
            ("RELIABILITY_BATCH", &*batch),
        ],
    );
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.split(name).nth(1)).unwrap();
        line.trim().split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    Cost { peak: number("peak:"), reserved: number("reserved:") }
}

#[test]
#[ignore = "run by other tests, in a process of its own"]
fn reads_to_the_end() {
    let sql = std::env::var("RELIABILITY_SQL").unwrap();
    let number = |name| std::env::var(name).unwrap().parse::<usize>().unwrap();
    let (partitions, batch) = (number("RELIABILITY_PARTITIONS"), number("RELIABILITY_BATCH"));
    let pool = Arc::new(FailingPool::default());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let environment =
            RuntimeEnvBuilder::new().with_memory_pool(Arc::clone(&pool) as _).build_arc().unwrap();
        let config = session::config().with_target_partitions(partitions).with_batch_size(batch);
        let context = session::context_with(config, environment).unwrap();
        let mut rows = context.sql(&sql).await.unwrap().execute_stream().await.unwrap();
        let mut count = 0;
        while let Some(batch) = rows.next().await {
            count += batch.unwrap().num_rows();
        }
        assert!(count > 0);
    });
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    let kb: u64 = peak.trim().trim_end_matches(" kB").parse().unwrap();
    println!("peak: {} reserved: {}", kb << 10, pool.peak());
}

#[test]
fn memory_does_not_grow_with_the_number_of_ranks() {
    for (input, call) in &READERS[..pick(3, READERS.len())] {
        let mut costs = vec![];
        for ranks in [4, 8, 16] {
            let dir = tempfile::tempdir().unwrap();
            let bytes = make(dir.path(), *input, ranks, pick(6_000, 60_000), 200);
            let call = call.replace("{run}", &dir.path().join("run").display().to_string());
            costs.push((bytes, cost(&call)));
        }
        println!("{call}: {costs:?}");
        let (small, large) = (costs[0], costs[2]);
        // The allocator is not exact to the megabyte.
        let allowed = small.1.peak + (large.0 - small.0) / 20 + 6 * MB;
        assert!(large.1.peak <= allowed, "{call}: {costs:?}");
        assert!(large.1.reserved <= small.1.reserved * 3 / 2 + MB, "{call}: {costs:?}");
    }
}

#[test]
fn what_grows_within_a_rank_is_reserved() {
    for (input, call) in &READERS[..pick(4, READERS.len())] {
        let mut costs = vec![];
        for rows in [pick(5_000, 50_000), pick(40_000, 400_000)] {
            let dir = tempfile::tempdir().unwrap();
            make(dir.path(), *input, 1, rows, rows);
            let call = call.replace("{run}", &dir.path().join("run").display().to_string());
            costs.push(cost(&call));
        }
        println!("{call}: {costs:?}");
        let grown = costs[1].peak.saturating_sub(costs[0].peak);
        let reserved = costs[1].reserved.saturating_sub(costs[0].reserved);
        assert!(
            grown <= 2 * reserved + 8 * MB,
            "{call}: {grown} bytes more, and {reserved} of them reserved"
        );
    }
}

/// A step that ends at an id which only damage explains reaches over all pages of ids, see the functions of
/// steps in `sql/memscope`. Each row of them is a batch here, and one of a few bytes takes tens of kilobytes.
#[test]
fn an_id_that_damage_made_huge_does_not_cost_memory() {
    let path = repository("tests/data/memscope_traps/huge_id.csv");
    for function in &["memscope_fluctuation", "memscope_unaccounted"][..pick(1, 2)] {
        let cost = cost_in(&format!("{function}('{}')", path.display()), 7, pick(16, 1));
        println!("{function}: {cost:?}");
        assert!(cost.peak < pick(300, 4_000) * MB, "{function}: {cost:?}");
    }
}

#[test]
fn a_limit_that_is_too_small_is_a_clean_error() {
    let dir = tempfile::tempdir().unwrap();
    make(dir.path(), Input::Profile, 2, 5_000, 5_000);
    make(&dir.path().join("m"), Input::Memscope, 2, 5_000, 5_000);
    let out = dir.path().join("out.csv");
    let (profile, memscope) = (dir.path().join("run"), dir.path().join("m/run"));
    let export =
        format!("COPY (SELECT * FROM memory_events('{}')) TO '{}'", profile.display(), out.display());
    for sql in [
        format!("SELECT * FROM memory_events('{}')", profile.display()),
        format!("SELECT * FROM memory_by_stack('{}')", profile.display()),
        format!("SELECT * FROM memscope_blocks('{}')", memscope.display()),
        export,
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
        command.args(["--memory-limit", "200k", "-c", &sql]).env_clear().stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let done = own_process::finish(command, Duration::from_secs(300));
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(5), "{sql}\n{said}");
        assert!(said.starts_with("error: ") && said.contains("200"), "it does not tell the limit: {said}");
        assert!(!out.exists() && fs::read_dir(dir.path()).unwrap().count() == 3, "{sql}");
    }
}
