//! `CREATE EXTERNAL TABLE t STORED AS MEMORY_EVENTS LOCATION 'run/' OPTIONS (match 'inside')`.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::catalog::{Session, TableProvider, TableProviderFactory};
use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::CreateExternalTable;

use super::{Options, TableFunction, UnitTable};

/// Makes external tables of one described table function; `STORED AS` takes its name.
#[derive(Debug)]
pub struct ExternalTables {
    function: TableFunction,
}

impl ExternalTables {
    /// External tables of this function.
    pub fn new(function: TableFunction) -> Self {
        Self { function }
    }
}

#[async_trait]
impl TableProviderFactory for ExternalTables {
    async fn create(&self, _: &dyn Session, command: &CreateExternalTable) -> Result<Arc<dyn TableProvider>> {
        let name = self.function.name;
        if !command.schema.fields().is_empty() {
            return plan_err!(
                "{name}: columns are given, but the table has columns of its own; leave the list out"
            );
        }
        if !command.table_partition_cols.is_empty() || !command.order_exprs.is_empty() {
            return plan_err!("{name}: PARTITIONED BY and WITH ORDER do not apply; leave them out");
        }
        // Option names without a dot arrive with the prefix that file formats use.
        let plain = |key: &str| key.strip_prefix("format.").unwrap_or(key).to_owned();
        let mut options: Options = command.options.iter().map(|(k, v)| (plain(k), v.clone())).collect();
        options.sort();
        let (format, on_error) = self.function.configure(&options)?;
        let path = |location: &String| location.strip_prefix("file://").unwrap_or(location).to_owned();
        Ok(Arc::new(UnitTable::new(format, command.locations.iter().map(path).collect(), on_error)))
    }
}
