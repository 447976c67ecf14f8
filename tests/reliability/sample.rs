//! Small inputs of every kind that is read, in a directory of their own that may be damaged.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use rl_insight_sql::table::all_table_functions;
use rusqlite::Connection;

/// A file of this repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Where the parts of a sample are below its directory.
pub(crate) const PARTS: [(&str, &str); 6] = [
    ("examples/data/run", "memory"),
    ("tests/data/trend/93_roles/input", "trend"),
    ("tests/data/memscope/train_leak/memscopeDumpResults", "memscope"),
    ("tests/data/memscope/train_leak_db/memscopeDumpResults", "memscope_db"),
    ("tests/data/memscope/watch", "watch"),
    ("tests/data/memscope/compare", "compare"),
];

/// Makes a sample in an existing directory.
pub(crate) fn make(dir: &Path) {
    for (from, to) in PARTS {
        copy(&repository(from), &dir.join(to));
    }
    // Two ranks with a database each.
    let case = repository("tests/data/memory/51_db_export_only/tree/actor_update");
    for (rank, role) in [(0, "actor_update"), (1, "critic")] {
        let profile = dir.join(format!("memory_db/{role}/node0_424{rank}_20260526085155123_ascend_pt"));
        let source = fs::read_dir(&case).unwrap().next().unwrap().unwrap().path();
        copy(&source, &profile);
        fs::rename(profile.join("profiler_info_0.json"), profile.join(format!("profiler_info_{rank}.json")))
            .unwrap();
        // The case has none of the levels, and is so small that one read would get all of it.
        let database = profile.join("ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db");
        Connection::open(database)
            .unwrap()
            .execute_batch(
                "CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER,
                     totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
                 INSERT INTO STRING_IDS SELECT 900000, 'PTA';
                 WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
                 INSERT INTO MEMORY_RECORD SELECT 900000, 1000 * i, 1048576 * i, 2097152 * i, 0, 7, 0 FROM n;",
            )
            .unwrap();
    }
    // Two ranks with a trace in gzip.
    let source = repository("tests/data/library/ranks/actor_update");
    copy(&source, &dir.join("memory_gz/actor_update"));
    for profile in fs::read_dir(dir.join("memory_gz/actor_update")).unwrap() {
        let trace = profile.unwrap().path().join("ASCEND_PROFILER_OUTPUT/trace_view.json");
        let packed = File::create(trace.with_extension("json.gz")).unwrap();
        let mut encoder = GzEncoder::new(packed, Compression::fast());
        encoder.write_all(&fs::read(&trace).unwrap()).unwrap();
        encoder.finish().unwrap();
        fs::remove_file(trace).unwrap();
    }
}

/// Copies a directory.
pub(crate) fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from).sort_by_file_name() {
        let entry = entry.unwrap();
        let target = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(&target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
        }
    }
}

/// Every table function, on the part of the sample that suits it: what to call it, the part, the name of
/// the function, and its further arguments, where `{dir}` is the sample.
pub(crate) const CALLS: [(&str, &str, &str, &str); 23] = [
    ("events, text", "memory", "memory_events", ""),
    ("events, inside", "memory", "memory_events", "match => 'inside'"),
    ("events, gzip", "memory_gz", "memory_events", ""),
    ("events, database", "memory_db", "memory_events", ""),
    ("records, text", "memory", "memory_records", ""),
    ("records, database", "memory_db", "memory_records", ""),
    ("trend", "trend", "dump_trend", "micro_step => false"),
    ("trend, micro-steps", "trend", "dump_trend", ""),
    ("memscope, csv", "memscope", "memscope_events", ""),
    ("memscope, database", "memscope_db", "memscope_events", ""),
    ("blocks, csv", "memscope", "memscope_blocks", ""),
    ("blocks, database", "memscope_db", "memscope_blocks", ""),
    ("calls of blocks, csv", "memscope", "memscope_block_calls", ""),
    ("calls of blocks, database", "memscope_db", "memscope_block_calls", ""),
    ("steps", "memscope", "memscope_steps", ""),
    ("python trace", "memscope", "memscope_python_trace", ""),
    ("python trace, database", "memscope_db", "memscope_python_trace", ""),
    ("config", "memscope", "memscope_config", ""),
    ("files", "memscope", "memscope_files", ""),
    ("files, database", "memscope_db", "memscope_files", ""),
    ("watch", "watch", "memscope_watch", ""),
    ("compare", "compare/base", "memscope_compare", "'{dir}/compare/target'"),
    ("diagnostics", "", "diagnostics", ""),
];

/// A function that is added later must not be forgotten in [`CALLS`].
#[test]
fn every_table_function_is_called() {
    let called = |name: &str| CALLS.iter().any(|(_, _, function, _)| *function == name);
    let missing: Vec<&str> = all_table_functions().iter().map(|f| f.name).filter(|n| !called(n)).collect();
    assert!(missing.is_empty(), "no call of {missing:?}");
}

/// The call of a table function over a sample.
pub(crate) fn call(dir: &Path, part: &str, function: &str, arguments: &str, skip: bool) -> String {
    let path = if part.is_empty() { dir.to_path_buf() } else { dir.join(part) };
    let skip = if skip && function != "diagnostics" { "on_error => 'skip'" } else { "" };
    let arguments = arguments.replace("{dir}", &dir.display().to_string());
    let arguments: Vec<&str> = [arguments.as_str(), skip].into_iter().filter(|a| !a.is_empty()).collect();
    let comma = if arguments.is_empty() { "" } else { ", " };
    format!("{function}('{}'{comma}{})", path.display(), arguments.join(", "))
}
