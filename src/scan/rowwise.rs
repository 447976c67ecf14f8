//! Scans below operators that work row by row: their order is that of the scan.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::projection::ProjectionExec;

use super::exec::UnitScanExec;

/// The same plan with one partition that yields its rows in the order of the units, read by several
/// threads; `None` when there is more between the plan and a scan of ours than predicates and
/// projections.
///
/// # Errors
/// When a plan cannot be put together again, which would be a fault of ours.
pub fn in_order(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    if let Some(scan) = plan.downcast_ref::<UnitScanExec>() {
        return Ok(Some(Arc::new(scan.in_order())));
    }
    if !is_rowwise(plan) {
        return Ok(None);
    }
    let [child] = plan.children()[..] else { return Ok(None) };
    let Some(child) = in_order(child)? else { return Ok(None) };
    datafusion::physical_plan::replace_children_if_necessary(Arc::clone(plan), vec![child]).map(Some)
}

/// A FilterExec with a limit keeps the order too, but which rows it keeps then depends on it.
fn is_rowwise(plan: &Arc<dyn ExecutionPlan>) -> bool {
    plan.is::<ProjectionExec>() || plan.is::<FilterExec>()
}

/// The scan that a plan takes its rows from, one by one.
#[derive(Debug)]
pub struct Scanned<'a> {
    /// The scan.
    pub scan: &'a UnitScanExec,
    /// For each column of the plan the column of the scan that it is, if it is one unchanged.
    pub columns: Vec<Option<String>>,
    /// Names of the columns of the scan that decide which rows are left out.
    pub filtered_by: Vec<String>,
}

/// Finds the scan below predicates and projections; `None` when there is more in between, or a limit.
pub fn scanned(plan: &Arc<dyn ExecutionPlan>) -> Option<Scanned<'_>> {
    if let Some(scan) = plan.downcast_ref::<UnitScanExec>() {
        let columns = scan.schema().fields().iter().map(|f| Some(f.name().clone())).collect();
        return scan.fetch().is_none().then_some(Scanned { scan, columns, filtered_by: vec![] });
    }
    if !is_rowwise(plan) || plan.fetch().is_some() {
        return None;
    }
    let [child] = plan.children()[..] else { return None };
    let below = scanned(child)?;
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let origin = |expr: &Arc<dyn datafusion::physical_expr::PhysicalExpr>| {
            below.columns.get(expr.downcast_ref::<Column>()?.index())?.clone()
        };
        let columns = projection.expr().iter().map(|e| origin(&e.expr)).collect();
        return Some(Scanned { columns, ..below });
    }
    let filter = plan.downcast_ref::<FilterExec>()?;
    let origin = |at: usize| below.columns.get(at).cloned().flatten();
    let predicate = collect_columns(filter.predicate());
    let mut filtered_by = below.filtered_by.clone();
    // A computed column may come from anything.
    filtered_by.extend(predicate.iter().map(|c| origin(c.index()).unwrap_or_else(|| "?".to_owned())));
    let columns = match filter.projection() {
        Some(kept) => kept.iter().map(|at| origin(*at)).collect(),
        None => below.columns,
    };
    Some(Scanned { scan: below.scan, columns, filtered_by })
}
