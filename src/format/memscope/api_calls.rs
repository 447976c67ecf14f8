//! Where in the sequence of API calls blocks were allocated, used and released: the sweep behind
//! `memscope_block_calls`.
//!
//! A call is one operator, or one event of a block outside of any. Calls are counted per process and
//! framework. An operator ends with the first end behind its start, also where operators are nested,
//! because the end does not say whose it is; what happened since the call before is complete then.
//!
//! ```text
//! events  START  MALLOC  ACCESS  END  FREE  START  ACCESS  END
//! calls   ├────────── 1 ──────────┤    2    ├─────── 3 ──────┤
//! ```

use hashbrown::{HashMap, HashSet};

use super::block::NONE;

/// What an event is to the calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What {
    Malloc,
    /// A MALLOC of the workspace pool that is printed as one of PTA.
    WorkspaceMalloc,
    Access,
    Free,
    /// An operator starts.
    Start,
    /// An operator ends.
    End,
}

/// An event. The order is that of things: by id, and in damaged files, which repeat ids, by the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event {
    pub(super) id: i64,
    pub(super) what: What,
    /// Number of the block, or [`NONE`].
    pub(super) block: i64,
    /// Which framework: ATB, or PTA.
    pub(super) atb: bool,
}

/// The calls of one block. They are counted from 1; 0 stands for none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct BlockCalls {
    /// Number of the block.
    pub(super) block: i64,
    /// That allocated it, when its first event is its MALLOC.
    pub(super) malloc: u32,
    /// The first that accessed it, other than that.
    pub(super) first_use: u32,
    /// The latest one that released something, when `first_use` was complete.
    pub(super) release_before_use: u32,
    /// How many calls after the access before it `first_use` came, when there is one.
    pub(super) idle_before_use: u32,
    /// The most calls between two accesses.
    pub(super) longest_idle: u32,
    /// That accessed it last.
    pub(super) last_use: u32,
    /// The latest one that allocated something, when `free` was complete.
    pub(super) alloc_before_free: u32,
    /// That released it.
    pub(super) free: u32,
}

/// What is to be told of a block when the call of an event is complete.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    /// Where the block is.
    at: usize,
    what: Waits,
}

#[derive(Debug, Clone, Copy)]
enum Waits {
    /// An access so many calls after the one before.
    Idle(u32),
    FirstUse,
    Free,
}

/// The calls of one framework.
#[derive(Debug, Default)]
struct Calls {
    /// Whether an operator is at work.
    in_operator: bool,
    /// How many have begun.
    begun: u32,
    /// The latest complete ones that allocated and that released something.
    latest_alloc: u32,
    latest_release: u32,
    /// Whether this one did.
    allocates: bool,
    releases: bool,
    waiting: Vec<Waiting>,
}

impl Calls {
    /// What happened since the call before is complete.
    fn complete(&mut self, blocks: &mut [BlockCalls]) {
        if std::mem::take(&mut self.allocates) {
            self.latest_alloc = self.begun;
        }
        if std::mem::take(&mut self.releases) {
            self.latest_release = self.begun;
        }
        for Waiting { at, what } in self.waiting.drain(..) {
            let Some(block) = blocks.get_mut(at) else { continue };
            match what {
                Waits::Idle(calls) => block.longest_idle = block.longest_idle.max(calls),
                Waits::FirstUse => block.release_before_use = self.latest_release,
                Waits::Free => block.alloc_before_free = self.latest_alloc,
            }
        }
    }
}

/// Follows the events of one process, which come in the order of their ids.
#[derive(Debug, Default)]
struct Sweep {
    pta: Calls,
    atb: Calls,
    blocks: Vec<BlockCalls>,
    /// Where those are that are not released.
    live: HashMap<i64, usize>,
    /// Workspace blocks that are not released.
    workspaces: HashSet<i64>,
}

impl Sweep {
    fn event(&mut self, event: Event) {
        // A FREE does not tell that it is one of a workspace.
        match event.what {
            What::WorkspaceMalloc => {
                self.workspaces.extend((event.block != NONE).then_some(event.block));
                return;
            }
            What::Free if self.workspaces.remove(&event.block) => return,
            _ => {}
        }
        let calls = if event.atb { &mut self.atb } else { &mut self.pta };
        match event.what {
            What::Start => {
                calls.in_operator = true;
                calls.begun = calls.begun.saturating_add(1);
                return;
            }
            What::End => {
                calls.in_operator = false;
                calls.complete(&mut self.blocks);
                return;
            }
            What::Malloc => calls.allocates = true,
            What::Free => calls.releases = true,
            What::Access | What::WorkspaceMalloc => {}
        }
        if !calls.in_operator {
            calls.begun = calls.begun.saturating_add(1);
        }
        if event.block != NONE {
            let next = self.blocks.len();
            let at = *self.live.entry(event.block).or_insert(next);
            if at == next {
                self.blocks.push(BlockCalls { block: event.block, ..BlockCalls::default() });
            }
            if let Some(block) = self.blocks.get_mut(at) {
                let wait = |what| calls.waiting.push(Waiting { at, what });
                block.event(event.what, calls.begun, at == next, wait);
            }
            if event.what == What::Free {
                self.live.remove(&event.block);
            }
        }
        if !calls.in_operator {
            calls.complete(&mut self.blocks);
        }
    }
}

impl BlockCalls {
    /// Adds an event of the block in this call.
    fn event(&mut self, what: What, call: u32, first: bool, mut wait: impl FnMut(Waits)) {
        match what {
            What::Malloc if first => self.malloc = call,
            What::Access => {
                let before = if self.last_use > 0 { self.last_use } else { self.malloc };
                let idle = call.saturating_sub(before);
                if self.last_use > 0 && idle > 0 {
                    wait(Waits::Idle(idle));
                }
                if self.first_use == 0 && before > 0 && idle > 0 {
                    self.first_use = call;
                    self.idle_before_use = if self.last_use > 0 { idle } else { 0 };
                    wait(Waits::FirstUse);
                }
                self.last_use = call;
            }
            What::Free => {
                self.free = call;
                wait(Waits::Free);
            }
            _ => {}
        }
    }
}

/// The blocks of one process, in the order of their numbers, from its events in any order.
pub(super) fn sweep(mut events: Vec<Event>) -> Vec<BlockCalls> {
    events.sort_unstable();
    let mut sweep = Sweep::default();
    events.into_iter().for_each(|event| sweep.event(event));
    let mut blocks = sweep.blocks;
    // Of a block that goes on behind its FREE, as only damaged files say, the part before it counts.
    blocks.sort_by_key(|b| b.block);
    blocks.dedup_by_key(|b| b.block);
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events as `M1` (a MALLOC of block 1), `A1`, `F1`, `(` and `)` for start and end of an operator;
    /// those of ATB with a `'` behind.
    fn swept(events: &str) -> Vec<BlockCalls> {
        let events = events.split_whitespace().zip(1..).map(|(text, id)| {
            let atb = text.ends_with('\'');
            let text = text.trim_end_matches('\'');
            let (kind, block) = text.split_at(1);
            let what = match kind {
                "M" => What::Malloc,
                "W" => What::WorkspaceMalloc,
                "A" => What::Access,
                "F" => What::Free,
                "(" => What::Start,
                _ => What::End,
            };
            Event { id, what, block: block.parse().unwrap_or(NONE), atb }
        });
        let mut events: Vec<Event> = events.collect();
        events.reverse();
        sweep(events)
    }

    fn one(events: &str) -> BlockCalls {
        let all = swept(events);
        assert_eq!(all.iter().filter(|b| b.block == 1).count(), 1, "{all:?}");
        all[0]
    }

    #[test]
    fn an_operator_is_one_call_and_so_is_an_event_outside_of_any() {
        let block = one("( M1 A1 ) ( A1 ) A1 F1");
        assert_eq!((block.malloc, block.first_use, block.last_use, block.free), (1, 2, 3, 4));
        assert_eq!((block.idle_before_use, block.longest_idle), (1, 1));
    }

    #[test]
    fn what_a_call_itself_does_counts_when_it_is_complete() {
        // The release stands before the use in one call, and is the latest one.
        assert_eq!(one("M2 M1 ( F2 A1 )").release_before_use, 3);
        assert_eq!(one("M2 M1 F2 ( A1 )").release_before_use, 3);
        assert_eq!(one("M1 A1 ( F1 M2 )").alloc_before_free, 3);
        assert_eq!(one("M1 A1 M2 F1").alloc_before_free, 3);
    }

    #[test]
    fn a_call_that_never_ends_tells_nothing() {
        let block = one("M2 M1 F2 ( A1");
        assert_eq!((block.first_use, block.release_before_use), (4, 0));
        assert_eq!(one("M1 A1 ( A1").longest_idle, 0);
    }

    #[test]
    fn the_first_end_completes_nested_operators() {
        let block = one("( ( M1 ) A1 ) A1");
        assert_eq!((block.malloc, block.first_use, block.last_use), (2, 3, 4));
    }

    #[test]
    fn frameworks_are_counted_apart() {
        let block = one("( M1 M2' A2' ) A1");
        assert_eq!((block.malloc, block.first_use), (1, 2));
    }

    #[test]
    fn workspaces_are_no_calls() {
        let block = one("M1 W2 F2 A1 F1");
        assert_eq!((block.first_use, block.release_before_use, block.free), (2, 0, 3));
    }

    #[test]
    fn a_block_begins_with_its_malloc_and_ends_with_its_free() {
        assert_eq!(one("A1 M1 A1").malloc, 0);
        let block = one("M1 F1 A1 A1");
        assert_eq!((block.free, block.last_use), (2, 0));
        assert_eq!(swept("M M A F").len(), 0);
    }
}
