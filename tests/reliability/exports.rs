//! Exports are whole or absent, and the same whenever they are repeated.

use std::fs;

use rl_insight_sql::session;

use super::answer::ask;
use super::sample::{copy, repository};

/// What can be written, and how a file of it is called.
const FORMATS: [(&str, &str); 5] = [
    ("CSV", "x.csv"),
    ("JSON", "x.json"),
    ("PARQUET", "x.parquet"),
    ("ARROW", "x.arrow"),
    ("SQLITE", "x.db"),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bad_row_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let (data, out) = (dir.path().join("data"), dir.path().join("out"));
    copy(&repository("examples/data/run"), &data);
    fs::create_dir(&out).unwrap();
    // At the end of the last rank, when all others were written.
    let last = walkdir::WalkDir::new(&data).sort_by_file_name().into_iter().map(|e| e.unwrap().into_path());
    let last = last.filter(|path| path.ends_with("operator_memory.csv")).last().unwrap();
    fs::write(&last, format!("{}half of a r", fs::read_to_string(&last).unwrap())).unwrap();
    for (format, name) in FORMATS {
        let target = out.join(name);
        let sql = format!(
            "COPY (SELECT * FROM memory_events('{}')) TO '{}' STORED AS {format}",
            data.display(),
            target.display()
        );
        for partitions in [1, 4] {
            let context = session::context(session::config().with_target_partitions(partitions)).unwrap();
            fs::write(&target, "old").unwrap();
            let error = ask(&context, &sql).await.unwrap_err().to_string();
            assert!(error.contains(&last.display().to_string()), "{error}");
            assert_eq!(fs::read_to_string(&target).unwrap(), "old", "{sql}");
            let left: Vec<_> = fs::read_dir(&out).unwrap().map(|e| e.unwrap().file_name()).collect();
            assert_eq!(left, [name], "{sql}");
            fs::remove_file(&target).unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_repeated_export_gives_the_same_bytes() {
    let dir = tempfile::tempdir().unwrap();
    for (format, name) in FORMATS {
        let target = dir.path().join(name);
        let sql = format!(
            "COPY (SELECT name, role, rank_id, size_kb, call_stack, row_no FROM memory_events('{}') WHERE size_kb > 1) \
             TO '{}' STORED AS {format}",
            repository("examples/data/run").display(),
            target.display()
        );
        let mut first: Option<Vec<u8>> = None;
        for partitions in [1, 2, 4, 2] {
            let context = session::context(session::config().with_target_partitions(partitions)).unwrap();
            ask(&context, &sql).await.unwrap();
            let bytes = fs::read(&target).unwrap();
            let first = first.get_or_insert_with(|| bytes.clone());
            assert!(*first == bytes, "{sql}: other bytes with {partitions} partitions");
        }
    }
}
