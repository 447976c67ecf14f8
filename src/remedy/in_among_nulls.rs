//! IN a subquery may be unknown, wherever it stands.
//!
//! `x IN (SELECT y ...)` that finds no equal value is NULL when x is NULL and there are rows, or when one of
//! the values is NULL. DataFusion 55 knows that of a condition that stands alone under WHERE and whose subquery
//! does not look at the row outside. Within another expression (beside OR, under NOT or IS NULL) it takes NULL
//! for false, so that `NOT` of it finds rows. Of a subquery that looks outside it takes a NULL for one of the
//! values, though it be none of that row, or refuses the query.
//!
//! Such a condition is given what makes it unknown, in subqueries of their own: `x IN (s) OR (NULL AND (...))`.
//! Where false and NULL are the same to the filter nothing is changed.

use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{Exists, InSubquery};
use datafusion::logical_expr::utils::{conjunction, split_conjunction_owned};
use datafusion::logical_expr::{
    BinaryExpr, Expr, ExprSchemable, Filter, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not,
};
use datafusion::optimizer::AnalyzerRule;

/// Gives conditions with IN what the engine forgets of them.
#[derive(Debug)]
pub(super) struct InAmongNulls;

impl AnalyzerRule for InAmongNulls {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(filter) => mended(filter),
            node => Ok(Transformed::no(node)),
        })
        .map(|mended| mended.data)
    }

    fn name(&self) -> &'static str {
        "in_among_nulls"
    }
}

fn mended(Filter { predicate, input, .. }: Filter) -> Result<Transformed<LogicalPlan>> {
    let mut changed = false;
    let conditions = split_conjunction_owned(predicate).into_iter().map(|condition| {
        if stands_alone(&condition) {
            return Ok(condition);
        }
        let exact = exact(condition, input.schema(), true)?;
        changed |= exact.transformed;
        Ok(exact.data)
    });
    let conditions = conditions.collect::<Result<Vec<_>>>()?;
    let predicate = conjunction(conditions).unwrap_or_else(|| lit(true));
    let filter = LogicalPlan::Filter(Filter::try_new(predicate, input)?);
    Ok(Transformed::new_transformed(filter, changed))
}

/// Whether a condition is one that the engine makes a join of its own, with the right answer.
fn stands_alone(condition: &Expr) -> bool {
    match condition {
        Expr::InSubquery(within) => !within.negated || looks_inside_only(&within.subquery),
        Expr::Not(condition) => match &**condition {
            Expr::InSubquery(within) => within.negated || looks_inside_only(&within.subquery),
            _ => false,
        },
        _ => false,
    }
}

/// Whether a subquery has the same rows for every row of the query around.
fn looks_inside_only(subquery: &Subquery) -> bool {
    subquery.outer_ref_columns.is_empty()
}

/// The expression with every IN in it mended. `only_true`: whether all that is asked of the expression is if
/// it is true; then NULL may stay false.
fn exact(expression: Expr, outer: &DFSchema, only_true: bool) -> Result<Transformed<Expr>> {
    match expression {
        Expr::InSubquery(within) if only_true && !within.negated => {
            Ok(Transformed::no(Expr::InSubquery(within)))
        }
        Expr::InSubquery(within) => with_unknown(within, outer),
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let only_true = only_true && matches!(op, Operator::And | Operator::Or);
            let (left, right) = (exact(*left, outer, only_true)?, exact(*right, outer, only_true)?);
            let changed = left.transformed || right.transformed;
            let both = BinaryExpr::new(Box::new(left.data), op, Box::new(right.data));
            Ok(Transformed::new_transformed(Expr::BinaryExpr(both), changed))
        }
        other => other.map_children(|child| exact(child, outer, false)),
    }
}

/// A condition with what makes it unknown, if it can be.
fn with_unknown(within: InSubquery, outer: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, subquery, negated } = &within;
    let rows = || LogicalPlanBuilder::from(subquery.subquery.as_ref().clone());
    let (qualifier, field) = subquery.subquery.schema().qualified_field(0);
    let value = Expr::Column(Column::from((qualifier, field)));
    let mut unknown = Vec::new();
    if field.is_nullable() {
        unknown.push(there_are(rows().filter(value.clone().is_null())?, subquery)?);
    }
    // What cannot be told of a column of an outer query counts as nullable.
    if expr.nullable(outer).unwrap_or(true) {
        unknown.push(expr.as_ref().clone().is_null().and(there_are(rows(), subquery)?));
    }
    let unknown = unknown.into_iter().reduce(Expr::or);
    let found = if looks_inside_only(subquery) {
        if unknown.is_none() {
            return Ok(Transformed::no(Expr::InSubquery(within)));
        }
        Expr::InSubquery(InSubquery { negated: false, ..within.clone() })
    } else {
        there_are(rows().filter(seen_from_inside(expr.as_ref().clone(), outer)?.eq(value))?, subquery)?
    };
    let null = Expr::Literal(ScalarValue::Boolean(None), None);
    let condition = match unknown {
        Some(unknown) => found.or(null.and(unknown)),
        None => found,
    };
    Ok(Transformed::yes(if *negated { not(condition) } else { condition }))
}

/// EXISTS of rows of a subquery. One that has the same rows for every row outside needs one of them only, and a
/// limit keeps what is joined small.
fn there_are(rows: LogicalPlanBuilder, subquery: &Subquery) -> Result<Expr> {
    let rows = if looks_inside_only(subquery) { rows.limit(0, Some(1))? } else { rows };
    let rows = rows.build()?;
    let outer_ref_columns = rows.all_out_ref_exprs();
    let subquery = Subquery { subquery: Arc::new(rows), outer_ref_columns, ..subquery.clone() };
    Ok(Expr::Exists(Exists::new(subquery, false)))
}

/// An expression of a row, as it is written in a subquery.
fn seen_from_inside(expression: Expr, outer: &DFSchema) -> Result<Expr> {
    let seen = expression.transform_up(|expression| match expression {
        Expr::Column(column) => {
            let field = Arc::clone(outer.field_from_column(&column)?);
            Ok(Transformed::yes(Expr::OuterReferenceColumn(field, column)))
        }
        expression => Ok(Transformed::no(expression)),
    });
    seen.map(|seen| seen.data)
}
