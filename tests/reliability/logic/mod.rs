//! Predicates must not lose or invent rows, whoever decides them.
//!
//! Two relations, known from SQLancer, need no second engine. Every row makes a predicate true, false
//! or NULL, so the rows of a query are those of the three queries with `p`, `NOT p` and `p IS NULL`.
//! And a predicate that a scan may decide selects as many rows as the same predicate makes true in a
//! projection, where no scan sees it.

mod predicate;
mod rows;

pub(crate) use rows::fetch;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use rl_insight_sql::scan::{Promise, Promises};
use rl_insight_sql::session;
use rl_insight_sql::table::all_table_functions;

use crate::random::Random;
use crate::size;
use predicate::predicate;
use rows::Table;

/// A call for each table function, over small inputs with odd values: NaN, infinities, empty and
/// missing texts, negative numbers, bad pieces that are left out.
const CALLS: [&str; 24] = [
    "memory_events('{data}/memory/44_number_syntax', on_error => 'skip')",
    "memory_events('{data}/memory', on_error => 'skip')",
    "memory_events('{data}/memory', match => 'inside', on_error => 'skip')",
    "memory_events('{data}/memory/03_cann_rows')",
    "memory_events('{examples}/run')",
    "memory_records('{examples}/run', on_error => 'skip')",
    "dump_trend('{data}/trend/13_values', on_error => 'skip')",
    "dump_trend('{data}/trend/96_nonfinite_roles', scope => 'all', on_error => 'skip')",
    "dump_trend('{data}/trend/02_micro_plain')",
    "dump_trend('{data}/trend/95_bad_entries', micro_step => false, on_error => 'skip')",
    "memscope_events('{data}/memscope_traps/*.csv', on_error => 'skip')",
    "memscope_events('{data}/memscope/edge/*.csv', on_error => 'skip')",
    "memscope_events('{data}/memscope/serve_oom', on_error => 'skip')",
    "memscope_blocks('{data}/memscope_traps/*.csv', on_error => 'skip')",
    "memscope_blocks('{data}/memscope/train_leak', on_error => 'skip')",
    "memscope_block_calls('{data}/memscope_traps/calls.csv')",
    "memscope_block_calls('{data}/memscope/serve_oom', compat => true, on_error => 'skip')",
    "memscope_steps('{data}/memscope', on_error => 'skip')",
    "memscope_watch('{data}/memscope/watch', on_error => 'skip')",
    "memscope_python_trace('{data}/memscope', on_error => 'skip')",
    "memscope_config('{data}/memscope', on_error => 'skip')",
    "memscope_files('{data}/memscope_traps/*.csv', on_error => 'skip')",
    "memscope_compare('{data}/memscope_traps/ops_base.csv', '{data}/memscope_traps/ops_target.csv', on_error => 'skip')",
    "diagnostics('{data}/memory/33_control_char_and_bad_utf8')",
];

/// A function that is added later must not be forgotten in [`CALLS`].
#[test]
fn every_table_function_has_a_call() {
    let called = |name: &str| CALLS.iter().any(|call| call.starts_with(&format!("{name}(")));
    let missing: Vec<&str> = all_table_functions().iter().map(|f| f.name).filter(|n| !called(n)).collect();
    assert!(missing.is_empty(), "no call of {missing:?}");
}

/// How many sessions there are to choose from.
const SESSIONS: u64 = 40;

/// What DataFusion says when it looks for the bounds of a negated column beside the smallest integer. It is
/// an error instead of rows, where rows were due; such rounds must be few.
const BOUNDS: &str = "Overflow happened on: - -9223372036854775808";

/// So many failures say enough.
const ENOUGH: usize = 12;

/// A session set up at random: threads, batch size, memory, and what scans may do.
fn any_session(random: &mut Random) -> (SessionContext, String) {
    let partitions = *random.pick(&[1, 2, 4, 7]);
    let batch = *random.pick(&[1, 7, 8192]);
    let mut config = session::config().with_target_partitions(partitions).with_batch_size(batch);
    let (mut promises, mut off) = (Promises::default(), String::new());
    for (promise, name, _) in Promise::ALL {
        if random.once_in(4) {
            promises = promises.without(promise);
            off += &format!(", {name} off");
        }
    }
    config.options_mut().extensions.insert(promises);
    let mut runtime = RuntimeEnvBuilder::new();
    if random.once_in(3) {
        runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(32 << 20)));
        off += ", 32 MB";
    }
    let context = session::context_with(config, runtime.build_arc().unwrap()).unwrap();
    (context, format!("{partitions} partitions, batch size {batch}{off}"))
}

#[test]
fn a_predicate_its_negation_and_its_nulls_part_the_rows() {
    let rounds = size::pick(300, 100_000);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data");
    let examples = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/data");
    let began = Instant::now();
    let tables: Vec<Table> = runtime.block_on(async {
        let mut tables = Vec::new();
        let context = session::context(session::config()).unwrap();
        for call in CALLS {
            let call = call.replace("{data}", data).replace("{examples}", examples);
            tables.push(Table::read(&context, &call).await);
        }
        tables
    });
    let empty: Vec<&str> = tables.iter().filter(|t| t.rows.is_empty()).map(|t| t.call.as_str()).collect();
    assert!(empty.is_empty(), "no rows to test with: {empty:#?}");
    // Making one costs more than a round.
    let sessions: Vec<(SessionContext, String)> =
        (0..SESSIONS).map(|seed| any_session(&mut Random::new(seed))).collect();
    let (next, out_of_bounds) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let failures = Mutex::new(Vec::new());
    // Planning is what costs, and it has one thread.
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(2, usize::from) {
            scope.spawn(|| {
                loop {
                    let round = next.fetch_add(1, Ordering::Relaxed);
                    if round >= rounds || failures.lock().unwrap().len() >= ENOUGH {
                        break;
                    }
                    if round > 0 && round.is_multiple_of(10_000) {
                        println!("{round} rounds after {:.0} s", began.elapsed().as_secs_f64());
                    }
                    let table = &tables[round % tables.len()];
                    match runtime.block_on(check(table, &sessions, round as u64)) {
                        Ok(()) => {}
                        Err(failure) if failure.contains(BOUNDS) => {
                            out_of_bounds.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(failure) => failures.lock().unwrap().push(failure),
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} rounds failed:\n\n{}", failures.len(), failures.join("\n\n"));
    println!("{rounds} rounds over {} calls in {:.1} s", tables.len(), began.elapsed().as_secs_f64());
    assert!(out_of_bounds.into_inner() * 500 < rounds);
}

/// One round: everything in it follows from its number.
async fn check(table: &Table, sessions: &[(SessionContext, String)], round: u64) -> Result<(), String> {
    let mut random = Random::new(round);
    let (context, setup) = random.pick(sessions);
    let p = predicate(&mut random, table, 3);
    let columns = table.some_columns(&mut random);
    let names: Vec<&str> = columns.iter().map(|at| table.columns[*at].name.as_str()).collect();
    let (names, call) = (names.join(", "), &table.call);
    let failed =
        |what: &str| format!("round {round}, with {setup}: {what}\nSELECT {names} FROM {call}\nWHERE {p}");

    let parts = [p.clone(), format!("NOT ({p})"), format!("({p}) IS NULL")];
    let (mut found, mut counts) = (Vec::new(), Vec::new());
    for part in &parts {
        let sql = format!("SELECT {names} FROM {call} WHERE {part}");
        let rows = rows::fetch(context, &sql).await.map_err(|e| failed(&e))?;
        counts.push(rows.len().to_string());
        found.extend(rows);
    }
    found.sort();
    let mut all: Vec<Vec<String>> =
        table.rows.iter().map(|row| columns.iter().map(|at| row[*at].clone()).collect()).collect();
    all.sort();
    if found != all {
        return Err(failed(&format!("{} rows of {} came back", found.len(), all.len())));
    }

    let sums: Vec<String> =
        parts.iter().map(|part| format!("coalesce(sum(CASE WHEN {part} THEN 1 ELSE 0 END), 0)")).collect();
    let sql = format!("SELECT {} FROM {call}", sums.join(", "));
    let sums = rows::fetch(context, &sql).await.map_err(|e| failed(&e))?;
    if sums != [counts.clone()] {
        return Err(failed(&format!("{counts:?} rows were selected, and sums of cases are {sums:?}")));
    }
    Ok(())
}
