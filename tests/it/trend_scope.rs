//! `scope => 'all'` shows more than `scope => 'reference'`, and nothing that is different: the rows
//! without a `reference_skip` are those of the reference.

use std::fs;
use std::path::{Path, PathBuf};

use datafusion::arrow::array::{Array, ArrayRef, AsArray};
use datafusion::arrow::datatypes::Int64Type;
use datafusion::arrow::util::display::array_value_to_string;
use datafusion::error::Result;
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

/// All columns but those that may differ: names, because the reference cuts markers out of them, and
/// `tensor_no`, which counts all rows.
const COLUMNS: &str = "role, source_step, rank, step, local_micro_step, entry_no, module_key, io_kind, norm, max, \
    min, mean, tensor_type, dtype, shape, source_path";

/// The dumps of all tests.
fn dumps() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let cases = fs::read_dir(data.join("trend")).unwrap().map(|e| e.unwrap().path().join("input"));
    let questions = ["C08", "C09/runA", "C09/runB", "C10"].map(|name| data.join("questions").join(name));
    let mut dumps: Vec<PathBuf> = cases.filter(|input| input.is_dir()).chain(questions).collect();
    dumps.sort();
    dumps
}

/// Rows as texts, sorted; nothing when there is no dump.
async fn rows(context: &SessionContext, sql: &str) -> Option<Vec<String>> {
    let result: Result<Vec<_>> = async { context.sql(sql).await?.collect().await }.await;
    let batches = match result {
        Ok(batches) => batches,
        Err(e) if e.to_string().contains("no dump found") => return None,
        Err(e) => panic!("{sql}\n{e}"),
    };
    let mut rows = vec![];
    for batch in &batches {
        for row in 0..batch.num_rows() {
            let cell = |column: &ArrayRef| array_value_to_string(column, row).unwrap();
            rows.push(batch.columns().iter().map(cell).collect::<Vec<_>>().join(" | "));
        }
    }
    rows.sort();
    Some(rows)
}

#[tokio::test]
async fn rows_without_a_reason_are_those_of_the_reference() {
    let context = session::context(session::config()).unwrap();
    let (mut compared, mut left_out) = (0, 0);
    for dump in dumps() {
        for micro_step in [true, false] {
            let select = |scope: &str, condition: &str| {
                format!(
                    "SELECT {COLUMNS} FROM dump_trend('{}', micro_step => {micro_step}, scope => '{scope}', \
                     on_error => 'skip') WHERE {condition}",
                    dump.display()
                )
            };
            let Some(reference) = rows(&context, &select("reference", "true")).await else { continue };
            let all = rows(&context, &select("all", "reference_skip IS NULL")).await.unwrap();
            assert_eq!(all, reference, "{}, micro_step {micro_step}", dump.display());
            // Where the names are the same, everything is.
            let named = |scope| {
                select(scope, "true").replace("SELECT ", "SELECT DISTINCT metric_name, target_name, ")
            };
            let odd = ["90_marker_in_name", "98_marker_as_module"]
                .iter()
                .any(|name| dump.ends_with(format!("{name}/input")));
            if !odd {
                let all =
                    rows(&context, &named("all").replace("WHERE true", "WHERE reference_skip IS NULL")).await;
                assert_eq!(all, rows(&context, &named("reference")).await, "{}", dump.display());
            }
            compared += 1;
            left_out += rows(&context, &select("all", "reference_skip IS NOT NULL")).await.unwrap().len();
        }
    }
    assert!(compared >= 80 && left_out >= 600, "only {compared} dumps, {left_out} rows left out");
}

#[tokio::test]
async fn names_are_unique_in_a_call() {
    let context = session::context(session::config()).unwrap();
    let mut dumps_read = 0;
    for dump in dumps() {
        let sql = format!(
            "SELECT source_path, module_key, target_name FROM dump_trend('{}', micro_step => false, scope => 'all', \
             on_error => 'skip') GROUP BY ALL HAVING count(*) > 1",
            dump.display()
        );
        let Some(repeated) = rows(&context, &sql).await else { continue };
        assert_eq!(repeated, Vec::<String>::new(), "{}", dump.display());
        dumps_read += 1;
    }
    assert!(dumps_read >= 35, "only {dumps_read}");
}

#[tokio::test]
async fn diagnostics_counts_the_rows_that_a_query_sees() {
    let context = session::context(session::config()).unwrap();
    let mut counted = 0;
    for dump in dumps() {
        let path = dump.display();
        let sum = format!("SELECT coalesce(sum(rows), 0) FROM diagnostics('{path}') WHERE entry = 'unit'");
        let count = format!("SELECT count(*) FROM dump_trend('{path}', on_error => 'skip')");
        let mut numbers = vec![];
        for sql in [&sum, &count] {
            let batches = context.sql(sql).await.unwrap().collect().await;
            let Ok(batches) = batches else { continue };
            let column = batches[0].column(0);
            assert_eq!(column.null_count(), 0);
            numbers.push(column.as_primitive::<Int64Type>().value(0));
        }
        if let [sum, count] = numbers[..] {
            assert_eq!(sum, count, "{path}");
            counted += 1;
        }
    }
    assert!(counted >= 35, "only {counted}");
}
