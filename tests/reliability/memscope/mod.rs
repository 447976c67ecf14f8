//! msMemScope tables over random runs, whose blocks, leaks and peaks are known from what the process did.

mod run;

use std::path::Path;

use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

use crate::size;
use run::{Block, MARK, Run};

type Rows = Vec<Vec<String>>;

#[test]
fn random_runs_have_the_blocks_leaks_and_peaks_that_were_made() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let contexts = [(1, 8192), (3, 7)].map(|(partitions, batch)| {
        let config = session::config().with_target_partitions(partitions).with_batch_size(batch);
        session::context(config).unwrap()
    });
    let (mut blocks, mut leaks) = (0, 0);
    let runs = size::pick(25, 2_000);
    for seed in 0..runs {
        let scratch = tempfile::tempdir().unwrap();
        let made = run::write(seed, scratch.path());
        let ask = |sql: &str| runtime.block_on(rows(&contexts[seed as usize % 2], sql, scratch.path()));

        let found = ask("SELECT pid, count(*) FROM memscope_events('{path}') GROUP BY pid");
        let events = |run: &Run| vec![run.pid.to_string(), run.events.to_string()];
        assert_eq!(
            found,
            sorted(made.iter().filter(|run| run.events > 0).map(events).collect()),
            "run {seed}"
        );

        let found = ask(
            "SELECT pid, allocation_id, pool, ptr, size, malloc_id, malloc_ts, free_id, free_ts, freed_by, tool_free_id, owner,
                    accesses, first_access_ts, last_access_ts, pool_used FROM memscope_blocks('{path}')",
        );
        let expected: Rows = made.iter().flat_map(|run| run.blocks.iter().map(|b| block(run, b))).collect();
        blocks += found.len();
        assert_eq!(found, sorted(expected), "run {seed}");

        let found = ask(
            "SELECT pid, pool, max(pool_used) FROM memscope_events('{path}') WHERE event = 'MALLOC' GROUP BY pid, pool",
        );
        assert_eq!(found, sorted(made.iter().flat_map(peaks).collect()), "run {seed}");

        let mark = MARK.replace('\'', "''");
        let sql = format!("SELECT pid, event_id, bytes FROM memscope_check_leaks('{{path}}', '{mark}')");
        // Where no process has three marks, there is no answer.
        let enough = made.iter().any(|run| run.marks.len() >= 3);
        let found = if enough { ask(&sql) } else { vec![] };
        let expected: Rows = made.iter().flat_map(checked_leaks).collect();
        leaks += found.len();
        assert_eq!(found, sorted(expected), "run {seed}");

        let found = ask(
            "SELECT pid, pool, sum(blocks), sum(bytes) FROM memscope_never_freed('{path}') GROUP BY pid, pool",
        );
        assert_eq!(found, sorted(made.iter().flat_map(never_freed).collect()), "run {seed}");
    }
    println!("{runs} runs, {blocks} blocks, {leaks} leaks between marks");
    assert!(blocks > 500 && leaks > 10);
}

async fn rows(context: &SessionContext, sql: &str, path: &Path) -> Rows {
    let sql = sql.replace("{path}", &path.display().to_string());
    sorted(crate::logic::fetch(context, &sql).await.unwrap_or_else(|e| panic!("{e}")))
}

fn sorted(mut rows: Rows) -> Rows {
    rows.sort();
    rows
}

fn text(value: Option<i64>) -> String {
    value.map_or_else(|| "\u{0}".to_owned(), |value| value.to_string())
}

fn block(run: &Run, b: &Block) -> Vec<String> {
    let freed_by = match (b.free, b.tool_free) {
        (Some(_), _) => "program",
        (None, Some(_)) => "tool",
        (None, None) => "none",
    };
    vec![
        run.pid.to_string(),
        b.allocation.to_string(),
        b.pool.to_owned(),
        b.ptr.to_string(),
        b.size.to_string(),
        b.malloc.0.to_string(),
        b.malloc.1.to_string(),
        text(b.free.map(|f| f.0)),
        text(b.free.map(|f| f.1)),
        freed_by.to_owned(),
        text(b.tool_free),
        b.owner.clone().unwrap_or_else(|| "\u{0}".to_owned()),
        b.accesses.len().to_string(),
        text(b.accesses.iter().min().copied()),
        text(b.accesses.iter().max().copied()),
        text(b.used),
    ]
}

fn pools(run: &Run) -> std::collections::BTreeMap<&str, Vec<&Block>> {
    let mut pools = std::collections::BTreeMap::<&str, Vec<&Block>>::new();
    run.blocks.iter().for_each(|b| pools.entry(b.pool).or_default().push(b));
    pools
}

/// The highest use of each pool.
fn peaks(run: &Run) -> Rows {
    let peak = |(pool, blocks): (&str, Vec<&Block>)| {
        vec![run.pid.to_string(), pool.to_owned(), text(blocks.iter().filter_map(|b| b.used).max())]
    };
    pools(run).into_iter().map(peak).collect()
}

/// Driver blocks allocated between the first and the second mark and not released up to the third. The tool
/// goes by addresses: any release of the address counts.
fn checked_leaks(run: &Run) -> Rows {
    let [a, b, c, ..] = run.marks[..] else { return vec![] };
    let driver = || run.blocks.iter().filter(|block| block.pool == "HAL");
    let leaks = driver().filter(|block| {
        let released = driver()
            .filter(|other| other.ptr == block.ptr)
            .filter_map(|other| other.free.map(|f| f.0).or(other.tool_free));
        (a..=b).contains(&block.malloc.0) && !{ released }.any(|at| at > block.malloc.0 && at <= c)
    });
    leaks.map(|l| vec![run.pid.to_string(), l.malloc.0.to_string(), l.size.to_string()]).collect()
}

/// What the program never released, by pool.
fn never_freed(run: &Run) -> Rows {
    let held = |(pool, blocks): (&str, Vec<&Block>)| {
        let held: Vec<&&Block> = blocks.iter().filter(|b| b.free.is_none()).collect();
        let bytes: i64 = held.iter().map(|b| b.size).sum();
        (!held.is_empty())
            .then(|| vec![run.pid.to_string(), pool.to_owned(), held.len().to_string(), bytes.to_string()])
    };
    pools(run).into_iter().filter_map(held).collect()
}
