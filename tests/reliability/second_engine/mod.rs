//! Random queries over table functions, answered by SQLite as well.
//!
//! SQLite has the rows of each function as a table. What both engines understand in the same way is asked
//! of both: joins, groups, DISTINCT, set operations, windows, subqueries, order and limits. It finds what
//! a scan claims wrongly, and what the engine makes of the claims.

mod query;

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use datafusion::prelude::SessionContext;
use rl_insight_sql::session;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::logic::fetch;
use crate::random::Random;
use crate::size;
use query::{Column, Kind, Query, Relation, limit, query};

/// The relations: calls with few rows, of every kind of scan and of functions that are queries themselves.
const CALLS: [&str; 12] = [
    "memory_events('{data}/memory', on_error => 'skip')",
    "memory_events('{data}/library')",
    "memory_by_operator('{examples}/run')",
    "memory_timeline('{examples}/run', buckets => 20)",
    "memory_at_peak('{examples}/run')",
    "dump_trend('{data}/trend/96_nonfinite_roles')",
    "trend_summary('{data}/trend/96_nonfinite_roles')",
    "trend_differences('{data}/trend/96_nonfinite_roles/input', '{data}/trend/97_series/input')",
    "memscope_events('{data}/memscope_traps/segments.csv')",
    "memscope_blocks('{data}/memscope/serve_oom')",
    "memscope_steps('{data}/memscope/train_leak')",
    "memscope_watch('{data}/memscope/watch')",
];

/// So many failures say enough.
const ENOUGH: usize = 6;

/// What DataFusion says of what it does not do; such queries are counted, and must be few. After the first three:
/// its own check of a plan now and then refuses a UNION ALL that is to be ordered; it loses names of a subquery
/// that looks outside when the row is not found by equality or the names are those outside, or when types differ;
/// and it joins keys of two types by IN.
const NOT_DONE: [&str; 8] = [
    "not implemented",
    "does not support logical expression",
    "not supported",
    "SanityCheckPlan",
    "scalar_subquery_to_join",
    "__scalar_sq_",
    "decorrelate_predicate_subquery",
    "Can't compare arrays of different types",
];

/// A query that takes longer, in either engine, does not end.
const NO_END: Duration = Duration::from_secs(300);

/// What each thread asks, and since when.
#[derive(Default)]
struct Asked(Mutex<HashMap<ThreadId, (Instant, String)>>);

impl Asked {
    fn note(&self, what: String) {
        self.0.lock().unwrap().insert(std::thread::current().id(), (Instant::now(), what));
    }

    fn ended(&self) {
        self.0.lock().unwrap().remove(&std::thread::current().id());
    }

    /// Ends the process when a query does not end, which no panic of its thread could.
    fn watch(self: &Arc<Self>) {
        let asked = Arc::downgrade(self);
        std::thread::spawn(move || {
            while let Some(asked) = asked.upgrade() {
                for (since, what) in asked.0.lock().unwrap().values() {
                    if since.elapsed() > NO_END {
                        eprintln!("no end: {what}");
                        std::process::abort();
                    }
                }
                std::thread::sleep(Duration::from_millis(200));
            }
        });
    }
}

/// Rows that SQLite gives, as texts.
fn rows_of_sqlite(connection: &Connection, sql: &str) -> Vec<Vec<String>> {
    let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{error}\n{sql}"));
    let columns = statement.column_count();
    let cell = |value: ValueRef<'_>| match value {
        ValueRef::Null => "\u{0}".to_owned(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Text(text) => String::from_utf8(text.to_vec()).unwrap(),
        other => panic!("{other:?} in the answer to {sql}"),
    };
    let rows = statement.query_map([], |row| (0..columns).map(|at| Ok(cell(row.get_ref(at)?))).collect());
    rows.unwrap().collect::<Result<_, _>>().unwrap_or_else(|error| panic!("{error}\n{sql}"))
}

/// A relation, whose rows become a table of SQLite: the texts and integers in it.
async fn relation(
    context: &SessionContext,
    connection: &Connection,
    number: usize,
    call: String,
) -> Relation {
    let frame = context.table_columns(&call).await;
    let table = format!("t{number}");
    let names: Vec<&str> = frame.iter().map(|column| column.name.as_str()).collect();
    let kinds = frame.iter().map(|column| match column.kind {
        Kind::Integer => format!("\"{}\" INTEGER", column.name),
        Kind::Text => format!("\"{}\" TEXT", column.name),
    });
    connection
        .execute(&format!("CREATE TABLE {table} ({})", kinds.collect::<Vec<_>>().join(", ")), [])
        .unwrap();
    let rows = fetch(context, &format!("SELECT {} FROM {call}", names.join(", "))).await.unwrap();
    assert!(!rows.is_empty(), "no rows: {call}");
    let places = vec!["?"; names.len()].join(", ");
    for row in &rows {
        let values = row.iter().map(|value| (value != "\u{0}").then_some(value));
        connection
            .execute(&format!("INSERT INTO {table} VALUES ({places})"), rusqlite::params_from_iter(values))
            .unwrap();
    }
    Relation { call, table, columns: frame, rows }
}

/// The columns of a call that both engines treat alike.
trait Columns {
    async fn table_columns(&self, call: &str) -> Vec<Column>;
}

impl Columns for SessionContext {
    async fn table_columns(&self, call: &str) -> Vec<Column> {
        let frame =
            self.sql(&format!("SELECT * FROM {call}")).await.unwrap_or_else(|e| panic!("{call}: {e}"));
        let column = |field: &datafusion::arrow::datatypes::FieldRef| {
            let kind = match field.data_type() {
                kind if kind.is_integer() => Kind::Integer,
                kind if kind.is_string() => Kind::Text,
                _ => return None,
            };
            Some(Column { name: field.name().clone(), kind })
        };
        frame.schema().fields().iter().filter_map(column).collect()
    }
}

#[test]
fn sqlite_has_the_same_answers() {
    let rounds = size::pick(60, 30_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // Not smaller batches: a sort makes batches of its rows that each refer to all texts of all batches before it,
    // so its memory grows with the square of their number.
    let sessions: Vec<SessionContext> = [(1, 8192), (2, 64), (3, 8192), (7, 300)]
        .map(|(partitions, batch)| {
            session::context(session::config().with_target_partitions(partitions).with_batch_size(batch))
                .unwrap()
        })
        .into();
    let file = tempfile::NamedTempFile::new().unwrap();
    let connection = Connection::open(file.path()).unwrap();
    let relations: Vec<Relation> = runtime.block_on(async {
        let mut relations = Vec::new();
        for (number, call) in CALLS.iter().enumerate() {
            let call = call
                .replace("{data}", concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data"))
                .replace("{examples}", concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data"));
            relations.push(relation(&sessions[0], &connection, number, call).await);
        }
        relations
    });
    drop(connection);
    let began = Instant::now();
    let (next, not_done, with_rows) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    let first: u64 = std::env::var("RELIABILITY_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let asked = Arc::new(Asked::default());
    asked.watch();
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                let connection = Connection::open(file.path()).unwrap();
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds || failures.lock().unwrap().len() >= ENOUGH {
                        break;
                    }
                    let seed = first + round as u64;
                    let mut random = Random::new(seed);
                    let context = random.pick(&sessions);
                    let Query { mut sql, .. } = query(&mut random, &relations, 2);
                    if random.once_in(3) {
                        sql += &limit(&mut random);
                    }
                    let (ours, theirs) = texts(&sql, &relations);
                    asked.note(format!("seed {seed}, {ours}"));
                    let expected = rows_of_sqlite(&connection, &theirs);
                    match runtime.block_on(fetch(context, &ours)) {
                        Ok(rows) if rows == expected => {
                            with_rows.fetch_add(usize::from(!rows.is_empty()), Ordering::Relaxed);
                        }
                        Ok(rows) => failures.lock().unwrap().push(format!(
                            "seed {seed}: {} rows, SQLite has {}; {}\n{ours};\n{theirs};",
                            rows.len(),
                            expected.len(),
                            first_difference(&rows, &expected)
                        )),
                        Err(error) if NOT_DONE.iter().any(|known| error.contains(known)) => {
                            not_done.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => failures.lock().unwrap().push(format!("seed {seed}: {error}\n{ours};")),
                    }
                    if (round + 1).is_multiple_of(1000) {
                        println!("{} queries, {:.0} s", round + 1, began.elapsed().as_secs_f64());
                    }
                }
                asked.ended();
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} queries differ:\n\n{}", failures.len(), failures.join("\n\n"));
    let (not_done, with_rows) = (not_done.into_inner(), with_rows.into_inner());
    println!(
        "{rounds} queries in {:.1} s, {with_rows} with rows, {not_done} that DataFusion does not do",
        began.elapsed().as_secs_f64()
    );
    assert!(not_done * 20 < rounds && with_rows * 4 > rounds, "{not_done} not done, {with_rows} with rows");
}

/// A query for us, and the same for SQLite.
fn texts(sql: &str, relations: &[Relation]) -> (String, String) {
    let (mut ours, mut theirs) = (sql.to_owned(), sql.to_owned());
    for relation in relations {
        let place = format!("{{{}}}", relation.table);
        ours = ours.replace(&place, &relation.call);
        theirs = theirs.replace(&place, &relation.table);
    }
    (ours, theirs)
}

fn first_difference(rows: &[Vec<String>], expected: &[Vec<String>]) -> String {
    let at = rows.iter().zip(expected).position(|(a, b)| a != b).unwrap_or(rows.len().min(expected.len()));
    format!("row {at} is {:?}, expected {:?}", rows.get(at), expected.get(at))
}
