//! DataFusion's own tests, run in a plain session and in ours: everything that we register (table
//! functions, planners, exports, settings) must leave every other statement alone, down to the text of
//! errors.
//!
//! `tests/reliability/upstream/fetch.sh` fetches the files once, as `.ci/run` does where it can; without them the
//! test says so. Comparing
//! two sessions, and not the session with the text in the file, tells our differences from features that
//! are not built in. How many records give just what the file says is counted, too.

mod answer;
mod differences;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use datafusion::prelude::{SessionConfig, SessionContext};
use rl_insight_sql::session;
use sqllogictest::{Condition, DefaultColumnType, QueryExpect, Record};

use crate::size;
use answer::{Answer, answer};

/// The ordinary run takes those that speak of what we touch: names and arguments of table functions,
/// planning of relations, settings, files that are written, views, prepared statements, catalogs; and a
/// few of everyday SQL.
const CHOICE: [&str; 34] = [
    "alias.slt",
    "case.slt",
    "coalesce.slt",
    "cse.slt",
    "cte.slt",
    "ddl.slt",
    "describe.slt",
    "errors.slt",
    "functions.slt",
    "ident_normalization.slt",
    "identifiers.slt",
    "in_list.slt",
    "information_schema_columns.slt",
    "information_schema_multiple_catalogs.slt",
    "insert.slt",
    "issue_17138.slt",
    "join_is_not_distinct_from.slt",
    "lateral_join.slt",
    "limit.slt",
    "limit_single_row_batches.slt",
    "named_arguments.slt",
    "negative_zero.slt",
    "null_aware_anti_join.slt",
    "options.slt",
    "pipe_operator.slt",
    "prepare.slt",
    "qualify.slt",
    "set_variable.slt",
    "subquery_sort.slt",
    "table_functions.slt",
    "union_by_name.slt",
    "union_function.slt",
    "unnest.slt",
    "wildcard.slt",
];

#[test]
fn datafusions_own_statements_have_the_same_answers_in_our_session() {
    let crate_directory =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("target/upstream/datafusion-sqllogictest-55.2.0");
    let root = crate_directory.join("test_files");
    if !root.is_dir() {
        println!("left out: there is no {}; tests/reliability/upstream/fetch.sh makes it", root.display());
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let mut tally = Tally::default();
    for file in size::pick(CHOICE.map(str::to_owned).to_vec(), all_files(&root)) {
        if let Some(reason) = differences::left_out(&file) {
            *tally.not_compared.entry(reason).or_default() += 1;
            continue;
        }
        compare(&runtime, &root, &file, &mut tally);
    }
    println!("{tally:#?}");
    assert!(tally.differences.is_empty(), "{}", tally.differences.join("\n\n"));
    assert!(tally.as_in_the_file * 10 > tally.compared * 8, "few answers are those of the files");
}

#[derive(Debug, Default)]
struct Tally {
    /// Records whose answers are the same in both sessions.
    compared: usize,
    /// Those of them whose answer is that of the file.
    as_in_the_file: usize,
    not_compared: BTreeMap<&'static str, usize>,
    differences: Vec<String>,
}

fn all_files(root: &Path) -> Vec<String> {
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.unwrap());
    files
        .filter(|entry| entry.path().extension().is_some_and(|e| e == "slt"))
        .map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string())
        .collect()
}

/// A session and the directory that its statements read and write.
struct Side {
    context: SessionContext,
    directory: PathBuf,
}

fn compare(runtime: &tokio::runtime::Runtime, root: &Path, file: &str, tally: &mut Tally) {
    let scratch = tempfile::tempdir().unwrap();
    let side = |name: &str, context: SessionContext| {
        let directory = scratch.path().join(name);
        fs::create_dir_all(directory.join("test_files/scratch").join(Path::new(file).file_stem().unwrap()))
            .unwrap();
        Side { context, directory }
    };
    let plain = SessionConfig::new().with_target_partitions(4).with_information_schema(true);
    let plain = side("a", SessionContext::new_with_config(plain));
    let ours = side("b", session::context(session::config().with_target_partitions(4)).unwrap());
    let records = match sqllogictest::parse_file::<DefaultColumnType>(root.join(file)) {
        Ok(records) => records,
        Err(e) => panic!("{file}: {e}"),
    };
    for record in records {
        let (conditions, sql, loc, expected) = match record {
            Record::Statement { conditions, sql, loc, .. } => (conditions, sql, loc, None),
            Record::Query { conditions, sql, loc, expected, .. } => (conditions, sql, loc, Some(expected)),
            Record::Halt { .. } => break,
            _ => continue,
        };
        let not_for_us = |c: &Condition| match c {
            Condition::OnlyIf { label } => !label.eq_ignore_ascii_case("datafusion"),
            Condition::SkipIf { label } => label.eq_ignore_ascii_case("datafusion"),
        };
        if conditions.iter().any(not_for_us) {
            continue;
        }
        let run = |side: &Side| {
            // Data of their own is not in the crate; what is missing is missing for both.
            let here = |text: &str| {
                text.replace("test_files/", &format!("{}/test_files/", side.directory.display()))
            };
            let answer = runtime.block_on(answer(&side.context, &here(&sql)));
            answer.regular(&side.directory.display().to_string())
        };
        let (a, b) = (run(&plain), run(&ours));
        if let Some(reason) = differences::explained(&sql) {
            *tally.not_compared.entry(reason).or_default() += 1;
            continue;
        }
        if !a.same(&b, &sql) {
            tally.differences.push(format!("{loc}\n{sql}\nplain: {a}\nours:  {b}"));
            continue;
        }
        tally.compared += 1;
        let told = match &expected {
            Some(QueryExpect::Results { results, .. }) => b.is(results),
            Some(QueryExpect::Error(_)) => matches!(b, Answer::Error(_)),
            _ => true,
        };
        tally.as_in_the_file += usize::from(told);
    }
}
