//! Faults of DataFusion 55 that make answers wrong or end the process, and what keeps a session from them.
//!
//! Each is a rule of its own that comes before the rules with the fault, or stands around a function, so that
//! they can be taken away one by one when the engine is mended.

mod grouping_sets;
mod growing_functions;
mod in_among_nulls;
mod keys;
mod outer_joins;
mod same_names;
mod unclaimed;

use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::FunctionRegistry;
use datafusion::execution::session_state::SessionStateBuilder;
use datafusion::optimizer::AnalyzerRule;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::prelude::SessionContext;

use grouping_sets::GroupingSets;
use in_among_nulls::InAmongNulls;
pub use keys::changes_nothing;
use keys::{PlanWithoutNodes, RelationsWithoutKeys, WithoutMistakenKeys};
use outer_joins::OuterJoins;
use same_names::FiltersByName;

/// Adds all of them to a session, once.
///
/// # Errors
/// When the session takes no planner of relations, or no functions.
pub fn apply(context: &SessionContext) -> Result<()> {
    let first: [Arc<dyn PhysicalOptimizerRule + Send + Sync>; 2] =
        [Arc::new(GroupingSets), Arc::new(OuterJoins)];
    let state = context.state();
    if state.physical_optimizers().iter().any(|known| known.name() == first[0].name()) {
        return Ok(());
    }
    let rules = FiltersByName::guard(state.physical_optimizers().iter().cloned());
    let rules = first.into_iter().chain(rules).collect();
    let analyzers: [Arc<dyn AnalyzerRule + Send + Sync>; 2] =
        [Arc::new(InAmongNulls), Arc::new(WithoutMistakenKeys)];
    let analyzers = state.analyzer().rules.iter().cloned().chain(analyzers).collect();
    let planner = Arc::new(PlanWithoutNodes::new(Arc::clone(state.query_planner())));
    let id = state.session_id().to_owned();
    let builder = SessionStateBuilder::new_from_existing(state)
        .with_session_id(id)
        .with_physical_optimizer_rules(rules)
        .with_analyzer_rules(analyzers)
        .with_query_planner(planner);
    let mut state = builder.build();
    let functions: Vec<_> = state
        .scalar_functions()
        .values()
        .filter_map(|function| growing_functions::bounded(function))
        .collect();
    for function in functions {
        state.register_udf(Arc::new(function))?;
    }
    *context.state_ref().write() = state;
    context.register_relation_planner(Arc::new(RelationsWithoutKeys))
}
