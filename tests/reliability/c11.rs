//! Nine malformed traces, each with what is wanted of it.

use std::path::{Path, PathBuf};

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

fn case() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/questions/C11")
}

async fn counts(context: &SessionContext, variant: &str, on_error: &str) -> Result<(i64, i64), String> {
    let sql = format!(
        "SELECT count(*), count(nullif(call_stack, '')) FROM memory_events('{}', on_error => '{on_error}')",
        case().join(variant).display()
    );
    let query = async { context.sql(&sql).await?.collect().await };
    let batches = query.await.map_err(|e| e.to_string())?;
    let count = |column: usize| batches[0].column(column).as_primitive::<Int64Type>().value(0);
    Ok((count(0), count(1)))
}

#[tokio::test]
async fn each_malformed_trace_gives_what_is_wanted() {
    let context = session::context(session::config()).unwrap();
    let wanted = std::fs::read_to_string(case().join("expected.csv")).unwrap();
    let mut variants = 0;
    for line in wanted.lines().skip(1) {
        let [variant, strict, rows, with_stack, _] = line.splitn(5, ',').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        variants += 1;
        let wanted: (i64, i64) = (rows.parse().unwrap(), with_stack.parse().unwrap());
        assert_eq!(counts(&context, variant, "skip").await, Ok(wanted), "{variant}");
        match (strict, counts(&context, variant, "strict").await) {
            ("ok", Ok(rows)) => assert_eq!(rows, wanted, "{variant}"),
            ("fail", Err(error)) => {
                assert!(error.contains("trace_view.json"), "{variant}: {error}");
                // A file without bytes has no place in it.
                assert!(variant == "empty" || error.contains(", byte "), "{variant}: {error}");
            }
            (_, other) => panic!("{variant}: {other:?}"),
        }
    }
    assert_eq!(variants, 9);
}

#[tokio::test]
async fn a_time_of_zero_does_not_win() {
    let context = session::context(session::config()).unwrap();
    let sql = format!("SELECT call_stack FROM memory_events('{}')", case().join("tszero").display());
    let batches = context.sql(&sql).await.unwrap().collect().await.unwrap();
    let stacks = batches[0].column(0).as_string_view();
    assert_eq!(stacks.len(), 1);
    let trace = walkdir::WalkDir::new(case().join("tszero"))
        .into_iter()
        .flatten()
        .find(|entry| entry.file_name() == "trace_view.json")
        .unwrap();
    let events: Vec<serde_json::Value> =
        serde_json::from_slice(&std::fs::read(trace.path()).unwrap()).unwrap();
    let late = events.iter().filter(|e| e["ts"] != 0 && e["ts"] != "0" && e["ts"] != "0.000");
    let stacks_wanted: Vec<&str> = late.filter_map(|e| e["args"]["Call stack"].as_str()).collect();
    assert_eq!(stacks_wanted, [stacks.value(0)]);
}
