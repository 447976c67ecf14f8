//! Tests of the reader as a whole: one for each rule, hostile input, real files.

mod fuzz;
mod hostile;
mod real;
mod rules;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::*;
use crate::format::ascend_profile::ops::{NO_STACK, QueueSlice};
use crate::source::{Counter, Degree, Finding, FindingLog};

/// A host that remembers everything.
#[derive(Default)]
struct TestHost {
    strict: bool,
    /// How often it may be asked before it says that it has stopped.
    patience: Option<u64>,
    budget: Option<u64>,
    asked: AtomicU64,
    reserved: AtomicU64,
    bytes: AtomicU64,
    events: AtomicU64,
    files: AtomicU64,
    findings: Mutex<FindingLog>,
}

impl Host for TestHost {
    fn stopped(&self) -> bool {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        self.patience.is_some_and(|p| asked >= p)
    }

    fn reserve(&self, bytes: usize) -> Result<(), ReadError> {
        let before = self.reserved.fetch_add(bytes as u64, Ordering::Relaxed);
        match self.budget {
            Some(budget) if before + bytes as u64 > budget => Err(ReadError::Memory("no more".into())),
            _ => Ok(()),
        }
    }

    fn count(&self, counter: Counter, n: u64) {
        match counter {
            Counter::FilesOpened => self.files.fetch_add(n, Ordering::Relaxed),
            Counter::BytesRead => self.bytes.fetch_add(n, Ordering::Relaxed),
            Counter::EventsRead => self.events.fetch_add(n, Ordering::Relaxed),
            _ => 0,
        };
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        let refused = self.strict && finding.is_problem();
        self.findings.lock().unwrap().push(finding);
        if refused { Err(ReadError::Refused) } else { Ok(()) }
    }
}

/// An op with its texts.
#[derive(Debug, Clone, PartialEq, Eq)]
struct SeenOp {
    name: String,
    start_ns: i64,
    end_ns: i64,
    stack: Option<String>,
    thread: u32,
}

/// All that a read gives, without numbers that may differ between runs.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    ops: Vec<SeenOp>,
    enqueues: Vec<QueueSlice>,
    dequeues: Vec<QueueSlice>,
    findings: Vec<Finding>,
    events: u64,
}

impl Seen {
    fn new(log: &OpLog, host: &TestHost) -> Self {
        let (mut threads, mut ids) = (Vec::new(), Vec::new());
        let number = |seen: &mut Vec<u32>, id: u32| -> u32 {
            let known = seen.iter().position(|s| *s == id);
            known.unwrap_or_else(|| {
                seen.push(id);
                seen.len() - 1
            }) as u32
        };
        let ops = log
            .ops
            .iter()
            .map(|op| SeenOp {
                name: log.names.get(op.name).expect("a name").to_owned(),
                start_ns: op.start_ns,
                end_ns: op.end_ns,
                stack: (op.stack != NO_STACK).then(|| log.stacks.get(op.stack).expect("a stack").to_owned()),
                thread: number(&mut threads, op.thread),
            })
            .collect();
        let mut slices = |from: &[QueueSlice]| -> Vec<QueueSlice> {
            let one = |s: &QueueSlice| QueueSlice {
                thread: number(&mut threads, s.thread),
                correlation: number(&mut ids, s.correlation),
                ..*s
            };
            from.iter().map(one).collect()
        };
        let (enqueues, dequeues) = (slices(&log.enqueues), slices(&log.dequeues));
        let findings = host.findings.lock().unwrap().findings().to_vec();
        Self { ops, enqueues, dequeues, findings, events: host.events.load(Ordering::Relaxed) }
    }

    fn problems(&self) -> Vec<&Finding> {
        self.findings.iter().filter(|f| f.is_problem()).collect()
    }

    /// How many problems there are, with all their repetitions.
    fn problem_count(&self) -> u64 {
        self.problems().iter().map(|f| f.count).sum()
    }

    /// Whether a finding of this degree holds this text.
    fn tells(&self, degree: Degree, text: &str) -> bool {
        self.findings.iter().any(|f| f.degree == degree && f.message.contains(text))
    }
}

/// A file that is deleted at the end of a test.
struct Sample {
    dir: tempfile::TempDir,
}

impl Sample {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a directory") }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("trace_view.json")
    }

    fn write(&self, bytes: &[u8]) -> PathBuf {
        fs::write(self.path(), bytes).expect("written");
        self.path()
    }
}

fn small(buffer: usize, chunk: u64) -> Sizes {
    Sizes { buffer, chunk, event: 1 << 20, split_from: 1 }
}

fn seen(path: &Path, detail: Detail, threads: usize, sizes: Sizes) -> Seen {
    let host = TestHost::default();
    let log = read_sized(path, detail, threads, sizes, &host).expect("a lenient host");
    Seen::new(&log, &host)
}

/// Reads a text with both details; each must be the same with small buffers and several threads.
fn read_as(bytes: &[u8], detail: Detail) -> Seen {
    let sample = Sample::new();
    let path = sample.write(bytes);
    let mut one = seen(&path, detail, 1, Sizes::default());
    for (threads, sizes) in [(1, small(7, 64)), (1, small(64, 64)), (2, small(333, 97)), (3, small(64, 20))] {
        assert_eq!(seen(&path, detail, threads, sizes), one, "{threads} threads, {sizes:?}");
    }
    // The directory differs from call to call.
    one.findings.iter_mut().for_each(|f| f.file = PathBuf::from("t"));
    one
}

fn read(text: &str) -> Seen {
    read_as(text.as_bytes(), Detail::Stacks)
}

fn owners(text: &str) -> Seen {
    read_as(text.as_bytes(), Detail::Owners)
}

/// A `cpu_op` with a call stack.
fn op(name: &str, ts: &str) -> String {
    format!(
        r#"{{"ph": "X", "name": "{name}", "pid": 1, "tid": 2, "ts": "{ts}", "dur": 1.5, "cat": "cpu_op", "args": {{"Sequence number": -1, "Call stack": "a.py(1): f;\r\nb.py(2): {name}"}}}}"#
    )
}
