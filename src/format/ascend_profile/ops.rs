//! What call-stack matching needs to know of a run: ops and task-queue slices, from a trace or a database.

use crate::text::interner::Interner;

/// The value of [`Op::stack`] for an op that was recorded without a call stack.
pub const NO_STACK: u32 = u32::MAX;

/// One `cpu_op`: a torch operator that ran on a host thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Op {
    /// Start, in nanoseconds.
    pub start_ns: i64,
    /// End, in nanoseconds; never before the start.
    pub end_ns: i64,
    /// Number of the name in [`OpLog::names`].
    pub name: u32,
    /// Number of the call stack in [`OpLog::stacks`], or [`NO_STACK`].
    pub stack: u32,
    /// Number of the thread; equal numbers mean the same process and thread.
    pub thread: u32,
}

/// One slice of the task queue: an `enqueue` on the calling thread or a `dequeue` on the queue's thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueSlice {
    /// Start, in nanoseconds.
    pub start_ns: i64,
    /// End, in nanoseconds; never before the start.
    pub end_ns: i64,
    /// Number of the thread, as in [`Op::thread`].
    pub thread: u32,
    /// Number of the process and the correlation id that join an enqueue with its dequeue. A process
    /// may use an id again.
    pub correlation: u32,
}

/// Ops and task-queue slices of one profile.
#[derive(Debug, Default)]
pub struct OpLog {
    /// Names of ops.
    pub names: Interner,
    /// Call stacks, decoded: innermost frame first, frames joined by `;\r\n`.
    pub stacks: Interner,
    /// The ops, in the order in which they stand in the file.
    pub ops: Vec<Op>,
    /// Enqueue slices, in file order.
    pub enqueues: Vec<QueueSlice>,
    /// Dequeue slices, in file order.
    pub dequeues: Vec<QueueSlice>,
}

/// How much of a run is collected. More costs time and memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Detail {
    /// Only ops that have a call stack: enough for the nearest one.
    Stacks,
    /// All ops with their threads, and the task queue: enough to tell which op an allocation belongs to.
    Owners,
}
