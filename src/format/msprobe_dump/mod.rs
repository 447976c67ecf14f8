//! Tensor statistics that msprobe dumps: `step<N>/rank<R>/dump.json` with `construct.json` beside it.
//!
//! ```text
//! directories ──▶ layout ──▶ units, and series: the plan for global steps
//! construct_json ──▶ micro_step ──┐    (constructs: once for files that are alike)
//! feed ──▶ dump_json ──▶ entry ───┴──▶ entries (mapping, target) ──▶ rows ──▶ batches
//! ```
//!
//! The rules are those of `msprobe data2db` of mindstudio-probe 26.2.0, the reference: what it makes
//! of a dump are exactly the rows whose `reference_skip` is NULL.

mod audit;
mod below;
mod construct_json;
mod constructs;
mod directories;
mod dump_json;
mod dump_trend;
mod entries;
mod entry;
mod feed;
pub mod layout;
mod mapping;
mod micro_step;
mod pattern;
mod quiet;
mod reader;
mod repeated;
mod rows;
pub mod schema;
mod section;
mod series;
mod statistic;
pub mod target;
mod tensor;
#[cfg(test)]
mod tests;

pub use audit::STORED_LIMIT;
pub(crate) use directories::input_name;
pub use dump_trend::{DumpTrend, Extent, Scope, TrendOptions};
pub use target::Metric;
