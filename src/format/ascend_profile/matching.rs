//! Which call stack an allocation comes from.
//!
//! Everything compares exact integer nanoseconds. Two rules:
//!
//! * [`MatchRule::Nearest`], the documented rule of the reference: among the ops with a call stack
//!   and the allocation's name, the last one that starts at or before it; of several that start at
//!   the same time, the one later in the file.
//! * [`MatchRule::Inside`]: the innermost op of that name which contains the allocation, on any
//!   thread; else the op that reached the allocator through the task queue; else none. An op
//!   without a call stack can be the owner, and then there is no stack.
//!
//! [`MatchKind`] tells for either rule how far the match is to be trusted.

use std::sync::Arc;

use datafusion::arrow::array::{Int64Array, StringViewArray, StringViewBuilder};

use crate::source::{Host, ReadError};
use crate::text::interner::{Interner, stable_id};

use super::allocations::AllocationBlock;
use super::ops::{NO_STACK, Op, OpLog, QueueSlice};

/// How an allocation finds its call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatchRule {
    /// The reference's rule: the latest op of that name that has started.
    #[default]
    Nearest,
    /// The op that really contains or caused the allocation, or none.
    Inside,
}

impl MatchRule {
    /// Both rules by the name they have in SQL.
    pub const ALL: [(&'static str, MatchRule); 2] =
        [("nearest", MatchRule::Nearest), ("inside", MatchRule::Inside)];
}

/// How far a match is to be trusted; the `match_kind` column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    /// The allocation lies between the start and the end of the matched op.
    Inside,
    /// The matched op put the work that allocates into the task queue.
    Queue,
    /// The matched op had ended before the allocation: the stack may be stale.
    After,
    /// There is no matched op.
    None,
}

impl MatchKind {
    /// The text in `match_kind`.
    pub fn name(self) -> &'static str {
        match self {
            MatchKind::Inside => "inside",
            MatchKind::Queue => "queue",
            MatchKind::After => "after",
            MatchKind::None => "none",
        }
    }
}

/// What one allocation was matched with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Match {
    /// Number of the call stack, or [`NO_STACK`].
    pub stack: u32,
    /// How far to trust it. Only meaningful when the matcher was made to tell it.
    pub kind: MatchKind,
    /// From the start of the matched op to the allocation, in ns; `None` without a matched op.
    pub lag_ns: Option<i64>,
}

const NO_MATCH: Match = Match { stack: NO_STACK, kind: MatchKind::None, lag_ns: None };

/// Distinct call stacks as Arrow columns: text, first frame and stable number.
///
/// All three have one element more than there are stacks: the last one stands for "no stack".
#[derive(Debug, Clone)]
pub struct StackColumns {
    /// The whole text.
    pub text: Arc<StringViewArray>,
    /// The first frame.
    pub top: Arc<StringViewArray>,
    /// The stable number of the text.
    pub id: Arc<Int64Array>,
}

/// What separates the frames of a call stack.
const FRAME_SEPARATOR: &str = ";\r\n";

impl StackColumns {
    /// The columns of a profile without any call stack.
    pub fn none() -> Self {
        Self::new(&Interner::new())
    }

    fn new(stacks: &Interner) -> Self {
        let top = |text: &str| text.split(FRAME_SEPARATOR).next().unwrap_or_default().to_owned();
        let mut text = StringViewBuilder::with_capacity(stacks.len() + 1).with_fixed_block_size(1 << 20);
        let mut tops = StringViewBuilder::with_capacity(stacks.len() + 1);
        for stack in stacks.iter().chain([""]) {
            text.append_value(stack);
            tops.append_value(top(stack));
        }
        let id = stacks.iter().chain([""]).map(stable_id).collect();
        Self { text: Arc::new(text.finish()), top: Arc::new(tops.finish()), id: Arc::new(id) }
    }
}

/// Finds the call stack of allocations of one profile.
#[derive(Debug)]
pub struct Matcher {
    rule: MatchRule,
    names: Interner,
    ops: Vec<Op>,
    nearest: ByName,
    owners: Option<Owners>,
    /// The call stacks as columns.
    pub stacks: StackColumns,
}

impl Matcher {
    /// Builds the index. With `owners`, the log must hold all ops and the task queue
    /// ([`super::ops::Detail::Owners`]); [`MatchRule::Inside`] and match kinds need that.
    ///
    /// # Errors
    /// [`ReadError::Memory`] when the index does not fit into the budget.
    pub fn new(log: OpLog, rule: MatchRule, owners: bool, host: &dyn Host) -> Result<Self, ReadError> {
        let per_op = if owners {
            3 * size_of::<i64>() + 2 * size_of::<u32>()
        } else {
            size_of::<i64>() + size_of::<u32>()
        };
        host.reserve(log.ops.len() * per_op + log.stacks.allocated())?;
        let stacks = StackColumns::new(&log.stacks);
        let OpLog { names, ops, enqueues, dequeues, .. } = log;
        let nearest =
            ByName::new(names.len(), &ops, |op| op.stack != NO_STACK, |a, b| a.start_ns.cmp(&b.start_ns));
        let owners = owners.then(|| Owners::new(names.len(), &ops, enqueues, dequeues));
        Ok(Self { rule, names, ops, nearest, owners, stacks })
    }

    /// Earliest and latest start of an op, in ns; `None` when there is no op.
    pub fn time_range(&self) -> Option<(i64, i64)> {
        let starts = || self.ops.iter().map(|op| op.start_ns);
        Some((starts().min()?, starts().max()?))
    }

    /// Matches every allocation of a block.
    pub fn block(&self, block: &AllocationBlock) -> Vec<Match> {
        let groups: Vec<Option<u32>> = block.names.iter().map(|name| self.names.find(name)).collect();
        let mut cursors = vec![0usize; groups.len()];
        let rows = block.name.iter().zip(&block.start_ns);
        rows.map(|(name, start)| {
            let name = *name as usize;
            let (Some(Some(group)), Some(time), Some(cursor)) =
                (groups.get(name), *start, cursors.get_mut(name))
            else {
                return NO_MATCH;
            };
            match self.rule {
                MatchRule::Nearest => self.nearest(*group, time, cursor),
                MatchRule::Inside => self.inside(*group, time),
            }
        })
        .collect()
    }

    fn nearest(&self, group: u32, time: i64, cursor: &mut usize) -> Match {
        let Some(op) = self.nearest.last_at_or_before(group, time, cursor) else { return NO_MATCH };
        let Some(found) = self.ops.get(op as usize) else { return NO_MATCH };
        let kind = match &self.owners {
            _ if time <= found.end_ns => MatchKind::Inside,
            Some(owners) if owners.through_queue(&self.ops, group, time) == Some(op) => MatchKind::Queue,
            _ => MatchKind::After,
        };
        Match { stack: found.stack, kind, lag_ns: time.checked_sub(found.start_ns) }
    }

    fn inside(&self, group: u32, time: i64) -> Match {
        let Some(owners) = &self.owners else { return NO_MATCH };
        let (op, kind) = match owners.innermost(&self.ops, group, time, None) {
            Some(op) => (op, MatchKind::Inside),
            None => match owners.through_queue(&self.ops, group, time) {
                Some(op) => (op, MatchKind::Queue),
                None => return NO_MATCH,
            },
        };
        let Some(found) = self.ops.get(op as usize) else { return NO_MATCH };
        Match { stack: found.stack, kind, lag_ns: time.checked_sub(found.start_ns) }
    }
}

/// Numbers of ops, grouped by name and sorted inside each group, with their starts beside them.
#[derive(Debug)]
struct ByName {
    /// Where the group of each name starts; one element more than there are names.
    bounds: Vec<usize>,
    ops: Vec<u32>,
    starts: Vec<i64>,
}

impl ByName {
    fn new(
        names: usize,
        all: &[Op],
        keep: impl Fn(&Op) -> bool,
        order: impl Fn(&Op, &Op) -> std::cmp::Ordering,
    ) -> Self {
        let mut bounds = vec![0usize; names + 1];
        for op in all.iter().filter(|op| keep(op)) {
            if let Some(b) = bounds.get_mut(op.name as usize + 1) {
                *b += 1;
            }
        }
        let mut sum = 0;
        for b in &mut bounds {
            sum += *b;
            *b = sum;
        }
        let mut next = bounds.clone();
        let mut ops = vec![0u32; sum];
        for (number, op) in all.iter().enumerate().filter(|(_, op)| keep(op)) {
            if let Some(at) = next.get_mut(op.name as usize) {
                if let Some(slot) = ops.get_mut(*at) {
                    *slot = number as u32;
                }
                *at += 1;
            }
        }
        let op = |n: &u32| all.get(*n as usize);
        for pair in bounds.windows(2) {
            if let [from, to] = *pair
                && let Some(group) = ops.get_mut(from..to)
            {
                // Stable: of equal ones, the order in the file stays.
                group.sort_by(|a, b| match (op(a), op(b)) {
                    (Some(a), Some(b)) => order(a, b),
                    _ => std::cmp::Ordering::Equal,
                });
            }
        }
        let starts = ops.iter().map(|n| op(n).map_or(i64::MIN, |op| op.start_ns)).collect();
        Self { bounds, ops, starts }
    }

    fn group(&self, name: u32) -> std::ops::Range<usize> {
        match (self.bounds.get(name as usize), self.bounds.get(name as usize + 1)) {
            (Some(from), Some(to)) => *from..*to,
            _ => 0..0,
        }
    }

    /// The last op of a group that starts at or before `time`. `cursor` is where the last search of
    /// this group ended: allocations mostly come in time order, so the next one is near.
    fn last_at_or_before(&self, name: u32, time: i64, cursor: &mut usize) -> Option<u32> {
        let range = self.group(name);
        let starts = self.starts.get(range.clone())?;
        let from = if starts.get(*cursor).is_some_and(|s| *s <= time) { *cursor } else { 0 };
        let mut step = 1;
        while starts.get(from + step).is_some_and(|s| *s <= time) {
            step *= 2;
        }
        let (low, high) = (from + step / 2, (from + step).min(starts.len()));
        let count = low + starts.get(low..high)?.partition_point(|s| *s <= time);
        let at = count.checked_sub(1)?;
        *cursor = at;
        self.ops.get(range.start + at).copied()
    }
}

/// Intervals sorted by start that can be asked for the last one which contains a time.
#[derive(Debug, Default)]
struct Cover {
    /// A tree of maxima over the ends: `tree[1]` is the root, leaf `i` is `tree[size + i]`.
    tree: Vec<i64>,
    size: usize,
}

impl Cover {
    fn new(ends: impl ExactSizeIterator<Item = i64>) -> Self {
        let size = ends.len().next_power_of_two();
        let mut tree = vec![i64::MIN; 2 * size];
        for (slot, end) in tree.iter_mut().skip(size).zip(ends) {
            *slot = end;
        }
        for i in (1..size).rev() {
            let larger = tree.get(2 * i).copied().max(tree.get(2 * i + 1).copied());
            if let (Some(slot), Some(larger)) = (tree.get_mut(i), larger) {
                *slot = larger;
            }
        }
        Self { tree, size }
    }

    /// The last of the first `count` intervals whose end is at or after `time`.
    fn last_reaching(&self, count: usize, time: i64) -> Option<usize> {
        let reaches = |node: usize| self.tree.get(node).is_some_and(|end| *end >= time);
        let mut node = if count >= self.size {
            // The range is everything: start at the root.
            Some(1).filter(|root| reaches(*root))
        } else {
            left_neighbour(self.size + count, reaches)
        }?;
        // Down to the last leaf that reaches far enough.
        while node < self.size {
            node = if reaches(2 * node + 1) { 2 * node + 1 } else { 2 * node };
        }
        Some(node - self.size)
    }
}

/// The nearest node to the left of `node` that reaches far enough, on its level or above.
fn left_neighbour(mut node: usize, reaches: impl Fn(usize) -> bool) -> Option<usize> {
    // The leftmost node of each level is a power of two.
    while !node.is_power_of_two() {
        if node % 2 == 1 && reaches(node - 1) {
            return Some(node - 1);
        }
        node /= 2;
    }
    None
}

/// All ops, also those without a call stack, and the task queue.
#[derive(Debug)]
struct Owners {
    ops: ByName,
    covers: Vec<Cover>,
    dequeue_starts: Vec<i64>,
    dequeue_cover: Cover,
    /// Start and thread of the enqueue slice that each dequeue slice takes up, if there is one.
    enqueued: Vec<Option<(i64, u32)>>,
}

impl Owners {
    fn new(names: usize, all: &[Op], mut enqueues: Vec<QueueSlice>, mut dequeues: Vec<QueueSlice>) -> Self {
        // The innermost of several ops that contain a time is the one that starts last; of those,
        // the one that ends first; of those, the one that the file has first, since ops are written
        // when they end. Sorting makes it the last one.
        let later_is_inner = |a: &Op, b: &Op| a.start_ns.cmp(&b.start_ns).then(b.end_ns.cmp(&a.end_ns));
        let mut ops = ByName::new(names, all, |_| true, later_is_inner);
        for pair in ops.bounds.windows(2) {
            if let [from, to] = *pair
                && let Some(group) = ops.ops.get_mut(from..to)
            {
                reverse_equal(group, |a, b| {
                    let pair = (all.get(a as usize), all.get(b as usize));
                    matches!(pair, (Some(a), Some(b)) if (a.start_ns, a.end_ns) == (b.start_ns, b.end_ns))
                });
            }
        }
        let end = |n: &u32| all.get(*n as usize).map_or(i64::MIN, |op| op.end_ns);
        let covers = (0..names as u32)
            .map(|name| Cover::new(ops.ops.get(ops.group(name)).unwrap_or_default().iter().map(end)))
            .collect();
        dequeues.sort_by_key(|d| d.start_ns);
        // Ids come again in long runs, so the last enqueue before the dequeue is the one that it takes
        // up. Stable: of equal ones, the last in the file.
        let key = |slice: &QueueSlice| (slice.correlation, slice.start_ns);
        enqueues.sort_by_key(key);
        let enqueued = |dequeue: &QueueSlice| {
            let count = enqueues.partition_point(|e| key(e) <= key(dequeue));
            let last = enqueues.get(count.checked_sub(1)?)?;
            (last.correlation == dequeue.correlation).then_some((last.start_ns, last.thread))
        };
        Self {
            ops,
            covers,
            dequeue_starts: dequeues.iter().map(|d| d.start_ns).collect(),
            dequeue_cover: Cover::new(dequeues.iter().map(|d| d.end_ns)),
            enqueued: dequeues.iter().map(enqueued).collect(),
        }
    }

    /// The innermost op of a name that contains `time`, on one thread or on any.
    fn innermost(&self, all: &[Op], name: u32, time: i64, thread: Option<u32>) -> Option<u32> {
        let range = self.ops.group(name);
        let starts = self.ops.starts.get(range.clone())?;
        let cover = self.covers.get(name as usize)?;
        let mut count = starts.partition_point(|s| *s <= time);
        loop {
            let at = cover.last_reaching(count, time)?;
            let op = self.ops.ops.get(range.start + at).copied()?;
            if thread.is_none() || all.get(op as usize).map(|op| op.thread) == thread {
                return Some(op);
            }
            count = at;
        }
    }

    /// The op that put the work into the task queue during which `time` lies: from the dequeue
    /// slice by process and correlation id to the last enqueue slice before it, and to the op around
    /// that on its thread. Such an op has started before `time`.
    fn through_queue(&self, all: &[Op], name: u32, time: i64) -> Option<u32> {
        let mut count = self.dequeue_starts.partition_point(|s| *s <= time);
        loop {
            let at = self.dequeue_cover.last_reaching(count, time)?;
            if let Some((enqueued, thread)) = *self.enqueued.get(at)?
                && let Some(op) = self.innermost(all, name, enqueued, Some(thread))
            {
                return Some(op);
            }
            count = at;
        }
    }
}

/// Turns runs of equal elements around.
fn reverse_equal(items: &mut [u32], equal: impl Fn(u32, u32) -> bool) {
    let mut from = 0;
    for at in 1..=items.len() {
        let ends = match (items.get(at - 1), items.get(at)) {
            (Some(a), Some(b)) => !equal(*a, *b),
            _ => true,
        };
        if ends {
            if let Some(run) = items.get_mut(from..at) {
                run.reverse();
            }
            from = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_agrees_with_a_plain_search() {
        let mut state = 7u64;
        let mut random = |n: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % n
        };
        for size in 0..70usize {
            let ends: Vec<i64> = (0..size).map(|_| random(20).cast_signed()).collect();
            let cover = Cover::new(ends.iter().copied());
            for count in 0..=size {
                for time in -1..21 {
                    let plain = ends.iter().take(count).rposition(|e| *e >= time);
                    assert_eq!(cover.last_reaching(count, time), plain, "{ends:?} {count} {time}");
                }
            }
        }
    }

    #[test]
    fn runs_of_equal_elements_are_turned_around() {
        let mut items = [10, 11, 20, 30, 31, 32];
        reverse_equal(&mut items, |a, b| a / 10 == b / 10);
        assert_eq!(items, [11, 10, 20, 32, 31, 30]);
    }
}
