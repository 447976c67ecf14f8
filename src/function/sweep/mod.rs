//! `live_peak` and `live_levels`: what is live over time, as aggregates.
//!
//! A window over all starts and releases would sort two rows per allocation, with everything that the
//! query wants to know of them later. These keep a few numbers per allocation, sort those, and sweep once.

mod allocations;
mod levels;
mod peak;
mod rows;

use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{Result, plan_err};

pub use levels::LiveLevels;
pub use peak::LivePeak;

/// The arguments that both begin with.
const ALLOCATION: [DataType; 4] = [DataType::Utf8View, DataType::Int64, DataType::Int64, DataType::Int64];

/// Refuses arguments that cannot become those that a function takes.
fn check_types(given: &[DataType], taken: &[DataType], call: &str) -> Result<()> {
    let fits = |(given, taken): (&DataType, &DataType)| {
        given.is_null()
            || match taken {
                DataType::Int64 => given.is_integer(),
                DataType::Float64 => given.is_numeric(),
                _ => given.is_string() || matches!(given, DataType::Dictionary(_, of) if of.is_string()),
            }
    };
    if given.len() == taken.len() && given.iter().zip(taken).all(fits) {
        return Ok(());
    }
    let given = given.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    plan_err!("expected {call}, got ({given})")
}

/// A field of a list with entries of this kind.
fn list(name: &str, entry: DataType) -> FieldRef {
    Arc::new(Field::new_list(name, Field::new_list_field(entry, true), true))
}
