//! Scans below operators that work row by row: their order is that of the scan.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::filter::{FilterExec, FilterExecBuilder};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};

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

/// The same plan with these of its columns, in this order; as far down as predicates and projections
/// go, no other columns are read.
///
/// # Errors
/// As [`in_order`].
pub fn narrowed(plan: &Arc<dyn ExecutionPlan>, kept: &[usize]) -> Result<Arc<dyn ExecutionPlan>> {
    if let Some(scan) = plan.downcast_ref::<UnitScanExec>().filter(|scan| scan.may_be_narrowed()) {
        return Ok(Arc::new(scan.narrowed(kept)?));
    }
    if let Some(projection) = plan.downcast_ref::<ProjectionExec>() {
        let kept: Vec<ProjectionExpr> =
            kept.iter().filter_map(|at| projection.expr().get(*at).cloned()).collect();
        let needed: BTreeSet<usize> =
            kept.iter().flat_map(|e| collect_columns(&e.expr)).map(|c| c.index()).collect();
        let child = narrowed(projection.input(), &needed.iter().copied().collect::<Vec<_>>())?;
        let moved = kept.into_iter().map(|e| Ok(ProjectionExpr { expr: moved(e.expr, &needed)?, ..e }));
        return Ok(Arc::new(ProjectionExec::try_new(moved.collect::<Result<Vec<_>>>()?, child)?));
    }
    if let Some(filter) = plan.downcast_ref::<FilterExec>()
        && plan.fetch().is_none()
    {
        let below = |at: &usize| match filter.projection() {
            Some(projection) => projection.get(*at).copied(),
            None => Some(*at),
        };
        let kept: Vec<usize> = kept.iter().filter_map(below).collect();
        let mut needed: BTreeSet<usize> = kept.iter().copied().collect();
        needed.extend(collect_columns(filter.predicate()).iter().map(Column::index));
        let child = narrowed(filter.input(), &needed.iter().copied().collect::<Vec<_>>())?;
        let places = kept.iter().filter_map(|at| needed.iter().position(|n| n == at)).collect();
        let predicate = moved(Arc::clone(filter.predicate()), &needed)?;
        let builder = FilterExecBuilder::new(predicate, child)
            .with_default_selectivity(filter.default_selectivity())
            .with_batch_size(filter.batch_size());
        return Ok(Arc::new(builder.apply_projection(Some(places))?.build()?));
    }
    let schema = plan.schema();
    let column = |at: &usize| {
        let name = schema.fields().get(*at).map(|f| f.name().clone())?;
        Some(ProjectionExpr { expr: Arc::new(Column::new(&name, *at)), alias: name })
    };
    let columns: Vec<ProjectionExpr> = kept.iter().filter_map(column).collect();
    Ok(Arc::new(ProjectionExec::try_new(columns, Arc::clone(plan))?))
}

/// An expression over all columns as one over those that are kept.
fn moved(expression: Arc<dyn PhysicalExpr>, kept: &BTreeSet<usize>) -> Result<Arc<dyn PhysicalExpr>> {
    let moved = expression.transform_up(|e| {
        let column = e.downcast_ref::<Column>().map(|c| (c.name().to_owned(), c.index()));
        let place = column.and_then(|(name, at)| Some((name, kept.iter().position(|k| *k == at)?)));
        Ok(match place {
            Some((name, place)) => Transformed::yes(Arc::new(Column::new(&name, place)) as _),
            None => Transformed::no(e),
        })
    });
    moved.map(|t| t.data)
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
        let origin =
            |expr: &Arc<dyn PhysicalExpr>| below.columns.get(expr.downcast_ref::<Column>()?.index())?.clone();
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
