//! Every file that is read, damaged in every way that is known: what comes of it is a rule, and the
//! rules stand in `docs/malformed.md`, which this test compares with what happens.
//!
//! Whatever the rule is, three things hold for each: nothing panics or hangs; what a strict query gives
//! without an error is what it gives with `on_error => 'skip'`; and an answer that is not that of the
//! good file comes with something that is listed by `diagnostics`.

mod bytes;
mod csv;
mod database;
mod json;
mod page;
mod samples;

use std::collections::HashSet;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::DataType;
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

use samples::Text;

pub(crate) use samples::{SAMPLES, Sample};

/// A query on a file of a few hundred bytes, or on one of 50 MB, that has not ended after this time hangs.
const HANG: Duration = Duration::from_secs(300);

/// The longest text that a finding may have, in bytes.
const LONGEST_MESSAGE: usize = 4000;

/// What makes a table that may be missing go away.
const WITHOUT: [&str; 3] = ["the table is missing", "the table is a view", "a view without end"];

/// Cells as text, NULL as none.
type Row = Vec<Option<String>>;

/// What one damage of one file leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Outcome {
    /// What is wrong with the file.
    what: &'static str,
    /// Rows of the good file.
    good: usize,
    /// The error of a strict query.
    strict: Option<String>,
    /// Rows with `on_error => 'skip'`, and how many of them the good file has; or the error.
    skip: Result<(usize, usize), String>,
    /// What `diagnostics` lists.
    listed: Vec<String>,
    /// What is wrong with that.
    wrong: Vec<String>,
}

static PANICS: AtomicUsize = AtomicUsize::new(0);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_damage_of_each_file_has_its_rule() {
    let others = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        others(info);
    }));
    let context = session::context(session::config().with_target_partitions(2)).unwrap();
    let mut tables = vec![];
    let mut wrong = vec![];
    for sample in &SAMPLES {
        let outcomes = outcomes(&context, sample).await;
        for outcome in &outcomes {
            wrong.extend(outcome.wrong.iter().map(|w| format!("{}, {}: {w}", sample.title, outcome.what)));
        }
        tables.push((sample, outcomes));
    }
    page::check(&page::text(&tables));
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
}

async fn outcomes(context: &SessionContext, sample: &Sample) -> Vec<Outcome> {
    let dir = tempfile::tempdir().unwrap();
    (sample.write)(dir.path());
    let good = rows(context, sample, dir.path(), "strict").await.unwrap_or_else(|e| panic!("{e}"));
    assert!(good.len() >= 3, "{}: {} rows", sample.title, good.len());
    assert_eq!(listed(context, sample, dir.path()).await, Vec::<String>::new(), "{}", sample.title);
    let bytes = fs::read(dir.path().join(sample.file)).unwrap();
    let mut all = vec![];
    let text = match sample.text {
        Text::Json { string, number } => json::damages(string, number),
        Text::Csv { string, number } => csv::damages(string, number),
        Text::Database { .. } => vec![],
    };
    for damage in text.into_iter().filter(|d| crate::size::long() || !d.what.contains(page::LARGE)) {
        let dir = tempfile::tempdir().unwrap();
        (sample.write)(dir.path());
        fs::write(dir.path().join(sample.file), damage.of(&bytes)).unwrap();
        all.push(outcome(context, sample, dir.path(), damage.what, damage.legal, &good).await);
    }
    if let Text::Database { table, string, number } = sample.text {
        for damage in database::damages(table, string, number) {
            let dir = tempfile::tempdir().unwrap();
            (sample.write)(dir.path());
            let kept_open = (damage.make)(&dir.path().join(sample.file));
            all.push(outcome(context, sample, dir.path(), damage.what, damage.legal, &good).await);
            drop(kept_open);
        }
    }
    all
}

async fn outcome(
    context: &SessionContext,
    sample: &Sample,
    root: &Path,
    what: &'static str,
    legal: bool,
    good: &[Row],
) -> Outcome {
    let panics = PANICS.load(Ordering::Relaxed);
    let before = tree(root);
    let strict = rows(context, sample, root, "strict").await;
    let skip = rows(context, sample, root, "skip").await;
    let mut listed = listed(context, sample, root).await;
    let mut wrong = vec![];
    if PANICS.load(Ordering::Relaxed) != panics {
        wrong.push("a panic".to_owned());
    }
    if tree(root) != before {
        wrong.push("reading changed the data".to_owned());
    }
    if listed.is_empty()
        && let Err(error) = &strict
    {
        listed.push(error.clone());
    }
    // `diagnostics` also looks for what only `scope => 'all'` shows, and that has a limit.
    let only_in_all = |text: &String| text.contains("expected values that are nested less deeply");
    if strict.is_ok() && listed.iter().any(|l| l.starts_with("problem") && !only_in_all(l)) {
        wrong.push("strict does not fail for a problem that is listed".to_owned());
    }
    let errors = [strict.as_ref().err(), skip.as_ref().err()].into_iter().flatten();
    if listed.iter().chain(errors).any(|text| text.len() > LONGEST_MESSAGE) {
        wrong.push("a message longer than anybody reads".to_owned());
    }
    match (&strict, &skip) {
        (Ok(strict), Ok(skip)) if strict != skip => wrong.push("strict and skip disagree".to_owned()),
        (Ok(_), Err(error)) => wrong.push(format!("skip fails where strict does not: {error}")),
        // A database of events need not hold calls, nor can anybody tell that it did.
        (Ok(_), _) if sample.text.is_optional() && WITHOUT.contains(&what) => {}
        (Ok(rows), _) if !legal && listed.is_empty() && lost(good, rows) > sample.of_one_value => {
            wrong.push(format!("{} rows are missing or changed, and nothing is said", lost(good, rows)));
        }
        (Err(_), Ok(rows)) if rows == good && !listed.iter().any(|l| l.starts_with("problem")) => {
            wrong.push("strict fails without a problem that is listed".to_owned());
        }
        _ => {}
    }
    let known: HashSet<&Row> = good.iter().collect();
    let same = |rows: &Vec<Row>| (rows.len(), rows.iter().filter(|row| known.contains(row)).count());
    Outcome {
        what,
        good: good.len(),
        strict: strict.err(),
        skip: skip.as_ref().map(same).map_err(Clone::clone),
        listed,
        wrong,
    }
}

/// How many rows of the good answer are not in this one; all of them when it is shorter.
fn lost(good: &[Row], rows: &[Row]) -> usize {
    if rows.len() < good.len() { good.len() } else { good.iter().filter(|row| !rows.contains(row)).count() }
}

/// Names and contents of all files, to see that reading does not change them.
fn tree(root: &Path) -> Vec<(String, u128)> {
    let mut files: Vec<(String, u128)> = walkdir::WalkDir::new(root)
        .into_iter()
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| {
            let bytes = fs::read(entry.path()).unwrap();
            (entry.path().display().to_string(), xxhash_rust::xxh3::xxh3_128(&bytes))
        })
        .collect();
    files.sort();
    files
}

async fn rows(
    context: &SessionContext,
    sample: &Sample,
    root: &Path,
    on_error: &str,
) -> Result<Vec<Row>, String> {
    let more = sample.arguments.replace("{root}", &root.display().to_string());
    let arguments = format!("'{}', on_error => '{on_error}'{more}", root.display());
    run(context, &sample.query.replace("{args}", &arguments), root).await
}

/// What `diagnostics` says about this function's data, without the unit itself.
async fn listed(context: &SessionContext, sample: &Sample, root: &Path) -> Vec<String> {
    let sql = format!(
        "SELECT DISTINCT entry || ' ' || kind || coalesce(', ' || place, '') || ': ' || message || \
         CASE WHEN count > 1 THEN ' (' || count || ' times)' ELSE '' END AS text \
         FROM diagnostics('{}') WHERE source IN ('{}', '{}') AND entry <> 'unit' ORDER BY text",
        root.display(),
        sample.function,
        // What is said about events; the calls in a database of events are another matter.
        if sample.function == "memscope_python_trace" { sample.function } else { "memscope_blocks" },
    );
    match run(context, &sql, root).await {
        Ok(rows) => rows.into_iter().flatten().flatten().collect(),
        Err(error) => vec![error],
    }
}

/// Runs a query; paths in its error are relative to the root.
async fn run(context: &SessionContext, sql: &str, root: &Path) -> Result<Vec<Row>, String> {
    let query = async { context.sql(sql).await?.collect().await };
    let Ok(result) = tokio::time::timeout(HANG, query).await else { panic!("{sql} hangs") };
    let batches = result.map_err(|e| {
        // The panic of a task is an error of the query.
        let text = e.to_string();
        assert!(!text.contains("panicked"), "{sql}: {text}");
        text.replace(&format!("{}/", root.display()), "").replace(&root.display().to_string(), ".")
    })?;
    let mut rows = vec![];
    for batch in batches {
        let columns: Vec<_> =
            batch.columns().iter().map(|column| cast(column, &DataType::Utf8).unwrap()).collect();
        for row in 0..batch.num_rows() {
            let cell = |column: &std::sync::Arc<dyn Array>| {
                let column = column.as_string::<i32>();
                column.is_valid(row).then(|| column.value(row).to_owned())
            };
            rows.push(columns.iter().map(cell).collect());
        }
    }
    rows.sort();
    Ok(rows)
}
