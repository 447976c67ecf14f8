//! Whoever loses interest gets everything back within a second: threads, open files, temporary files,
//! memory; and an export that is given up leaves nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::execution::memory_pool::{FairSpillPool, MemoryPool};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use futures::StreamExt;
use rl_insight_sql::session;

use super::census::Census;
use super::large::{Input, make};
use super::own_process;
use super::random::Random;
use super::size::{patience, pick};

/// Queries and exports; `{out}` is the directory of targets.
const STATEMENTS: [(&str, &str); 13] = [
    ("p", "SELECT * FROM memory_events('{run}')"),
    ("p", "SELECT * FROM memory_events('{run}', match => 'inside')"),
    ("p", "SELECT * FROM memory_events('{run}') ORDER BY size_kb, name, row_no"),
    ("p", "SELECT * FROM memory_by_stack('{run}')"),
    ("m", "SELECT * FROM memscope_events('{run}')"),
    ("m", "SELECT * FROM memscope_blocks('{run}')"),
    ("m", "SELECT * FROM memscope_block_calls('{run}')"),
    ("d", "SELECT * FROM dump_trend('{run}')"),
    ("p", "SELECT * FROM diagnostics('{run}')"),
    ("p", "COPY (SELECT * FROM memory_events('{run}')) TO '{out}/x.csv' STORED AS CSV"),
    ("p", "COPY (SELECT * FROM memory_events('{run}')) TO '{out}/x.parquet' STORED AS PARQUET"),
    ("p", "COPY (SELECT * FROM memory_events('{run}')) TO '{out}/x.db' STORED AS SQLITE"),
    ("d", "COPY (SELECT * FROM dump_trend('{run}')) TO '{out}/x.trend.db' STORED AS TREND_DB"),
];

fn inputs(dir: &Path) {
    make(&dir.join("p"), Input::Profile, 4, 6_000, 200);
    make(&dir.join("m"), Input::Memscope, 4, 6_000, 200);
    make(&dir.join("d"), Input::Dump, 4, 3_000, 0);
    fs::create_dir(dir.join("out")).unwrap();
    fs::create_dir(dir.join("out/spill")).unwrap();
}

fn statement(dir: &Path, (part, sql): (&str, &str)) -> String {
    let run = dir.join(part).join("run").display().to_string();
    sql.replace("{run}", &run).replace("{out}", &dir.join("out").display().to_string())
}

#[test]
fn dropped_streams_give_everything_back() {
    own_process::run("cancellation::drops_streams", []);
}

#[test]
#[ignore = "run by another test, in a process of its own"]
fn drops_streams() {
    let dir = tempfile::tempdir().unwrap();
    inputs(dir.path());
    let out = dir.path().join("out");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        // Threads that have nothing to do are no sign that something goes on.
        .thread_keep_alive(Duration::from_millis(1))
        .enable_all()
        .build()
        .unwrap();
    // So little that the sort spills.
    let pool: Arc<dyn MemoryPool> = Arc::new(FairSpillPool::new(48 << 20));
    let environment = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::clone(&pool))
        .with_temp_file_path(out.join("spill"))
        .build_arc()
        .unwrap();
    let config = session::config()
        .with_target_partitions(2)
        .with_batch_size(512)
        .with_sort_spill_reservation_bytes(1 << 20);
    let context = session::context_with(config, environment).unwrap();
    // What is made once, such as the threads that list directories, is there afterwards.
    for entry in STATEMENTS {
        let _ = runtime.block_on(give_up(&context, &statement(dir.path(), entry), usize::MAX, Duration::MAX));
    }
    let clear = || {
        for entry in fs::read_dir(&out).unwrap().map(|e| e.unwrap().path()).filter(|p| p.is_file()) {
            fs::remove_file(entry).unwrap();
        }
    };
    let clear_targets = || {
        for (_, sql) in STATEMENTS {
            if let Some(name) = sql.split("{out}/").nth(1).and_then(|rest| rest.split('\'').next()) {
                let _ = fs::remove_file(out.join(name));
            }
        }
    };
    clear();
    std::thread::sleep(Duration::from_millis(200));
    let before = Census::take(&out);
    let (mut random, mut longest, mut early) = (Random::new(7), Duration::ZERO, 0);
    let rounds = pick(150, 1000);
    for round in 0..rounds {
        let entry = *random.pick(&STATEMENTS);
        let sql = statement(dir.path(), entry);
        let moment = Duration::from_micros(random.next() % 60_000);
        let batches = if random.below(2) == 0 { usize::MAX } else { random.below(20) };
        let complete = runtime.block_on(give_up(&context, &sql, batches, moment));
        early += usize::from(!complete);
        if complete {
            clear();
        }
        let reserved = || {
            // A target has its name only as a whole: then it was given up between that and the end.
            if !complete {
                clear_targets();
            }
            (pool.reserved() > 0).then(|| format!("{} bytes reserved", pool.reserved()))
        };
        match before.wait(&out, reserved) {
            Ok(time) => longest = longest.max(time),
            Err(left) => panic!("round {round}, {sql}, after {moment:?} or {batches} batches: {left}"),
        }
    }
    println!("{early} of {rounds} given up; everything was back within {longest:?}");
    assert!(early > rounds / 2);
}

/// Runs a statement up to a moment or a number of batches; whether it came to its end.
async fn give_up(context: &SessionContext, sql: &str, batches: usize, moment: Duration) -> bool {
    let run = async {
        let mut rows = context.sql(sql).await.unwrap().execute_stream().await.unwrap();
        for _ in 0..batches {
            match rows.next().await {
                Some(batch) => drop(batch.unwrap()),
                None => return true,
            }
        }
        false
    };
    match moment {
        Duration::MAX => run.await,
        moment => tokio::time::timeout(moment, run).await.unwrap_or(false),
    }
}

#[test]
fn the_program_ends_soon_behind_ctrl_c() {
    let dir = tempfile::tempdir().unwrap();
    inputs(dir.path());
    let out = dir.path().join("out");
    let start = |sql: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
        command.args(["--format", "csv", "--temp-dir"]).arg(out.join("spill")).args(["-c", sql]);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.spawn().unwrap()
    };
    // How long they take when nobody interrupts them: the moments are to lie within that.
    let mut lengths = vec![];
    for entry in STATEMENTS {
        let began = Instant::now();
        let status = start(&statement(dir.path(), entry)).wait().unwrap();
        assert!(status.success(), "{status}: {}", entry.1);
        lengths.push(began.elapsed());
    }
    for file in files(&out) {
        fs::remove_file(file).unwrap();
    }
    let (mut random, mut longest, mut interrupted) = (Random::new(11), Duration::ZERO, 0);
    let rounds = pick(12, 1000);
    // On a machine that is very busy it takes long until it listens at all: then the waits get longer.
    let more = |interrupted: usize, round: u32| round < rounds || interrupted == 0 && round < 10 * rounds;
    for round in (0..).take_while(|round| *round < 10 * rounds) {
        if !more(interrupted, round) {
            break;
        }
        let which = random.below(STATEMENTS.len());
        let sql = statement(dir.path(), STATEMENTS[which]);
        let mut child = start(&sql);
        std::thread::sleep(lengths[which] * random.below(1000) as u32 / 1000 * (1 + round / rounds));
        assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().is_ok());
        let start = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if start.elapsed() > patience() {
                child.kill().unwrap();
                panic!("round {round}: it goes on: {sql}");
            }
            std::thread::sleep(Duration::from_millis(1));
        };
        longest = longest.max(start.elapsed());
        let left = files(&out);
        match status.code() {
            // It had come to its end, perhaps with a file.
            Some(0) => left.iter().for_each(|file| fs::remove_file(file).unwrap()),
            // Before it listened the system ends it.
            Some(130) | None => {
                interrupted += usize::from(status.code().is_some());
                // A target has its name only as a whole: then the signal came between that and the end.
                let whole = |file: &PathBuf| sql.contains(&format!("'{}'", file.display()));
                assert!(left.iter().all(whole), "round {round}, {status}: {sql} leaves {left:?}");
                left.iter().for_each(|file| fs::remove_file(file).unwrap());
            }
            other => panic!("round {round}: exit code {other:?}: {sql}"),
        }
        // There is none when it was stopped before it began.
        for entry in fs::read_dir(out.join("spill")).into_iter().flatten() {
            let path = entry.unwrap().path();
            assert!(status.code().is_none(), "round {round}: {sql} leaves {}", path.display());
            fs::remove_dir(path).unwrap();
        }
    }
    println!("{interrupted} of {rounds} interrupted; it ended within {longest:?}");
    assert!(interrupted > pick(0, rounds as usize / 4));
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(directory).into_iter().map(|entry| entry.unwrap().into_path());
    entries.filter(|path| path.is_file()).collect()
}
