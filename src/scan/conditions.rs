//! From predicates to conditions that a reader decides itself.

use datafusion::common::{Column, ScalarValue};
use datafusion::logical_expr::expr::InList;
use datafusion::logical_expr::{Between, BinaryExpr, Expr, Operator};

use crate::source::{Condition, Format, Test};

/// The conditions that together say exactly what a predicate says, when the format's reader can decide
/// them; `None` when it cannot, or when the predicate is none of the simple kind.
///
/// Simple are comparisons of one column with literals, lists of values, IS NULL, and AND of these; OR
/// where it spells a list, as the optimizer likes to do with short ones.
pub fn row_conditions(filter: &Expr, format: &dyn Format) -> Option<Vec<Condition>> {
    let known = format.condition_columns();
    if known.is_empty() {
        return None;
    }
    let schema = format.schema();
    let columns = |column: &Column| schema.index_of(&column.name).ok().filter(|at| known.contains(at));
    translate(filter, &columns)
}

type Columns<'a> = dyn Fn(&Column) -> Option<usize> + 'a;

fn translate(filter: &Expr, columns: &Columns<'_>) -> Option<Vec<Condition>> {
    let one = |column: &Expr, test: Option<Test>| {
        let Expr::Column(column) = column else { return None };
        Some(vec![Condition { column: columns(column)?, test: test? }])
    };
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut conditions = translate(left, columns)?;
            conditions.extend(translate(right, columns)?);
            Some(conditions)
        }
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::Or, right }) => {
            either(translate(left, columns)?, translate(right, columns)?)
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => match (left.as_ref(), right.as_ref()) {
            (column, Expr::Literal(value, _)) => one(column, comparison(*op, value)),
            (Expr::Literal(value, _), column) => one(column, comparison(op.swap()?, value)),
            _ => None,
        },
        Expr::InList(InList { expr, list, negated }) => {
            let tests = list.iter().map(|value| match value {
                Expr::Literal(value, _) => comparison(Operator::Eq, value),
                _ => None,
            });
            let all = tests.collect::<Option<Vec<Test>>>()?.into_iter().reduce_tests()?;
            one(expr, Some(if *negated { inverted(all)? } else { all }))
        }
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let (Expr::Literal(low, _), Expr::Literal(high, _)) = (low.as_ref(), high.as_ref()) else {
                return None;
            };
            one(expr, Some(Test::Between(number(low)?, number(high)?)))
        }
        Expr::IsNull(column) => one(column, Some(Test::Null)),
        Expr::IsNotNull(column) => one(column, Some(Test::NotNull)),
        _ => None,
    }
}

/// Two lists of values for the same column are one.
fn either(left: Vec<Condition>, right: Vec<Condition>) -> Option<Vec<Condition>> {
    let [left] = <[Condition; 1]>::try_from(left).ok()?;
    let [right] = <[Condition; 1]>::try_from(right).ok()?;
    if left.column != right.column {
        return None;
    }
    let test = [left.test, right.test].into_iter().reduce_tests()?;
    Some(vec![Condition { column: left.column, test }])
}

/// Lists of values into one.
trait ReduceTests: Iterator<Item = Test> + Sized {
    fn reduce_tests(mut self) -> Option<Test> {
        let first = self.next()?;
        self.try_fold(first, |all, next| match (all, next) {
            (Test::Number { listed: true, mut values }, Test::Number { listed: true, values: more }) => {
                values.extend(more);
                Some(Test::Number { listed: true, values })
            }
            (Test::Text { listed: true, mut values }, Test::Text { listed: true, values: more }) => {
                values.extend(more);
                Some(Test::Text { listed: true, values })
            }
            _ => None,
        })
    }
}

impl<I: Iterator<Item = Test>> ReduceTests for I {}

fn inverted(test: Test) -> Option<Test> {
    match test {
        Test::Number { listed, values } => Some(Test::Number { listed: !listed, values }),
        Test::Text { listed, values } => Some(Test::Text { listed: !listed, values }),
        _ => None,
    }
}

/// `column op value`. No value of a column compares with NULL.
fn comparison(op: Operator, value: &ScalarValue) -> Option<Test> {
    let Some(n) = number(value) else { return text_comparison(op, value) };
    // No number is beyond the last one.
    const NEVER: Test = Test::Between(1, 0);
    Some(match op {
        Operator::Eq => Test::Number { listed: true, values: vec![n] },
        Operator::NotEq => Test::Number { listed: false, values: vec![n] },
        Operator::GtEq => Test::Between(n, i64::MAX),
        Operator::LtEq => Test::Between(i64::MIN, n),
        Operator::Gt => n.checked_add(1).map_or(NEVER, |n| Test::Between(n, i64::MAX)),
        Operator::Lt => n.checked_sub(1).map_or(NEVER, |n| Test::Between(i64::MIN, n)),
        _ => return None,
    })
}

fn text_comparison(op: Operator, value: &ScalarValue) -> Option<Test> {
    let text = value.try_as_str().flatten()?;
    // It stands for bytes that are not UTF-8, which a reader has not replaced yet.
    if text.contains(char::REPLACEMENT_CHARACTER) {
        return None;
    }
    let listed = match op {
        Operator::Eq => true,
        Operator::NotEq => false,
        _ => return None,
    };
    Some(Test::Text { listed, values: vec![text.to_owned()] })
}

fn number(value: &ScalarValue) -> Option<i64> {
    match value {
        ScalarValue::Int64(n) => *n,
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::prelude::{col, lit};

    fn translated(filter: &Expr) -> Option<Vec<Condition>> {
        translate(filter, &|column| match column.name.as_str() {
            "id" => Some(0),
            "event" => Some(1),
            _ => None,
        })
    }

    fn described(filter: &Expr) -> Option<String> {
        let names = ["id", "event"];
        let of = |c: &Condition| c.describe(names[c.column]).to_string();
        Some(translated(filter)?.iter().map(of).collect::<Vec<_>>().join(" and "))
    }

    #[test]
    fn simple_predicates_are_translated() {
        for (filter, want) in [
            (col("id").eq(lit(5i64)), "id = 5"),
            (lit(5i64).lt(col("id")), "id >= 6"),
            (col("id").lt(lit(5i64)), "id <= 4"),
            (col("id").gt(lit(i64::MAX)), "id BETWEEN 1 AND 0"),
            (col("id").between(lit(1i64), lit(9i64)), "id BETWEEN 1 AND 9"),
            (col("id").not_eq(lit(5i64)), "id != 5"),
            (col("event").in_list(vec![lit("a"), lit("b")], false), "event IN (a, b)"),
            (col("event").in_list(vec![lit("a"), lit("b")], true), "event NOT IN (a, b)"),
            (col("event").eq(lit("a")).or(col("event").eq(lit("b"))), "event IN (a, b)"),
            (col("event").is_null().and(col("id").is_not_null()), "event IS NULL and id IS NOT NULL"),
        ] {
            assert_eq!(described(&filter).as_deref(), Some(want), "{filter}");
        }
    }

    #[test]
    fn everything_else_is_left_to_the_engine() {
        for filter in [
            col("event").gt(lit("a")),
            col("event").like(lit("a%")),
            col("other").eq(lit(1i64)),
            col("id").eq(col("event")),
            col("id").eq(lit(1.5)),
            col("id").eq(lit(ScalarValue::Int64(None))),
            col("event").eq(lit("\u{fffd}")),
            col("event").eq(lit("a")).or(col("id").eq(lit(1i64))),
            col("id").lt(lit(1i64)).or(col("id").gt(lit(5i64))),
            col("event").not_eq(lit("a")).or(col("event").not_eq(lit("b"))),
            col("event").in_list(vec![lit("a"), lit(ScalarValue::Utf8(None))], true),
            (col("id") + lit(1i64)).eq(lit(1i64)),
        ] {
            assert_eq!(described(&filter), None, "{filter}");
        }
    }
}
