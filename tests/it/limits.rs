//! What is asked for without end ends with an error.

use std::fs;

use crate::support::run;

#[test]
fn settings_that_the_engine_does_not_survive_are_refused() {
    for (setting, value, expected) in [
        ("datafusion.execution.batch_size", "100000000000", "from 1 to 1048576"),
        ("DataFusion.Execution.Batch_Size", "0", "from 1 to 1048576"),
        ("datafusion.execution.target_partitions", "100000", "from 0 to 4096"),
        ("datafusion.execution.objectstore_writer_buffer_size", "0", "from 1024 to"),
        ("datafusion.execution.parquet.maximum_parallel_row_group_writers", "0", "from 1 to 4096"),
        ("datafusion.execution.parquet.maximum_buffered_record_batches_per_stream", "0", "from 1 to"),
    ] {
        for flags in [&[][..], &["--read-only"]] {
            let sql = format!("SET {setting} = {value}; SELECT 1");
            let done = run(&[flags, &["-q", "-c", &sql]].concat());
            assert!(done.code == Some(1) && done.stderr.contains(expected), "{sql}: {done:?}");
        }
    }
    let sql =
        "SET datafusion.execution.batch_size = 1; SET datafusion.execution.target_partitions = 16; SELECT 1";
    assert_eq!(run(&["-q", "-c", sql]).code, Some(0));
    for threads in ["0", "4097", "99999999", "x"] {
        let done = run(&["--threads", threads, "-c", "SELECT 1"]);
        assert!(done.code == Some(2) && done.stderr.contains("from 1 to 4096"), "{threads}: {done:?}");
    }
}

#[test]
fn scripts_that_run_themselves_are_told() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    for (name, next) in [("self", "self"), ("a", "b"), ("b", "a")] {
        fs::write(path(name), format!(".read {}\n", path(next))).unwrap();
    }
    for name in ["self", "a"] {
        let done = run(&["-q", "-f", &path(name)]);
        assert!(done.code == Some(1) && done.stderr.contains("does one of them run itself?"), "{done:?}");
    }
    // A few within each other are well.
    fs::write(path("last"), "SELECT 7 AS x;\n").unwrap();
    for depth in 0..10 {
        let next = if depth == 9 { path("last") } else { path(&format!("s{}", depth + 1)) };
        fs::write(path(&format!("s{depth}")), format!(".read {next}\n")).unwrap();
    }
    let done = run(&["-q", "-f", &path("s0")]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "x\n7\n"), "{done:?}");
}

#[test]
fn line_breaks_within_quotes_are_read_by_any_number_of_threads() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv").display().to_string();
    let rows = (0..5000).map(|n| format!("{n},\"{n}\n5,{n}\"\n"));
    fs::write(&path, format!("a,b\n{}", rows.collect::<String>())).unwrap();
    for threads in ["1", "2", "4", "7"] {
        let sql = format!(
            "SET datafusion.optimizer.repartition_file_min_size = 0;
             CREATE EXTERNAL TABLE t (a BIGINT, b TEXT) STORED AS CSV LOCATION '{path}'
             OPTIONS ('format.has_header' 'true');
             SELECT count(*) AS n, sum(a) AS s FROM t"
        );
        let done = run(&["-q", "--threads", threads, "-c", &sql]);
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "n,s\n5000,12497500\n"), "{done:?}");
    }
}
