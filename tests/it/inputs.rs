//! Input data is never written, and `--root` holds for links, too.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use rl_insight_sql::format::input_name;
use rl_insight_sql::source::expand_roots;
use rl_insight_sql::table::all_table_functions;

use crate::discovery::copy_of_sample;
use crate::support::{collect, program, run};

/// Every file that discovery finds below a directory.
fn found_below(directory: &Path) -> Vec<PathBuf> {
    let roots = expand_roots("test", &[directory.display().to_string()]).unwrap();
    let layouts = all_table_functions().iter().filter_map(|f| f.format().discover(&roots).ok());
    layouts.flat_map(|l| l.units).flat_map(|unit| unit.files).map(|file| file.path).collect()
}

#[test]
fn every_file_that_discovery_finds_is_known_by_its_name() {
    let mut seen = 0;
    for data in ["examples/data", "tests/data/memory", "tests/data/memscope", "tests/data/trend"] {
        for file in found_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(data)) {
            // Tables that lie loose in any directory have names that anybody may give.
            let name = file.file_name().unwrap().to_string_lossy().into_owned();
            let loose = name.ends_with(".csv") || name.ends_with(".json") || name.ends_with(".db");
            let in_profile = file.components().any(|c| c.as_os_str() == "ASCEND_PROFILER_OUTPUT");
            if !loose || in_profile || name.starts_with("memscope") || name == "dump.json" {
                assert!(input_name(&file).is_some(), "{}", file.display());
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
    assert!(
        input_name(Path::new("out/peaks.csv")).is_none() && input_name(Path::new("config.json")).is_none()
    );
}

#[test]
fn what_a_session_reads_is_no_target_by_whatever_name() {
    let scratch = tempfile::tempdir().unwrap();
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/run/actor_update");
    let profile =
        fs::read_dir(sample).unwrap().next().unwrap().unwrap().path().join("ASCEND_PROFILER_OUTPUT");
    // Tables that lie loose, under names that say nothing about them.
    for name in ["operator_memory.csv", "memory_record.csv"] {
        fs::copy(profile.join(name), scratch.path().join(name)).unwrap();
    }
    fs::write(scratch.path().join("map.json"), "{}").unwrap();
    symlink("operator_memory.csv", scratch.path().join("link.csv")).unwrap();
    let at = |name: &str| scratch.path().join(name).display().to_string();
    let before = fs::read(at("operator_memory.csv")).unwrap();
    let query = format!("SELECT count(*) FROM memory_events('{}')", scratch.path().display());
    let to = |name: &str| format!("COPY (SELECT 1 AS a) TO '{}' STORED AS CSV", at(name));
    let refused = |args: &[&str]| {
        let done = run(&[&["--force", "-q"], args].concat());
        assert_eq!(done.code, Some(1), "{args:?}: {done:?}");
        assert!(done.stderr.contains("this session reads it, and input data is never written"), "{done:?}");
        assert_eq!(fs::read(at("operator_memory.csv")).unwrap(), before, "{args:?}");
    };
    for name in ["operator_memory.csv", "./operator_memory.csv", "link.csv"] {
        // Read by an earlier statement, by the same one, also below EXPLAIN, and for a table.
        refused(&["-c", &format!("{query}; {}", to(name))]);
        let own = format!("COPY ({query}) TO '{}' STORED AS CSV", at(name));
        refused(&["-c", &own]);
        refused(&["-c", &format!("EXPLAIN ANALYZE {own}")]);
        refused(&["-c", &format!("CREATE TABLE t AS {query}; {}", to(name))]);
        refused(&["-c", &format!("{query};\n.once {}\nSELECT 1", at(name))]);
    }
    // Files beside the data are free, and so is data that nobody reads here.
    let done = run(&["-q", "-c", &format!("{query}; {}", to("new.csv"))]);
    assert_eq!(done.code, Some(0), "{done:?}");
    let done = run(&["-q", "--force", "-c", &to("memory_record.csv")]);
    assert_eq!(done.code, Some(0), "{done:?}");
    // An argument that is a file.
    let dump = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend/02_micro_plain/input");
    let mapped = format!("SELECT 1 FROM dump_trend('{}', mapping => '{}')", dump.display(), at("map.json"));
    let done = run(&["-q", "--force", "-c", &format!("{mapped} LIMIT 0; {}", to("map.json"))]);
    assert!(done.code == Some(1) && done.stderr.contains("this session reads it"), "{done:?}");
}

#[test]
fn links_below_the_root_lead_only_to_places_below_it() {
    let data = copy_of_sample();
    let root = data.path().join("root");
    fs::create_dir(&root).unwrap();
    fs::rename(data.path().join("actor_update"), root.join("actor_update")).unwrap();
    let profile = |role: &Path| fs::read_dir(role).unwrap().next().unwrap().unwrap().path();
    symlink(profile(&root.join("actor_update")), root.join("inside_ascend_pt")).unwrap();
    let given = root.display().to_string();
    let count = "SELECT count(*) > 0 AS some FROM memory_events($run)";
    let ask = |sql: &str| run(&["--root", &given, "--param", &format!("run={given}"), "-q", "-c", sql]);
    let done = ask(count);
    assert!(done.code == Some(0) && done.stdout == "some\ntrue\n", "{done:?}");
    symlink(profile(&data.path().join("rollout_generate")), root.join("outside_ascend_pt")).unwrap();
    for sql in [
        count,
        "SELECT count(*) FROM diagnostics($run)",
        "SELECT * FROM memory_peaks($run)",
        "CREATE TABLE t AS SELECT * FROM memory_records($run)",
        "CREATE VIEW v AS SELECT * FROM memory_events($run); SELECT count(*) FROM v",
        "CREATE EXTERNAL TABLE t STORED AS MEMORY_EVENTS LOCATION $run; SELECT count(*) FROM t",
    ] {
        let done = ask(&sql.replace("LOCATION $run", &format!("LOCATION '{given}'")));
        assert!(done.code == Some(1) && done.stderr.contains("outside_ascend_pt"), "{sql}: {done:?}");
        assert!(done.stderr.contains("a link leads to") && done.stdout.is_empty(), "{sql}: {done:?}");
    }
    // A single file that is a link.
    fs::remove_file(root.join("outside_ascend_pt")).unwrap();
    let output = profile(&root.join("actor_update")).join("ASCEND_PROFILER_OUTPUT");
    fs::rename(output.join("trace_view.json"), data.path().join("trace.json")).unwrap();
    symlink(data.path().join("trace.json"), output.join("trace_view.json")).unwrap();
    let done = ask(count);
    assert!(done.code == Some(1) && done.stderr.contains("trace_view.json: a link leads to"), "{done:?}");
}

#[test]
fn locations_of_the_engine_lead_only_to_places_below_the_root() {
    let scratch = tempfile::tempdir().unwrap();
    let at = |path: &str| scratch.path().join(path);
    fs::create_dir_all(at("root/a/b/c/d")).unwrap();
    fs::create_dir_all(at("root/csv/deeper")).unwrap();
    fs::create_dir(at("out")).unwrap();
    fs::write(at("out/secret.csv"), "x\n42\n").unwrap();
    fs::write(at("root/csv/own.csv"), "x\n1\n").unwrap();
    symlink(at("root/a/b/c/d"), at("root/link")).unwrap();
    let root = at("root").display().to_string();
    let ask = |sql: &str| {
        let sql = sql.replace("{root}", &root);
        // From inside of the root a wrong path can look like a name in it.
        collect(program(&["--root", ".", "-q", "-c", &sql]).current_dir(at("root")).output().unwrap())
    };
    let all = "CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{root}/csv/'; SELECT count(*) AS n FROM t";
    let done = ask(all);
    assert!(done.code == Some(0) && done.stdout == "n\n1\n", "{done:?}");
    for location in [
        "file://{root}/%2e%2e/out/secret.csv",
        "file:{root}/../out/secret.csv",
        "FILE://{root}/../out/secret.csv",
        // The engine takes `..` out before it looks where the link leads.
        "{root}/link/../../out/secret.csv",
        "link/../../out/secret.csv",
        "{root}/link/../../*/secret.csv",
    ] {
        let read = format!("CREATE EXTERNAL TABLE t STORED AS CSV LOCATION '{location}'; SELECT * FROM t");
        let write = format!("COPY (SELECT 7 x) TO '{location}' STORED AS CSV OPTIONS (overwrite 'true')");
        let stream = format!(
            "CREATE UNBOUNDED EXTERNAL TABLE t (x INT) STORED AS CSV LOCATION '{location}'; INSERT INTO t VALUES (7)"
        );
        for sql in [read, write, stream] {
            let done = ask(&sql);
            assert!(done.code == Some(1) && !done.stdout.contains("42"), "{sql}: {done:?}");
            assert!(done.stderr.contains("--root allows only"), "{sql}: {done:?}");
        }
    }
    // Links in a directory, which the engine lists by itself.
    symlink(at("out/secret.csv"), at("root/csv/deeper/link.csv")).unwrap();
    let done = ask(all);
    assert!(done.code == Some(1) && done.stderr.contains("link.csv: a link leads to"), "{done:?}");
    assert_eq!(fs::read_to_string(at("out/secret.csv")).unwrap(), "x\n42\n");
    assert_eq!(fs::read_dir(at("out")).unwrap().count(), 1);
}

#[test]
fn input_is_no_target_however_its_name_is_written() {
    let data = copy_of_sample();
    let role = fs::read_dir(data.path().join("actor_update")).unwrap().next().unwrap().unwrap().path();
    let profile = role.join("ASCEND_PROFILER_OUTPUT").display().to_string();
    let before = files_below(data.path());
    let run_dir = data.path().display().to_string();
    let encoded = profile.replace("ascend_pt", "ascend%5Fpt").replace("PROFILER_", "PROFILER%5F");
    for sql in [
        format!("COPY (SELECT 1 a) TO 'file://{encoded}/memory%5Frecord.csv'"),
        format!("COPY (SELECT 1 a) TO 'file://{encoded}/new%2Ecsv' STORED AS CSV"),
        format!("COPY (SELECT 1 a) TO 'FILE://{profile}/memory_record.csv'"),
        format!("COPY (SELECT 1 a) TO 'file:{profile}/memory_record.csv'"),
        format!(
            "CREATE UNBOUNDED EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{profile}/memory_record.csv'; \
             INSERT INTO t VALUES (1)"
        ),
        format!(
            "CREATE UNBOUNDED EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{profile}/new.csv'; \
             INSERT INTO t VALUES (1)"
        ),
        format!(
            "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{profile}/'; INSERT INTO t VALUES (1)"
        ),
        format!("COPY (SELECT 1 a) TO '{}/' STORED AS CSV", role.display()),
        format!("COPY (SELECT 1 a) TO '{}' STORED AS CSV", role.display()),
        format!("COPY (SELECT 1 a, 2 b) TO '{}/' STORED AS CSV PARTITIONED BY (b)", role.display()),
        format!("COPY (SELECT 1 a) TO '{run_dir}/new/step3/rank0/' STORED AS CSV"),
        format!("COPY (SELECT 1 a) TO 'file://{run_dir}/new/step3/rank0/' STORED AS CSV"),
        format!(
            "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{profile}/new/'; \
             PREPARE p AS INSERT INTO t VALUES (1); EXECUTE p"
        ),
    ] {
        for paths in [&[run_dir.as_str()][..], &[]] {
            let done = run(&[paths, &["-q", "--force", "-c", &sql]].concat());
            assert!(done.code == Some(1), "{sql}: {done:?}");
            assert!(done.stderr.contains("input data is never written"), "{sql}: {done:?}");
        }
    }
    assert_eq!(files_below(data.path()), before);
    // One's own tables take rows.
    let own = tempfile::tempdir().unwrap();
    let own = own.path().display().to_string();
    let sql = format!(
        "CREATE EXTERNAL TABLE t (a INT) STORED AS CSV LOCATION '{own}/'; INSERT INTO t VALUES (5); SELECT a FROM t"
    );
    let done = run(&["-q", "-c", &sql]);
    assert!(done.code == Some(0) && done.stdout == "a\n5\n", "{done:?}");
}

/// Every file below a directory with what is in it.
fn files_below(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = walkdir::WalkDir::new(directory).sort_by_file_name().into_iter().flatten();
    let files = entries.filter(|entry| entry.file_type().is_file());
    files.map(|entry| (entry.path().to_path_buf(), fs::read(entry.path()).unwrap())).collect()
}

#[test]
fn columns_are_described_below_a_root() {
    let data = copy_of_sample();
    let root = data.path().display().to_string();
    let done = run(&["--root", &root, "--no-headers", "-c", "\\d memory_peaks"]);
    assert!(done.code == Some(0) && done.stdout.contains("rank_id,BIGINT"), "{done:?}");
}
