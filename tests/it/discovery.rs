//! What only a real file system shows: links, special files, the current directory, leaving no trace.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rl_insight_sql::session;

use crate::support::{collect, program};

const PROFILE: &str = "actor_update/node0_20480_20260526085215123_ascend_pt";

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/run")
}

/// The sample data in a directory that may be changed.
pub(crate) fn copy_of_sample() -> tempfile::TempDir {
    let scratch = tempfile::tempdir().unwrap();
    for entry in walkdir::WalkDir::new(sample()) {
        let entry = entry.unwrap();
        let to = scratch.path().join(entry.path().strip_prefix(sample()).unwrap());
        if entry.file_type().is_dir() {
            fs::create_dir_all(to).unwrap();
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
    scratch
}

async fn rows(path: &Path) -> usize {
    let context = session::context(session::config()).unwrap();
    let sql = format!("SELECT call_stack FROM memory_events('{}')", path.display());
    context.sql(&sql).await.unwrap().count().await.unwrap()
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_directory_that_was_seen_does_not_count_twice() {
    use std::os::unix::fs::symlink;
    let run = copy_of_sample();
    let before = rows(run.path()).await;
    symlink(run.path().join(PROFILE), run.path().join("again_ascend_pt")).unwrap();
    symlink(run.path().join("actor_update"), run.path().join("other_name")).unwrap();
    symlink(run.path(), run.path().join("actor_update/loop")).unwrap();
    symlink("nowhere", run.path().join("dangling_ascend_pt")).unwrap();
    assert_eq!(rows(run.path()).await, before);
}

#[cfg(unix)]
#[tokio::test]
async fn a_link_to_a_profile_elsewhere_is_followed() {
    let scratch = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(sample().join(PROFILE), scratch.path().join("x_ascend_pt")).unwrap();
    assert_eq!(rows(scratch.path()).await, rows(&sample().join(PROFILE)).await);
}

#[cfg(unix)]
#[test]
fn a_pipe_in_the_place_of_a_file_is_refused_and_not_waited_for() {
    let run = copy_of_sample();
    let trace = run.path().join(PROFILE).join("ASCEND_PROFILER_OUTPUT/trace_view.json");
    fs::remove_file(&trace).unwrap();
    let made = std::process::Command::new("mkfifo").arg(&trace).status().unwrap();
    assert!(made.success());
    let sql = format!("SELECT count(call_stack) FROM memory_events('{}')", run.path().display());
    let run = crate::support::finish(program(&["-c", &sql]).spawn().unwrap());
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(run.stderr.contains("trace_view.json"), "{}", run.stderr);
}

#[test]
fn the_current_directory_gives_no_empty_role() {
    // Without a role in the metadata it is the name of the directory above the profile, which is not
    // a part of the path '.'.
    let run = copy_of_sample();
    for entry in walkdir::WalkDir::new(run.path()).into_iter().flatten() {
        if entry.file_name() == "profiler_metadata.json" {
            fs::remove_file(entry.path()).unwrap();
        }
    }
    for (directory, path) in [("actor_update", "."), ("actor_update", "./"), (PROFILE, ".")] {
        let sql = format!("SELECT DISTINCT role FROM memory_events('{path}')");
        let mut command = program(&["--format", "csv", "-c", &sql]);
        let output = collect(command.current_dir(run.path().join(directory)).output().unwrap());
        assert_eq!(output.stdout, "role\nactor_update\n", "{directory}, {path}: {}", output.stderr);
    }
}

#[tokio::test]
async fn reading_leaves_the_data_as_it_was() {
    let run = copy_of_sample();
    let before = listing(run.path());
    let context = session::context(session::config()).unwrap();
    for function in ["memory_events", "memory_records", "diagnostics"] {
        let sql = format!("SELECT * FROM {function}('{}')", run.path().display());
        context.sql(&sql).await.unwrap().collect().await.unwrap();
    }
    assert_eq!(listing(run.path()), before);
}

fn listing(root: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let entries = walkdir::WalkDir::new(root).sort_by_file_name().into_iter();
    entries
        .map(|entry| {
            let entry = entry.unwrap();
            let meta = entry.metadata().unwrap();
            (entry.path().to_owned(), meta.len(), meta.modified().unwrap())
        })
        .collect()
}
