//! The trend database: what TensorBoard's Trend Analyzer opens.
//!
//! Six tables as `msprobe data2db` 26.2.0 writes them. [`TrendRows`] takes record batches of any
//! query with the needed columns and finds where files and entries end; [`TrendDatabase`] numbers
//! targets in the order of the rows, stores them, and adds tags and totals at the end. Both take rows
//! in one fixed order from one thread, so the file depends on the rows alone.
//!
//! ```text
//! rows ──▶ database ──▶ targets                       numbers and names, stored at the end
//!              │   └───▶ values ──▶ runs ──▶ pages    long stretches of rows in order
//!              │            └─────▶ statements        everything else
//!              └───────▶ tags                         at the end
//! ```

mod database;
mod export;
mod rows;
mod runs;
mod schema;
mod tags;
mod targets;
mod values;

pub use database::{Summary, TrendDatabase, TrendRow};
pub use export::TrendExport;
pub use rows::TrendRows;
