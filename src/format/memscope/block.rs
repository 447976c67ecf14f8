//! One block: an allocation with what the file says about its life.

use super::columns::NO_TEXT;

/// Stands for a number that is not there.
pub(super) const NONE: i64 = i64::MIN;

/// A block, as far as its rows were met. Texts are numbers in the set of whoever holds it.
///
/// Flat and without `Option`: files that are sorted by time keep many of them open.
#[derive(Debug, Clone, Copy)]
pub(super) struct BlockRow {
    /// Number of the file of its first row.
    pub(super) file: u32,
    /// Where it was met first, to order what is never completed; of a single event its id.
    pub(super) order: u64,
    pub(super) pid: i64,
    pub(super) allocation: i64,
    pub(super) device: u32,
    pub(super) device_id: i64,
    /// Of the MALLOC, else of the first event.
    pub(super) pool: u32,
    pub(super) ptr: i64,
    pub(super) size: i64,
    pub(super) malloc: Moment,
    pub(super) free: Moment,
    pub(super) tool_free: i64,
    pub(super) tid: i64,
    pub(super) owner: u32,
    pub(super) inefficient: u32,
    pub(super) page_type: u32,
    pub(super) alloc_type: u32,
    pub(super) py_stack: u32,
    pub(super) c_stack: u32,
    pub(super) accesses: u64,
    pub(super) first_access: i64,
    pub(super) last_access: i64,
}

/// A MALLOC or FREE.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    /// Its id, or [`NONE`] when it was not met.
    pub(super) id: i64,
    pub(super) ts: i64,
    pub(super) total: i64,
    pub(super) used: i64,
}

impl Moment {
    /// One that was not met.
    pub(super) const NEVER: Self = Self { id: NONE, ts: NONE, total: NONE, used: NONE };

    /// Whether it was met.
    pub(super) fn met(&self) -> bool {
        self.id != NONE
    }
}

impl BlockRow {
    /// A block of which no row was met yet.
    pub(super) fn new(pid: i64, allocation: i64) -> Self {
        Self {
            file: 0,
            order: 0,
            pid,
            allocation,
            device: NO_TEXT,
            device_id: NONE,
            pool: NO_TEXT,
            ptr: NONE,
            size: NONE,
            malloc: Moment::NEVER,
            free: Moment::NEVER,
            tool_free: NONE,
            tid: NONE,
            owner: NO_TEXT,
            inefficient: NO_TEXT,
            page_type: NO_TEXT,
            alloc_type: NO_TEXT,
            py_stack: NO_TEXT,
            c_stack: NO_TEXT,
            accesses: 0,
            first_access: NONE,
            last_access: NONE,
        }
    }

    /// Whether its allocation and its end are known: the tool writes no more rows of it.
    pub(super) fn is_complete(&self) -> bool {
        self.malloc.met() && (self.free.met() || self.tool_free != NONE)
    }

    /// Who ended it.
    pub(super) fn freed_by(&self) -> &'static str {
        if self.free.met() {
            "program"
        } else if self.tool_free != NONE {
            "tool"
        } else {
            "none"
        }
    }

    /// Adds an access.
    pub(super) fn access(&mut self, ts: i64) {
        self.accesses += 1;
        self.first_access = earliest(self.first_access, ts);
        self.last_access = self.last_access.max(ts);
    }

    /// Adds what later rows of the same block told.
    pub(super) fn merge(&mut self, later: &Self) {
        if later.malloc.met() && (!self.malloc.met() || later.malloc.id < self.malloc.id) {
            self.malloc = later.malloc;
            (self.pool, self.ptr, self.size) = (later.pool, later.ptr, later.size);
            (self.owner, self.inefficient, self.tid) = (later.owner, later.inefficient, later.tid);
            (self.page_type, self.alloc_type) = (later.page_type, later.alloc_type);
            (self.py_stack, self.c_stack) = (later.py_stack, later.c_stack);
        }
        if later.free.met() && (!self.free.met() || later.free.id < self.free.id) {
            self.free = later.free;
        }
        self.tool_free = earliest(self.tool_free, later.tool_free);
        if self.device == NO_TEXT {
            (self.device, self.device_id) = (later.device, later.device_id);
        }
        if self.pool == NO_TEXT {
            self.pool = later.pool;
        }
        if self.ptr == NONE {
            self.ptr = later.ptr;
        }
        if self.size == NONE {
            self.size = later.size;
        }
        self.accesses += later.accesses;
        self.first_access = earliest(self.first_access, later.first_access);
        self.last_access = self.last_access.max(later.last_access);
    }

    /// Renumbers all texts.
    pub(super) fn renumber(&mut self, mut number: impl FnMut(u32) -> u32) {
        for text in [
            &mut self.device,
            &mut self.pool,
            &mut self.owner,
            &mut self.inefficient,
            &mut self.page_type,
            &mut self.alloc_type,
            &mut self.py_stack,
            &mut self.c_stack,
        ] {
            if *text != NO_TEXT {
                *text = number(*text);
            }
        }
    }
}

/// The smaller of two numbers that may not be there.
fn earliest(a: i64, b: i64) -> i64 {
    match (a, b) {
        (NONE, other) | (other, NONE) => other,
        (a, b) => a.min(b),
    }
}
