//! Whole files through the formats, as a scan reads them, but without the query engine.
//!
//! Whatever the bytes are: nothing panics; the size of batches and the number of threads change neither
//! rows nor findings; a strict host is told of a problem exactly when a tolerant one is; and rows met are
//! rows given and rows left out together.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::concat_batches;
use rl_insight_sql::format::ascend_profile::{MemoryEvents, MemoryRecords};
use rl_insight_sql::format::memscope::{
    MemscopeBlockCalls, MemscopeBlocks, MemscopeConfig, MemscopeEvents, MemscopePythonTrace, MemscopeSteps,
    MemscopeWatch,
};
use rl_insight_sql::format::msprobe_dump::{DumpTrend, Scope, TrendOptions};
use rl_insight_sql::source::{
    Counter, Finding, FindingLog, Format, Host, Kind, ReadError, ReadRequest, Unit, expand_roots,
};

use super::{Target, fuzz, hash};
use crate::malformed::SAMPLES;

/// A host that listens.
#[derive(Default)]
struct Listener {
    strict: bool,
    log: Mutex<FindingLog>,
    read: AtomicU64,
    left_out: AtomicU64,
}

impl Host for Listener {
    fn stopped(&self) -> bool {
        false
    }

    fn reserve(&self, _: usize) -> Result<(), ReadError> {
        Ok(())
    }

    fn count(&self, counter: Counter, n: u64) {
        match counter {
            Counter::RowsRead => drop(self.read.fetch_add(n, Ordering::Relaxed)),
            Counter::RowsLeftOut => drop(self.left_out.fetch_add(n, Ordering::Relaxed)),
            _ => {}
        }
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        let refused = self.strict && finding.is_problem();
        self.log.lock().unwrap().push(finding);
        if refused { Err(ReadError::Refused) } else { Ok(()) }
    }
}

/// What came of a file.
#[derive(Debug, Default, PartialEq)]
struct Read {
    batches: Vec<RecordBatch>,
    findings: Vec<Finding>,
    rows: u64,
    met: u64,
    left_out: u64,
}

/// Reads all units; the error of a strict host ends it.
fn read(format: &dyn Format, units: &[Unit], batch: usize, threads: usize, strict: bool) -> (Read, bool) {
    let mut all = Read::default();
    for unit in units {
        let host = Arc::new(Listener { strict, ..Listener::default() });
        let projection: Vec<usize> = (0..format.schema().fields().len()).collect();
        let mut request = ReadRequest::new(projection.clone());
        (request.batch_rows, request.threads) = (batch, threads);
        let known = format.known_problems(unit, &projection);
        let refused = known.into_iter().any(|f| host.report(f).is_err());
        let mut refused = refused && strict;
        let mut batches = vec![];
        if !refused {
            match format.open(unit, &request, Arc::clone(&host) as Arc<dyn Host>) {
                Ok(mut reader) => loop {
                    match reader.next_batch() {
                        Ok(Some(batch)) => batches.push(batch),
                        Ok(None) => break,
                        Err(ReadError::Refused) if strict => {
                            refused = true;
                            break;
                        }
                        Err(e) => panic!("{e}"),
                    }
                },
                Err(ReadError::Refused) if strict => refused = true,
                Err(e) => panic!("{e}"),
            }
        }
        for one in &batches {
            assert!(one.num_rows() <= batch.max(1), "a batch of {} rows for {batch}", one.num_rows());
        }
        all.rows += batches.iter().map(|b| b.num_rows() as u64).sum::<u64>();
        if !batches.is_empty() {
            all.batches.push(concat_batches(&format.schema(), &batches).unwrap());
        }
        all.findings.extend(host.log.lock().unwrap().findings().to_vec());
        all.met += host.read.load(Ordering::Relaxed);
        all.left_out += host.left_out.load(Ordering::Relaxed);
        if refused {
            return (all, true);
        }
    }
    (all, false)
}

/// Tries one format on what lies below a root.
fn try_format(format: &dyn Format, root: &Path, exact: bool) -> u64 {
    let roots = expand_roots("fuzz", &[root.display().to_string()]).unwrap();
    let layout = match format.discover(&roots) {
        Ok(layout) => layout,
        Err(error) => return hash(error.to_string().len()),
    };
    let (one, _) = read(format, &layout.units, 8192, 1, false);
    let (small, _) = read(format, &layout.units, 1, 3, false);
    // What is found in a broken database depends on where the reading begins, but not whether it is broken.
    let same = one == small;
    let broken = |read: &Read| read.findings.iter().any(Finding::is_problem);
    let same = same || (!exact && broken(&one) && broken(&small));
    assert!(same, "batches or threads change the answer:\n{one:?}\n{small:?}");
    let (_, refused) = read(format, &layout.units, 8192, 2, true);
    let problems = one.findings.iter().any(Finding::is_problem);
    assert_eq!(refused, problems, "strict and tolerant disagree: {:?}", one.findings);
    // In blocks, their calls and steps a row is not one of the file's, and a dump with repeated keys is read twice.
    if !["memscope_blocks", "memscope_block_calls", "memscope_steps", "dump_trend"].contains(&format.name()) {
        // What a note says was not read counts as well.
        let unused = one.findings.iter().filter(|f| f.kind == Kind::Unused).map(|f| f.count).sum::<u64>();
        assert!(
            one.met <= one.rows + one.left_out + unused,
            "{} rows met, {} given, {} left out: {:?}",
            one.met,
            one.rows,
            one.left_out,
            one.findings
        );
    }
    let words = |text: &str| text.chars().filter(|c| c.is_ascii_alphabetic()).take(24).collect::<String>();
    let said: Vec<_> = one.findings.iter().map(|f| (f.degree, f.kind, words(&f.message))).collect();
    hash((one.rows.min(6), said))
}

/// Fuzzes the file of a sample.
fn fuzz_file(name: &'static str, title: &str, words: &[&str], formats: &[&dyn Format]) {
    let sample = SAMPLES.iter().find(|s| s.title == title).unwrap();
    let dir = tempfile::tempdir().unwrap();
    (sample.write)(dir.path());
    let path = dir.path().join(sample.file);
    let seeds = vec![fs::read(&path).unwrap()];
    let exact = !title.ends_with(".db");
    let check = |input: &[u8]| {
        fs::write(&path, input).unwrap();
        hash(formats.iter().map(|format| try_format(*format, dir.path(), exact)).collect::<Vec<_>>())
    };
    fuzz(&Target { name, seeds, words, most: 60_000, check: &check });
}

const EVENT: &[&str] = &[
    "\"ph\": \"X\"",
    "\"name\"",
    "\"ts\"",
    "\"dur\"",
    "\"cat\": \"cpu_op\"",
    "\"cat\": \"enqueue\"",
    "\"args\"",
    "\"Call stack\"",
    "\"correlation_id\"",
    "\"traceEvents\"",
    "\"pid\"",
    "\"tid\"",
    "{\"traceEvents\": [",
    "]}",
    "\"cat\": \"dequeue\"",
    "\"id\"",
    "\"ph\": \"s\"",
    "\"ph\": \"f\"",
];

#[test]
fn trace_file() {
    fuzz_file("trace_file", "trace_view.json", EVENT, &[&MemoryEvents::default()]);
}

#[test]
fn operator_memory() {
    let words = ["Name", "Size(KB)", "Allocation Time(us)", "Duration(us)", "NPU:0", "Release Time(us)"];
    fuzz_file("operator_memory", "operator_memory.csv", &words, &[&MemoryEvents::default()]);
}

#[test]
fn memory_record() {
    let words = ["Component", "Timestamp(us)", "Total Allocated(MB)", "PTA", "APP", "NPU:0"];
    fuzz_file("memory_record", "memory_record.csv", &words, &[&MemoryRecords]);
}

#[test]
fn profiler_metadata() {
    let words = ["\"role\"", "\"rank_id\"", "\"\""];
    fuzz_file("profiler_metadata", "profiler_metadata.json", &words, &[&MemoryEvents::default()]);
}

#[test]
fn profiler_db() {
    fuzz_file("profiler_db", "ascend_pytorch_profiler_<rank>.db", &[], &[&MemoryEvents::default()]);
}

const ENTRY: &[&str] = &[
    "\"data\"",
    "\"input_args\"",
    "\"input_kwargs\"",
    "\"output\"",
    "\"input\"",
    "\"parameters\"",
    "\"is_recompute\"",
    "\"type\": \"torch.Tensor\"",
    "\"dtype\"",
    "\"shape\"",
    "\"Max\"",
    "\"Min\"",
    "\"Mean\"",
    "\"Norm\"",
    "\"Module.a.A.forward.0\"",
    "\"Module.a.A.backward.1\"",
    "\"Module.a.parameters_grad\"",
    "\"Tensor.add.0.forward\"",
    "\"md5\"",
    "\"data_name\"",
    "\"task\"",
    "\"tensor\"",
    "\"mindspore.Tensor\"",
    "\"type\"",
];

/// The trend of a dump, with everything in it that can be asked for.
fn trends() -> [DumpTrend; 3] {
    [
        DumpTrend::new(TrendOptions::default()),
        DumpTrend::new(TrendOptions::default().with_audit(true).with_scope(Scope::All)),
        DumpTrend::new(TrendOptions::default().with_micro_step(false)),
    ]
}

#[test]
fn dump_json() {
    let [plain, all, flat] = trends();
    fuzz_file("dump_json", "dump.json", ENTRY, &[&plain, &all, &flat]);
}

#[test]
fn construct_json() {
    let words = [
        "null",
        "\"Module.layer.L.forward.0\"",
        "\"Module.block.mlp.M.forward.0\"",
        "[\"\", 1]",
        "\"construct_with_micro_step\"",
    ];
    fuzz_file("construct_json", "construct.json", &words, &[&trends()[0]]);
}

#[test]
fn mapping() {
    let sample = SAMPLES.iter().find(|s| s.title == "mapping file").unwrap();
    let dir = tempfile::tempdir().unwrap();
    (sample.write)(dir.path());
    let path = dir.path().join(sample.file);
    let check = |input: &[u8]| {
        fs::write(&path, input).unwrap();
        let trend = DumpTrend::new(TrendOptions::default().with_mapping(Some(path.clone())));
        try_format(&trend, dir.path(), true)
    };
    let seeds = vec![fs::read(&path).unwrap()];
    let words = ["\"block\"", "\"Module\"", "\".\"", "\"\""];
    fuzz(&Target { name: "mapping", seeds, words: &words, most: 60_000, check: &check });
}

const RECORD: &[&str] = &[
    "MALLOC",
    "FREE",
    "ACCESS",
    "OP_LAUNCH",
    "KERNEL_LAUNCH",
    "SNAPSHOT",
    "MSTX",
    "SYSTEM",
    "HAL",
    "PTA",
    "ATB",
    "Mark",
    "Range_start",
    "Range_end",
    "READ",
    "WRITE",
    "\"{allocation_id:1,addr:0x10,size:512,total:4096,used:512}\"",
    "owner:PTA@model",
    "1,MALLOC,PTA,",
    "2,FREE,HAL,",
    "N/A",
    "\"step start\"",
    "host",
    "0x",
    "{id:0",
    "dtype:",
    "shape:",
];

#[test]
fn memscope_csv() {
    let calls = [false, true].map(MemscopeBlockCalls::new);
    let formats: [&dyn Format; 5] = [&MemscopeEvents, &MemscopeBlocks, &MemscopeSteps, &calls[0], &calls[1]];
    fuzz_file("memscope_csv", "memscope_dump_<time>.csv", RECORD, &formats);
}

#[test]
fn memscope_db() {
    let calls = MemscopeBlockCalls::default();
    let formats: [&dyn Format; 4] = [&MemscopeEvents, &MemscopeBlocks, &calls, &MemscopePythonTrace];
    fuzz_file("memscope_db", "python_trace_<pid> in memscope_dump_<time>.db", RECORD, &formats);
}

#[test]
fn memscope_small_tables() {
    // The three small files of a process share their mutations.
    let of = |title: &str| SAMPLES.iter().find(|s| s.title == title).unwrap();
    let files = [
        (of("python_trace_<time>.csv"), &MemscopePythonTrace as &dyn Format),
        (of("watch_dump_data_check_sum_<time>.csv"), &MemscopeWatch),
        (of("config.json of msMemScope"), &MemscopeConfig),
    ];
    let dir = tempfile::tempdir().unwrap();
    (files[0].0.write)(dir.path());
    let seeds = files.iter().map(|(sample, _)| fs::read(dir.path().join(sample.file)).unwrap()).collect();
    let check = |input: &[u8]| {
        let tried = files.iter().map(|(sample, format)| {
            fs::write(dir.path().join(sample.file), input).unwrap();
            try_format(*format, dir.path(), true)
        });
        hash(tried.collect::<Vec<_>>())
    };
    fuzz(&Target { name: "memscope_small_tables", seeds, words: RECORD, most: 60_000, check: &check });
}
