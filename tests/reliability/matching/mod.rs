//! `memory_events` over random trees against rules that are written down plainly, and against another
//! engine.

mod duckdb;
mod plain_matching;
mod profile;

use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

use crate::size;
use plain_matching::{Expected, inside, nearest};
use profile::{Allocation, Profile};

/// A row as it is compared: all values as texts.
type Row = Vec<String>;

#[test]
fn random_trees_are_matched_as_the_plain_rules_say() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let trees = size::pick(200, 10_000);
    let contexts: Vec<SessionContext> = [(1, 8192), (2, 7), (4, 1)]
        .map(|(partitions, batch)| {
            session::config().with_target_partitions(partitions).with_batch_size(batch)
        })
        .map(|config| session::context(config).unwrap())
        .into();
    let (mut rows, mut kinds) = (0, std::collections::BTreeMap::<String, usize>::new());
    for seed in 0..trees {
        let scratch = tempfile::tempdir().unwrap();
        let profiles = profile::tree(seed, scratch.path());
        if profiles.iter().all(|p| p.allocations.is_empty()) {
            continue;
        }
        let context = &contexts[seed as usize % contexts.len()];
        type Rule = fn(&Profile, &Allocation) -> Expected;
        let rules: [(&str, Rule); 2] = [("nearest", nearest), ("inside", inside)];
        for (name, rule) in rules {
            let mut expected: Vec<Row> = profiles.iter().flat_map(|p| expected(p, rule)).collect();
            let mut found = runtime.block_on(found(context, scratch.path(), name));
            expected.sort();
            found.sort();
            let differs = expected.iter().zip(&found).find(|(e, f)| e != f);
            assert!(
                differs.is_none() && expected.len() == found.len(),
                "tree {seed}, match => '{name}': {} rows, expected {}; the first that differ (expected, found): {differs:#?}",
                found.len(),
                expected.len(),
            );
            rows += found.len();
            found.iter().for_each(|row| *kinds.entry(format!("{name}/{}", row[8])).or_default() += 1);
        }
    }
    println!("{trees} trees, {rows} rows: {kinds:?}");
    for kind in
        ["nearest/inside", "nearest/queue", "nearest/after", "nearest/none", "inside/inside", "inside/queue"]
    {
        assert!(kinds.get(kind).is_some_and(|n| *n > 50), "too few rows of {kind}: {kinds:?}");
    }
}

fn expected(profile: &Profile, rule: fn(&Profile, &Allocation) -> Expected) -> Vec<Row> {
    let text = |ns: Option<i64>| ns.map_or_else(|| "NULL".to_owned(), |ns| ns.to_string());
    let row = |(at, a): (usize, &Allocation)| {
        let Expected { stack, kind, lag } = rule(profile, a);
        let top = stack.split(";\r\n").next().unwrap_or_default().to_owned();
        vec![
            profile.role.clone(),
            profile.rank.to_string(),
            (at + 1).to_string(),
            a.name.clone(),
            format!("{:.1}", a.half_kb as f64 / 2.0),
            text(a.start),
            text(a.release),
            stack,
            kind.to_owned(),
            top,
            text(lag),
        ]
    };
    profile.allocations.iter().enumerate().map(row).collect()
}

async fn found(context: &SessionContext, root: &std::path::Path, rule: &str) -> Vec<Row> {
    let sql = format!(
        "SELECT role, rank_id, row_no, name, arrow_cast(size_kb, 'Decimal128(20, 1)'), start_time_ns, release_time_ns,
                call_stack, match_kind, call_stack_top, CAST(round(match_lag_us * 1000) AS BIGINT)
         FROM memory_events('{}', match => '{rule}')",
        root.display()
    );
    crate::logic::fetch(context, &sql)
        .await
        .unwrap_or_else(|e| panic!("{e}"))
        .into_iter()
        .map(|row| row.into_iter().map(|v| if v == "\u{0}" { "NULL".to_owned() } else { v }).collect())
        .collect()
}
