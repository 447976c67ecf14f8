//! Exports that are killed, and disks that are full: the target is the old file byte for byte, or a new
//! one that is complete, and nothing else stays behind.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;

use crate::fuzz::Random;

/// An export.
struct Job {
    /// For messages, and the ending of the target.
    name: &'static str,
    /// Arguments of the program for a target and a size.
    arguments: fn(&Path, &Path, usize) -> Vec<String>,
    /// How many rows a complete file of that size has.
    rows: fn(usize) -> usize,
    /// Counts the rows of a file; `None` when it is not complete.
    count: fn(&Path) -> Option<usize>,
}

fn numbers(rows: usize) -> String {
    format!("SELECT value AS a, value * 2.5 AS b, 'text ' || value AS t FROM generate_series(1, {rows})")
}

fn copy(target: &Path, rows: usize, stored: &str) -> Vec<String> {
    let sql = format!("COPY ({}) TO '{}' STORED AS {stored}", numbers(rows), target.display());
    vec!["--force".into(), "-c".into(), sql]
}

const JOBS: [Job; 5] = [
    Job {
        name: "trend.db",
        arguments: |data, target, size| {
            let small = if size < 1000 { "small" } else { "large" };
            let sql = format!(
                "COPY (SELECT * FROM dump_trend('{}', micro_step => false)) TO '{}' STORED AS TREND_DB",
                data.join(small).display(),
                target.display()
            );
            vec!["--force".into(), "-c".into(), sql]
        },
        rows: |size| if size < 1000 { 2 * SMALL_ENTRIES } else { 2 * LARGE_ENTRIES * LARGE_STEPS },
        count: |path| database_rows(path, "trend_data"),
    },
    Job {
        name: "db",
        arguments: |_, target, size| copy(target, size, "SQLITE OPTIONS (table 't')"),
        rows: |size| size,
        count: |path| database_rows(path, "t"),
    },
    Job {
        name: "csv",
        arguments: |_, target, size| copy(target, size, "CSV"),
        rows: |size| size,
        count: lines_of_csv,
    },
    Job {
        name: "parquet",
        arguments: |_, target, size| copy(target, size, "PARQUET"),
        rows: |size| size,
        count: |path| {
            let runtime = tokio::runtime::Runtime::new().unwrap();
            let context = datafusion::prelude::SessionContext::new();
            runtime.block_on(async {
                let table = context.read_parquet(path.to_str()?, Default::default()).await.ok()?;
                table.count().await.ok()
            })
        },
    },
    Job {
        name: "o.csv",
        arguments: |_, target, size| {
            let target = target.display().to_string();
            vec![
                "--force".into(),
                "--format".into(),
                "csv".into(),
                "-o".into(),
                target,
                "-c".into(),
                numbers(size),
            ]
        },
        rows: |size| size,
        count: lines_of_csv,
    },
];

fn program(arguments: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn lines_of_csv(path: &Path) -> Option<usize> {
    let bytes = fs::read(path).ok()?;
    bytes.ends_with(b"\n").then(|| bytes.iter().filter(|b| **b == b'\n').count() - 1)
}

fn database_rows(path: &Path, table: &str) -> Option<usize> {
    let db = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let sound: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).ok()?;
    if sound != "ok" {
        return None;
    }
    let rows: i64 = db.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).ok()?;
    usize::try_from(rows).ok()
}

const SMALL_ENTRIES: usize = 3;
const LARGE_ENTRIES: usize = 400;
const LARGE_STEPS: usize = 40;

/// Dumps of which a small and a large trend database are made.
fn dumps(root: &Path) {
    let tensor = "{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2], \"Max\": 1.5, \"Min\": -1.0, \
                  \"Mean\": 0.25, \"Norm\": 3.5}";
    let dump = |dir: PathBuf, entries: usize| {
        fs::create_dir_all(&dir).unwrap();
        let entry = |n| {
            format!(
                "\"Module.block.{n}.N.forward.0\": {{\"input_args\": [{tensor}], \"input_kwargs\": {{}}, \"output\": [{tensor}]}}"
            )
        };
        let entries: Vec<String> = (0..entries).map(entry).collect();
        fs::write(dir.join("dump.json"), format!("{{\"data\": {{{}}}}}", entries.join(", "))).unwrap();
    };
    dump(root.join("small/step0/rank0"), SMALL_ENTRIES);
    for step in 0..LARGE_STEPS {
        dump(root.join(format!("large/step{step}/rank0")), LARGE_ENTRIES);
    }
}

fn end(mut child: Child) -> std::process::Output {
    let start = Instant::now();
    while child.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < Duration::from_secs(300), "the program does not end");
        std::thread::sleep(Duration::from_millis(5));
    }
    child.wait_with_output().unwrap()
}

fn run(job: &Job, data: &Path, target: &Path, size: usize) -> Duration {
    let start = Instant::now();
    let output = end(program(&(job.arguments)(data, target, size)).spawn().unwrap());
    assert!(output.status.success(), "{}: {}", job.name, String::from_utf8_lossy(&output.stderr));
    start.elapsed()
}

/// The target is the old file or a complete new one.
fn check(job: &Job, target: &Path, old: &[u8], size: usize, when: &str) -> bool {
    let now = fs::read(target).unwrap();
    if now == old {
        return false;
    }
    assert_eq!((job.count)(target), Some((job.rows)(size)), "{}, {when}: neither old nor complete", job.name);
    fs::write(target, old).unwrap();
    true
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).unwrap();
    entries.map(|e| e.unwrap().file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn a_killed_export_leaves_the_old_file_or_a_whole_new_one() {
    let data = tempfile::tempdir().unwrap();
    dumps(data.path());
    let (kills, size) = if crate::size::long() { (200, 2_000_000) } else { (3, 200_000) };
    let mut random = Random::new(7);
    for job in &JOBS {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join(format!("x.{}", job.name));
        run(job, data.path(), &target, 3);
        assert_eq!((job.count)(&target), Some((job.rows)(3)), "{}", job.name);
        let old = fs::read(&target).unwrap();
        let whole = run(job, data.path(), &target, size);
        assert!(check(job, &target, &old, size, "not killed"), "{}", job.name);
        let mut replaced = 0;
        for kill in 0..kills {
            let mut child = program(&(job.arguments)(data.path(), &target, size)).spawn().unwrap();
            let wait = whole.mul_f64(1.1 * (random.below(1000) as f64) / 1000.0);
            std::thread::sleep(wait);
            let _ = child.kill();
            child.wait().unwrap();
            replaced += usize::from(check(job, &target, &old, size, &format!("kill {kill}")));
        }
        // What was left in the last second may be in use for all anybody knows.
        std::thread::sleep(Duration::from_millis(1200));
        let left = names(dir.path()).len() - 1;
        run(job, data.path(), &target, size);
        assert_eq!((job.count)(&target), Some((job.rows)(size)), "{}", job.name);
        assert_eq!(names(dir.path()).len(), 1, "{}: {:?}", job.name, names(dir.path()));
        eprintln!("crash {}: {kills} kills, {replaced} after the end, {left} leftovers removed", job.name);
    }
}

/// Every export into a limit on the size of files: an error that names the file, and the old one stays.
#[cfg(unix)]
#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let data = tempfile::tempdir().unwrap();
    dumps(data.path());
    for job in &JOBS {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join(format!("x.{}", job.name));
        run(job, data.path(), &target, 3);
        let old = fs::read(&target).unwrap();
        // The shell's unit is 512 or 1024 bytes; both are far less than the file.
        let arguments = (job.arguments)(data.path(), &target, 200_000);
        let output = end(limited(&arguments));
        full(job, &target, &old, &output);
        assert_eq!(names(dir.path()).len(), 1, "{}: {:?}", job.name, names(dir.path()));
    }
}

/// The program under a limit of about 200 KB for each file it writes.
#[cfg(unix)]
fn limited(arguments: &[String]) -> Child {
    let mut command = Command::new("sh");
    command.args(["-c", "ulimit -f 200; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_rl-insight-sql")]);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

fn full(job: &Job, target: &Path, old: &[u8], output: &std::process::Output) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.code().is_some_and(|c| c != 0 && c < 100),
        "{}: {:?}: {said}",
        job.name,
        output.status
    );
    assert!(fs::read(target).unwrap() == old, "{}: the old file is gone", job.name);
    assert!(!said.trim().is_empty() && !said.contains("panicked"), "{}: {said}", job.name);
}

/// The same on a file system that is full, where one can be mounted.
#[cfg(target_os = "linux")]
#[test]
fn a_full_file_system_is_an_error_and_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=1m", "tmpfs"])
        .arg(dir.path())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !mounted {
        eprintln!("skipped: only root can mount a small tmpfs");
        return;
    }
    let outcome = std::panic::catch_unwind(|| {
        let data = tempfile::tempdir().unwrap();
        dumps(data.path());
        for job in &JOBS {
            let target = dir.path().join(format!("x.{}", job.name));
            run(job, data.path(), &target, 3);
            let old = fs::read(&target).unwrap();
            let mut filler = fs::File::create(dir.path().join("filler")).unwrap();
            while filler.write_all(&[1; 4096]).is_ok() {}
            filler.set_len(800_000).unwrap();
            let output = end(program(&(job.arguments)(data.path(), &target, 200_000)).spawn().unwrap());
            full(job, &target, &old, &output);
            fs::remove_file(dir.path().join("filler")).unwrap();
            fs::remove_file(&target).unwrap();
            assert_eq!(names(dir.path()), Vec::<String>::new(), "{}", job.name);
        }
    });
    assert!(Command::new("umount").arg(dir.path()).status().unwrap().success());
    if let Err(panic) = outcome {
        std::panic::resume_unwind(panic);
    }
}
