//! Named arguments: `f('p', k => v)` becomes `f('p', named_struct('k', v))`.
//!
//! DataFusion's own planner refuses named arguments of table functions. As a struct they are
//! ordinary constants, so a function can also be called with one where this planner is not there.

use datafusion::common::{Result, plan_err};
use datafusion::logical_expr::planner::{RelationPlanner, RelationPlannerContext, RelationPlanning};
use datafusion::sql::sqlparser::ast::{
    Expr, Function, FunctionArg, FunctionArgExpr, FunctionArgumentList, FunctionArguments, Ident, ObjectName,
    TableAlias, TableFactor, Value,
};

/// Plans calls of the functions with these names.
#[derive(Debug)]
pub struct NamedArguments {
    functions: Vec<&'static str>,
}

impl NamedArguments {
    /// Named arguments for these functions.
    pub fn new(functions: Vec<&'static str>) -> Self {
        Self { functions }
    }
}

impl RelationPlanner for NamedArguments {
    fn plan_relation(
        &self,
        mut relation: TableFactor,
        context: &mut dyn RelationPlannerContext,
    ) -> Result<RelationPlanning> {
        let TableFactor::Table { name, args: Some(args), alias, .. } = &mut relation else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        let called = context.object_name_to_table_reference(name.clone())?;
        let called = called.table();
        let Some(function) = self.functions.iter().find(|f| f.eq_ignore_ascii_case(called)) else {
            return Ok(RelationPlanning::Original(Box::new(relation)));
        };
        // The planner looks functions up by their exact name.
        *name = ObjectName::from(vec![Ident::new(*function)]);
        let (mut positional, mut named) = (Vec::new(), Vec::new());
        for arg in std::mem::take(&mut args.args) {
            match arg {
                FunctionArg::Named { name, arg, .. } => {
                    let key = Value::SingleQuotedString(context.normalize_ident(name)).into();
                    named.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(Expr::Value(key))));
                    named.push(FunctionArg::Unnamed(arg));
                }
                arg if named.is_empty() => positional.push(arg),
                arg => {
                    return plan_err!("{function}: {arg} comes after a named argument, expected paths first");
                }
            }
        }
        if !named.is_empty() {
            positional.push(FunctionArg::Unnamed(FunctionArgExpr::Expr(call("named_struct", named))));
        }
        args.args = positional;
        // Without an alias the columns belong to the function's name: memory_events.role.
        if alias.is_none() {
            *alias =
                Some(TableAlias { explicit: false, name: Ident::new(*function), columns: vec![], at: None });
        }
        Ok(RelationPlanning::Original(Box::new(relation)))
    }
}

fn call(name: &str, args: Vec<FunctionArg>) -> Expr {
    Expr::Function(Function {
        name: ObjectName::from(vec![Ident::new(name)]),
        uses_odbc_syntax: false,
        parameters: FunctionArguments::None,
        args: FunctionArguments::List(FunctionArgumentList {
            duplicate_treatment: None,
            args,
            clauses: vec![],
        }),
        filter: None,
        null_treatment: None,
        over: None,
        within_group: vec![],
    })
}
