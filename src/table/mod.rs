//! Table functions, arguments and providers: from a call to a scan.

mod arguments;
mod description;
mod external;
mod function;
mod named_arguments;
mod provider;
mod step_pairs;
mod unpushed;

pub use arguments::{Arguments, Options};
pub use description::{Argument, TableFunction, Takes, all_table_functions};
pub use external::ExternalTables;
pub use function::FormatFunction;
pub use named_arguments::NamedArguments;
pub use provider::UnitTable;
pub use step_pairs::{STEP_PAIRS, STEP_PAIRS_PURPOSE, STEP_PAIRS_SIGNATURE, StepPairsFunction};
