//! A plan of which less is claimed than of its input.

use std::fmt;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, Partitioning, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{CardinalityEffect, ChildrenPropertiesMode};
use datafusion::physical_plan::filter_pushdown::{
    ChildPushdownResult, FilterDescription, FilterPushdownPhase, FilterPushdownPropagation,
};
use datafusion::physical_plan::statistics::{ChildStats, StatisticsArgs};
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, ExecutionPlanProperties, PlanProperties,
    ReplaceChildrenOptions,
};

/// What is still claimed of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kept {
    /// Nothing.
    Nothing,
    /// Its order and how it is partitioned, but not which columns have one value or the same values.
    Order,
}

/// Its input, of which it claims less.
#[derive(Debug)]
pub(super) struct UnclaimedExec {
    input: Arc<dyn ExecutionPlan>,
    kept: Kept,
    properties: Arc<PlanProperties>,
}

impl UnclaimedExec {
    /// The rows of a plan as they are.
    pub(super) fn new(input: Arc<dyn ExecutionPlan>, kept: Kept) -> Self {
        let (equivalences, partitioning) = match kept {
            Kept::Nothing => {
                let partitions = input.output_partitioning().partition_count();
                (EquivalenceProperties::new(input.schema()), Partitioning::UnknownPartitioning(partitions))
            }
            Kept::Order => {
                let orders = input.equivalence_properties().oeq_class().iter().cloned();
                let order = EquivalenceProperties::new_with_orderings(input.schema(), orders);
                (order, input.output_partitioning().clone())
            }
        };
        let properties =
            PlanProperties::new(equivalences, partitioning, input.pipeline_behavior(), input.boundedness())
                .with_scheduling_type(input.properties().scheduling_type)
                .with_evaluation_type(input.properties().evaluation_type);
        Self { input, kept, properties: Arc::new(properties) }
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

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![self.kept == Kept::Order]
    }

    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
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
        Ok(Arc::new(Self::new(input, self.kept)))
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

    fn child_stats_requests(&self, partition: Option<usize>) -> Vec<ChildStats> {
        vec![ChildStats::At(partition)]
    }

    fn statistics_from_inputs(
        &self,
        inputs: &[Arc<Statistics>],
        _: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        match inputs {
            [input] => Ok(Arc::clone(input)),
            _ => internal_err!("UnclaimedExec has one child"),
        }
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }

    fn cardinality_effect(&self) -> CardinalityEffect {
        CardinalityEffect::Equal
    }

    fn gather_filters_for_pushdown(
        &self,
        _: FilterPushdownPhase,
        filters: Vec<Arc<dyn PhysicalExpr>>,
        _: &ConfigOptions,
    ) -> Result<FilterDescription> {
        FilterDescription::from_children(filters, &self.children())
    }

    fn handle_child_pushdown_result(
        &self,
        _: FilterPushdownPhase,
        result: ChildPushdownResult,
        _: &ConfigOptions,
    ) -> Result<FilterPushdownPropagation<Arc<dyn ExecutionPlan>>> {
        Ok(FilterPushdownPropagation::if_all(result))
    }
}
