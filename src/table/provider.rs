//! The table behind every call: from a path and a format to a scan.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::scan::{
    OnError, Promises, ScanSpec, UnitScanExec, is_unit_filter, partition_units, prune_units, row_conditions,
};
use crate::source::{DataError, Format, Layout, expand_roots};

use super::unpushed::Request;

/// A path read as one format. The path is looked at anew for every query.
#[derive(Debug, Clone)]
pub struct UnitTable {
    format: Arc<dyn Format>,
    paths: Vec<String>,
    on_error: OnError,
}

impl UnitTable {
    /// Paths (directories, files or globs) read as this format.
    pub fn new(format: Arc<dyn Format>, paths: Vec<String>, on_error: OnError) -> Self {
        Self { format, paths, on_error }
    }

    /// Lists units, on a thread where blocking is allowed.
    async fn discover(&self) -> Result<Layout> {
        let this = self.clone();
        let walk = move || -> Result<Layout, DataError> {
            let roots = expand_roots(this.format.name(), &this.paths)?;
            this.format.discover(&roots)
        };
        let layout = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                runtime.spawn_blocking(walk).await.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)))?
            }
            // Planning may run outside of a runtime, for example behind a foreign-function interface.
            Err(_) => walk(),
        };
        layout.map_err(|e| DataFusionError::External(Box::new(e)))
    }
}

#[async_trait]
impl TableProvider for UnitTable {
    fn schema(&self) -> SchemaRef {
        self.format.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        let keys = self.format.key_columns();
        let decide = |filter: &&Expr| {
            if is_unit_filter(filter, keys) || row_conditions(filter, self.format.as_ref()).is_some() {
                TableProviderFilterPushDown::Exact
            } else {
                TableProviderFilterPushDown::Unsupported
            }
        };
        Ok(filters.iter().map(decide).collect())
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let promises = Promises::of(session.config().options());
        let request = Request::new(promises, &self.schema(), projection, filters, limit);
        let layout = self.discover().await?;
        let found = layout.units.len();
        let keys = self.format.key_columns();
        let (mut of_units, mut conditions) = (vec![], vec![]);
        for filter in request.filters {
            match row_conditions(filter, self.format.as_ref()).filter(|_| !is_unit_filter(filter, keys)) {
                Some(of_rows) => conditions.extend(of_rows),
                // Also what was simplified to a constant after it was taken over: it holds for all or for none.
                None => of_units.push(filter.clone()),
            }
        }
        let units = prune_units(session, &of_units, keys, layout.units)?;
        let target = session.config().target_partitions();
        let runs = partition_units(units, target);
        let spec = ScanSpec::new(Arc::clone(&self.format), runs, found, layout.findings, target)
            .with_projection(request.projection.as_ref())?
            .with_conditions(conditions)
            .with_limit(request.limit)
            .with_on_error(self.on_error)
            .with_promises(promises);
        request.above(session, &self.schema(), Arc::new(UnitScanExec::new(spec)))
    }
}
