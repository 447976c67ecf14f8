//! Random profiles: what was recorded as plain values, and the files that a profiler would write of it.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::random::Random;

/// An operator call in the trace. Times are ns since the epoch.
#[derive(Debug, Clone)]
pub(super) struct Op {
    pub(super) name: String,
    pub(super) start: i64,
    pub(super) end: i64,
    pub(super) thread: u32,
    pub(super) stack: Option<String>,
}

/// A slice of the task queue: work that was put in, or taken out.
#[derive(Debug, Clone)]
pub(super) struct Slice {
    pub(super) start: i64,
    pub(super) end: i64,
    /// Calls are in process 7 only; other processes use the same ids.
    pub(super) process: u32,
    pub(super) thread: u32,
    pub(super) correlation: u32,
}

/// A row of the csv.
#[derive(Debug, Clone)]
pub(super) struct Allocation {
    pub(super) name: String,
    /// Half kilobytes, so that the number is exact; negative for a release alone.
    pub(super) half_kb: i64,
    /// None for a release alone.
    pub(super) start: Option<i64>,
    pub(super) release: Option<i64>,
    /// How the size is written, of several ways that mean the same.
    pub(super) size_text: String,
}

#[derive(Debug)]
pub(super) struct Profile {
    pub(super) role: String,
    pub(super) rank: i64,
    pub(super) directory: PathBuf,
    /// In the order of the file.
    pub(super) ops: Vec<Op>,
    pub(super) enqueues: Vec<Slice>,
    pub(super) dequeues: Vec<Slice>,
    pub(super) allocations: Vec<Allocation>,
}

const NAMES: [&str; 6] = ["aten::mm", "aten::add", "npu::fused \"x\"", "训练", "", "aten::mm_"];
const FRAMES: [&str; 5] = [
    "a/b.py(1): forward",
    "torch/nn/linear.py(125): f",
    "<string>(1): <module>",
    "ü.py(7): g",
    "x.py(2): \"q\"",
];
/// Beyond what a double holds exactly: ns matter.
const EPOCH: i64 = 1_779_785_515_000_000_000;

/// A tree of profiles below `root`; the same for the same seed.
pub(super) fn tree(seed: u64, root: &Path) -> Vec<Profile> {
    let mut random = Random::new(seed);
    let mut profiles = Vec::new();
    for role in ["actor_update", "rollout"].iter().take(1 + random.below(2)) {
        for rank in 0..1 + random.below(3) as i64 {
            let directory = root.join(role).join(format!("host_{}_20260526085155123_ascend_pt", 100 + rank));
            profiles.push(profile(&mut random, role, rank, directory));
        }
    }
    profiles.iter().for_each(write);
    profiles
}

fn profile(random: &mut Random, role: &str, rank: i64, directory: PathBuf) -> Profile {
    // Few different times make many ties; a fine grain makes differences that doubles cannot see.
    let (span, grain) = *random.pick(&[(40, 1), (400, 10), (3_000, 10), (1_000_000, 10)]);
    let time = |random: &mut Random| EPOCH + random.below(span) as i64 * grain;
    let mut ops = Vec::new();
    for _ in 0..random.below(60) {
        let start = time(random);
        let end = start + random.below(span / 2) as i64 * grain;
        let stack = match random.below(6) {
            0 | 1 => None,
            2 if random.once_in(3) => Some(String::new()),
            _ => {
                let frames = (0..1 + random.below(4)).map(|_| *random.pick(&FRAMES)).collect::<Vec<_>>();
                Some(frames.join(";\r\n"))
            }
        };
        let name = (*random.pick(&NAMES)).to_owned();
        ops.push(Op { name, start, end, thread: 100 + random.below(3) as u32, stack });
    }
    // Half of the files are in the order of the profiler: by the end of the call.
    if random.once_in(2) {
        ops.sort_by_key(|op| (op.end, -op.start));
    }
    let (mut enqueues, mut dequeues) = (Vec::new(), Vec::new());
    for _ in 0..random.below(12) {
        let (put, taken) = (time(random), time(random));
        // Few ids, so that they come again, in this process and in another one.
        let (correlation, process) = (random.below(5) as u32, if random.once_in(5) { 8 } else { 7 });
        let end = |random: &mut Random, start: i64| start + random.below(span / 4) as i64 * grain;
        enqueues.push(Slice {
            start: put,
            end: end(random, put),
            process,
            thread: 100 + random.below(3) as u32,
            correlation,
        });
        if !random.once_in(5) {
            let process = if random.once_in(8) { 15 - process } else { process };
            dequeues.push(Slice { start: taken, end: end(random, taken), process, thread: 900, correlation });
        }
    }
    let allocations = (0..random.below(80))
        .map(|_| {
            let alone = random.once_in(12);
            let start = (!alone).then(|| time(random));
            let kb = if alone { -1 - random.below(4_000) as i64 } else { random.below(4_000) as i64 };
            let release = match start {
                Some(_) if random.once_in(3) => None,
                Some(start) => Some(start + random.below(span) as i64 * grain),
                None => Some(time(random)),
            };
            Allocation {
                name: if alone { String::new() } else { (*random.pick(&NAMES)).to_owned() },
                half_kb: kb,
                start,
                release,
                size_text: size_text(random, kb),
            }
        })
        .collect();
    Profile { role: role.to_owned(), rank, directory, ops, enqueues, dequeues, allocations }
}

/// Numbers as Python's float() takes them.
fn size_text(random: &mut Random, half_kb: i64) -> String {
    let plain =
        format!("{}{}.{}", if half_kb < 0 { "-" } else { "" }, half_kb.abs() / 2, half_kb.abs() % 2 * 5);
    match random.below(8) {
        0 if half_kb >= 0 => format!("+{plain}"),
        1 => format!("{}e-1", half_kb * 5),
        2 => format!(" {plain}\t"),
        3 => format!("{plain}00"),
        _ => plain,
    }
}

/// Microseconds with three decimals.
fn us(ns: i64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

pub(super) fn write(profile: &Profile) {
    let output = profile.directory.join("ASCEND_PROFILER_OUTPUT");
    fs::create_dir_all(&output).unwrap();
    fs::write(profile.directory.join(format!("profiler_info_{}.json", profile.rank)), "{}").unwrap();
    fs::write(output.join("operator_memory.csv"), csv(profile)).unwrap();
    fs::write(output.join("trace_view.json"), trace(profile)).unwrap();
}

fn csv(profile: &Profile) -> String {
    let mut csv = String::from(
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),\
         Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
         Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n",
    );
    for row in &profile.allocations {
        let time = |ns: Option<i64>| ns.map(|ns| us(ns) + "\t").unwrap_or_default();
        let duration = row.start.and_then(|start| Some(row.release? - start));
        let quoted = row.name.replace('"', "\"\"");
        let total = if row.start.is_some() { "1.5,2.0,1.5" } else { ",," };
        let name = if quoted.contains('"') { format!("\"{quoted}\"") } else { quoted };
        write!(
            csv,
            "{name},{},{},{},,{},,{total},,,,7,NPU:0\r\n",
            row.size_text,
            time(row.start),
            time(row.release),
            time(duration)
        )
        .unwrap();
    }
    csv
}

fn trace(profile: &Profile) -> String {
    let mut events = vec![
        r#"{"ph": "M", "name": "process_name", "pid": 7, "tid": 0, "args": {"name": "Python"}}"#.to_owned(),
    ];
    let slice = |kind: &str, s: &Slice| {
        format!(
            r#"{{"ph": "X", "name": "{kind}@x", "pid": {}, "tid": {}, "ts": "{}", "dur": {}, "cat": "{}", "args": {{"correlation_id": {}}}}}"#,
            s.process,
            s.thread,
            us(s.start),
            us(s.end - s.start),
            kind.to_lowercase(),
            s.correlation
        )
    };
    for op in &profile.ops {
        let stack = op
            .stack
            .as_ref()
            .map(|s| format!(r#", "Call stack": {}"#, serde_json::json!(s)))
            .unwrap_or_default();
        events.push(format!(
            r#"{{"ph": "X", "name": {}, "pid": 7, "tid": {}, "ts": "{}", "dur": {}, "cat": "cpu_op", "args": {{"Sequence number": -1{stack}}}}}"#,
            serde_json::json!(op.name), op.thread, us(op.start), us(op.end - op.start)
        ));
    }
    events.extend(profile.enqueues.iter().map(|s| slice("Enqueue", s)));
    events.extend(profile.dequeues.iter().map(|s| slice("Dequeue", s)));
    format!("[{}]", events.join(", "))
}
