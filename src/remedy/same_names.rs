//! Filters stay where they are in plans with columns of one name.
//!
//! On their way down in a physical plan, DataFusion 55 looks columns up by name. Above a join of two tables
//! with a column of one name a filter comes to mean the same side twice:
//! `SELECT b.x FROM a FULL JOIN b ON … WHERE (a.y IS NULL) <> (b.y IS NULL)` finds nothing. What can be
//! moved without that, by the names of tables, was moved in the logical plan before.

use std::collections::HashSet;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::TreeNode;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;

/// The rule that moves filters down, for plans in which a name is one column.
#[derive(Debug)]
pub(super) struct FiltersByName {
    rule: Arc<dyn PhysicalOptimizerRule + Send + Sync>,
}

impl FiltersByName {
    /// The rules of a session, with those that move filters kept from what they do not understand.
    pub(super) fn guard(
        rules: impl Iterator<Item = Arc<dyn PhysicalOptimizerRule + Send + Sync>>,
    ) -> impl Iterator<Item = Arc<dyn PhysicalOptimizerRule + Send + Sync>> {
        rules.map(
            |rule| {
                if rule.name().starts_with("FilterPushdown") { Arc::new(Self { rule }) } else { rule }
            },
        )
    }
}

impl PhysicalOptimizerRule for FiltersByName {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if plan.exists(|node| Ok(has_a_name_twice(node.as_ref())))? {
            return Ok(plan);
        }
        self.rule.optimize(plan, config)
    }

    fn name(&self) -> &str {
        self.rule.name()
    }

    fn schema_check(&self) -> bool {
        self.rule.schema_check()
    }
}

fn has_a_name_twice(plan: &dyn ExecutionPlan) -> bool {
    let schema = plan.schema();
    let mut names = HashSet::with_capacity(schema.fields().len());
    !schema.fields().iter().all(|field| names.insert(field.name().as_str()))
}
