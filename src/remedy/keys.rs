//! Nothing is known about keys below UNNEST, nor between a join and the groups above it.
//!
//! An aggregate has one row for each value of what it is grouped by, so its other columns follow from
//! those. DataFusion 55 takes that for true above an UNNEST too, which makes several rows of one: groups
//! by such a column and by more come apart or together, DISTINCT is left out, and sorts lose columns.
//! Groups by the key of one side of a join, and by a column of the other side, are taken for groups by the key
//! alone, with the same consequences.
//!
//! Grouping uses that knowledge while a query is planned, so relations lose it before that; the rest is
//! used later, so plans lose it as a whole. What hides it is a node that takes it from its input. It exists
//! until the physical plan is made.

use std::any::Any;
use std::cell::Cell;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::DataType;
use datafusion::catalog::Session;
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::common::{DFSchemaRef, FunctionalDependencies, Result, internal_err};
use datafusion::execution::context::QueryPlanner;
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::logical_expr::{Distinct, Expr, Extension, LogicalPlan, UserDefinedLogicalNodeCore};
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::sql::sqlparser::ast::TableFactor;

/// Its input, of whose keys it knows nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct WithoutKeys {
    input: LogicalPlan,
    schema: DFSchemaRef,
}

impl WithoutKeys {
    fn new(input: LogicalPlan) -> Result<Self> {
        let schema = input.schema().as_ref().clone();
        let schema = Arc::new(schema.with_functional_dependencies(FunctionalDependencies::empty())?);
        Ok(Self { input, schema })
    }

    fn node(input: LogicalPlan) -> Result<LogicalPlan> {
        Ok(LogicalPlan::Extension(Extension { node: Arc::new(Self::new(input)?) }))
    }

    fn of(plan: &LogicalPlan) -> Option<&Self> {
        let LogicalPlan::Extension(Extension { node }) = plan else { return None };
        let node: &dyn Any = node.as_any();
        node.downcast_ref()
    }
}

// The schema follows from the input.
impl PartialOrd for WithoutKeys {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        self.input.partial_cmp(&other.input).filter(|order| *order != Ordering::Equal || self == other)
    }
}

impl UserDefinedLogicalNodeCore for WithoutKeys {
    fn name(&self) -> &str {
        "WithoutKeys"
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        vec![]
    }

    fn prevent_predicate_push_down_columns(&self) -> HashSet<String> {
        HashSet::new()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WithoutKeys")
    }

    fn with_exprs_and_inputs(&self, _: Vec<Expr>, inputs: Vec<LogicalPlan>) -> Result<Self> {
        let Ok([input]) = <[_; 1]>::try_from(inputs) else {
            return internal_err!("WithoutKeys has one input");
        };
        Self::new(input)
    }

    fn necessary_children_exprs(&self, output: &[usize]) -> Option<Vec<Vec<usize>>> {
        Some(vec![output.to_vec()])
    }

    fn supports_limit_pushdown(&self) -> bool {
        true
    }
}

/// Whether this is a node of ours that gives its input as it is.
pub fn changes_nothing(plan: &LogicalPlan) -> bool {
    WithoutKeys::of(plan).is_some()
}

fn has_keys(plan: &LogicalPlan) -> bool {
    !plan.schema().functional_dependencies().is_empty()
}

/// Whether what this node makes of the keys of its input is wrong.
fn mistakes_keys(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Unnest(unnest) => has_keys(&unnest.input),
        LogicalPlan::Aggregate(aggregate) => has_keys(&aggregate.input) && joins(&aggregate.input),
        LogicalPlan::Distinct(distinct) => has_keys(distinct.input()) && joins(distinct.input()),
        _ => false,
    }
}

/// Whether the rows are those of a join.
fn joins(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Join(_) => true,
        LogicalPlan::Filter(_)
        | LogicalPlan::Projection(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::Sort(_)
        | LogicalPlan::Limit(_)
        | LogicalPlan::Window(_) => plan.inputs().into_iter().any(joins),
        _ => false,
    }
}

/// The plan without keys where they are mistaken.
fn hide(plan: LogicalPlan) -> Result<Transformed<LogicalPlan>> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= mistakes_keys(node);
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    if !found {
        return Ok(Transformed::no(plan));
    }
    plan.transform_up_with_subqueries(|node| {
        let without = |input: Arc<LogicalPlan>| WithoutKeys::node(Arc::unwrap_or_clone(input)).map(Arc::new);
        let mistaken = mistakes_keys(&node);
        let node = match node {
            LogicalPlan::Unnest(mut unnest) if mistaken => {
                unnest.input = without(unnest.input)?;
                LogicalPlan::Unnest(unnest)
            }
            LogicalPlan::Aggregate(mut aggregate) if mistaken => {
                aggregate.input = without(aggregate.input)?;
                LogicalPlan::Aggregate(aggregate)
            }
            LogicalPlan::Distinct(Distinct::All(input)) if mistaken => {
                LogicalPlan::Distinct(Distinct::All(without(input)?))
            }
            LogicalPlan::Distinct(Distinct::On(mut on)) if mistaken => {
                on.input = without(on.input)?;
                LogicalPlan::Distinct(Distinct::On(on))
            }
            node => node,
        };
        // What nodes above took over from it goes too.
        Ok(Transformed::yes(node.recompute_schema()?))
    })
}

/// Hides the keys of plans, as the last of the rules that analyze them.
#[derive(Debug)]
pub(super) struct WithoutMistakenKeys;

impl AnalyzerRule for WithoutMistakenKeys {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        Ok(hide(plan)?.data)
    }

    fn name(&self) -> &str {
        "without_mistaken_keys"
    }
}

/// Hides the keys of relations in FROM: of those made by UNNEST, and of those with lists, which the query
/// around may unnest beside grouping.
#[derive(Debug)]
pub(super) struct RelationsWithoutKeys;

thread_local! {
    /// Whether the relation that is planned next is the one that this planner has handed on.
    static HANDED_ON: Cell<bool> = const { Cell::new(false) };
}

impl RelationPlanner for RelationsWithoutKeys {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        if HANDED_ON.replace(false) {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        }
        HANDED_ON.set(true);
        let plan = context.plan(relation);
        HANDED_ON.set(false);
        let mut plan = hide(plan?)?.data;
        let lists = plan.schema().fields().iter().any(|field| is_list(field.data_type()));
        if lists && has_keys(&plan) {
            plan = WithoutKeys::node(plan)?;
        }
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, None))))
    }
}

fn is_list(kind: &DataType) -> bool {
    matches!(
        kind,
        DataType::List(_)
            | DataType::LargeList(_)
            | DataType::FixedSizeList(..)
            | DataType::ListView(_)
            | DataType::LargeListView(_)
    )
}

/// Takes the nodes out again and leaves the rest to the planner of the session.
#[derive(Debug)]
pub(super) struct PlanWithoutNodes {
    session: Arc<dyn QueryPlanner + Send + Sync>,
}

impl PlanWithoutNodes {
    /// In front of the planner of a session.
    pub(super) fn new(session: Arc<dyn QueryPlanner + Send + Sync>) -> Self {
        Self { session }
    }
}

#[async_trait]
impl QueryPlanner for PlanWithoutNodes {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let without = plan.clone().transform_down_with_subqueries(|mut node| {
            let mut taken = false;
            while let Some(WithoutKeys { input, .. }) = WithoutKeys::of(&node) {
                node = input.clone();
                taken = true;
            }
            Ok(if taken { Transformed::yes(node) } else { Transformed::no(node) })
        })?;
        self.session.create_physical_plan(&without.data, session).await
    }
}
