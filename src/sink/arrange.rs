//! In which order the rows of an export arrive, and with which columns.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::common::Result;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{LexRequirement, PhysicalExpr, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;

use crate::scan::{in_order, narrowed};

/// Rows in a fixed order: that of the files, read by several threads, where the query works row by
/// row; else the order that the query has.
///
/// # Errors
/// When a plan cannot be put together again, which would be a fault of ours.
pub(super) fn in_fixed_order(
    input: Arc<dyn ExecutionPlan>,
    order: Option<LexRequirement>,
) -> Result<(Arc<dyn ExecutionPlan>, Option<LexRequirement>)> {
    match in_order(&input)? {
        Some(plan) => {
            let order = order_of(&plan);
            Ok((plan, order))
        }
        None => Ok((input, order)),
    }
}

/// The order that the rows of a plan have.
pub(super) fn order_of(plan: &Arc<dyn ExecutionPlan>) -> Option<LexRequirement> {
    plan.properties().output_ordering().cloned().map(Into::into)
}

/// Keeps the columns of these names, and those that the order needs.
///
/// # Errors
/// As [`in_fixed_order`].
pub(super) fn keep_columns(
    input: Arc<dyn ExecutionPlan>,
    names: &[&str],
    order: Option<&LexRequirement>,
) -> Result<Arc<dyn ExecutionPlan>> {
    let schema = input.schema();
    let mut kept: BTreeSet<usize> = names.iter().filter_map(|name| schema.index_of(name).ok()).collect();
    for requirement in order.into_iter().flat_map(|o| o.iter()) {
        kept.extend(collect_columns(&requirement.expr).iter().map(Column::index));
    }
    if kept.len() == schema.fields().len() {
        return Ok(input);
    }
    narrowed(&input, &kept.into_iter().collect::<Vec<_>>())
}

/// Ascending by those of these columns that are there; NULLs last.
pub(super) fn ascending(plan: &Arc<dyn ExecutionPlan>, names: &[&str]) -> Option<LexRequirement> {
    let schema = plan.schema();
    let options = SortOptions { descending: false, nulls_first: false };
    let sort = |name: &&str| {
        let expr: Arc<dyn PhysicalExpr> = Arc::new(Column::new(name, schema.index_of(name).ok()?));
        Some(PhysicalSortExpr::new(expr, options).into())
    };
    LexRequirement::new(names.iter().filter_map(sort))
}
