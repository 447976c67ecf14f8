//! How fast a trace is read, compared with only reading the file and with a typed JSON library.
//!
//! ```text
//! cargo bench --bench trace_scan -- [trace.json | megabytes]
//! ```
//!
//! Without a file, a trace of that many megabytes (100 by default) is made in a temporary directory. Wall
//! time is that of the best of several runs. CPU time is that of all threads in all of these runs, from
//! `/proc/self/stat` where there is one.

use std::borrow::Cow;
use std::error::Error;
use std::fs::File;
use std::hint::black_box;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use rl_insight_sql::format::ascend_profile::ops::Detail;
use rl_insight_sql::format::ascend_profile::trace_view::read_trace;
use rl_insight_sql::source::{Counter, Finding, Host, ReadError};

/// How often each way is run.
const RUNS: u32 = 9;

/// Ticks of `/proc/self/stat` in a second; the same on all Linux systems that Rust runs on.
const TICKS: f64 = 100.0;

struct Quiet;

impl Host for Quiet {
    fn stopped(&self) -> bool {
        false
    }

    fn reserve(&self, _: usize) -> Result<(), ReadError> {
        Ok(())
    }

    fn count(&self, _: Counter, _: u64) {}

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        eprintln!("{finding}");
        Ok(())
    }
}

/// What a way to read gives: ops with a stack, and the sum of their times as a check.
type Answer = Result<(usize, i64), Box<dyn Error>>;

fn main() -> Result<(), Box<dyn Error>> {
    // Cargo adds arguments of its own, such as --bench.
    let arguments: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let directory = tempfile::tempdir()?;
    let argument = arguments.first().map_or("100", String::as_str);
    let path = match argument.parse::<u64>() {
        Ok(megabytes) => make_trace(directory.path(), megabytes * 1_000_000)?,
        Err(_) => PathBuf::from(argument),
    };
    let bytes = std::fs::metadata(&path)?.len();
    println!("{} bytes, {RUNS} runs each", bytes);
    println!("{:<24} {:>10} {:>10} {:>12} {:>10}", "", "GB/s wall", "GB/s CPU", "time / read", "ops");

    let only = arguments.get(1).map(String::as_str);
    let ways: [(&str, &dyn Fn() -> Answer); 5] = [
        ("read", &|| only_read(&path)),
        ("stacks, 1 thread", &|| scan(&path, Detail::Stacks, 1)),
        ("stacks, 2 threads", &|| scan(&path, Detail::Stacks, 2)),
        ("owners, 1 thread", &|| scan(&path, Detail::Owners, 1)),
        ("serde_json, typed", &|| typed(&path)),
    ];
    let mut read = None;
    for (name, way) in ways.iter().filter(|(name, _)| only.is_none_or(|o| o == *name)) {
        let answer = way()?;
        let (mut best, cpu) = (f64::INFINITY, cpu_seconds());
        for _ in 0..RUNS {
            let start = Instant::now();
            black_box(way()?);
            best = best.min(start.elapsed().as_secs_f64());
        }
        let cpu = cpu.zip(cpu_seconds()).map(|(from, to)| to - from);
        let size = bytes as f64 / 1e9;
        let cpu_speed = cpu.map_or("-".to_owned(), |c| format!("{:.2}", size * f64::from(RUNS) / c));
        let ratio = best / *read.get_or_insert(best);
        println!("{name:<24} {:>10.2} {cpu_speed:>10} {ratio:>12.2} {:>10}", size / best, answer.0);
    }
    if let Some(memory) = peak_memory() {
        println!("peak memory of the process: {memory}");
    }
    Ok(())
}

fn scan(path: &Path, detail: Detail, threads: usize) -> Answer {
    let log = read_trace(path, detail, threads, &Quiet)?;
    Ok((log.ops.len(), log.ops.iter().fold(0, |sum, op| sum.wrapping_add(op.start_ns))))
}

/// The least that any reader must do.
fn only_read(path: &Path) -> Answer {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 256 << 10];
    let mut sum = 0;
    loop {
        let n = file.read(&mut buffer)?;
        if n == 0 {
            return Ok((0, sum));
        }
        sum += i64::from(black_box(&buffer).first().copied().unwrap_or(0));
    }
}

#[derive(serde::Deserialize)]
struct Event<'a> {
    #[serde(borrow, default)]
    name: Cow<'a, str>,
    #[serde(borrow, default)]
    cat: Cow<'a, str>,
    #[serde(borrow, default)]
    ts: Option<Time<'a>>,
    #[serde(borrow, default)]
    args: Option<Args<'a>>,
}

#[derive(serde::Deserialize)]
#[serde(untagged)]
enum Time<'a> {
    Text(#[serde(borrow)] Cow<'a, str>),
    Number(f64),
}

#[derive(serde::Deserialize)]
struct Args<'a> {
    #[serde(borrow, rename = "Call stack")]
    stack: Option<Cow<'a, str>>,
}

/// A typed parser over the whole file in memory: fast, but neither streaming nor exact.
fn typed(path: &Path) -> Answer {
    let bytes = std::fs::read(path)?;
    let events: Vec<Event> = serde_json::from_slice(&bytes)?;
    let mut answer = (0, 0i64);
    for event in events {
        let stack = event.args.and_then(|a| a.stack);
        if event.cat == "cpu_op"
            && let Some(stack) = stack
        {
            answer.0 += 1;
            answer.1 += match event.ts {
                Some(Time::Text(text)) => text.len() as i64,
                Some(Time::Number(number)) => number as i64,
                None => 0,
            };
            black_box((event.name, stack));
        }
    }
    Ok(answer)
}

/// Writes a trace in the form of torch_npu: about one event in eight is an op with a stack.
fn make_trace(directory: &Path, bytes: u64) -> Result<PathBuf, Box<dyn Error>> {
    let path = directory.join("trace_view.json");
    let mut out = BufWriter::new(File::create(&path)?);
    let stacks: Vec<String> = (0..400)
        .map(|s| {
            let frame = |f: u64| {
                format!(
                    "/opt/torch/nn/modules/module_{}.py({}): forward_{}",
                    (s * 7 + f) % 50,
                    100 + f,
                    s % 30
                )
            };
            (0..18).map(frame).collect::<Vec<_>>().join(r";\r\n")
        })
        .collect();
    let (mut written, mut n) = (1, 0u64);
    out.write_all(b"[")?;
    while written < bytes {
        let ts = format!("{}.{:03}", 1_736_405_443_000_000 + n * 3, n % 1000);
        let place = format!(r#""pid": 4242, "tid": {}, "ts": "{ts}", "dur": {}.5"#, 4242 + n % 3, n % 90);
        let event = match n % 8 {
            0 => {
                let stack = stacks.get((n / 8 * 31 % 400) as usize).map_or("", String::as_str);
                format!(
                    r#"{{"ph": "X", "name": "aten::op{}", {place}, "cat": "cpu_op", "args": {{"Sequence number": {n}, "Fwd thread id": 0, "Input Dims": "8,16;\r\n16,32", "Call stack": "{stack}"}}}}"#,
                    n / 8 % 60
                )
            }
            1 => format!(
                r#"{{"ph": "X", "name": "aten::view", {place}, "cat": "cpu_op", "args": {{"Sequence number": -1, "Fwd thread id": 0}}}}"#
            ),
            2 => format!(
                r#"{{"ph": "X", "name": "Enqueue@x", {place}, "cat": "enqueue", "args": {{"correlation_id": {n}}}}}"#
            ),
            3 => format!(
                r#"{{"ph": "s", "bp": "e", "name": "async_npu", "id": "{ts}", "pid": 4242, "tid": 1, "ts": "{ts}", "cat": "async_npu"}}"#
            ),
            4 => format!(
                r#"{{"name": "HBM", "pid": 99, "tid": 0, "ts": "{ts}", "ph": "C", "args": {{"Read(MB/s)": {n}}}}}"#
            ),
            _ => format!(
                r#"{{"name": "MatMulV2_{n}", {place}, "args": {{"Model Id": 4294967295, "Task Type": "AI_CORE", "Stream Id": 2}}, "ph": "X"}}"#
            ),
        };
        out.write_all(if n == 0 { b"" } else { b", " })?;
        out.write_all(event.as_bytes())?;
        written += event.len() as u64 + 2;
        n += 1;
    }
    out.write_all(b"]")?;
    out.flush()?;
    Ok(path)
}

/// User and system time of this process so far, in seconds.
fn cpu_seconds() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // The name of the process is in parentheses and may hold spaces.
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    let ticks = |n: usize| fields.get(n)?.parse::<f64>().ok();
    Some((ticks(11)? + ticks(12)?) / TICKS)
}

fn peak_memory() -> Option<String> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().to_owned())
}
