//! Ascend PyTorch profiler trees: `*_ascend_pt` and `*_ascend_ms` directories.
//!
//! ```text
//! layout ──▶ unit ──▶ trace_view | profiler_db ──▶ ops ──▶ matching ─┐
//!                └──▶ operator_memory | profiler_db ──▶ allocations ─┴─▶ columns ──▶ batches
//! ```

pub mod allocations;
pub mod columns;
mod csv_files;
pub mod layout;
pub mod matching;
mod memory_events;
mod memory_record;
mod memory_records;
mod operator_memory;
pub mod ops;
pub mod profiler_db;
mod reader;
pub mod records;
pub mod schema;
mod table_csv;
pub mod trace_view;

pub(crate) use layout::input_name;
pub use matching::MatchRule;
pub use memory_events::MemoryEvents;
pub use memory_records::MemoryRecords;
