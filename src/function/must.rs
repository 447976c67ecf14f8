//! `must`: how the SQL files of the library say that the data cannot answer a question.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, BooleanArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, DocSection, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::texts::{coerced_text, constant_text};

const NAME: &str = "must";

/// `must(condition, message)`: true, or an error with the message where the condition is false or
/// NULL.
///
/// Asked once for the whole answer it belongs into a subquery of one row, `WHERE (SELECT
/// must(count(*) > 0, '...') FROM ...)`: that one is answered before the first row is looked at,
/// whether there are rows or not, and no filter from outside reaches it.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Must {
    signature: Signature,
}

impl Must {
    /// The function.
    pub fn new() -> Self {
        // Never computed while the query is planned: to explain it is no error.
        Self { signature: Signature::user_defined(Volatility::Stable) }
    }
}

impl Default for Must {
    fn default() -> Self {
        Self::new()
    }
}

impl ScalarUDFImpl for Must {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [DataType::Boolean | DataType::Null, message] => {
                Ok(vec![DataType::Boolean, coerced_text(NAME, message)?])
            }
            _ => plan_err!("{NAME}: expected a condition and a message"),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [condition, message] = args.args.as_slice() else {
            return internal_err!("{NAME}: expected two arguments");
        };
        let conditions = condition.to_array(args.number_rows)?;
        let holds = conditions.as_boolean();
        let failed = (0..holds.len()).find(|row| holds.is_null(*row) || !holds.value(*row));
        let Some(row) = failed else {
            return Ok(match condition {
                ColumnarValue::Scalar(_) => ColumnarValue::Scalar(ScalarValue::Boolean(Some(true))),
                ColumnarValue::Array(_) => {
                    ColumnarValue::Array(Arc::new(BooleanArray::from(vec![true; holds.len()])))
                }
            });
        };
        let message = match message {
            ColumnarValue::Scalar(message) => message.clone(),
            ColumnarValue::Array(messages) => ScalarValue::try_from_array(messages, row)?,
        };
        exec_err!("{}", constant_text(&message)?.unwrap_or("a condition of the query does not hold"))
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let section = DocSection { include: true, label: "Arguments", description: None };
            let what = "True, or an error with the message where the condition is false or NULL: for queries that \
                cannot be answered from every data.";
            Documentation::builder(section, what, "must(condition, message)")
                .with_argument("condition", "What must hold.")
                .with_argument("message", "What the error says; computed also where the condition holds.")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}
