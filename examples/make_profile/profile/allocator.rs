//! The allocators' books: from blocks with times to the level of memory at every moment.

use super::workload::{Allocation, Pool};

/// What the allocators hold at a moment, in bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Level {
    pub(crate) allocated: u64,
    pub(crate) reserved: u64,
    pub(crate) active: u64,
}

/// An allocation with the levels right after it was made and after it was released.
pub(crate) struct Row {
    pub(crate) allocation: Allocation,
    pub(crate) made: Level,
    pub(crate) released: Option<Level>,
}

/// A change of a level.
pub(crate) struct Change {
    pub(crate) pool: Pool,
    pub(crate) at: i64,
    pub(crate) level: Level,
    /// The sum over both pools.
    pub(crate) both: Level,
}

/// All that is known about memory in one process.
pub(crate) struct Memory {
    /// By time of allocation.
    pub(crate) rows: Vec<Row>,
    /// By time.
    pub(crate) changes: Vec<Change>,
}

/// Memory is reserved in pieces of this size, and never given back.
const SEGMENT: u64 = 20 << 20;

enum Event {
    Released,
    Deactivated,
    Made,
}

/// Runs through all allocations and releases in the order of their times.
pub(crate) fn replay(mut allocations: Vec<Allocation>) -> Memory {
    allocations.sort_by_key(|a| a.at);
    let mut events = Vec::new();
    for (a, row) in allocations.iter().zip(0_usize..) {
        events.push((a.at, 2, row, Event::Made));
        match (a.free, a.active_free) {
            (Some(at), _) => events.push((at, 0, row, Event::Released)),
            (None, Some(at)) => events.push((at, 1, row, Event::Deactivated)),
            (None, None) => {}
        }
    }
    events.sort_by_key(|&(at, order, row, _)| (at, order, row));

    // The weights were there before the profiler was.
    let weights = 3 << 30;
    let mut torch = Level { allocated: weights, reserved: weights + (512 << 20), active: weights };
    let mut cann = Level { allocated: 65_536, reserved: 78_381_056, active: 0 };
    let unknown = Level::default();
    let mut rows: Vec<Row> =
        allocations.into_iter().map(|allocation| Row { allocation, made: unknown, released: None }).collect();
    let mut changes = Vec::with_capacity(events.len());
    for (at, _, row, event) in events {
        let Some(row) = rows.get_mut(row) else { continue };
        let (pool, bytes) = (row.allocation.pool, row.allocation.bytes);
        let level = match pool {
            Pool::Torch => &mut torch,
            Pool::Cann => &mut cann,
        };
        match event {
            Event::Made => {
                level.allocated += bytes;
                if pool == Pool::Torch {
                    level.active += bytes;
                }
                while level.reserved < level.allocated {
                    level.reserved += SEGMENT;
                }
                row.made = *level;
            }
            Event::Released => {
                level.allocated -= bytes;
                level.active = level.active.saturating_sub(bytes);
                row.released = Some(*level);
            }
            Event::Deactivated => {
                level.active -= bytes;
                row.released = Some(*level);
            }
        }
        let level = *level;
        let both = Level {
            allocated: torch.allocated + cann.allocated,
            reserved: torch.reserved + cann.reserved,
            active: torch.active + cann.active,
        };
        changes.push(Change { pool, at, level, both });
    }
    Memory { rows, changes }
}
