//! Scalar functions: what queries can do with a value of one row.

mod one_of;
mod stack_frame;
mod stack_reading;
mod texts;

use std::sync::Arc;

use datafusion::logical_expr::ScalarUDF;

pub use one_of::OneOf;
pub use stack_frame::StackFrame;
pub use stack_reading::{Reading, StackReading};

/// All scalar functions, in order of their names. Each one carries its documentation.
pub fn all_scalar_functions() -> Vec<Arc<ScalarUDF>> {
    let functions = [
        ScalarUDF::from(OneOf::new()),
        ScalarUDF::from(StackReading::new(Reading::Depth)),
        ScalarUDF::from(StackReading::new(Reading::Folded)),
        ScalarUDF::from(StackFrame::new()),
        ScalarUDF::from(StackReading::new(Reading::LastFrame)),
        ScalarUDF::from(StackReading::new(Reading::UserFrame)),
    ];
    functions.map(Arc::new).to_vec()
}

#[cfg(test)]
mod tests;
