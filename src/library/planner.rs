//! Calls of library functions, while a query is planned.

use std::cell::RefCell;
use std::sync::Arc;

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{
    PlannedRelation, RelationPlanner, RelationPlannerContext, RelationPlanning,
};
use datafusion::sql::sqlparser::ast::{Ident, TableAlias, TableFactor};

use super::Library;

/// Functions may call functions, but not without end.
const DEEPEST: usize = 32;

/// Plans calls of library functions.
#[derive(Debug)]
pub struct LibraryPlanner {
    library: Arc<Library>,
}

impl LibraryPlanner {
    /// Plans calls of the functions of this library.
    pub fn new(library: Arc<Library>) -> Self {
        Self { library }
    }
}

impl RelationPlanner for LibraryPlanner {
    fn plan_relation(
        &self,
        relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { name, args: Some(args), alias, .. } = &relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let called = context.object_name_to_table_reference(name.clone())?;
        let Some(function) = self.library.get(called.table()) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let subquery = function.bind(args.args.clone(), context)?;
        let alias = alias.clone().unwrap_or_else(|| TableAlias {
            explicit: false,
            name: Ident::new(function.name()),
            columns: vec![],
            at: None,
        });
        let _call = Call::enter(function.name())?;
        let plan =
            context.plan(TableFactor::Derived { lateral: false, subquery, alias: None, sample: None })?;
        Ok(RelationPlanning::Planned(Box::new(PlannedRelation::new(plan, Some(alias)))))
    }
}

thread_local! {
    /// The calls that are being planned, from the outermost to the innermost. Planning stays on a thread.
    static CALLS: RefCell<Vec<String>> = const { RefCell::new(vec![]) };
}

/// A call that is being planned, until it is dropped.
struct Call;

impl Call {
    fn enter(name: &str) -> Result<Self> {
        CALLS.with_borrow_mut(|calls| {
            if calls.iter().any(|outer| outer == name) {
                return plan_err!("{name} calls itself: {} -> {name}", calls.join(" -> "));
            }
            if calls.len() >= DEEPEST {
                return plan_err!(
                    "calls are nested more than {DEEPEST} deep: {} -> {name}",
                    calls.join(" -> ")
                );
            }
            calls.push(name.to_owned());
            Ok(Self)
        })
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        CALLS.with_borrow_mut(|calls| drop(calls.pop()));
    }
}
