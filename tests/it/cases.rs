//! Every case below `tests/data/memory` gives the rows that it should.
//!
//! A case is a small profiler tree with `expected.json`, the rows of the reference (RL-Insight's
//! Memory Parser 0.3.0), and `right.json` where the reference is wrong. Rows are compared as a
//! multiset, floats bit by bit.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Float64Type};
use rl_insight_sql::session;
use serde_json::Value;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

const COLUMNS: [&str; 12] = [
    "name",
    "role",
    "rank_id",
    "call_stack",
    "call_stack_top",
    "size_kb",
    "start_time_ms",
    "duration_ms",
    "total_allocated_mb",
    "total_reserved_mb",
    "total_active_mb",
    "device_type",
];

/// Cases about the rule of matching: `nearest` is the reference's rule, `inside` the right one.
const TWO_RULES: [&str; 4] = ["35_", "36_", "38_", "53_"];

#[tokio::test]
async fn every_case_gives_its_rows() {
    let mut failures = Vec::new();
    let cases = cases();
    for case in &cases {
        for (rule, wanted) in wanted(case) {
            if let Err(e) = check(case, rule, "skip", wanted).await {
                failures.push(format!("{}, {rule}: {e}", case.display()));
            }
        }
    }
    assert!(failures.is_empty(), "{} of {} cases\n{}", failures.len(), cases.len(), failures.join("\n"));
}

#[tokio::test]
async fn a_case_that_the_reference_reads_rightly_does_not_fail_in_strict_mode() {
    let mut failures = Vec::new();
    for case in cases() {
        if case.join("right.json").exists() {
            continue;
        }
        if let Err(e) = check(&case, "nearest", "strict", "expected.json").await {
            failures.push(format!("{}: {e}", case.display()));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn cases() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memory");
    let entries = fs::read_dir(data).expect("tests/data/memory is a part of the repository");
    let mut cases: Vec<PathBuf> = entries.flatten().map(|e| e.path()).filter(|p| p.is_dir()).collect();
    cases.sort();
    assert!(cases.len() >= 39, "only {} cases", cases.len());
    cases
}

/// The rules to try, each with the file that holds the wanted rows.
fn wanted(case: &Path) -> Vec<(&'static str, &'static str)> {
    let name = case.file_name().unwrap_or_default().to_string_lossy();
    if TWO_RULES.iter().any(|prefix| name.starts_with(prefix)) {
        return vec![("nearest", "expected.json"), ("inside", "right.json")];
    }
    let right = if case.join("right.json").exists() { "right.json" } else { "expected.json" };
    vec![("nearest", right)]
}

async fn check(case: &Path, rule: &str, on_error: &str, wanted: &str) -> Result<()> {
    let mut wanted = rows_of_file(&case.join(wanted))?;
    differ_on_purpose(case, &mut wanted);
    let mut got = rows_of_query(&case.join("tree"), rule, on_error).await?;
    wanted.sort();
    got.sort();
    if wanted == got {
        return Ok(());
    }
    let mut message = format!("{} rows instead of {}", got.len(), wanted.len());
    for (what, these, others) in [("missing", &wanted, &got), ("surplus", &got, &wanted)] {
        for row in these.iter().filter(|row| !others.contains(row)) {
            let values: Vec<_> =
                row.iter().map(|v| v.as_deref().unwrap_or("NULL").escape_debug().to_string()).collect();
            message += &format!("\n  {what}: {}", values.join(" | "));
        }
    }
    Err(message.into())
}

/// Where we differ from a case on purpose: the reference does not look at MindSpore's directories
/// (`*_ascend_ms`), and we do.
fn differ_on_purpose(case: &Path, wanted: &mut Vec<Row>) {
    if !case.ends_with("11_directory_names") {
        return;
    }
    let Some(mut row) = wanted.first().cloned() else { return };
    for (column, value) in [("role", "r"), ("rank_id", "3")] {
        let at = COLUMNS.iter().position(|name| *name == column);
        if let Some(cell) = at.and_then(|at| row.get_mut(at)) {
            *cell = Some(value.to_owned());
        }
    }
    wanted.push(row);
}

/// Values as text that is equal exactly when they are.
type Row = Vec<Option<String>>;

fn float(value: f64) -> String {
    if value.is_nan() { "NaN".to_owned() } else { format!("{value:?} {:016x}", value.to_bits()) }
}

fn rows_of_file(path: &Path) -> Result<Vec<Row>> {
    let file: Value = serde_json::from_slice(&fs::read(path)?)?;
    let rows = file["rows"].as_array().ok_or("no list of rows")?;
    rows.iter()
        .map(|row| COLUMNS.iter().enumerate().map(|(at, name)| value_of_file(name, &row[at])).collect())
        .collect()
}

fn value_of_file(column: &str, value: &Value) -> Result<Option<String>> {
    if value.is_null() {
        return Ok(None);
    }
    let text = match column {
        "rank_id" => value.as_i64().ok_or("a rank that is no integer")?.to_string(),
        "size_kb" | "start_time_ms" | "duration_ms" | "total_allocated_mb" | "total_reserved_mb"
        | "total_active_mb" => match value.as_str() {
            Some(special) => float(special.parse()?),
            None => float(value.as_f64().ok_or("no number")?),
        },
        _ => value.as_str().ok_or("no text")?.to_owned(),
    };
    Ok(Some(text))
}

async fn rows_of_query(tree: &Path, rule: &str, on_error: &str) -> Result<Vec<Row>> {
    let context = session::context(session::config())?;
    let sql = format!(
        "SELECT {} FROM memory_events('{}', match => '{rule}', on_error => '{on_error}')",
        COLUMNS.join(", "),
        tree.display()
    );
    let mut rows = Vec::new();
    for batch in context.sql(&sql).await?.collect().await? {
        add_rows(&batch, &mut rows)?;
    }
    Ok(rows)
}

fn add_rows(batch: &RecordBatch, rows: &mut Vec<Row>) -> Result<()> {
    let mut columns = Vec::new();
    for column in batch.columns() {
        let values: Row = if column.data_type() == &DataType::Float64 {
            column.as_primitive::<Float64Type>().iter().map(|v| v.map(float)).collect()
        } else {
            let text = cast(column, &DataType::Utf8)?;
            text.as_string::<i32>().iter().map(|v| v.map(str::to_owned)).collect()
        };
        columns.push(values.into_iter());
    }
    for _ in 0..batch.num_rows() {
        rows.push(columns.iter_mut().map(|values| values.next().flatten()).collect());
    }
    Ok(())
}
