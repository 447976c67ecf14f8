//! Blocks of files that give them no number: msLeaks before August 2025.
//!
//! There a FREE belongs to the latest MALLOC of the same process, pool and address. Rows are not in
//! the order of events, so the events are sorted first.

use hashbrown::HashMap;

use super::block::BlockRow;

/// What came of the events.
#[derive(Debug, Default)]
pub(super) struct Unmatched {
    /// All blocks.
    pub(super) blocks: Vec<BlockRow>,
    /// Accesses that belong to none of them.
    pub(super) accesses: u64,
}

/// Joins events, each a block of one row with its id as `order`, to blocks.
pub(super) fn matched(mut events: Vec<BlockRow>) -> Unmatched {
    // Stable, for damaged files repeat ids.
    events.sort_by_key(|e| (e.pid, e.order));
    let mut live: HashMap<(i64, u32, i64), BlockRow> = HashMap::new();
    let mut out = Unmatched::default();
    for event in events {
        let key = (event.pid, event.pool, event.ptr);
        if event.malloc.met() {
            // The address is taken again: the end of the old block was not recorded.
            out.blocks.extend(live.insert(key, event));
        } else if event.accesses > 0 {
            match live.get_mut(&key) {
                Some(block) => block.merge(&event),
                None => out.accesses += 1,
            }
        } else {
            match live.remove(&key) {
                Some(mut block) => {
                    block.merge(&event);
                    out.blocks.push(block);
                }
                None => out.blocks.push(event),
            }
        }
    }
    // The map is in no order, and its keys are the last word on one.
    let mut rest: Vec<BlockRow> = live.into_values().collect();
    rest.sort_unstable_by_key(|b| (b.order, b.pid, b.ptr, b.pool));
    out.blocks.extend(rest);
    out
}
