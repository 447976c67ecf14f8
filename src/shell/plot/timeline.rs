//! Timelines: levels over time from bucketed queries.

use rl_insight_sql::plot::{Caption, Measure, Series, Timeline, Unit, amount};

use super::Drawn;
use super::call::{Call, moment, quoted};
use super::flame::{Seen, process};
use super::kinds::Source;
use super::rows::Rows;
use crate::shell::failure::Failure;

/// So many buckets are drawn per series, when all together are not too many. A power of two, so that
/// neighbours can be merged when the file must be smaller.
const BUCKETS: u64 = 512;

/// So many buckets of all series together are asked for at most.
const ALL_BUCKETS: u64 = 1 << 20;

/// The queries: one for levels, one for marks.
///
/// # Errors
/// When an option cannot be understood.
pub(super) fn queries(call: &Call<'_>) -> Result<Vec<String>, String> {
    let mut buckets = BUCKETS;
    while buckets > 64 && buckets * call.units as u64 > ALL_BUCKETS {
        buckets /= 2;
    }
    let buckets = call.request.number("buckets", buckets)?;
    if buckets > 100_000 {
        return Err(format!("buckets={buckets}: no screen shows more than 100000"));
    }
    let (path, arguments, filter) = (call.path(), call.arguments()?, call.filter(&[])?);
    Ok(match call.subject.source {
        Source::Memscope => vec![
            format!(
                "SELECT source_path, pid, device, pool, bucket, from_ns, to_ns, used_high, reserved_high FROM \
                 memscope_timeline({path}, buckets => {buckets}{arguments}){filter} \
                 ORDER BY source_path, pid, device, pool, bucket"
            ),
            format!(
                "SELECT source_path, pid, device, step, ts_ns FROM memscope_steps({path}{arguments}) \
                 WHERE kind = {} AND step_end ORDER BY source_path, pid, device, ts_ns, step",
                quoted("check")
            ),
        ],
        _ => vec![
            format!(
                "SELECT role, rank_id, bucket, from_ns, to_ns, allocated_high_mb, active_high_mb, reserved_high_mb, \
                 live_high_mb FROM memory_timeline({path}, buckets => {buckets}{arguments}){filter} \
                 ORDER BY role, rank_id, bucket"
            ),
            format!(
                "SELECT role, rank_id, source_path, min(start_time_ns) AS from_ns FROM memory_events({path}{arguments}){} \
                 GROUP BY role, rank_id, source_path ORDER BY role, rank_id, from_ns, source_path",
                call.filter(&["start_time_ns IS NOT NULL".to_owned()])?
            ),
        ],
    })
}

/// The picture.
///
/// # Errors
/// When a column is missing, which would be a mistake in here.
pub(super) fn drawn(call: &Call<'_>, rows: &[Rows]) -> Result<Drawn, Failure> {
    let [levels, marks] = rows else { return Err(Failure::Query("two queries were expected".into())) };
    let (timeline, shown) = match call.subject.source {
        Source::Memscope => pools(levels, marks)?,
        _ => ranks(levels, marks)?,
    };
    let unit = timeline.unit.unwrap_or(Unit::None);
    let mut facts = call.facts();
    facts.push(("shown".to_owned(), shown));
    let peaks = timeline.series.iter().filter_map(|s| Some((s.peak()?, s)));
    if let Some((peak, series)) = peaks.max_by(|a, b| a.0.total_cmp(&b.0).then(b.1.label.cmp(&a.1.label))) {
        facts.push((
            "highest".to_owned(),
            format!("{} ({peak} {}), {}", amount(peak, unit), name(unit), series.label),
        ));
    }
    if let Some(first) = timeline.series.iter().map(|s| s.from_ns).min() {
        facts.push(("begins".to_owned(), moment(first)));
    }
    let note = match call.subject.source {
        Source::Memscope => {
            "Each bucket has the highest level in it. used and reserved are what the pool itself states. Vertical lines \
             are ends of steps. HAL and host memory state no totals and have no line."
        }
        _ => {
            "Each bucket has the highest level in it, so the highest point is the true maximum. allocated, active and \
             reserved are what the profiler states after each allocation and release; live is what the allocations in \
             the recording hold, without what was allocated before it began. Vertical lines are beginnings of profiles \
             (one per step in verl)."
        }
    };
    let title = if call.subject.source == Source::Memscope { "Pools over time" } else { "Memory over time" };
    let caption = Caption { title: title.into(), facts, notes: vec![note.into()], queries: vec![] };
    Ok(Drawn { picture: Box::new(timeline), caption })
}

fn name(unit: Unit) -> &'static str {
    if unit == Unit::Megabytes { "MB" } else { "bytes" }
}

/// Puts the values of one row into the series that it belongs to, which is the last one.
fn push(
    timeline: &mut Timeline,
    fresh: bool,
    series: impl FnOnce() -> Series,
    to: i64,
    values: &[Option<f64>],
) {
    if fresh {
        timeline.series.push(series());
    }
    let Some(last) = timeline.series.last_mut() else { return };
    last.to_ns = to;
    for (measure, value) in last.measures.iter_mut().zip(values) {
        measure.values.push(*value);
    }
}

fn measures(names: &[&str]) -> Vec<Measure> {
    names.iter().map(|name| Measure { name: (*name).to_owned(), values: vec![] }).collect()
}

fn ranks(levels: &Rows, marks: &Rows) -> Result<(Timeline, String), Failure> {
    let mut timeline = Timeline { series: vec![], unit: Some(Unit::Megabytes) };
    let mut seen = Seen::default();
    let (roles, ranks) = (levels.texts("role")?, levels.ints("rank_id")?);
    let (from, to) = (levels.ints("from_ns")?, levels.ints("to_ns")?);
    let columns = ["allocated_high_mb", "active_high_mb", "reserved_high_mb", "live_high_mb"];
    let [allocated, active, reserved, live] = columns.map(|c| levels.floats(c));
    let (allocated, active, reserved, live) = (allocated?, active?, reserved?, live?);
    let mut before = None;
    for ((((role, rank), (from, to)), (allocated, active)), (reserved, live)) in roles
        .iter()
        .zip(&ranks)
        .zip(from.iter().zip(&to))
        .zip(allocated.iter().zip(&active))
        .zip(reserved.iter().zip(&live))
    {
        let label = seen.rank(role, rank);
        let fresh = before.replace(label.clone()).as_ref() != Some(&label);
        let series = || Series {
            label,
            selects: format!("role={} rank={}", quoted(role.unwrap_or_default()), rank.unwrap_or(-1)),
            from_ns: from.unwrap_or(0),
            measures: measures(&["allocated", "active", "reserved", "live"]),
            ..Series::default()
        };
        push(&mut timeline, fresh, series, to.unwrap_or(0), &[allocated, active, reserved, live]);
    }
    let (roles, ranks, from) = (marks.texts("role")?, marks.ints("rank_id")?, marks.ints("from_ns")?);
    let mut at = 0;
    let mut before = None;
    let mut number = 0;
    for ((role, rank), from) in roles.iter().zip(&ranks).zip(&from) {
        let label = Seen::default().rank(role, rank);
        number = if before.replace(label.clone()).as_ref() == Some(&label) { number + 1 } else { 1 };
        // Both come in the same order.
        while timeline.series.get(at).is_some_and(|s| s.label != label) {
            at += 1;
        }
        if let (Some(series), Some(from)) = (timeline.series.get_mut(at), from) {
            series.marks.push((from, format!("profile {number}")));
        }
    }
    // Of a single profile the line would only stand at the beginning.
    timeline.series.iter_mut().filter(|s| s.marks.len() == 1).for_each(|s| s.marks.clear());
    Ok((timeline, seen.told()))
}

fn pools(levels: &Rows, marks: &Rows) -> Result<(Timeline, String), Failure> {
    let mut timeline = Timeline { series: vec![], unit: Some(Unit::Bytes) };
    let (paths, pids) = (levels.texts("source_path")?, levels.ints("pid")?);
    let (devices, pools) = (levels.texts("device")?, levels.texts("pool")?);
    let (from, to) = (levels.ints("from_ns")?, levels.ints("to_ns")?);
    let (used, reserved) = (levels.floats("used_high")?, levels.floats("reserved_high")?);
    let mut keys: Vec<(Option<String>, Option<i64>, Option<String>)> = Vec::new();
    let mut before = None;
    for ((((path, pid), (device, pool)), (from, to)), (used, reserved)) in paths
        .iter()
        .zip(&pids)
        .zip(devices.iter().zip(pools.iter()))
        .zip(from.iter().zip(&to))
        .zip(used.iter().zip(&reserved))
    {
        let key = (path, pid, device, pool);
        let fresh = before.replace(key) != Some(key);
        if fresh {
            keys.push((path.map(str::to_owned), pid, device.map(str::to_owned)));
        }
        let series = || Series {
            label: format!("{} {}", process(pid, device), pool.unwrap_or_default()),
            selects: String::new(),
            from_ns: from.unwrap_or(0),
            measures: measures(&["used", "reserved"]),
            ..Series::default()
        };
        push(&mut timeline, fresh, series, to.unwrap_or(0), &[used, reserved]);
    }
    let (paths, pids, devices) = (marks.texts("source_path")?, marks.ints("pid")?, marks.texts("device")?);
    let (steps, moments) = (marks.ints("step")?, marks.ints("ts_ns")?);
    for (((path, pid), device), (step, at)) in
        paths.iter().zip(&pids).zip(devices.iter()).zip(steps.iter().zip(&moments))
    {
        let (Some(step), Some(at)) = (step, at) else { continue };
        for (series, (of_path, of_pid, of_device)) in timeline.series.iter_mut().zip(&keys) {
            let same = of_path.as_deref() == path
                && *of_pid == pid
                && (device.is_none() || of_device.as_deref() == device);
            if same && (series.from_ns..series.to_ns).contains(&at) {
                series.marks.push((at, format!("step {step} ends")));
            }
        }
    }
    let shown = crate::shell::amount::counted(timeline.series.len() as u64, "pool");
    Ok((timeline, shown))
}
