//! What is no plain file, or no file of sane size, in the place of one: nothing hangs, nothing is lost in
//! silence, and other ranks are read.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rl_insight_sql::session;

use super::answer::ask;
use super::failing_io::Case;
use super::large::{self, Input};
use super::own_process::finish;
use super::sample::{CALLS, call, copy, make};
use super::size::pick;

/// What takes the place of a file.
const KINDS: [&str; 6] = ["fifo", "socket", "device", "loop", "nowhere", "directory"];

fn replace(path: &Path, kind: &str, scratch: &Path) {
    fs::remove_file(path).unwrap();
    match kind {
        "fifo" => assert!(Command::new("mkfifo").arg(path).status().unwrap().success()),
        "socket" => {
            // The name of a socket must be short.
            let socket = scratch.join("s");
            drop(UnixListener::bind(&socket).unwrap());
            fs::rename(socket, path).unwrap();
        }
        "device" => symlink("/dev/zero", path).unwrap(),
        "loop" => symlink(path, path).unwrap(),
        "nowhere" => symlink(scratch.join("nowhere"), path).unwrap(),
        _ => fs::create_dir(path).unwrap(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_file_is_told() {
    let dir = tempfile::tempdir().unwrap();
    let (data, whole) = (dir.path().join("data"), dir.path().join("whole"));
    [&data, &whole].into_iter().for_each(|dir| {
        fs::create_dir(dir).unwrap();
        make(dir);
    });
    let context = session::context(session::config().with_target_partitions(2)).unwrap();
    let (mut wrong, mut runs, mut at) = (vec![], 0, 0);
    for (name, part, function, arguments) in CALLS.into_iter().filter(|c| !c.1.is_empty()) {
        let sql = |skip| format!("SELECT * FROM {}", call(&data, part, function, arguments, skip));
        let right = ask(&context, &sql(false)).await.unwrap();
        let files = walkdir::WalkDir::new(data.join(part)).sort_by_file_name().into_iter();
        let files: Vec<PathBuf> =
            files.map(|e| e.unwrap().into_path()).filter(|path| path.is_file()).collect();
        for path in &files {
            for kind in KINDS {
                at += 1;
                if at % pick(13, 1) > 0 {
                    continue;
                }
                replace(path, kind, dir.path());
                for skip in [false, true] {
                    runs += 1;
                    let sql = sql(skip);
                    let asked = tokio::time::timeout(Duration::from_secs(300), ask(&context, &sql)).await;
                    let Ok(found) = asked else { panic!("{sql} hangs at {}, {kind}", path.display()) };
                    let counts_steps = function == "dump_trend" && arguments.is_empty();
                    let case = Case { function, kind, skip, counts_steps, hit: path };
                    // A directory is no file, and a rank that has none has no rows.
                    if kind != "directory"
                        && let Err(what) = case.judge(&right, &found, None)
                    {
                        wrong.push(format!("{name}, skip {skip}: {kind} at {}: {what}", path.display()));
                    }
                }
                fs::remove_file(path).or_else(|_| fs::remove_dir(path)).unwrap();
                fs::copy(whole.join(path.strip_prefix(&data).unwrap()), path).unwrap();
            }
        }
    }
    println!("{runs} runs");
    assert!(runs > 20 && wrong.is_empty(), "{} of {runs} runs\n{}", wrong.len(), wrong.join("\n"));
}

/// Runs the program, perhaps through another one.
fn program(through: &[&str], exe: &str, args: &[&str]) -> Output {
    let (first, rest) = through
        .split_first()
        .map_or((exe, vec![]), |(first, rest)| (*first, rest.iter().copied().chain([exe]).collect()));
    let mut command = Command::new(first);
    command.args(rest).args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command, Duration::from_secs(300))
}

/// What it wrote to stdout, in an order of ours.
fn lines(done: &Output) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = done.stdout.split(|b| *b == b'\n').collect();
    lines.sort();
    lines
}

const EXE: &str = env!("CARGO_BIN_EXE_rl-insight-sql");

#[test]
fn huge_files_of_nothing_are_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    for (part, function, file) in [
        ("memory", "memory_events", "operator_memory.csv"),
        ("memory", "memory_events", "trace_view.json"),
        ("memory", "memory_records", "memory_record.csv"),
        ("memory_db", "memory_events", "ascend_pytorch_profiler_0.db"),
        ("trend", "dump_trend", "dump.json"),
        ("trend", "dump_trend", "construct.json"),
        ("memscope", "memscope_events", "memscope_dump_20261001080000.csv"),
        ("memscope_db", "memscope_blocks", "memscope_dump_20261001080000.db"),
    ] {
        let data = dir.path().join(format!("{part}-{file}"));
        fs::create_dir(&data).unwrap();
        make(&data);
        let found = walkdir::WalkDir::new(data.join(part)).sort_by_file_name().into_iter();
        let path = found.map(|e| e.unwrap().into_path()).find(|p| p.ends_with(file)).unwrap();
        let huge = File::create(&path).unwrap();
        huge.set_len(5 << 30).unwrap();
        let sql = format!("SELECT count(*) FROM {function}('{}')", data.join(part).display());
        let sql =
            if function == "memory_events" { sql.replace("count(*)", "count(call_stack)") } else { sql };
        let done = program(&[], EXE, &["-c", &sql]);
        let said = String::from_utf8_lossy(&done.stderr);
        assert_eq!(done.status.code(), Some(3), "{sql}: {said}");
        assert!(said.contains(file), "{sql}: {said}");
        fs::remove_dir_all(data).unwrap();
    }
}

#[test]
fn more_ranks_than_open_files_are_read() {
    let dir = tempfile::tempdir().unwrap();
    for (input, call) in
        [(Input::Profile, "memory_events"), (Input::Memscope, "memscope_events"), (Input::Dump, "dump_trend")]
    {
        let data = dir.path().join(call);
        large::make(&data, input, 100, 20, 20);
        let sql = format!(
            "SELECT count(*), count(DISTINCT source_path) FROM {call}('{}')",
            data.join("run").display()
        );
        let few = ["sh", "-c", "ulimit -n 32; exec \"$0\" \"$@\""];
        let answer = |through: &[&str]| {
            let done = program(through, EXE, &["--threads", "4", "--format", "csv", "-c", &sql]);
            assert!(done.status.success(), "{sql}: {}", String::from_utf8_lossy(&done.stderr));
            String::from_utf8(done.stdout).unwrap()
        };
        let found = answer(&few);
        assert!(found.trim().ends_with(",100"), "{found}");
        assert_eq!(found, answer(&[]));
    }
}

#[test]
fn what_may_not_be_read_is_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let data = dir.path().join("data");
    make_readable(&data);
    // Root may read everything, so somebody else has to try.
    let exe = dir.path().join("program");
    let root = fs::metadata("/proc/self").unwrap().uid() == 0;
    fs::hard_link(EXE, &exe).or_else(|_| fs::copy(EXE, &exe).map(|_| ())).unwrap();
    let other: &[&str] =
        if root { &["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] } else { &[] };
    let exe = exe.display().to_string();
    for (part, function, at) in [
        ("memory", "memory_events", "actor_update/node0_20480_20260526085215123_ascend_pt"),
        (
            "memory",
            "memory_events",
            "actor_update/node0_20480_20260526085215123_ascend_pt/ASCEND_PROFILER_OUTPUT",
        ),
        (
            "memory",
            "memory_events",
            "actor_update/node0_20480_20260526085215123_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        ),
        ("memory", "memory_records", "actor_update"),
        ("trend", "dump_trend", "actor_update/step1/rank0"),
        ("trend", "dump_trend", "actor_update/step1"),
        ("trend", "dump_trend", "actor_update/step1/rank0/dump.json"),
        ("memscope", "memscope_blocks", "msmemscope_41001_20261001080000_ascend"),
        ("memscope", "memscope_events", "msmemscope_41001_20261001080000_ascend/device_0/dump"),
        (
            "memscope_db",
            "memscope_events",
            "msmemscope_41001_20261001080000_ascend/device_0/dump/memscope_dump_20261001080000.db",
        ),
    ] {
        let place = data.join(part).join(at);
        let mode = fs::metadata(&place).unwrap().permissions();
        // To be listed is no permission to look into what is listed, and the other way round.
        for forbidden in if place.is_dir() { &[0o000, 0o444, 0o111][..] } else { &[0o000] } {
            fs::set_permissions(&place, fs::Permissions::from_mode(*forbidden)).unwrap();
            let sql = format!("SELECT * FROM {function}('{}')", data.join(part).display());
            let done = program(other, &exe, &["--format", "csv", "-c", &sql]);
            fs::set_permissions(&place, mode.clone()).unwrap();
            let said = String::from_utf8_lossy(&done.stderr);
            if done.status.success() {
                // The names of some files are known without a list.
                let right = program(&[], EXE, &["--format", "csv", "-c", &sql]);
                assert!(lines(&done) == lines(&right), "{sql}, {forbidden:o}: it loses rows");
                continue;
            }
            assert_eq!(done.status.code(), Some(3), "{sql}, {forbidden:o}: {said}");
            assert!(
                said.contains(&place.display().to_string()) && said.contains("ermission"),
                "{sql}: {said}"
            );
        }
    }
}

/// A sample that everybody may read.
fn make_readable(data: &Path) {
    let made = tempfile::tempdir().unwrap();
    make(made.path());
    copy(made.path(), data);
    for entry in walkdir::WalkDir::new(data) {
        let entry = entry.unwrap();
        let mode = if entry.file_type().is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(entry.path(), fs::Permissions::from_mode(mode)).unwrap();
    }
}
