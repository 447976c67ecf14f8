//! What is done above a scan, because the session does not let the scan do it (see [`Promise`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result};
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::utils::conjunction;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

use crate::scan::{Promise, Promises};

/// A request to a table, parted into what its scan does and what is done above it.
pub(super) struct Request<'a> {
    /// Predicates that the scan decides.
    pub(super) filters: &'a [Expr],
    /// Columns that the scan reads; all of them without it.
    pub(super) projection: Option<Vec<usize>>,
    /// Rows that the scan needs to read.
    pub(super) limit: Option<usize>,
    filters_above: &'a [Expr],
    wanted: Option<&'a Vec<usize>>,
}

impl<'a> Request<'a> {
    pub(super) fn new(
        promises: Promises,
        schema: &SchemaRef,
        wanted: Option<&'a Vec<usize>>,
        filters: &'a [Expr],
        limit: Option<usize>,
    ) -> Self {
        let (filters, filters_above) =
            if promises.keeps(Promise::FilterPushdown) { (filters, &[][..]) } else { (&[][..], filters) };
        let mut projection = wanted.filter(|_| promises.keeps(Promise::ProjectionPushdown)).cloned();
        if let Some(projection) = &mut projection {
            let columns = filters_above.iter().flat_map(Expr::column_refs);
            let needed: BTreeSet<usize> = columns.filter_map(|c| schema.index_of(&c.name).ok()).collect();
            let missing = needed.into_iter().filter(|at| !projection.contains(at)).collect::<Vec<_>>();
            projection.extend(missing);
        }
        let limited = promises.keeps(Promise::LimitPushdown) && filters_above.is_empty();
        Self { filters, projection, limit: limit.filter(|_| limited), filters_above, wanted }
    }

    /// The scan with what is left to do.
    ///
    /// # Errors
    /// When a predicate cannot be planned.
    pub(super) fn above(
        &self,
        session: &dyn Session,
        schema: &SchemaRef,
        scan: Arc<dyn ExecutionPlan>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut plan = scan;
        if let Some(predicate) = conjunction(self.filters_above.iter().cloned()) {
            let read = DFSchema::try_from(plan.schema())?;
            let predicate = session.create_physical_expr(predicate, &read)?;
            plan = Arc::new(FilterExec::try_new(predicate, plan)?);
        }
        let Some(wanted) = self.wanted.filter(|wanted| self.projection.as_ref() != Some(*wanted)) else {
            return Ok(plan);
        };
        let read = plan.schema();
        let column = |at: &usize| -> Result<ProjectionExpr> {
            let name = schema.field(*at).name();
            Ok(ProjectionExpr { expr: Arc::new(Column::new_with_schema(name, &read)?), alias: name.clone() })
        };
        let columns = wanted.iter().map(column).collect::<Result<Vec<_>>>()?;
        Ok(Arc::new(ProjectionExec::try_new(columns, plan)?))
    }
}
