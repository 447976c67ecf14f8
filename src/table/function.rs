//! A table function as DataFusion calls it.

use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::Result;

use super::{Arguments, TableFunction, UnitTable};

/// A described table function, made callable. Planning a call does no I/O: the path is looked at
/// when the query is planned physically.
#[derive(Debug)]
pub struct FormatFunction {
    function: TableFunction,
}

impl FormatFunction {
    /// Makes a described function callable.
    pub fn new(function: TableFunction) -> Self {
        Self { function }
    }
}

impl TableFunctionImpl for FormatFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let arguments = Arguments::read(self.function.name, self.function.paths, args.exprs())?;
        let (format, on_error) = self.function.configure(&arguments.options)?;
        Ok(Arc::new(UnitTable::new(format, arguments.paths, on_error)))
    }
}
