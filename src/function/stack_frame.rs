//! `stack_frame`: one frame of a call stack.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, StringViewArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Int64Type};
use datafusion::common::{Result, exec_err, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::stack_reading::STACKS;
use super::texts::{coerced_text, constant_text, is_text, per_distinct_text};
use crate::stack::FrameChoice;

const NAME: &str = "stack_frame";

/// `stack_frame(call_stack, which)`: the frame with a number, or with one of the names that
/// [`FrameChoice`] knows.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct StackFrame {
    signature: Signature,
}

impl StackFrame {
    /// The function.
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for StackFrame {
    fn default() -> Self {
        Self::new()
    }
}

impl ScalarUDFImpl for StackFrame {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let [stack, which] = types else {
            return plan_err!(
                "{NAME}: expected two arguments, a call stack and a frame, got {}",
                types.len()
            );
        };
        let which = match which {
            number if number.is_integer() => DataType::Int64,
            DataType::Null => DataType::Int64,
            text if is_text(text) => DataType::Utf8View,
            other => return plan_err!("{NAME}: expected a number or a name as the frame, got {other}"),
        };
        Ok(vec![coerced_text(NAME, stack)?, which])
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Utf8View)
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let [stacks, which] = args.args.as_slice() else {
            return internal_err!("{NAME}: expected two arguments, got {}", args.args.len());
        };
        let which = match which {
            ColumnarValue::Scalar(which) => chosen(which)?,
            ColumnarValue::Array(which) => {
                let stacks = cast(&stacks.to_array(args.number_rows)?, &DataType::Utf8View)?;
                return Ok(ColumnarValue::Array(Arc::new(row_by_row(stacks.as_string_view(), which)?)));
            }
        };
        let of = |stack: Option<&str>| Some(which?.of(stack?)?.to_owned());
        match stacks {
            ColumnarValue::Scalar(stack) => {
                Ok(ColumnarValue::Scalar(ScalarValue::Utf8View(of(constant_text(stack)?))))
            }
            ColumnarValue::Array(stacks) => {
                let frames = per_distinct_text(stacks, |texts| {
                    Ok(Arc::new(texts.iter().map(of).collect::<StringViewArray>()))
                })?;
                Ok(ColumnarValue::Array(frames))
            }
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let what = "One frame of a call stack: by number, from 1 for the first and from -1 for the last, or by \
                name: 'top' (the first), 'leaf' (the last), 'user' (see stack_user_frame), 'stack' (all of them); \
                NULL when there is no such frame.";
            Documentation::builder(STACKS, what, "stack_frame(call_stack, which)")
                .with_argument("call_stack", "A call stack, as in memory_events.")
                .with_argument("which", "The number of the frame, or its name.")
                .with_sql_example("SELECT stack_frame(call_stack, 2) FROM memory_events('run');")
                .with_related_udf("stack_user_frame")
                .with_related_udf("stack_last_frame")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}

/// The frame that a constant asks for; `None` for NULL.
fn chosen(which: &ScalarValue) -> Result<Option<FrameChoice>> {
    match which {
        ScalarValue::Int64(number) => number.map(numbered).transpose(),
        text => constant_text(text)?.map(named).transpose(),
    }
}

fn numbered(number: i64) -> Result<FrameChoice> {
    if number == 0 {
        return exec_err!("{NAME}: there is no frame 0, expected 1 for the first or -1 for the last");
    }
    Ok(FrameChoice::Nth(number))
}

fn named(name: &str) -> Result<FrameChoice> {
    name.parse().or_else(|error| exec_err!("{NAME}: {error}"))
}

/// Another frame in every row.
fn row_by_row(stacks: &StringViewArray, which: &dyn Array) -> Result<StringViewArray> {
    let choices: Vec<Option<FrameChoice>> = match which.data_type() {
        DataType::Int64 => which
            .as_primitive::<Int64Type>()
            .iter()
            .map(|n| n.map(numbered).transpose())
            .collect::<Result<_>>()?,
        DataType::Utf8View => {
            which.as_string_view().iter().map(|n| n.map(named).transpose()).collect::<Result<_>>()?
        }
        other => return internal_err!("{NAME}: expected a number or a name, got {other}"),
    };
    Ok(stacks.iter().zip(choices).map(|(stack, choice)| choice?.of(stack?)).collect())
}
