//! Nothing is written under `--read-only`, however it is asked for, and input is never written at all.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use crate::discovery::copy_of_sample;
use crate::support::run;

/// Statements that write, or would: `{tmp}` is a directory with data in it. What stands before a `|` is
/// harmless and prepares the rest.
const WRITING: &[&str] = &[
    "COPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "COPY (SELECT 1 a) TO '{tmp}/new.csv' STORED AS CSV",
    "COPY (SELECT 1 a) TO '{tmp}/new.json' STORED AS JSON",
    "COPY (SELECT 1 a) TO '{tmp}/new.parquet' STORED AS PARQUET",
    "COPY (SELECT 1 a) TO '{tmp}/new.arrow' STORED AS ARROW",
    "COPY (SELECT 1 a) TO '{tmp}/new.db' STORED AS SQLITE",
    "COPY (SELECT 1 a) TO '{tmp}/new.db' STORED AS SQLITE OPTIONS (table 't')",
    "COPY (SELECT * FROM dump_trend('{tmp}')) TO '{tmp}/new.db' STORED AS TREND_DB",
    "COPY (SELECT 1 a) TO '{tmp}/old.csv'",
    "COPY (SELECT 1 a) TO '{tmp}/old.csv' OPTIONS (overwrite 'true')",
    "COPY (SELECT 1 a) TO 'file://{tmp}/new.csv' STORED AS CSV",
    "COPY (SELECT 1 a) TO '{tmp}/dir/' STORED AS CSV",
    "COPY (SELECT 1 a, 2 b) TO '{tmp}/dir/' STORED AS CSV PARTITIONED BY (b)",
    "COPY (SELECT 1 a) TO '{tmp}/dir/' STORED AS PARQUET",
    "COPY memory TO '{tmp}/new.csv'",
    "copy (select 1 a) to '{tmp}/new.csv'",
    "COPY/**/(SELECT 1 a)/**/TO/**/'{tmp}/new.csv'",
    "-- SELECT\nCOPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "/* SELECT 1 */ COPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "COPY (WITH x AS (SELECT 1 a) SELECT * FROM x) TO '{tmp}/new.csv'",
    "COPY (SELECT * FROM memory_events('{tmp}/run')) TO '{tmp}/new.csv'",
    "COPY (SELECT * FROM memory_peaks('{tmp}/run')) TO '{tmp}/new.csv'",
    "COPY (VALUES (1), (2)) TO '{tmp}/new.csv'",
    "COPY (SELECT 1 a) TO '{tmp}/run/actor_update/new.csv'",
    "EXPLAIN COPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "EXPLAIN ANALYZE COPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "EXPLAIN ANALYZE VERBOSE COPY (SELECT 1 a) TO '{tmp}/new.csv'",
    "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{tmp}/old.csv' OPTIONS ('format.has_header' 'true')",
    "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{tmp}/dir/'",
    "CREATE EXTERNAL TABLE t (a INT) STORED AS PARQUET LOCATION '{tmp}/new/'",
    "CREATE EXTERNAL TABLE t STORED AS MEMORY_EVENTS LOCATION '{tmp}/run'",
    "CREATE EXTERNAL TABLE IF NOT EXISTS t (a INT) STORED AS JSON LOCATION '{tmp}/new/'",
    "CREATE TABLE t AS SELECT 1 a",
    "CREATE TABLE t (a INT)",
    "CREATE OR REPLACE TABLE t AS VALUES (1)",
    "CREATE TABLE IF NOT EXISTS t AS SELECT * FROM memory",
    "CREATE SCHEMA s",
    "CREATE DATABASE d",
    "DROP TABLE memory",
    "DROP TABLE IF EXISTS nope",
    "DROP SCHEMA public CASCADE",
    "INSERT INTO memory SELECT * FROM memory",
    "INSERT INTO memory_record SELECT * FROM memory_record",
    "INSERT OVERWRITE memory SELECT * FROM memory",
    "UPDATE memory SET size_kb = 0",
    "DELETE FROM memory",
    "DELETE FROM memory WHERE size_kb > 0",
    "TRUNCATE TABLE memory",
    "CREATE FUNCTION f(INT) RETURNS INT RETURN $1 + 1",
    "DROP FUNCTION f",
    "SET datafusion.runtime.temp_directory = '{tmp}/spill'",
    "SET datafusion.runtime.memory_limit = '100G'",
    "BEGIN TRANSACTION",
    "COMMIT",
    "PREPARE p AS INSERT INTO memory SELECT * FROM memory",
];

/// A number that changes with every name, size and byte below a directory.
fn checksum(root: &Path) -> u64 {
    let mut hasher = DefaultHasher::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.unwrap();
        entry.path().strip_prefix(root).unwrap().hash(&mut hasher);
        if entry.file_type().is_file() {
            std::fs::read(entry.path()).unwrap().hash(&mut hasher);
        }
    }
    hasher.finish()
}

struct Place {
    scratch: tempfile::TempDir,
    sample: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let (scratch, sample) = (tempfile::tempdir().unwrap(), copy_of_sample());
        std::fs::create_dir(scratch.path().join("dir")).unwrap();
        std::fs::write(scratch.path().join("dir/part.csv"), "a\n1\n").unwrap();
        std::fs::write(scratch.path().join("old.csv"), "a\n1\n").unwrap();
        let place = Self { scratch, sample };
        #[cfg(unix)]
        std::os::unix::fs::symlink(place.sample.path(), place.scratch.path().join("run")).unwrap();
        place
    }

    fn sum(&self) -> (u64, u64) {
        (checksum(self.scratch.path()), checksum(self.sample.path()))
    }

    fn real(&self, text: &str) -> String {
        text.replace("{tmp}", self.scratch.path().to_str().unwrap())
    }
}

#[test]
fn statements_that_write_are_refused() {
    assert!(WRITING.len() >= 40, "only {} statements", WRITING.len());
    let place = Place::new();
    let before = place.sum();
    let data = place.sample.path().to_str().unwrap();
    for flags in [&["--read-only", "--force"][..], &["--agent", "--force"]] {
        for sql in WRITING {
            let sql = place.real(sql);
            let mut args = vec![data, "-q", "-c", sql.as_str()];
            args.extend(flags);
            let done = run(&args);
            assert_eq!(done.code, Some(1), "{sql}: {done:?}");
            // Some the engine itself does not know, and none of our data can be changed.
            let said = format!("{}{}", done.stdout, done.stderr);
            let refused = said.contains("read-only: ");
            let unknown = [
                "not implemented",
                "nsupported",
                "not supported",
                "cannot",
                "xpected",
                "not found",
                "No field",
                "does not",
                "doesn't",
            ];
            assert!(refused || unknown.iter().any(|u| said.contains(u)), "{sql}: {said}");
            assert_eq!(place.sum(), before, "{sql}");
        }
    }
    let refused = WRITING.iter().filter(|sql| {
        let sql = place.real(sql);
        run(&[data, "-q", "--read-only", "-c", &sql]).stderr.contains("read-only: ")
    });
    assert!(refused.count() >= 40);
}

#[test]
fn reading_is_allowed() {
    let place = Place::new();
    let before = place.sum();
    let data = place.sample.path().to_str().unwrap();
    let reading = [
        "SELECT count(*) FROM memory",
        "EXPLAIN SELECT * FROM memory",
        "EXPLAIN ANALYZE SELECT count(*) FROM memory",
        "SHOW TABLES",
        "SHOW FUNCTIONS",
        "SHOW ALL",
        "DESCRIBE memory",
        "SET datafusion.execution.batch_size = 100",
        "CREATE VIEW v AS SELECT 1 a; SELECT * FROM v; DROP VIEW v",
        "PREPARE p AS SELECT $1 + 1; EXECUTE p(1)",
        "SELECT * FROM diagnostics($run)",
    ];
    for sql in reading {
        let done = run(&[data, "-q", "--read-only", "-c", sql]);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{sql}");
        assert_eq!(place.sum(), before, "{sql}");
    }
}

#[test]
fn input_is_never_a_target() {
    let place = Place::new();
    let before = place.sum();
    let data = place.sample.path().to_str().unwrap();
    let file = walkdir::WalkDir::new(data)
        .into_iter()
        .flatten()
        .find(|e| e.file_name() == "trace_view.json")
        .unwrap()
        .into_path();
    let file = file.to_str().unwrap();
    let sql = format!("COPY (SELECT 1 a) TO '{file}' STORED AS CSV");
    let done = run(&[data, "--force", "-q", "-c", &sql]);
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.contains("this session reads it, and input data is never written"), "{done:?}");
    let once = format!(".once --force {file}\nSELECT 1");
    assert_eq!(run(&[data, "-q", "-c", &once]).code, Some(1));
    assert_eq!(place.sum(), before);
}

/// Commands that write do so no more than statements do.
#[test]
fn files_for_results_are_refused() {
    let place = Place::new();
    let before = place.sum();
    for command in [".once", ".output", ".once --force", ".output --force"] {
        for name in ["old.csv", "new.csv"] {
            let script = place.real(&format!("{command} {{tmp}}/{name}\nSELECT 1"));
            let done = run(&["--read-only", "-q", "-c", &script]);
            assert!(done.stderr.contains("read-only: the file "), "{script}: {done:?}");
            // Where results are one object none of them goes to a file, even if files may be written.
            for flags in [&["--agent"][..], &["--agent", "--allow-write"]] {
                let done = run(&[flags, &["-c", &script]].concat());
                assert_eq!(done.code, Some(1), "{script}: {done:?}");
            }
            assert_eq!(place.sum(), before, "{script}");
        }
    }
}

#[cfg(unix)]
#[test]
fn input_behind_a_link_is_no_target_either() {
    let place = Place::new();
    let csv = walkdir::WalkDir::new(place.sample.path())
        .into_iter()
        .flatten()
        .find(|e| e.file_name() == "operator_memory.csv")
        .unwrap()
        .into_path();
    std::os::unix::fs::symlink(csv, place.scratch.path().join("l.csv")).unwrap();
    let before = place.sum();
    for sql in [
        "CREATE UNBOUNDED EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{tmp}/l.csv'; INSERT INTO t VALUES (5)",
        "COPY (SELECT 1 a) TO '{tmp}/l.csv' OPTIONS (overwrite 'true')",
    ] {
        let done = run(&["-q", "--force", "-c", &place.real(sql)]);
        assert!(done.stderr.contains("input data is never written"), "{sql}: {done:?}");
        assert_eq!(place.sum(), before, "{sql}");
    }
}
