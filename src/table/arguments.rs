//! Arguments of table functions.

use datafusion::arrow::array::{Array, AsArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::Expr;

/// The arguments of one call: paths, then options by name.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Arguments {
    /// Paths and globs, in the order given.
    pub paths: Vec<String>,
    /// Options, in the order given.
    pub options: Options,
}

/// Options by name; values as text.
pub type Options = Vec<(String, String)>;

impl Arguments {
    /// Reads the arguments of a call of `function`: texts or lists of texts are paths; the fields of
    /// a struct are options (named arguments arrive like that). The positional arguments can be given by
    /// their `names`, too: `path => '...'`.
    ///
    /// # Errors
    /// A plan error that names the function and the argument when it is NULL, no constant, or of
    /// another type, or when there is no path.
    pub fn read(function: &str, names: &[&str], expressions: &[Expr]) -> Result<Self> {
        let mut arguments = Self::default();
        let mut by_name: Vec<(usize, Vec<String>)> = Vec::new();
        for (at, expression) in expressions.iter().enumerate() {
            let at = at + 1;
            let Expr::Literal(value, _) = expression else {
                return plan_err!(
                    "{function}: argument {at} is {expression}, expected a constant: a path in single quotes, \
                     a list of paths, or name => value"
                );
            };
            if let ScalarValue::Struct(fields) = value {
                for (field, column) in fields.fields().iter().zip(fields.columns()) {
                    let value = ScalarValue::try_from_array(column, 0)?;
                    match names.iter().position(|name| name == field.name()) {
                        Some(place) => by_name.push((place, path_of(function, field.name(), &value)?)),
                        None => arguments.named(function, field.name(), &value)?,
                    }
                }
                continue;
            }
            let paths = texts(value);
            match paths {
                Some(paths) if !arguments.options.is_empty() => {
                    return plan_err!(
                        "{function}: path '{}' comes after a named argument, expected it first",
                        paths.join(", ")
                    );
                }
                Some(paths) => arguments.paths.extend(paths),
                None => {
                    return plan_err!(
                        "{function}: argument {at} is {value} of type {}, expected a path in single quotes or a list of paths",
                        value.data_type()
                    );
                }
            }
        }
        by_name.sort_by_key(|(place, _)| *place);
        arguments.paths.extend(by_name.into_iter().flat_map(|(_, paths)| paths));
        if arguments.paths.is_empty() {
            let names = names.join("', '");
            return plan_err!(
                "{function}: no path given, expected {function}('{names}' [, name => value ...])"
            );
        }
        Ok(arguments)
    }

    fn named(&mut self, function: &str, name: &str, value: &ScalarValue) -> Result<()> {
        if value.is_null() {
            return plan_err!("{function}: {name} is NULL, expected a value");
        }
        if self.options.iter().any(|(known, _)| known == name) {
            return plan_err!("{function}: {name} is given twice");
        }
        self.options.push((name.to_owned(), value.to_string()));
        Ok(())
    }
}

fn path_of(function: &str, name: &str, value: &ScalarValue) -> Result<Vec<String>> {
    match texts(value) {
        Some(paths) => Ok(paths),
        None => {
            plan_err!("{function}: {name} is {value}, expected a path in single quotes or a list of paths")
        }
    }
}

/// A text or a list of texts; `None` for anything else, NULL included.
pub(super) fn texts(value: &ScalarValue) -> Option<Vec<String>> {
    match value {
        ScalarValue::Utf8(Some(s)) | ScalarValue::Utf8View(Some(s)) | ScalarValue::LargeUtf8(Some(s)) => {
            Some(vec![s.clone()])
        }
        ScalarValue::List(list) if list.len() == 1 && !list.is_null(0) => {
            let values = list.value(0);
            if values.null_count() > 0
                || !matches!(values.data_type(), DataType::Utf8 | DataType::Utf8View | DataType::LargeUtf8)
            {
                return None;
            }
            let values = datafusion::arrow::compute::cast(&values, &DataType::Utf8).ok()?;
            Some(values.as_string_opt::<i32>()?.iter().flatten().map(str::to_owned).collect())
        }
        _ => None,
    }
}
