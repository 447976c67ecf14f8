//! SQL over small trees: whatever the text is, there is an answer or an error, and nothing is written.

use std::path::{Path, PathBuf};
use std::time::Duration;

use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use futures::StreamExt;
use rl_insight_sql::session;

use super::{Target, fuzz, hash};

/// Data that questions are about.
fn trees() -> Vec<(&'static str, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    vec![
        ("memory", root.join("tests/data/memory/01_plain/tree")),
        ("trend", root.join("tests/data/trend/02_micro_plain/input")),
        ("memscope", root.join("tests/data/memscope/serve_oom")),
    ]
}

/// The queries of the tests of one area are what new ones are made of.
fn queries(area: &str, data: &Path) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/slt").join(area);
    let mut queries = vec![];
    for entry in walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().flatten() {
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        for record in text.split("\n\n") {
            let mut lines =
                record.lines().skip_while(|l| !l.starts_with("query") && !l.starts_with("statement"));
            if lines.next().is_none() {
                continue;
            }
            let sql = lines.take_while(|l| !l.starts_with("----")).collect::<Vec<_>>().join(" ");
            // Whatever it asked, it asks of one small tree.
            let mut parts = sql.split('\'').map(str::to_owned).collect::<Vec<_>>();
            for part in parts.iter_mut().filter(|part| part.contains("{data}") || part.contains("{examples}"))
            {
                *part = data.display().to_string();
            }
            queries.push(parts.join("'").into_bytes());
        }
    }
    assert!(queries.len() > 20, "{area}: {} queries", queries.len());
    queries
}

const WORDS: &[&str] = &[
    " SELECT ",
    " FROM ",
    " WHERE ",
    " GROUP BY ",
    " ORDER BY ",
    " LIMIT ",
    " OFFSET ",
    " JOIN ",
    " LEFT JOIN ",
    " ON ",
    " UNION ALL ",
    " EXCEPT ",
    " IS NULL ",
    " NOT ",
    " AND ",
    " OR ",
    " IN (",
    " CASE WHEN ",
    " THEN ",
    " END ",
    " count(*) ",
    " sum(",
    " max(",
    " DISTINCT ",
    " OVER (PARTITION BY ",
    " HAVING ",
    " WITH a AS (",
    " VALUES (",
    " CAST(",
    " AS BIGINT)",
    "::DOUBLE",
    " rank_id ",
    " step ",
    " name ",
    " size ",
    " on_error => 'skip'",
    " match => 'inside'",
    " EXPLAIN ",
    " DESCRIBE ",
    " NULL ",
    " INTERVAL '1 day' ",
    " LIKE '%",
    " ~ ",
    " || ",
    " / 0 ",
    " % 0 ",
    " unnest(",
    " LATERAL ",
    " VALUES ",
    " generate_series(1, 3) ",
    " top_frame(",
    " row_number() ",
    "1e400",
    "x'00'",
    "DATE '2020-01-01'",
];

#[test]
fn sql_sessions() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let limits = RuntimeEnvBuilder::new().with_memory_limit(64 << 20, 1.0).build_arc().unwrap();
    let config = session::config().with_target_partitions(2);
    let context = runtime.block_on(async { session::context_with(config, limits).unwrap() });
    let seeds = trees().iter().flat_map(|(area, data)| queries(area, data)).collect();
    let check = |input: &[u8]| {
        let Ok(sql) = std::str::from_utf8(input) else { return 0 };
        runtime.block_on(async {
            let plan = match context.state().create_logical_plan(sql).await {
                Ok(plan) => plan,
                Err(e) => return outcome("plan", &e.to_string()),
            };
            // What writes is for the tests of --read-only; here it would only fill the disk.
            let mut writes = false;
            plan.apply_with_subqueries(|node| {
                writes |= matches!(
                    node,
                    LogicalPlan::Copy(_)
                        | LogicalPlan::Ddl(_)
                        | LogicalPlan::Dml(_)
                        | LogicalPlan::Statement(_)
                );
                Ok(TreeNodeRecursion::Continue)
            })
            .unwrap();
            if writes {
                return 1;
            }
            let run = async {
                let mut stream = context.execute_logical_plan(plan).await?.execute_stream().await?;
                let mut rows = 0;
                while let Some(batch) = stream.next().await {
                    rows += batch?.num_rows();
                    if rows > 100_000 {
                        break;
                    }
                }
                Ok::<usize, datafusion::error::DataFusionError>(rows)
            };
            // A query may be made to take for ever; then it must be possible to stop it.
            match tokio::time::timeout(Duration::from_secs(5), run).await {
                Err(_) => 2,
                Ok(Ok(rows)) => hash(("rows", rows.min(5))),
                Ok(Err(e)) => outcome("run", &e.to_string()),
            }
        })
    };
    fuzz(&Target { name: "sql_sessions", seeds, words: WORDS, most: 4000, check: &check });
}

fn outcome(stage: &str, error: &str) -> u64 {
    assert!(!error.contains("panicked"), "{error}");
    hash((stage, error.chars().filter(char::is_ascii_alphabetic).take(20).collect::<String>()))
}
