//! What is asked over a table function has the answer that it has over its rows.
//!
//! A function knows more of its rows than a table: their order, how they are spread over threads, what is a
//! key. What the planner makes of that must not change an answer. So each function is asked, and a table of
//! its rows is asked the same.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::datasource::MemTable;
use datafusion::prelude::SessionContext;
use rl_insight_sql::library::Library;
use rl_insight_sql::session;
use rl_insight_sql::table::all_table_functions;

/// Where the data of a group of functions is; the second is what it is compared with.
const DATA: [(&str, &str, &str); 4] = [
    ("memory", "examples/data/run/actor_update", "examples/data/run/rollout_generate"),
    ("memscope_watch", "tests/data/memscope/watch", "tests/data/memscope/watch"),
    ("memscope", "tests/data/memscope/train_leak", "tests/data/memscope/train_leak"),
    ("", "tests/data/trend/96_nonfinite_roles/input", "tests/data/trend/97_series/input"),
];

/// What is given for a parameter that has no default.
fn argument(name: &str, data: (&str, &str)) -> String {
    match name {
        "path" | "path_a" | "base" => format!("'{}'", data.0),
        "path_b" | "target" if name == "path_b" || data.0.contains("memscope") => format!("'{}'", data.1),
        "target" => "'Functional.linear.input.0'".to_owned(),
        "mark" => "'leak_check'".to_owned(),
        "at_ns" | "from_ns" => "1".to_owned(),
        "to_ns" => "4000000000000000000".to_owned(),
        other => panic!("what is to be given for {other}?"),
    }
}

/// A call of each function of the library and of each that opens files.
fn calls() -> Vec<(String, String)> {
    let library = Library::shipped().unwrap();
    let mut calls: Vec<(String, String)> = vec![];
    let data = |name: &str| {
        let (_, first, second) = DATA.iter().find(|(prefix, ..)| name.starts_with(prefix)).unwrap();
        (*first, *second)
    };
    for function in library.functions() {
        let name = function.name();
        let inner = function.signature().split_once('(').unwrap().1.trim_end_matches(')');
        let given = inner.split(", ").take_while(|parameter| !parameter.contains("=>"));
        let mut given: Vec<String> = given.map(|parameter| argument(parameter, data(name))).collect();
        if name == "memory_at" {
            given.push("at_ms => 1779785500000".to_owned());
        }
        calls.push((name.to_owned(), format!("{name}({})", given.join(", "))));
    }
    for function in all_table_functions() {
        let paths = match function.name {
            "diagnostics" => "'examples/data'".to_owned(),
            "memscope_compare" => {
                "'tests/data/memscope/compare/base', 'tests/data/memscope/compare/target'".to_owned()
            }
            name => format!("'{}'", data(name).0),
        };
        calls.push((function.name.to_owned(), format!("{}({paths})", function.name)));
    }
    calls
}

/// What to ask of a relation with these columns. The second says whether the order of the answer counts.
fn questions(columns: &[Field], of: &str) -> Vec<(String, bool)> {
    let quoted: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name())).collect();
    // One key, then two; with something that is not a column beside them.
    let keys = |count: usize| quoted.iter().take(count).cloned().collect::<Vec<_>>().join(", ");
    let mut asked = vec![];
    for count in 1..=quoted.len().min(2) {
        let (keys, rest) = (keys(count), quoted.get(count).unwrap_or(&quoted[0]));
        asked.push((format!("SELECT DISTINCT {keys} FROM {of}"), false));
        asked.push((
            format!("SELECT {keys}, count(*), min({rest}), max({rest}) FROM {of} GROUP BY {keys}"),
            false,
        ));
        asked.push((format!("SELECT {keys}, count(*) FROM {of} GROUP BY {keys}, {rest} IS NULL"), false));
        asked.push((
            format!("SELECT count(*) FROM {of} GROUP BY {keys}, octet_length(CAST({rest} AS VARCHAR)) % 2"),
            false,
        ));
    }
    asked.push((format!("SELECT {0}, count(*) FROM {of} GROUP BY ROLLUP ({0})", keys(2)), false));
    if let Some(last) = quoted.last() {
        asked.push((format!("SELECT count(*), count({last}) FROM {of} WHERE {last} IS NOT NULL"), false));
        asked.push((format!("SELECT DISTINCT {last} FROM {of}"), false));
    }
    // All columns decide, so the order is one and the same; every second one falls.
    let order: Vec<String> = (quoted.iter().enumerate())
        .map(|(at, column)| format!("{column} {}", if at % 2 == 0 { "ASC" } else { "DESC" }))
        .collect();
    asked.push((format!("SELECT * FROM {of} ORDER BY {}", order.join(", ")), true));
    let turned: Vec<String> = quoted.iter().rev().map(|column| format!("{column} DESC")).collect();
    asked.push((format!("SELECT * FROM {of} ORDER BY {} LIMIT 7", turned.join(", ")), true));
    let ranked = format!(
        "SELECT *, row_number() OVER (PARTITION BY {} ORDER BY {}) FROM {of}",
        keys(1),
        order.join(", ")
    );
    asked.push((ranked, false));
    asked
}

async fn rows(context: &SessionContext, sql: &str, ordered: bool) -> Vec<String> {
    let frame = context.sql(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let batches = frame.collect().await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let mut rows: Vec<String> = batches.iter().flat_map(texts).collect();
    if !ordered {
        rows.sort();
    }
    rows
}

fn texts(batch: &RecordBatch) -> Vec<String> {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<_> =
        batch.columns().iter().map(|column| ArrayFormatter::try_new(column, &options).unwrap()).collect();
    let row =
        |row| columns.iter().map(|column| column.value(row).to_string()).collect::<Vec<_>>().join(" | ");
    (0..batch.num_rows()).map(row).collect()
}

#[test]
fn what_is_asked_over_a_function_has_the_answer_that_it_has_over_its_rows() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    runtime.block_on(async {
        let (mut functions, mut with_rows, mut asked) = (0, 0, 0);
        for (name, call) in calls() {
            let context = session::context(session::config().with_target_partitions(3)).unwrap();
            let frame = context.sql(&format!("SELECT * FROM {call}")).await;
            let frame = frame.unwrap_or_else(|error| panic!("{call}: {error}"));
            let batches = frame.collect().await.unwrap_or_else(|error| panic!("{call}: {error}"));
            let Some(schema) = batches.first().map(RecordBatch::schema) else { continue };
            functions += 1;
            with_rows += usize::from(batches.iter().any(|batch| batch.num_rows() > 0));
            // Lists and structures have no order.
            let plain =
                |field: &&Arc<Field>| !matches!(field.data_type(), DataType::List(_) | DataType::Struct(_));
            let columns: Vec<Field> =
                schema.fields().iter().filter(plain).map(|field| field.as_ref().clone()).collect();
            let kept: Vec<String> = columns.iter().map(|column| format!("\"{}\"", column.name())).collect();
            let schema = Arc::new(Schema::new(schema.fields().clone()));
            let table = MemTable::try_new(schema, vec![batches]).unwrap();
            context.register_table("its_rows", Arc::new(table)).unwrap();
            let of = |relation: &str| format!("(SELECT {} FROM {relation})", kept.join(", "));
            let over_rows = questions(&columns, &of("its_rows"));
            for ((sql, ordered), (plain, _)) in questions(&columns, &of(&call)).into_iter().zip(over_rows) {
                let (ours, expected) =
                    (rows(&context, &sql, ordered).await, rows(&context, &plain, ordered).await);
                assert_eq!(ours, expected, "{name}: {sql}");
                asked += 1;
            }
        }
        assert!(functions > 50 && with_rows > 40 && asked > 700, "{functions} {with_rows} {asked}");
    });
}
