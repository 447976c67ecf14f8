//! IN a subquery may be unknown, wherever it stands.
//!
//! `x IN (SELECT y ...)` that finds no equal value is NULL when x is NULL and there are rows, or when one of
//! the values is NULL. DataFusion 55 knows that of a condition that stands alone under WHERE and whose subquery
//! does not look at the row outside. Within another expression (beside OR, under NOT or IS NULL) it takes NULL
//! for false, so that `NOT` of it finds rows. Of a subquery that looks outside it takes a NULL for one of the
//! values, though it be none of that row, or refuses the query; and an aggregate of nothing for no value.
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
    BinaryExpr, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator, Subquery, lit, not,
};
use datafusion::optimizer::AnalyzerRule;

/// Gives conditions with IN what the engine forgets of them.
#[derive(Debug)]
pub(super) struct InAmongNulls;

impl AnalyzerRule for InAmongNulls {
    fn analyze(&self, plan: LogicalPlan, _: &ConfigOptions) -> Result<LogicalPlan> {
        plan.transform_up_with_subqueries(|node| match node {
            LogicalPlan::Filter(mut filter) if asks_in(&filter.predicate)? => {
                let predicate = conditions(filter.predicate, filter.input.schema())?;
                filter.predicate = predicate.data;
                Ok(Transformed::new_transformed(LogicalPlan::Filter(filter), predicate.transformed))
            }
            LogicalPlan::Join(mut join) => {
                let Some(on) = join.filter.take_if(|on| asks_in(on).unwrap_or(true)) else {
                    return Ok(Transformed::no(LogicalPlan::Join(join)));
                };
                let both = Arc::new(join.left.schema().join(join.right.schema())?);
                let on = conditions(on, &both)?;
                join.filter = Some(on.data);
                Ok(Transformed::new_transformed(LogicalPlan::Join(join), on.transformed))
            }
            node => Ok(Transformed::no(node)),
        })
        .map(|mended| mended.data)
    }

    fn name(&self) -> &'static str {
        "in_among_nulls"
    }
}

fn asks_in(expression: &Expr) -> Result<bool> {
    expression.exists(|part| Ok(matches!(part, Expr::InSubquery(_))))
}

/// Conditions of which all must be true, each mended.
fn conditions(all: Expr, outer: &DFSchema) -> Result<Transformed<Expr>> {
    let mut changed = false;
    let mended = split_conjunction_owned(all).into_iter().map(|condition| {
        if stands_alone(&condition) {
            return Ok(condition);
        }
        let exact = exact(condition, outer, true)?;
        changed |= exact.transformed;
        Ok(exact.data)
    });
    let mended = conjunction(mended.collect::<Result<Vec<_>>>()?).unwrap_or_else(|| lit(true));
    Ok(Transformed::new_transformed(mended, changed))
}

/// Whether a condition is one that the engine makes a join of its own, with the right answer.
fn stands_alone(condition: &Expr) -> bool {
    let (within, negated) = match condition {
        Expr::InSubquery(within) => (within, within.negated),
        Expr::Not(condition) => match &**condition {
            Expr::InSubquery(within) => (within, !within.negated),
            _ => return false,
        },
        _ => return false,
    };
    looks_inside_only(&within.subquery) || !negated && !is_one_row(&within.subquery.subquery)
}

/// Whether a subquery has the same rows for every row of the query around.
fn looks_inside_only(subquery: &Subquery) -> bool {
    subquery.outer_ref_columns.is_empty()
}

/// Whether there is one row, whatever there is to aggregate. Made a join, it would be missing where there is
/// nothing.
fn is_one_row(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => is_one_row(&projection.input),
        LogicalPlan::SubqueryAlias(alias) => is_one_row(&alias.input),
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        _ => false,
    }
}

/// Whether it matters which rows there are at all, as the engine does not see in an EXISTS.
fn is_limited(plan: &LogicalPlan) -> Result<bool> {
    plan.exists(|node| Ok(matches!(node, LogicalPlan::Limit(_))))
}

/// Whether a column that the engine brings up from a plan has the name of one in an expression: one that comes
/// out of it, or one that it compares with a row outside.
fn has_a_name_of(plan: &LogicalPlan, expression: &Expr) -> Result<bool> {
    let columns = expression.column_refs();
    let of = |node: &LogicalPlan| columns.iter().any(|column| node.schema().has_column(column));
    let looks_outside = |node: &LogicalPlan| match node {
        LogicalPlan::Filter(filter) => filter.predicate.contains_outer(),
        _ => false,
    };
    Ok(of(plan) || plan.exists(|node| Ok(looks_outside(node) && of(node)))?)
}

/// The expression with every IN in it mended. `only_true`: whether all that is asked of the expression is if
/// it is true; then NULL may stay false.
fn exact(expression: Expr, outer: &DFSchema, only_true: bool) -> Result<Transformed<Expr>> {
    match expression {
        Expr::InSubquery(mut within) => {
            let looked_for = exact(*within.expr, outer, false)?;
            within.expr = Box::new(looked_for.data);
            let mended = if is_one_row(&within.subquery.subquery) {
                Transformed::yes(as_the_one(within))
            } else if only_true && !within.negated {
                Transformed::no(Expr::InSubquery(within))
            } else {
                with_unknown(within, outer)?
            };
            Ok(Transformed::new_transformed(mended.data, mended.transformed || looked_for.transformed))
        }
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

/// A condition on the one value that there is.
fn as_the_one(InSubquery { expr, subquery, negated }: InSubquery) -> Expr {
    let value = Expr::ScalarSubquery(subquery);
    let op = if negated { Operator::NotEq } else { Operator::Eq };
    Expr::BinaryExpr(BinaryExpr::new(expr, op, Box::new(value)))
}

/// A condition with what makes it unknown, if it can be.
fn with_unknown(within: InSubquery, outer: &DFSchema) -> Result<Transformed<Expr>> {
    let InSubquery { expr, subquery, negated } = &within;
    // Of a subquery that is limited, and has other rows for each row outside, the engine makes no join; and where
    // a column inside has the name of one outside, EXISTS would take one for the other.
    if !looks_inside_only(subquery)
        && (is_limited(&subquery.subquery)? || has_a_name_of(&subquery.subquery, expr)?)
    {
        return Ok(Transformed::no(Expr::InSubquery(within)));
    }
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
