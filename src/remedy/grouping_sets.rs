//! Below GROUPING SETS, ROLLUP and CUBE nothing is claimed about order.
//!
//! DataFusion 55 takes what is known of the input of an aggregate, such as its order or a column with one
//! value, for true of its output. With grouping sets it is not: columns that are not in a set are NULL
//! there. Sorts are then left out, and groups are not merged.

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};

use super::unclaimed::{Kept, UnclaimedExec};

/// Puts an [`UnclaimedExec`] below each aggregate with grouping sets. It has to come before the rules that
/// decide on sorts.
#[derive(Debug, Default)]
pub(super) struct GroupingSets;

impl PhysicalOptimizerRule for GroupingSets {
    fn optimize(&self, plan: Arc<dyn ExecutionPlan>, _: &ConfigOptions) -> Result<Arc<dyn ExecutionPlan>> {
        let hidden = plan.transform_up(|plan| {
            let first = plan.downcast_ref::<AggregateExec>().filter(|aggregate| {
                let merges =
                    matches!(aggregate.mode(), AggregateMode::Final | AggregateMode::FinalPartitioned);
                aggregate.group_expr().has_grouping_set()
                    && !merges
                    && !aggregate.input().is::<UnclaimedExec>()
            });
            let Some(input) = first.map(|aggregate| Arc::clone(aggregate.input())) else {
                return Ok(Transformed::no(plan));
            };
            let input: Arc<dyn ExecutionPlan> = Arc::new(UnclaimedExec::new(input, Kept::Nothing));
            replace_children_if_necessary(plan, vec![input]).map(Transformed::yes)
        })?;
        Ok(hidden.data)
    }

    fn name(&self) -> &str {
        "grouping_sets_claim_nothing"
    }

    fn schema_check(&self) -> bool {
        true
    }
}
