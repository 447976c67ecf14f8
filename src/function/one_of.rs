//! `one_of`: how the SQL files of the library check an argument.

use std::sync::LazyLock;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, DocSection, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::texts::constant_text;

const NAME: &str = "one_of";

/// `one_of(argument, value, choice, ...)`: the value, or an error that lists the choices. All
/// arguments are constants, so the error comes while the query is planned.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct OneOf {
    signature: Signature,
}

impl OneOf {
    /// The function.
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for OneOf {
    fn default() -> Self {
        Self::new()
    }
}

impl ScalarUDFImpl for OneOf {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if types.len() < 3 {
            return plan_err!("{NAME}: expected the name of an argument, its value and the choices");
        }
        Ok(vec![DataType::Utf8View; types.len()])
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let mut texts = Vec::with_capacity(args.args.len());
        for arg in &args.args {
            let ColumnarValue::Scalar(value) = arg else {
                return exec_err!("{NAME}: all arguments must be constants");
            };
            texts.push(constant_text(value)?);
        }
        let [argument, value, choices @ ..] = texts.as_slice() else {
            return internal_err!("{NAME}: too few arguments");
        };
        if value.is_some() && choices.contains(value) {
            return Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(value.map(str::to_owned))));
        }
        let quoted = |text: &Option<&str>| text.map_or_else(|| "NULL".to_owned(), |text| format!("'{text}'"));
        let choices = choices.iter().map(quoted).collect::<Vec<_>>().join(", ");
        exec_err!("{}: expected one of {choices}, got {}", argument.unwrap_or(NAME), quoted(value))
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let section = DocSection { include: true, label: "Arguments", description: None };
            let what = "The value, if it is one of the choices, else an error that lists them: for queries with \
                parameters.";
            Documentation::builder(section, what, "one_of(argument, value, choice, ...)")
                .with_argument("argument", "The name of the argument, for the error.")
                .with_argument("value", "Its value.")
                .with_argument("choice", "What it can be; any number of them.")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}
