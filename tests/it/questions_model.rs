//! Questions about memory, asked of random small runs, against plain slow models of what their headers say.
//!
//! A model goes over the rows of `memory_events` again and again, where the question sweeps once; what both
//! agree on is what is meant. The runs have what a run can have: equal times, lives of zero, negative sizes and
//! sizes of zero, allocations without a release or that are inactive only, rows of CANN, several recordings
//! of one rank that overlap or lie far apart, ranks without rows, totals that are missing,
//! releases before their allocation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use datafusion::arrow::json::LineDelimitedWriter;
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;
use serde_json::{Map, Value, json};

const RUNS: u64 = 24;

/// The same numbers on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit
    }

    fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize].clone()
    }

    fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

const BEGIN: u64 = 1_779_785_535_123_000_000;

fn us(ns: u64) -> String {
    format!("{}.{:03}", ns / 1000, ns % 1000)
}

/// A run directory; what the profiler would have written for it.
fn invent(random: &mut Random, root: &Path) {
    let roles = ["actor", "rollout"];
    let mut number = 0u64;
    for role in &roles[..random.one(&[1, 1, 2])] {
        for rank in 0..random.one(&[1, 1, 2, 3]) {
            let mut begin = BEGIN + random.below(3000) * 1000;
            for _ in 0..random.one(&[1, 1, 2, 3]) {
                number += 1;
                let name = format!("n_{}_{}_ascend_pt", 1000 + rank, 20_260_101_000_000_000 + number);
                let output = root.join(role).join(&name).join("ASCEND_PROFILER_OUTPUT");
                fs::create_dir_all(&output).unwrap();
                let profile = output.parent().unwrap();
                fs::write(profile.join(format!("profiler_info_{rank}.json")), "{}").unwrap();
                fs::write(profile.join("profiler_metadata.json"), json!({ "role": role }).to_string())
                    .unwrap();
                let (grid, span) = (random.one(&[1, 10, 1000, 100_000]), random.one(&[1, 5, 20]));
                fs::write(output.join("operator_memory.csv"), table(random, begin, grid, span)).unwrap();
                fs::write(output.join("trace_view.json"), trace(random, begin, grid, span)).unwrap();
                begin += random.one(&[0, span * grid, span * grid + 50_000, 1_000_000_000]);
            }
        }
    }
}

const OPERATORS: [&str; 5] = ["aten::empty", "aten::mm", "npu::x", "cann::GRAPH", ""];

fn table(random: &mut Random, begin: u64, grid: u64, span: u64) -> String {
    let mut text = "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),\
        Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
        Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\n"
        .to_owned();
    for _ in 0..random.one(&[0, 1, 2, 5, 12, 30]) {
        let start = begin + random.below(span + 1) * grid;
        let odd = [0, 999, 1000, 1001, 99_999, 100_000, 100_001, 1_000_000_000, 10_000_000_000];
        let life = if random.chance(80) { random.below(span + 1) * grid } else { random.one(&odd) };
        let (name, size) =
            (random.one(&OPERATORS), random.one(&[0.0, 0.5, 1.0, 2.0, 2.0, 1024.0, -2.0, 1e9]));
        let size = if random.chance(20) { (1 + random.below(5000)) as f64 } else { size };
        let (mut released, mut inactive) = (Some(start + life), Some(start + life));
        if random.chance(25) {
            released = None;
            inactive = inactive.filter(|_| random.chance(40));
        }
        let (mut at, mut until, mut lasts) = (us(start), String::new(), String::new());
        if let Some(released) = released {
            (until, lasts) = (us(released), us(life));
        } else if name.starts_with("cann::") {
            (until, lasts) = (us(start), "0.0".into());
        }
        if released.is_some() && random.chance(5) {
            // As a clock that was set back writes it.
            (until, lasts) = (us(start - random.below(span + 1) * grid), "-1.000".into());
        }
        if size < 0.0 && random.chance(50) {
            (at, until, lasts) = (String::new(), us(start), String::new());
        }
        let totals: Vec<String> = (0..6)
            .map(|n| {
                let stated = random.chance(80) && (n < 3 || !until.is_empty());
                if stated { random.below(5000).to_string() } else { String::new() }
            })
            .collect();
        let inactive_at = inactive.map(us).unwrap_or_default();
        let inactive_for = inactive.map(|_| us(life)).unwrap_or_default();
        let totals = totals.join(",");
        writeln!(
            text,
            "{name},{size},{at}\t,{until}\t,{inactive_at}\t,{lasts}\t,{inactive_for}\t,{totals},1,NPU:0"
        )
        .unwrap();
    }
    text
}

fn trace(random: &mut Random, begin: u64, grid: u64, span: u64) -> String {
    let stacks = ["", "torch/a.py(1): z", "user/b.py(9): u;\r\nmain.py(3): m"];
    let mut events = vec![];
    for _ in 0..random.one(&[0, 3, 10]) {
        let at = us(begin + random.below(span + 1) * grid);
        let (name, stack) = (random.one(&OPERATORS), random.one(&stacks));
        let args = if stack.is_empty() { json!({}) } else { json!({ "Call stack": stack }) };
        let lasts = random.one(&[1.0, grid as f64 / 1000.0]);
        events.push(
            json!({"ph": "X", "name": name, "pid": 1, "tid": 1, "ts": at, "dur": lasts, "cat": "cpu_op",
            "args": args}),
        );
    }
    Value::from(events).to_string()
}

/// A row, by the names of its columns.
type Row = Map<String, Value>;

async fn ask(context: &SessionContext, sql: &str) -> Vec<Row> {
    let batches = context.sql(sql).await.unwrap().collect().await.unwrap_or_else(|e| panic!("{sql}: {e}"));
    let mut writer = LineDelimitedWriter::new(Vec::new());
    writer.write_batches(&batches.iter().collect::<Vec<_>>()).unwrap();
    writer.finish().unwrap();
    let text = String::from_utf8(writer.into_inner()).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// An allocation, as `memory_events` gives it.
#[derive(Debug, Clone)]
struct Event {
    role: String,
    rank: i64,
    path: String,
    name: String,
    stack: i64,
    bytes: i64,
    start: Option<i64>,
    release: Option<i64>,
    inactive: Option<i64>,
    /// Allocated, reserved and active after the allocation and after the release.
    totals: [[Option<f64>; 2]; 3],
}

fn events(rows: &[Row]) -> Vec<Event> {
    let event = |row: &Row| {
        let text = |name: &str| row[name].as_str().unwrap().to_owned();
        let number = |name: &str| row.get(name).and_then(Value::as_i64);
        let total = |kind: &str| {
            ["", "release_"].map(|when| row.get(&format!("{when}total_{kind}_mb")).and_then(Value::as_f64))
        };
        Event {
            role: text("role"),
            rank: number("rank_id").unwrap(),
            path: text("source_path"),
            name: text("name"),
            stack: number("call_stack_id").unwrap(),
            bytes: (row["size_kb"].as_f64().unwrap() * 1024.0).round() as i64,
            start: number("start_time_ns"),
            release: number("release_time_ns"),
            inactive: number("active_release_time_ns"),
            totals: ["allocated", "reserved", "active"].map(total),
        }
    };
    rows.iter().map(event).filter(|event| event.bytes > 0).collect()
}

impl Event {
    fn is_of_cann(&self) -> bool {
        self.name.starts_with("cann::")
    }
}

fn grouped<K: Ord>(events: &[Event], key: impl Fn(&Event) -> K) -> BTreeMap<K, Vec<Event>> {
    let mut groups: BTreeMap<K, Vec<Event>> = BTreeMap::new();
    events.iter().for_each(|event| groups.entry(key(event)).or_default().push(event.clone()));
    groups
}

/// The last start or release of each recording.
fn ends(events: &[Event]) -> BTreeMap<String, i64> {
    let last = |group: Vec<Event>| group.iter().filter_map(|e| e.start.max(e.release)).max().unwrap();
    grouped(events, |e| e.path.clone()).into_iter().map(|(path, group)| (path, last(group))).collect()
}

fn live<'e>(events: &'e [Event], ends: &BTreeMap<String, i64>, at: i64) -> Vec<&'e Event> {
    let lives = |e: &&Event| {
        e.start.is_some_and(|start| start <= at)
            && e.release.map_or(at <= ends[&e.path], |release| at < release)
    };
    events.iter().filter(lives).collect()
}

fn bytes<'e>(events: impl IntoIterator<Item = &'e Event>) -> i64 {
    events.into_iter().map(|event| event.bytes).sum()
}

fn kb(bytes: i64) -> f64 {
    bytes as f64 / 1024.0
}

/// What is expected: the key of a row, and its other columns.
type Expected = BTreeMap<String, Value>;

fn key(parts: &[Value]) -> String {
    Value::from(parts.to_vec()).to_string()
}

fn at_peak(all: &[Event]) -> Expected {
    let mut expected = Expected::new();
    let started: Vec<Event> = all.iter().filter(|e| e.start.is_some()).cloned().collect();
    for ((role, rank), group) in grouped(&started, |e| (e.role.clone(), e.rank)) {
        let ends = ends(&group);
        let times: BTreeSet<i64> = group.iter().flat_map(|e| [e.start, e.release]).flatten().collect();
        let level = |at: i64| bytes(live(&group, &ends, at));
        let most = times.iter().map(|at| level(*at)).max().unwrap();
        let at = times.into_iter().find(|at| level(*at) == most).unwrap();
        let held: Vec<Event> = live(&group, &ends, at).into_iter().cloned().collect();
        for (stack, some) in grouped(&held, |e| e.stack) {
            let largest = some.iter().max_by(|a, b| a.bytes.cmp(&b.bytes).then(b.name.cmp(&a.name))).unwrap();
            let row = json!({"peak_time_ns": at, "name": largest.name, "allocations": some.len(),
                "live_kb": kb(bytes(&some)), "share": bytes(&some) as f64 / most as f64});
            expected.insert(key(&[role.clone().into(), rank.into(), stack.into()]), row);
        }
    }
    expected
}

fn at(all: &[Event], time: i64) -> Expected {
    let mut expected = Expected::new();
    let started: Vec<Event> = all.iter().filter(|e| e.start.is_some()).cloned().collect();
    for ((role, rank), group) in grouped(&started, |e| (e.role.clone(), e.rank)) {
        let held: Vec<Event> = live(&group, &ends(&group), time).into_iter().cloned().collect();
        for (stack, some) in grouped(&held, |e| e.stack) {
            let row = json!({"allocations": some.len(), "live_kb": kb(bytes(&some))});
            expected.insert(key(&[role.clone().into(), rank.into(), stack.into()]), row);
        }
    }
    expected
}

fn timeline(all: &[Event], buckets: i64) -> Expected {
    let mut expected = Expected::new();
    let started: Vec<Event> = all.iter().filter(|e| e.start.is_some()).cloned().collect();
    for ((role, rank), group) in grouped(&started, |e| (e.role.clone(), e.rank)) {
        let ends = ends(&group);
        let times: Vec<i64> = group.iter().flat_map(|e| [e.start, e.release]).flatten().collect();
        let (first, last) = (*times.iter().min().unwrap(), *times.iter().max().unwrap());
        let width = (last - first) / buckets + 1;
        // Nothing is known of the time after the last change.
        let level = |at: i64| bytes(live(&group, &ends, at.min(last)));
        let turns: BTreeSet<i64> = times.iter().copied().chain(ends.values().map(|end| end + 1)).collect();
        for bucket in 0..buckets {
            let (from, to) = (first + bucket * width, first + (bucket + 1) * width);
            let before = if bucket == 0 { 0 } else { level(from - 1) };
            let inside = turns.range(from..to).filter(|at| **at <= last).map(|at| level(*at));
            let mut row = json!({"from_ns": from, "to_ns": to,
                "changes": times.iter().filter(|at| (from..to).contains(*at)).count(),
                "live_high_mb": inside.chain([before]).max().unwrap() as f64 / 1_048_576.0,
                "live_end_mb": level(to - 1) as f64 / 1_048_576.0});
            for (kind, at) in [("allocated", 0), ("reserved", 1), ("active", 2)] {
                let mut stated: Vec<(i64, f64)> = vec![];
                for event in group.iter().filter(|e| !e.is_of_cann()) {
                    let [after_start, after_release] = event.totals[at];
                    stated.extend(event.start.zip(after_start));
                    stated.extend(event.release.zip(after_release));
                }
                stated.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
                let carried = stated.iter().rfind(|(time, _)| *time < from);
                let here = stated.iter().filter(|(time, _)| (from..to).contains(time));
                let high = here.chain(carried).map(|(_, mb)| *mb).max_by(f64::total_cmp);
                row[format!("{kind}_high_mb")] = high.into();
            }
            expected.insert(key(&[role.clone().into(), rank.into(), bucket.into()]), row);
        }
    }
    expected
}

fn not_released(all: &[Event]) -> Expected {
    let mut expected = Expected::new();
    for ((role, rank), group) in grouped(all, |e| (e.role.clone(), e.rank)) {
        let span = |events: &[Event]| {
            let starts = || events.iter().filter_map(|e| e.start);
            starts().max().zip(starts().min()).map_or(0, |(last, first)| last - first)
        };
        let spans: BTreeMap<String, i64> =
            grouped(&group, |e| e.path.clone()).into_iter().map(|(path, some)| (path, span(&some))).collect();
        for ((stack, name), site) in grouped(&group, |e| (e.stack, e.name.clone())) {
            let open: Vec<Event> = site.iter().filter(|e| e.release.is_none()).cloned().collect();
            let (inactive, kept): (Vec<Event>, Vec<Event>) =
                open.iter().cloned().partition(|e| e.inactive.is_some());
            if open.is_empty() {
                continue;
            }
            let (mut spread, mut grows, mut profiles) = (0.0f64, false, 0);
            for (path, some) in grouped(&open, |e| e.path.clone()) {
                let kept = some.iter().filter(|e| e.inactive.is_none()).count();
                profiles += usize::from(kept > 0);
                if spans[&path] > 0 {
                    let part = span(&some) as f64 / spans[&path] as f64;
                    spread = spread.max(part);
                    grows |= kept > 1 && part >= 0.25;
                }
            }
            let verdict = if name.starts_with("cann::") {
                "cann"
            } else if kept.is_empty() {
                "inactive"
            } else if grows {
                "grows"
            } else if profiles > 1 {
                "repeats"
            } else {
                "once"
            };
            let row = json!({"verdict": verdict, "allocations": site.len(), "kept": kept.len(),
                "kept_kb": kb(bytes(&kept)), "inactive": inactive.len(), "inactive_kb": kb(bytes(&inactive)),
                "first_time_ns": open.iter().filter_map(|e| e.start).min(),
                "last_time_ns": open.iter().filter_map(|e| e.start).max(), "spread": spread});
            expected.insert(key(&[role.clone().into(), rank.into(), stack.into(), name.into()]), row);
        }
    }
    expected
}

fn imbalance(all: &[Event]) -> Expected {
    let mut expected = Expected::new();
    for (role, group) in grouped(all, |e| e.role.clone()) {
        let ranks: BTreeSet<i64> = group.iter().map(|e| e.rank).collect();
        for (stack, site) in grouped(&group, |e| e.stack) {
            let of = |rank: i64| bytes(site.iter().filter(|e| e.rank == rank));
            let (low, high) = (ranks.iter().map(|r| of(*r)).min(), ranks.iter().map(|r| of(*r)).max());
            let (low, high) = (low.unwrap(), high.unwrap());
            let mean = bytes(&site) as f64 / ranks.len() as f64;
            let row = json!({"ranks": site.iter().map(|e| e.rank).collect::<BTreeSet<_>>().len(),
                "of_ranks": ranks.len(), "min_kb": kb(low), "mean_kb": mean / 1024.0, "max_kb": kb(high),
                "max_rank": ranks.iter().find(|r| of(**r) == high), "excess_kb": (high as f64 - mean) / 1024.0,
                "max_vs_mean": high as f64 / mean});
            expected.insert(key(&[role.clone().into(), stack.into()]), row);
        }
    }
    expected
}

fn diff(a: &[Event], b: &[Event]) -> Expected {
    let side = |events: &[Event]| grouped(events, |e| (e.role.clone(), e.rank, e.stack));
    let (a, b) = (side(a), side(b));
    let mut expected = Expected::new();
    for at in a.keys().chain(b.keys()).collect::<BTreeSet<_>>() {
        let (role, rank, stack) = at;
        let sum = |side: &BTreeMap<_, Vec<Event>>| side.get(at).map(|events| (events.len(), bytes(events)));
        let (a, b) = (sum(&a), sum(&b));
        let diff = b.map_or(0, |b| b.1) - a.map_or(0, |a| a.1);
        let row = json!({"allocations_a": a.map(|a| a.0), "allocations_b": b.map(|b| b.0),
            "kb_a": a.map(|a| kb(a.1)), "kb_b": b.map(|b| kb(b.1)), "diff_kb": kb(diff)});
        expected.insert(key(&[role.clone().into(), (*rank).into(), (*stack).into()]), row);
    }
    expected
}

/// Compares rows with what is expected of them: all keys, and all columns that the model has.
fn compare(what: &str, keys: &[&str], rows: &[Row], expected: &Expected) {
    let mut seen = BTreeSet::new();
    for row in rows {
        let at: Vec<Value> = keys.iter().map(|key| row.get(*key).cloned().unwrap_or_default()).collect();
        let at = key(&at);
        let wanted = expected.get(&at).unwrap_or_else(|| panic!("{what}: {row:?} is not expected"));
        assert!(seen.insert(at.clone()), "{what}: {at} comes twice");
        for (column, value) in wanted.as_object().unwrap() {
            let found = row.get(column).cloned().unwrap_or_default();
            let close = match (found.as_f64(), value.as_f64()) {
                (Some(a), Some(b)) if found.is_f64() || value.is_f64() => {
                    (a - b).abs() <= 1e-9 * a.abs().max(b.abs())
                }
                _ => found == *value,
            };
            assert!(close, "{what} {at}: {column} is {found}, expected {value}");
        }
    }
    let missing: Vec<&String> = expected.keys().filter(|key| !seen.contains(*key)).collect();
    assert!(missing.is_empty(), "{what}: no row for {missing:?}");
}

#[test]
fn questions_agree_with_plain_models() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let context = session::context(session::config()).unwrap();
    let mut held = 0;
    for seed in 1..=RUNS {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let dir = tempfile::tempdir().unwrap();
        invent(&mut random, dir.path());
        let root = dir.path().display().to_string();
        let call = random.one(&[format!("'{root}'"), format!("'{root}', match => 'inside'")]);
        let ask = |sql: String| runtime.block_on(ask(&context, &sql));
        let all = events(&ask(format!("SELECT * FROM memory_events({call})")));
        let compare = |name: &str, keys: &[&str], sql: String, expected: &Expected| {
            compare(&format!("run {seed}, {name}"), keys, &ask(sql), expected);
        };
        let stack = ["role", "rank_id", "call_stack_id"];
        let peak = at_peak(&all);
        held += peak.len();
        compare("memory_at_peak", &stack, format!("SELECT * FROM memory_at_peak({call})"), &peak);
        let times: Vec<i64> = all.iter().flat_map(|e| [e.start, e.release]).flatten().collect();
        for _ in 0..2.min(times.len()) {
            let time = random.one(&times) + random.one(&[-1, 0, 1]);
            let sql = format!("SELECT * FROM memory_at({call}, at_ns => {time})");
            compare("memory_at", &stack, sql, &at(&all, time));
        }
        let buckets = random.one(&[1, 2, 7, 50]);
        let sql = format!("SELECT * FROM memory_timeline('{root}', buckets => {buckets})");
        compare("memory_timeline", &["role", "rank_id", "bucket"], sql, &timeline(&all, buckets));
        let site = ["role", "rank_id", "call_stack_id", "name"];
        let sql = format!("SELECT * FROM memory_not_released({call})");
        compare("memory_not_released", &site, sql, &not_released(&all));
        let sql = format!("SELECT * FROM memory_imbalance({call})");
        compare("memory_imbalance", &["role", "call_stack_id"], sql, &imbalance(&all));
        // One role against all of them.
        let actor = call.replacen(&root, &format!("{root}/actor"), 1);
        let one = events(&ask(format!("SELECT * FROM memory_events({actor})")));
        let b = actor.replacen(&format!("'{root}/actor'"), &format!("'{root}/actor', '{root}'"), 1);
        let sql = format!("SELECT * FROM memory_diff({b}, per => 'rank')");
        compare("memory_diff", &stack, sql, &diff(&one, &all));
    }
    assert!(held > 40, "only {held} rows at peaks");
}
