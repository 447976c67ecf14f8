//! What the parameters of a function can be, so that a wrong argument is told before the query is
//! planned: there the error would name an expression of the query, and neither function nor parameter.
//!
//! A parameter takes what its default is: a truth value, an integer, a number, NULL as well when that
//! is the default. A line of the file's header says more:
//!
//! ```sql
//! -- Values: mark text; start_index integer >= 0; kind 'all' or 'early' or 'late'; window number > 0 or 'auto'
//! ```

use datafusion::sql::sqlparser::ast::{Expr, UnaryOperator, Value};

/// The names of paths, whatever the function.
const PATHS: [&str; 5] = ["path", "path_a", "path_b", "base", "target"];

/// What a parameter can be: one of these.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Values(Vec<Kind>);

#[derive(Debug, Clone, PartialEq)]
enum Kind {
    Path,
    Text,
    /// This text.
    Exactly(String),
    Boolean,
    Null,
    Number {
        /// Without a fraction.
        whole: bool,
        /// The least it can be, and whether it can be that.
        least: Option<(f64, bool)>,
    },
}

/// An argument that can be told before the query is planned.
#[derive(Debug)]
enum Given {
    Text(String),
    Number {
        value: f64,
        whole: bool,
    },
    Boolean,
    Null,
    /// A word without quotes. The query around a call may have a column of this name, but no path.
    Name(String),
    /// A list, and whether all of it are texts.
    List(bool),
    /// Something that only planning or running can tell.
    Unknown,
}

impl Values {
    /// What a parameter can be, from the line of the header about it, else from its default.
    ///
    /// # Errors
    /// What cannot be understood.
    pub(super) fn new(name: &str, line: Option<&str>, default: Option<&str>) -> Result<Self, String> {
        if let Some(line) = line {
            return line.split(" or ").map(|one| kind(one.trim())).collect::<Result<Vec<_>, _>>().map(Self);
        }
        if PATHS.contains(&name) {
            return Ok(Self(vec![Kind::Path]));
        }
        let number = |whole| Kind::Number { whole, least: None };
        Ok(Self(match (name, default) {
            ("on_error", _) => ["strict", "skip"].map(|t| Kind::Exactly(t.into())).to_vec(),
            ("match", _) => ["nearest", "inside"].map(|t| Kind::Exactly(t.into())).to_vec(),
            (_, Some("true" | "false")) => vec![Kind::Boolean],
            (_, Some(text)) if text.parse::<i64>().is_ok() => vec![number(true)],
            (_, Some(text)) if text.parse::<f64>().is_ok() => vec![number(false)],
            // Whoever wrote the file did not say.
            _ => vec![],
        }))
    }

    /// A value that a parameter can be, as SQL.
    pub(super) fn sample(&self) -> String {
        match self.0.first() {
            Some(Kind::Path | Kind::Text) => "'.'".to_owned(),
            Some(Kind::Exactly(text)) => format!("'{}'", text.replace('\'', "''")),
            Some(Kind::Boolean) => "true".to_owned(),
            // Where nothing is said, it fits an expression of any type.
            Some(Kind::Null) | None => "NULL".to_owned(),
            Some(Kind::Number { least, .. }) => {
                let least = least.map_or(0.0, |(least, itself)| if itself { least } else { least + 1.0 });
                (least.ceil() as i64).to_string()
            }
        }
    }

    /// The texts that it can be chosen from.
    pub(super) fn texts(&self) -> Vec<String> {
        let exactly = |kind: &Kind| if let Kind::Exactly(text) = kind { Some(text.clone()) } else { None };
        self.0.iter().filter_map(exactly).collect()
    }

    /// Whether an argument can be told to be wrong; what was found and expected, when it is.
    pub(super) fn refuse(&self, argument: &Expr) -> Option<String> {
        let given = given(argument);
        let can_be_a_column = !self.0.contains(&Kind::Path);
        if self.0.is_empty()
            || matches!(given, Given::Unknown)
            || (can_be_a_column && matches!(given, Given::Name(_)))
            || self.0.iter().any(|kind| kind.takes(&given))
        {
            return None;
        }
        let expected: Vec<String> = self.0.iter().map(Kind::described).collect();
        let found = match given {
            Given::Name(name) => name,
            _ => argument.to_string(),
        };
        Some(format!("is {found}, expected {}", expected.join(" or ")))
    }
}

/// Reads one of the things that a parameter can be.
fn kind(text: &str) -> Result<Kind, String> {
    let (word, bound) = match text.split_once(" >") {
        Some((word, bound)) => (word.trim(), Some(bound)),
        None => (text, None),
    };
    let least = match bound {
        None => None,
        Some(bound) => {
            let (digits, itself) = match bound.strip_prefix('=') {
                Some(digits) => (digits, true),
                None => (bound, false),
            };
            let least = digits.trim().parse().map_err(|_| format!("'{digits}' is no number"))?;
            Some((least, itself))
        }
    };
    Ok(match word {
        "integer" => Kind::Number { whole: true, least },
        "number" => Kind::Number { whole: false, least },
        _ if least.is_some() => return Err(format!("'{word}' has no order")),
        "text" => Kind::Text,
        "path" => Kind::Path,
        "boolean" => Kind::Boolean,
        "NULL" => Kind::Null,
        _ => match word.strip_prefix('\'').and_then(|w| w.strip_suffix('\'')) {
            Some(exactly) => Kind::Exactly(exactly.to_owned()),
            None => {
                return Err(format!(
                    "'{word}' is no text, integer, number, boolean, path, NULL or quoted text"
                ));
            }
        },
    })
}

impl Kind {
    fn takes(&self, given: &Given) -> bool {
        match (self, given) {
            (Kind::Path, Given::Text(_) | Given::List(true)) | (Kind::Text, Given::Text(_)) => true,
            (Kind::Exactly(one), Given::Text(text)) => one == text,
            (Kind::Boolean, Given::Boolean) | (Kind::Null, Given::Null) => true,
            (Kind::Number { whole: wanted, least }, Given::Number { value, whole }) => {
                let enough = least.is_none_or(|(least, itself)| *value > least || itself && *value == least);
                enough && (*whole || !wanted)
            }
            _ => false,
        }
    }

    fn described(&self) -> String {
        match self {
            Kind::Path => "a path in single quotes or a list of paths".into(),
            Kind::Text => "text in single quotes".into(),
            Kind::Exactly(text) => format!("'{text}'"),
            Kind::Boolean => "true or false".into(),
            Kind::Null => "NULL".into(),
            Kind::Number { whole, least } => {
                let what = if *whole { "an integer" } else { "a number" };
                match least {
                    None => what.into(),
                    Some((least, true)) => format!("{what} of at least {least}"),
                    Some((least, false)) => format!("{what} above {least}"),
                }
            }
        }
    }
}

fn given(argument: &Expr) -> Given {
    let number = |text: &str, sign: f64| match text.parse::<f64>() {
        Ok(value) => Given::Number {
            value: sign * value,
            // A value of a parameter has its sign in it. What has more than 64 bits is no integer in SQL either.
            whole: text.parse::<i64>().is_ok(),
        },
        Err(_) => Given::Unknown,
    };
    match argument {
        Expr::Nested(inner) => given(inner),
        Expr::Identifier(name) => Given::Name(name.value.clone()),
        Expr::UnaryOp { op: UnaryOperator::Minus, expr } => match given(expr) {
            Given::Number { value, whole } => Given::Number { value: -value, whole },
            // No sign makes a number of a text.
            other => other,
        },
        Expr::Array(list) => {
            let texts = list.elem.iter().map(given).collect::<Vec<_>>();
            if texts.iter().any(|t| matches!(t, Given::Unknown | Given::Name(_))) {
                return Given::Unknown;
            }
            Given::List(texts.iter().all(|t| matches!(t, Given::Text(_))))
        }
        Expr::Value(value) => match &value.value {
            Value::Number(text, _) => number(text, 1.0),
            Value::Boolean(_) => Given::Boolean,
            Value::Null => Given::Null,
            Value::SingleQuotedString(text) => Given::Text(text.clone()),
            _ => Given::Unknown,
        },
        _ => Given::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::sql::sqlparser::dialect::GenericDialect;
    use datafusion::sql::sqlparser::parser::Parser;

    fn refused(values: &Values, argument: &str) -> Option<String> {
        let mut parser = Parser::new(&GenericDialect {}).try_with_sql(argument).unwrap();
        values.refuse(&parser.parse_expr().unwrap())
    }

    #[test]
    fn the_line_of_the_header_counts_and_else_the_default() {
        let of = |line: &str| Values::new("n", Some(line), None).unwrap();
        for (values, good, bad) in [
            (
                of("integer >= 0"),
                vec!["0", "7", "$n", "3 + 4", "(5)", "n"],
                vec!["-1", "1.5", "'1'", "NULL", "true", "[1]"],
            ),
            (of("number > 0"), vec!["0.5", "2", "1e3"], vec!["0", "-0.1", "'x'"]),
            (
                of("number > 0 or 'auto' or 'step'"),
                vec!["'auto'", "'step'", "3"],
                vec!["'Auto'", "0", "NULL"],
            ),
            (of("text or NULL"), vec!["'x'", "NULL"], vec!["5", "false"]),
            (
                Values::new("path", None, None).unwrap(),
                vec!["'a'", "['a', 'b']"],
                vec!["5", "['a', 1]", "NULL", "run", "\"/a\""],
            ),
            (Values::new("n", None, Some("200")).unwrap(), vec!["5", "-5"], vec!["2.5", "'5'", "NULL"]),
            (Values::new("n", None, Some("0.5")).unwrap(), vec!["5", "2.5"], vec!["'5'"]),
            (Values::new("n", None, Some("false")).unwrap(), vec!["true"], vec!["1", "'true'", "NULL"]),
            (Values::new("on_error", None, Some("'strict'")).unwrap(), vec!["'skip'"], vec!["'Skip'", "1"]),
            (Values::new("n", None, None).unwrap(), vec!["5", "'a'", "NULL", "true"], vec![]),
        ] {
            good.iter().for_each(|argument| assert_eq!(refused(&values, argument), None, "{values:?}"));
            assert_eq!(refused(&values, &values.sample()), None, "{values:?}");
            bad.iter()
                .for_each(|argument| assert!(refused(&values, argument).is_some(), "{values:?} {argument}"));
        }
        assert!(refused(&of("integer >= 0"), "18446744073709551616").is_some());
        let said = refused(&of("integer >= 0 or 'all'"), "-1").unwrap();
        assert_eq!(said, "is -1, expected an integer of at least 0 or 'all'");
        let path = Values::new("path", None, None).unwrap();
        assert!(refused(&path, "\"/run\"").unwrap().starts_with("is /run, expected a path in single quotes"));
        for wrong in ["text >= 1", "integer >= x", "word", ""] {
            assert!(Values::new("n", Some(wrong), None).is_err(), "{wrong}");
        }
    }
}
