//! The rules of matching, written down as plainly as they are said: every allocation looks at every
//! call. Nothing here is shared with the program.

use super::profile::{Allocation, Op, Profile, Slice};

/// What a row of `memory_events` should say of its match: stack, kind, and ns since the call began.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expected {
    pub(super) stack: String,
    pub(super) kind: &'static str,
    pub(super) lag: Option<i64>,
}

/// `match => 'nearest'`: of the calls of that name that have a stack and have begun, the one that began
/// last; of several, the last one in the file.
pub(super) fn nearest(profile: &Profile, row: &Allocation) -> Expected {
    let mut found: Option<(usize, &Op)> = None;
    let Some(time) = row.start else { return none() };
    for (at, op) in profile.ops.iter().enumerate() {
        let candidate = op.name == row.name && op.stack.is_some() && op.start <= time;
        if candidate && found.is_none_or(|(_, best)| op.start >= best.start) {
            found = Some((at, op));
        }
    }
    let Some((at, op)) = found else { return none() };
    let kind = if time <= op.end {
        "inside"
    } else if through_queue(profile, row, time) == Some(at) {
        "queue"
    } else {
        "after"
    };
    expected(op, kind, time)
}

/// `match => 'inside'`: the innermost call of that name that contains the allocation, on whatever
/// thread; else the one that handed the work to the task queue; else none.
pub(super) fn inside(profile: &Profile, row: &Allocation) -> Expected {
    let Some(time) = row.start else { return none() };
    let all = |_: &Op| true;
    match innermost(profile, &row.name, time, all) {
        Some(at) => expected(&profile.ops[at], "inside", time),
        None => match through_queue(profile, row, time) {
            Some(at) => expected(&profile.ops[at], "queue", time),
            None => none(),
        },
    }
}

fn none() -> Expected {
    Expected { stack: String::new(), kind: "none", lag: None }
}

fn expected(op: &Op, kind: &'static str, time: i64) -> Expected {
    Expected { stack: op.stack.clone().unwrap_or_default(), kind, lag: Some(time - op.start) }
}

/// A call that begins later, or ends earlier, is further inside; calls are written when they end, so of
/// two with the same times the earlier one in the file is.
fn innermost(profile: &Profile, name: &str, time: i64, which: impl Fn(&Op) -> bool) -> Option<usize> {
    let mut found: Option<usize> = None;
    for (at, op) in profile.ops.iter().enumerate() {
        let contains = op.name == name && op.start <= time && time <= op.end && which(op);
        let further_in = |best: usize| {
            let best = &profile.ops[best];
            op.start > best.start || op.start == best.start && op.end < best.end
        };
        if contains && found.is_none_or(further_in) {
            found = Some(at);
        }
    }
    found
}

/// From the slice in which the queue worked at that time to the moment when the work was put in, and to
/// the call that contains that moment on its thread. Of several slices the one that began last counts,
/// if it leads to a call. What was put in is what the same process put in last under that id, at the
/// latest when the work began.
fn through_queue(profile: &Profile, row: &Allocation, time: i64) -> Option<usize> {
    let mut working: Vec<_> = profile.dequeues.iter().filter(|s| s.start <= time && time <= s.end).collect();
    working.sort_by_key(|s| s.start);
    working.iter().rev().find_map(|slice| {
        let same = |e: &&Slice| (e.process, e.correlation) == (slice.process, slice.correlation);
        let before = profile.enqueues.iter().filter(same).filter(|e| e.start <= slice.start);
        // Of several equal ones max_by_key takes the last.
        let put = before.max_by_key(|e| e.start)?;
        innermost(profile, &row.name, put.start, |op| op.thread == put.thread && put.process == 7)
    })
}
