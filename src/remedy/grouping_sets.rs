//! Below GROUPING SETS, ROLLUP and CUBE nothing is claimed about order.
//!
//! DataFusion 55 takes what is known of the input of an aggregate, such as its order or a column with one
//! value, for true of its output. With grouping sets it is not: columns that are not in a set are NULL
//! there. Sorts are then left out, and groups are not merged.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Result, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::execution_plan::ChildrenPropertiesMode;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions, replace_children_if_necessary,
};

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
            let input: Arc<dyn ExecutionPlan> = Arc::new(UnclaimedExec::new(input));
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

/// Its input, of which it claims neither order nor constants nor how it is partitioned.
#[derive(Debug)]
struct UnclaimedExec {
    input: Arc<dyn ExecutionPlan>,
    properties: Arc<PlanProperties>,
}

impl UnclaimedExec {
    fn new(input: Arc<dyn ExecutionPlan>) -> Self {
        let partitions = input.output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(input.schema()),
            Partitioning::UnknownPartitioning(partitions),
            input.pipeline_behavior(),
            input.boundedness(),
        )
        .with_scheduling_type(input.properties().scheduling_type)
        .with_evaluation_type(input.properties().evaluation_type);
        Self { input, properties: Arc::new(properties) }
    }
}

impl DisplayAs for UnclaimedExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match kind {
            DisplayFormatType::Default | DisplayFormatType::Verbose => f.write_str("UnclaimedExec"),
            DisplayFormatType::TreeRender => Ok(()),
        }
    }
}

impl ExecutionPlan for UnclaimedExec {
    fn name(&self) -> &str {
        "UnclaimedExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let Ok([input]) = <[_; 1]>::try_from(children) else {
            return internal_err!("UnclaimedExec has one child");
        };
        Ok(Arc::new(Self::new(input)))
    }

    // Deprecated in DataFusion 55, and still a required method of the trait.
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        self.input.execute(partition, context)
    }
}
