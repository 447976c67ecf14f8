//! What is the same in all rows of a table is not the same behind an outer join.
//!
//! Where an outer join finds no partner for a row, the columns of the other side are NULL. DataFusion 55 still
//! takes a column of that side that has one value, because of a filter or because there is one rank, for one with
//! that value everywhere: it leaves it out of ORDER BY, of PARTITION BY and of groups. So such a side comes
//! without what is known of its values.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinType, Result};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::joins::{HashJoinExec, NestedLoopJoinExec, SortMergeJoinExec};
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, replace_children_if_necessary};

use super::unclaimed::{Kept, UnclaimedExec};

/// Puts an [`UnclaimedExec`] on each side of a join that may come to be NULL. It has to come before the rules
/// that decide on sorts.
#[derive(Debug, Default)]
pub(super) struct OuterJoins;

impl PhysicalOptimizerRule for OuterJoins {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            let Some([left, right]) = may_be_null(plan.as_ref()) else { return Ok(Transformed::no(plan)) };
            let mut changed = false;
            let sides = plan.children().into_iter().zip([left, right]).map(|(side, may_be_null)| {
                // The rules run again over plans that they have made.
                if may_be_null && !side.equivalence_properties().constants().is_empty() {
                    changed = true;
                    return Arc::new(UnclaimedExec::new(Arc::clone(side), Kept::Order)) as _;
                }
                Arc::clone(side)
            });
            let sides = sides.collect();
            if changed {
                replace_children_if_necessary(plan, sides).map(Transformed::yes)
            } else {
                Ok(Transformed::no(plan))
            }
        })?;
        Ok(hidden.data)
    }

    fn name(&self) -> &str {
        "outer_joins_claim_no_constants"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

/// Of a join with two sides in its rows, whether the left and the right one may be NULL.
fn may_be_null(plan: &dyn ExecutionPlan) -> Option<[bool; 2]> {
    let kind = if let Some(join) = plan.downcast_ref::<HashJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<NestedLoopJoinExec>() {
        *join.join_type()
    } else if let Some(join) = plan.downcast_ref::<SortMergeJoinExec>() {
        join.join_type()
    } else {
        return None;
    };
    match kind {
        JoinType::Left => Some([false, true]),
        JoinType::Right => Some([true, false]),
        JoinType::Full => Some([true, true]),
        _ => None,
    }
}
