//! The one execution plan for all formats: it knows units, but no format.
//!
//! ```text
//! units ──partition──▶ runs of units ──execute──▶ reader(unit) on a blocking thread ──channel──▶ stream
//! ```

mod ahead;
mod collector;
mod conditions;
mod diagnostics;
mod exec;
mod host;
mod keys;
mod partition;
mod progress;
mod promises;
mod prune;
mod rowwise;
mod run;
mod stream;
mod survey;

pub use conditions::row_conditions;
pub use diagnostics::{Diagnostics, diagnostics_schema};
pub use exec::{ScanSpec, UnitScanExec};
pub use host::{MARKERS_LOST, PROBLEMS_LEFT_OUT};
pub use partition::partition_units;
pub use progress::Progress;
pub use promises::{Promise, Promises};
pub use prune::{is_unit_filter, prune_units};
pub use rowwise::{Scanned, in_order, narrowed, scanned};

/// What happens to a problem in the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnError {
    /// The query fails, and says what is wrong in all selected units.
    #[default]
    Strict,
    /// The smallest bad piece is left out and counted.
    Skip,
}

impl OnError {
    /// Both by the name they have in SQL.
    pub const ALL: [(&'static str, OnError); 2] = [("strict", OnError::Strict), ("skip", OnError::Skip)];
}
