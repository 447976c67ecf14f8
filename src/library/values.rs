//! What the parameters of a library function take, so that a wrong argument is named where it is given
//! and not somewhere inside of the query.
//!
//! The default says it for most: a number takes numbers, `true` takes flags. A parameter that a table
//! function has, too, takes what it takes there, if the default is one of these values. For the others the
//! header of the file has a line:
//!
//! ```sql
//! -- Values: window => 'auto' | 'step' | number > 0
//! ```

use datafusion::common::{Result, plan_err};
use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};

use crate::table::{Takes, all_table_functions};

/// The values that a parameter takes.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Values {
    /// Whatever the query makes of it.
    Any,
    /// `true` or `false`.
    Flag,
    /// One of these texts, or a number.
    Some(Vec<String>, Option<Numbers>),
}

/// Numbers within a bound.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers {
    /// Whether only integers are meant.
    whole: bool,
    /// The bound below, and whether it is among them.
    least: Option<(f64, bool)>,
}

impl Numbers {
    const ALL: Self = Numbers { whole: false, least: None };
    const WHOLE: Self = Numbers { whole: true, least: None };

    fn contain(self, number: f64) -> bool {
        let above = |(least, itself): (f64, bool)| number > least || itself && number >= least;
        number.is_finite() && self.least.is_none_or(above) && (!self.whole || number.fract() == 0.0)
    }
}

impl std::fmt::Display for Numbers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.whole { "an integer" } else { "a number" })?;
        match self.least {
            None => Ok(()),
            Some((least, true)) => write!(f, ", {least} or more"),
            Some((least, false)) => write!(f, " above {least}"),
        }
    }
}

impl Values {
    /// The values of a parameter, told from its name and default.
    pub(super) fn of(name: &str, default: Option<&Expr>) -> Self {
        if let Some(Literal::Text(default)) = default.and_then(Literal::of) {
            let mut arguments = all_table_functions().iter().flat_map(|f| f.arguments);
            let texts = arguments.find_map(|a| match a.takes {
                Takes::OneOf(texts) if a.name == name && texts.contains(&default.as_str()) => Some(texts),
                _ => None,
            });
            return texts.map_or(Values::Any, |texts| {
                Values::Some(texts.iter().map(|text| (*text).to_owned()).collect(), None)
            });
        }
        match default {
            Some(Expr::Value(value)) => match &value.value {
                Value::Number(..) => Values::Some(vec![], Some(Numbers::ALL)),
                Value::Boolean(_) => Values::Flag,
                _ => Values::Any,
            },
            None if name.ends_with("_ns") => Values::Some(vec![], Some(Numbers::WHOLE)),
            _ => Values::Any,
        }
    }

    /// Reads what stands behind the name in a line of the header.
    ///
    /// # Errors
    /// When it does not have the form of the example above.
    pub(super) fn parse(text: &str) -> Result<Self> {
        let (mut texts, mut numbers) = (Vec::new(), None);
        for value in text.split('|').map(str::trim) {
            if let Some(inner) = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\'')) {
                texts.push(inner.to_owned());
                continue;
            }
            let (mut own, bound) = match (value.strip_prefix("number"), value.strip_prefix("integer")) {
                (Some(bound), _) => (Numbers::ALL, bound.trim()),
                (_, Some(bound)) => (Numbers::WHOLE, bound.trim()),
                _ => return plan_err!("'{value}' is no value, expected a text, number or integer"),
            };
            let least = match (bound.strip_prefix(">="), bound.strip_prefix('>')) {
                (Some(least), _) => Some((least, true)),
                (_, Some(least)) => Some((least, false)),
                _ => None,
            };
            if let Some((least, itself)) = least {
                let Ok(least) = least.trim().parse() else {
                    return plan_err!("'{bound}' is no bound of numbers");
                };
                own.least = Some((least, itself));
            }
            numbers = Some(own);
        }
        Ok(Values::Some(texts, numbers))
    }

    /// The texts that can be chosen from.
    pub(super) fn texts(&self) -> &[String] {
        match self {
            Values::Some(texts, _) => texts,
            _ => &[],
        }
    }

    /// The argument as the query takes it: a number in quotes is a number. What is no literal is not
    /// looked at: a subquery, for example, is as good as what it gives.
    ///
    /// # Errors
    /// A plan error that names function and argument and says what is possible.
    pub(super) fn check(&self, function: &str, name: &str, argument: Expr) -> Result<Expr> {
        let Some(given) = Literal::of(&argument) else { return Ok(argument) };
        let fits = match (self, &given) {
            (Values::Any, _) | (Values::Flag, Literal::Flag) => true,
            (Values::Flag, Literal::Text(text)) => matches!(text.as_str(), "true" | "false"),
            (Values::Some(_, Some(numbers)), Literal::Number(number)) => numbers.contain(*number),
            (Values::Some(texts, numbers), Literal::Text(text)) => {
                if let (Some(numbers), Ok(number)) = (numbers, text.trim().parse::<f64>())
                    && numbers.contain(number)
                {
                    return Ok(Expr::Value(Value::Number(text.trim().to_owned(), false).into()));
                }
                texts.contains(text)
            }
            _ => false,
        };
        if fits {
            return Ok(argument);
        }
        plan_err!("{function}: {name} is {argument}, expected {self}")
    }
}

impl std::fmt::Display for Values {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (texts, numbers) = match self {
            Values::Any => return f.write_str("a value"),
            Values::Flag => return f.write_str("true or false"),
            Values::Some(texts, numbers) => (texts, numbers),
        };
        let mut all: Vec<String> = texts.iter().map(|text| format!("'{text}'")).collect();
        all.extend(numbers.map(|numbers| numbers.to_string()));
        match all.as_slice() {
            [front @ .., last] if !front.is_empty() => write!(f, "{} or {last}", front.join(", ")),
            all => f.write_str(&all.concat()),
        }
    }
}

/// A constant as it is written.
enum Literal {
    Text(String),
    Number(f64),
    Flag,
    Null,
}

impl Literal {
    fn of(expression: &Expr) -> Option<Self> {
        match expression {
            Expr::Nested(inner) => Self::of(inner),
            Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match Self::of(expr)? {
                Literal::Number(number) => Some(Literal::Number(-number)),
                _ => None,
            },
            Expr::Value(value) => match &value.value {
                Value::SingleQuotedString(text) => Some(Literal::Text(text.clone())),
                Value::Number(digits, _) => digits.to_string().parse().ok().map(Literal::Number),
                Value::Boolean(_) => Some(Literal::Flag),
                Value::Null => Some(Literal::Null),
                _ => None,
            },
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    use super::*;

    fn expression(sql: &str) -> Expr {
        Parser::new(&GenericDialect {}).try_with_sql(sql).unwrap().parse_expr().unwrap()
    }

    #[test]
    fn values_are_read_and_said() {
        let window = Values::parse("'auto' | 'step' | number > 0").unwrap();
        assert_eq!(window.to_string(), "'auto', 'step' or a number above 0");
        assert_eq!(window.texts(), ["auto", "step"]);
        assert_eq!(Values::parse("integer >= 1").unwrap().to_string(), "an integer, 1 or more");
        assert!(Values::parse("auto").is_err() && Values::parse("number > x").is_err());
    }

    #[test]
    fn wrong_arguments_are_refused_and_numbers_in_quotes_are_numbers() {
        let window = Values::parse("'auto' | number > 0").unwrap();
        let check = |sql: &str| window.check("f", "window", expression(sql)).map(|e| e.to_string());
        for (given, taken) in
            [("'auto'", "'auto'"), ("2.5", "2.5"), ("'7'", "7"), ("(SELECT 1)", "(SELECT 1)")]
        {
            assert_eq!(check(given).unwrap(), taken);
        }
        for wrong in ["'epoch'", "0", "-1", "'-1'", "true", "NULL", "''"] {
            let text = check(wrong).unwrap_err().to_string();
            let expected = format!("f: window is {wrong}, expected 'auto' or a number above 0");
            assert!(text.contains(&expected), "{text}");
        }
    }
}
