//! Output of msMemScope (once msLeaks): events of the memory of Ascend devices.
//!
//! ```text
//! layout ──▶ unit (a process) ──▶ chunks ──▶ record ─┐
//!                             └──▶ database ─────────┴─▶ rows ──▶ events | blocks | calls | steps | launches
//! ```
//!
//! Facts that shape all of it: rows are not in the order of events (a block's rows are written when
//! it is freed), files are quoted by hand, and what has no device stands in every file of its process.

mod api_calls;
mod attributes;
mod block;
mod block_calls;
mod block_collect;
mod block_columns;
mod blocks;
mod check_sum;
mod chunks;
mod columns;
mod compare;
mod config;
mod database;
mod edit_script;
mod event_columns;
mod events;
mod faults;
mod files;
mod in_order;
mod launches;
mod layout;
mod lines;
mod loose_blocks;
mod misfit;
mod number;
mod peek;
mod python_trace;
mod record;
mod rows;
pub mod schema;
mod steps;
#[cfg(test)]
mod tests;
mod watch;

pub use block_calls::MemscopeBlockCalls;
pub use blocks::MemscopeBlocks;
pub use compare::MemscopeCompare;
pub use config::MemscopeConfig;
pub use events::MemscopeEvents;
pub use files::MemscopeFiles;
pub use launches::Level;
pub(crate) use layout::input_name;
pub use python_trace::MemscopePythonTrace;
pub use steps::MemscopeSteps;
pub use watch::MemscopeWatch;
