//! Flame graphs: queries for bytes by call stack, and their rows as a graph.

use datafusion::arrow::array::{Array, StringViewArray};
use rl_insight_sql::plot::{Caption, Flame, Level, Unit, Weight, amount};
use rl_insight_sql::stack;

use super::Drawn;
use super::call::{Call, list, moment, nanoseconds, quoted};
use super::rows::Rows;
use crate::shell::amount::counted;
use crate::shell::failure::Failure;

/// The queries.
///
/// # Errors
/// When an option cannot be understood.
pub(super) fn queries(call: &Call<'_>) -> Result<Vec<String>, String> {
    let (path, arguments) = (call.path(), call.arguments()?);
    let filter = call.filter(&[])?;
    let request = call.request;
    let query = match call.subject.what {
        "at_peak" => format!(
            "SELECT role, rank_id, peak_time_ns, call_stack, name, live_kb AS kb FROM memory_at_peak({path}{arguments})\
             {filter} ORDER BY role, rank_id, live_kb DESC, call_stack_id"
        ),
        "not_released" => format!(
            "SELECT role, rank_id, verdict, call_stack, name, kept_kb + inactive_kb AS kb FROM \
             memory_not_released({path}{arguments}){filter} ORDER BY role, rank_id, verdict, kb DESC, call_stack_id, name"
        ),
        "at" => {
            let at = nanoseconds("at", request.option("at").unwrap_or_default())?;
            format!(
                "SELECT role, rank_id, call_stack, live_kb AS kb FROM memory_at({path}, at_ns => {at}{arguments}){filter} \
                 ORDER BY role, rank_id, live_kb DESC, call_stack_id"
            )
        }
        "window" => {
            let (from, to) = window(request.option("window").unwrap_or_default())?;
            let inside = [
                "size_kb > 0".to_owned(),
                format!("start_time_ns >= {from}"),
                format!("start_time_ns < {to}"),
            ];
            format!(
                "SELECT role, rank_id, min(call_stack) AS call_stack, \
                 sum(CAST(round(size_kb * 1024) AS BIGINT)) / 1024.0 AS kb FROM memory_events({path}{arguments}){} \
                 GROUP BY role, rank_id, call_stack_id ORDER BY role, rank_id, kb DESC, call_stack_id",
                call.filter(&inside)?
            )
        }
        "allocated" => format!(
            "SELECT role, rank_id, frame AS call_stack, allocated_kb AS kb FROM \
             memory_by_stack({path}, frame => 'stack'{arguments}){filter} ORDER BY role, rank_id, allocated_kb DESC, frame"
        ),
        "diff" => {
            let base = list(&[request.option("base").unwrap_or_default().to_owned()]);
            format!(
                "SELECT role, rank_id, call_stack, kb_a, kb_b FROM memory_diff({base}, {path}, per => 'rank'{arguments})\
                 {filter} ORDER BY role, rank_id, diff_kb DESC, call_stack_id"
            )
        }
        "leaks" => {
            let mark = quoted(request.option("mark").unwrap_or_default());
            let pool =
                request.option("pool").map_or_else(String::new, |p| format!(", pool => {}", quoted(p)));
            format!(
                "SELECT pid, device, pool, owner, py_stack, bytes FROM memscope_leaks({path}, {mark}{pool}{arguments})\
                 {filter} ORDER BY source_path, pid, device, bytes DESC, malloc_id"
            )
        }
        _ => format!(
            "SELECT pid, device, pool, owner, py_stack_top AS py_stack, bytes FROM \
             memscope_owners_at_peak({path}, stacks => true{arguments}){filter} \
             ORDER BY source_path, pid, device, pool, bytes DESC, owner, py_stack_top"
        ),
    };
    Ok(vec![query])
}

fn window(text: &str) -> Result<(i64, i64), String> {
    let Some((from, to)) = text.split_once("..") else {
        return Err(format!("window={text}: expected two moments, MS..MS"));
    };
    let (from, to) = (nanoseconds("window", from)?, nanoseconds("window", to)?);
    if from < to { Ok((from, to)) } else { Err(format!("window={text}: it ends before it begins")) }
}

/// The graph.
///
/// # Errors
/// When a column is missing, which would be a mistake in here.
pub(super) fn drawn(call: &Call<'_>, rows: &[Rows]) -> Result<Drawn, Failure> {
    let Some(rows) = rows.first() else { return Err(Failure::Query("no query".into())) };
    let mut flame = Flame::new(&call.named());
    let mut facts = call.facts();
    let holders = match call.subject.what {
        "owners" | "leaks" => owners(&mut flame, rows)?,
        "diff" => differences(&mut flame, rows)?,
        _ => stacks(call, &mut flame, rows)?,
    };
    facts.push(("shown".to_owned(), holders));
    let size = |bytes: i64| format!("{} ({bytes} bytes)", amount(bytes as f64, Unit::Bytes));
    if call.subject.what == "diff" {
        facts.push(("before".to_owned(), size(flame.total_before())));
        facts.push(("after".to_owned(), size(flame.total())));
        let base = call.request.option("base").unwrap_or_default();
        facts.push(("base".to_owned(), base.to_owned()));
    } else {
        facts.push(("total".to_owned(), size(flame.total())));
    }
    let (title, note) = told(call.subject.what);
    if call.subject.what == "at_peak" {
        facts.extend(peak(rows)?.map(|at| ("moment".to_owned(), at)));
    }
    if let Some(at) = call.request.option("at") {
        let ns = nanoseconds("at", at).map_err(Failure::Query)?;
        facts.push(("moment".to_owned(), format!("{at} ms ({})", moment(ns))));
    }
    if let Some(window) = call.request.option("window") {
        facts.push(("window".to_owned(), format!("{window} ms since the epoch")));
    }
    let caption = Caption { title: title.to_owned(), facts, notes: vec![note.to_owned()], queries: vec![] };
    Ok(Drawn { picture: Box::new(flame), caption })
}

/// Title and explanation.
fn told(what: &str) -> (&'static str, &'static str) {
    match what {
        "at_peak" => (
            "Who holds memory at the peak",
            "Width is the bytes that allocations of a call stack hold when the allocations in the recording hold most, \
             each rank at its own peak. What was allocated before the recording began is not in it.",
        ),
        "not_released" => (
            "What was not released inside the recording",
            "Width is bytes. grows: kept again and again, look here first; once: kept in one burst, as weights are; \
             inactive: the program gave it back; cann: memory of CANN itself. See memory_not_released.",
        ),
        "at" => (
            "Who holds memory at one moment",
            "Width is the bytes that allocations of a call stack hold at that moment. What was allocated before the \
             recording began is not in it.",
        ),
        "window" => (
            "What was allocated in a window of time",
            "Width is the bytes that were allocated, released or not.",
        ),
        "allocated" => {
            ("Everything that was allocated", "Width is the bytes that were allocated, released or not.")
        }
        "diff" => (
            "What allocates more, and what less",
            "Width is the larger of both sides of each call stack. Red allocates more than in the base, blue less; a \
             stack that one side does not have counts 0 there.",
        ),
        "leaks" => (
            "Blocks that leak between marks",
            "Width is the bytes allocated between the first two marks and still held at the third, without segments that \
             a pool keeps on purpose. See memscope_leaks.",
        ),
        _ => (
            "Which owners hold a pool at its peak",
            "Width is bytes. Levels are pool, owner (its parts between @) and the first frame of the Python stack. HAL and \
             the other pools are two views of the same memory: never add them up.",
        ),
    }
}

/// Allocations by role, rank and call stack; says whose they are.
fn stacks(call: &Call<'_>, flame: &mut Flame, rows: &Rows) -> Result<String, Failure> {
    let (roles, ranks) = (rows.texts("role")?, rows.ints("rank_id")?);
    let (stacks, bytes) = (rows.texts("call_stack")?, rows.kilobytes("kb")?);
    let named = matches!(call.subject.what, "at_peak" | "not_released");
    let names = if named { Some(rows.texts("name")?) } else { None };
    let verdicts = if call.subject.what == "not_released" { Some(rows.texts("verdict")?) } else { None };
    let mut ranks_seen = Seen::default();
    for (at, ((role, rank), (stack, bytes))) in
        roles.iter().zip(&ranks).zip(stacks.iter().zip(bytes)).enumerate()
    {
        let label = ranks_seen.rank(role, rank);
        // All columns have the same number of rows.
        let text = |column: &Option<StringViewArray>| -> Option<String> {
            column.as_ref().filter(|c| c.is_valid(at)).map(|c| c.value(at).to_owned())
        };
        let (verdict, name) = (text(&verdicts), text(&names));
        let mut levels = vec![Level::Label(&label)];
        levels.extend(verdict.as_deref().map(Level::Label));
        frames(&mut levels, stack.unwrap_or_default(), name.as_deref());
        flame.add(levels, Weight::One(bytes));
    }
    Ok(ranks_seen.told())
}

/// Frames from the outermost to the innermost, or what is known without any.
fn frames<'a>(levels: &mut Vec<Level<'a>>, stack: &'a str, name: Option<&'a str>) {
    let before = levels.len();
    levels.extend(stack::frames(stack).rev().map(Level::Frame));
    if levels.len() == before {
        levels.push(Level::Unknown("(no call stack)"));
        levels.extend(name.filter(|n| !n.is_empty()).map(Level::Unknown));
    }
}

fn differences(flame: &mut Flame, rows: &Rows) -> Result<String, Failure> {
    let (roles, ranks, stacks) = (rows.texts("role")?, rows.ints("rank_id")?, rows.texts("call_stack")?);
    let (before, after) = (rows.kilobytes("kb_a")?, rows.kilobytes("kb_b")?);
    let mut ranks_seen = Seen::default();
    for (((role, rank), stack), (before, after)) in
        roles.iter().zip(&ranks).zip(stacks.iter()).zip(before.into_iter().zip(after))
    {
        let label = ranks_seen.rank(role, rank);
        let mut levels = vec![Level::Label(&label)];
        frames(&mut levels, stack.unwrap_or_default(), None);
        flame.add(levels, Weight::Both(before, after));
    }
    Ok(ranks_seen.told())
}

fn owners(flame: &mut Flame, rows: &Rows) -> Result<String, Failure> {
    let (pids, devices, pools) = (rows.ints("pid")?, rows.texts("device")?, rows.texts("pool")?);
    let (owners, stacks, bytes) = (rows.texts("owner")?, rows.texts("py_stack")?, rows.ints("bytes")?);
    let mut processes = std::collections::BTreeSet::new();
    for (((pid, device), pool), ((owner, stack), bytes)) in
        pids.iter().zip(devices.iter()).zip(pools.iter()).zip(owners.iter().zip(stacks.iter()).zip(&bytes))
    {
        let process = process(pid, device);
        let mut levels = vec![Level::Label(&process), Level::Label(pool.unwrap_or("no pool"))];
        match owner.filter(|o| !o.is_empty()) {
            Some(owner) => {
                // Most owners begin with their pool, which is there already.
                let parts = owner.split('@').enumerate();
                let new = parts.filter(|(at, part)| !part.is_empty() && (*at > 0 || Some(*part) != pool));
                levels.extend(new.map(|(_, part)| Level::Label(part)));
            }
            None => levels.push(Level::Unknown("(no owner)")),
        }
        levels.extend(stack::frames(stack.unwrap_or_default()).rev().map(Level::Frame));
        flame.add(levels, Weight::One(bytes.unwrap_or(0)));
        processes.insert((pid, device.map(str::to_owned)));
    }
    Ok(counted(processes.len() as u64, "device"))
}

/// How a process of msMemScope and its card are called.
pub(super) fn process(pid: Option<i64>, device: Option<&str>) -> String {
    let pid = pid.map_or_else(|| "?".to_owned(), |pid| pid.to_string());
    format!("pid {pid} device {}", device.unwrap_or("?"))
}

/// The moment of the peak, when all rows have the same.
fn peak(rows: &Rows) -> Result<Option<String>, Failure> {
    let moments = rows.ints("peak_time_ns")?;
    let (first, last) = (moments.iter().flatten().min(), moments.iter().flatten().max());
    Ok(match (first, last) {
        (Some(first), Some(last)) if first == last => {
            let ms = format!("{}.{:06}", first / 1_000_000, first % 1_000_000);
            Some(format!("{} ms ({})", ms.trim_end_matches('0').trim_end_matches('.'), moment(first)))
        }
        _ => None,
    })
}

/// The roles and ranks that rows are of.
#[derive(Debug, Default)]
pub(super) struct Seen {
    ranks: std::collections::BTreeSet<(String, i64)>,
}

impl Seen {
    /// How a rank is called.
    pub(super) fn rank(&mut self, role: Option<&str>, rank: Option<i64>) -> String {
        let (role, rank) = (role.unwrap_or_default(), rank.unwrap_or(-1));
        self.ranks.insert((role.to_owned(), rank));
        label(role, rank)
    }

    /// All of them in a few words.
    pub(super) fn told(&self) -> String {
        let mut roles: Vec<&str> = self.ranks.iter().map(|(role, _)| role.as_str()).collect();
        roles.dedup();
        match self.ranks.iter().next() {
            Some((role, rank)) if self.ranks.len() == 1 => label(role, *rank),
            _ => {
                let profiles = counted(self.ranks.len() as u64, "rank");
                format!("{profiles} in {} ({})", counted(roles.len() as u64, "role"), roles.join(", "))
            }
        }
    }
}

fn label(role: &str, rank: i64) -> String {
    if role.is_empty() { format!("rank {rank}") } else { format!("{role} rank {rank}") }
}
