//! The contract between a diagnostic format and everything that is shared by all of them.
//!
//! A format is two things: how a path falls apart into [`Unit`]s, and how one unit becomes record
//! batches ([`Format`], [`UnitReader`]). What a reader finds wrong or odd on the way is a
//! [`Finding`], and it tells it to its [`Host`]: the one that knows about cancellation, the memory
//! budget and whether a problem fails the query.
//!
//! Nothing here knows DataFusion, so formats can be read, tested and fuzzed without it.

mod condition;
mod database;
mod file;
mod finding;
mod format;
mod roots;
mod unit;

pub use condition::{Condition, Test};
pub use database::{check_database, connect_database, quoted_name};
pub use file::{InputFile, file_name, is_directory, list_directory, look_at, real_path};
pub use finding::{DataError, Degree, Finding, FindingLog, Kind, Place};
pub use format::{Counter, Format, Host, ReadError, ReadRequest, UnitReader};
pub use roots::{Root, expand_roots};
pub use unit::{KeyColumn, KeyType, KeyValue, Layout, Unit, UnitFile};
