//! Pointing the program at a directory: what it says, and what it leaves alone.

use std::fs;
use std::path::Path;
use std::time::Instant;

use crate::big_run::big_run;
use crate::support::run;

#[test]
fn what_was_found_is_said_without_opening_a_trace() {
    let dir = tempfile::tempdir().unwrap();
    // A trace that was opened would be a problem, because this is no JSON.
    big_run(dir.path(), "no json");
    let begun = Instant::now();
    let done = run(&[dir.path().to_str().unwrap(), "-c", "select 1 as a"]);
    assert!(begun.elapsed().as_secs() < 60, "{:?}", begun.elapsed());
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "a\n1\n"));
    let first = done.stderr.lines().next().unwrap();
    assert!(
        first.starts_with("memory         memory_events: 128 ranks in 3 roles (actor_update, compute_ref, rollout_generate), 128 units, "),
        "{}",
        done.stderr
    );
    assert!(first.ends_with(", 2 with problems"), "{}", done.stderr);
    assert!(done.stderr.contains(".diagnostics lists them"), "{}", done.stderr);
    assert!(done.stderr.lines().count() <= 4, "{}", done.stderr);
}

/// Listing is what everybody waits for at the start; the bound is loose, for machines that are busy.
#[test]
fn thousands_of_ranks_are_listed_in_a_moment() {
    let dir = tempfile::tempdir().unwrap();
    for rank in 0..4096 {
        let profile = dir.path().join(format!("actor/node{}_{rank}_20260526085215123_ascend_pt", rank / 8));
        let output = profile.join("ASCEND_PROFILER_OUTPUT");
        fs::create_dir_all(&output).unwrap();
        fs::write(profile.join(format!("profiler_info_{rank}.json")), "{}").unwrap();
        for file in ["operator_memory.csv", "memory_record.csv", "trace_view.json"] {
            fs::write(output.join(file), "x").unwrap();
        }
    }
    let begun = Instant::now();
    let done = run(&[dir.path().to_str().unwrap(), "-c", "select 1 as a"]);
    let time = begun.elapsed();
    assert!(done.stderr.contains("4096 ranks in 1 role (actor), 4096 units"), "{done:?}");
    assert!(time.as_secs() < 60, "{time:?}");
}

fn copy(from: &Path, to: &Path) {
    for entry in walkdir::WalkDir::new(from) {
        let entry = entry.unwrap();
        let to = to.join(entry.path().strip_prefix(from).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(to).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

/// What is said at the start, what a query says, and what `diagnostics` lists are the same.
#[test]
fn what_fails_a_query_is_counted_and_listed() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&root.join("tests/data/library/level_missing"), dir.path());
    let path = dir.path().to_str().unwrap();
    // One profile of two has a level over time: that is no problem.
    let sql = "select count(*) as n from memory_record";
    let done = run(&[path, "-c", sql]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "n\n2\n"), "{done:?}");
    assert!(
        done.stderr.contains("memory_records: 1 rank in 1 role (actor_update), 1 unit,"),
        "{}",
        done.stderr
    );
    assert!(!done.stderr.contains("with problems"), "{}", done.stderr);
    // A profile that was not analysed fails both.
    let raw = dir.path().join("actor_update/host_2_20260101120000000_ascend_pt");
    fs::create_dir_all(&raw).unwrap();
    fs::write(raw.join("profiler_info_2.json"), "{}").unwrap();
    let done = run(&[path, "-c", sql]);
    assert_eq!(done.code, Some(3), "{done:?}");
    for line in done.stderr.lines().take(2) {
        assert!(line.ends_with(", 1 with problems"), "{}", done.stderr);
    }
    let problems = format!("select file from diagnostics('{path}') where entry = 'problem'");
    let done = run(&["-q", "-c", &problems]);
    assert!(done.stdout.contains("host_2_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT"), "{done:?}");
}

#[test]
fn kinds_can_be_mixed_and_nested() {
    let dir = tempfile::tempdir().unwrap();
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    copy(&root.join("examples/data/run"), &dir.path().join("job/profiles"));
    copy(&root.join("tests/data/trend/01_minimal_torch/input"), &dir.path().join("job/dumps"));
    let path = dir.path().to_str().unwrap();
    let sql = "select count(*) > 0 as ok from memory union all select count(*) > 0 from memory_record union all \
               select count(*) > 0 from trend";
    let done = run(&[path, "-c", sql]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "ok\ntrue\ntrue\ntrue\n"), "{done:?}");
    assert!(done.stderr.contains("trend ") && done.stderr.contains("step"), "{}", done.stderr);
    // Two paths, each with a kind of its own, are one set of views.
    let (a, b) = (format!("{path}/job/profiles"), format!("{path}/job/dumps"));
    let done = run(&[&a, &b, "-q", "-c", sql]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (Some(0), "ok\ntrue\ntrue\ntrue\n", "")
    );
}

#[test]
fn views_show_the_call_that_they_stand_for() {
    let dir = tempfile::tempdir().unwrap();
    let odd = dir.path().join("it's a run");
    big_run(&odd, "no json");
    let done = run(&[odd.to_str().unwrap(), "-q", "-c", "show create table memory", "--format", "line"]);
    assert!(done.stdout.contains("SELECT * FROM memory_events('"), "{done:?}");
    assert!(done.stdout.contains("it''s a run"), "{done:?}");
    let done =
        run(&[odd.to_str().unwrap(), "-q", "-c", "select size_kb from memory where rank_id = 3 limit 1"]);
    assert_eq!(done.code, Some(0), "{done:?}");
}
