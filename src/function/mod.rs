//! Functions of queries: scalar ones, of the values of one row, aggregates and window functions.

mod must;
mod one_of;
mod running;
mod stack_frame;
mod stack_reading;
mod sweep;
mod texts;

use std::sync::Arc;

use datafusion::logical_expr::{AggregateUDF, ScalarUDF, WindowUDF};

pub use must::Must;
pub use one_of::OneOf;
pub use running::{Running, Told};
pub use stack_frame::StackFrame;
pub use stack_reading::{Reading, StackReading};
pub use sweep::{LiveLevels, LivePeak};

/// All scalar functions, in order of their names. Each one carries its documentation.
pub fn all_scalar_functions() -> Vec<Arc<ScalarUDF>> {
    let functions = [
        ScalarUDF::from(Must::new()),
        ScalarUDF::from(OneOf::new()),
        ScalarUDF::from(StackReading::new(Reading::Depth)),
        ScalarUDF::from(StackReading::new(Reading::Folded)),
        ScalarUDF::from(StackFrame::new()),
        ScalarUDF::from(StackReading::new(Reading::LastFrame)),
        ScalarUDF::from(StackReading::new(Reading::UserFrame)),
    ];
    functions.map(Arc::new).to_vec()
}

/// All aggregate functions, in order of their names.
pub fn all_aggregate_functions() -> Vec<Arc<AggregateUDF>> {
    [AggregateUDF::from(LiveLevels::new()), AggregateUDF::from(LivePeak::new())].map(Arc::new).to_vec()
}

/// All window functions, in order of their names.
pub fn all_window_functions() -> Vec<Arc<WindowUDF>> {
    let functions = [Told::Next, Told::Max, Told::Min, Told::Sum];
    functions.map(|told| Arc::new(WindowUDF::from(Running::new(told)))).to_vec()
}

#[cfg(test)]
mod tests;
