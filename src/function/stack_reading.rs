//! Functions of a call stack alone: `stack_depth`, `stack_folded`, `stack_last_frame`,
//! `stack_user_frame`.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::{
    ColumnarValue, DocSection, Documentation, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::texts::{coerced_text, constant_text, per_distinct_text};
use crate::stack;

/// Section of the documentation that functions of call stacks belong to.
pub(super) const STACKS: DocSection = DocSection {
    include: true,
    label: "Call stacks",
    description: Some(
        "A call stack is one text: its frames as lines, innermost first, joined by `;\\r\\n` or by line feeds.",
    ),
};

/// What is read off a call stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// The number of frames.
    Depth,
    /// One line for flame-graph tools.
    Folded,
    /// The last frame.
    LastFrame,
    /// The first frame of the user's own code.
    UserFrame,
}

impl Reading {
    fn name(self) -> &'static str {
        match self {
            Reading::Depth => "stack_depth",
            Reading::Folded => "stack_folded",
            Reading::LastFrame => "stack_last_frame",
            Reading::UserFrame => "stack_user_frame",
        }
    }

    fn documentation(self) -> &'static Documentation {
        static DEPTH: LazyLock<Documentation> = LazyLock::new(|| {
            document(Reading::Depth, "The number of frames of a call stack; 0 for the empty text.", "7")
        });
        static FOLDED: LazyLock<Documentation> = LazyLock::new(|| {
            let what = "The call stack on one line for flame-graph tools: outermost frame first, frames joined by \
                `;` (a `;` inside a frame becomes a comma).";
            document(Reading::Folded, what, "main_ppo.py(64): <module>;torch/optim/adamw.py(412): step")
        });
        static LAST: LazyLock<Documentation> = LazyLock::new(|| {
            let what = "The last frame of a call stack, the outermost one in a profile of torch; NULL without frames.";
            document(Reading::LastFrame, what, "main_ppo.py(64): <module>")
        });
        static USER: LazyLock<Documentation> = LazyLock::new(|| {
            let what = "The first frame of a call stack that is the user's own code: outside of site-packages, of \
                Python itself, and of frameworks such as torch, torch_npu, transformers, vllm and ray (RL programs \
                such as verl count as the user's code); NULL when there is none.";
            document(Reading::UserFrame, what, "verl/workers/actor/dp_actor.py(402): update_policy")
        });
        match self {
            Reading::Depth => &DEPTH,
            Reading::Folded => &FOLDED,
            Reading::LastFrame => &LAST,
            Reading::UserFrame => &USER,
        }
    }

    /// The answer for each of these texts.
    fn read(self, stacks: &StringViewArray) -> ArrayRef {
        match self {
            Reading::Depth => {
                let depths = stacks.iter().map(|stack| stack.map(|s| stack::depth(s) as i64));
                Arc::new(depths.collect::<Int64Array>())
            }
            Reading::Folded => {
                Arc::new(stacks.iter().map(|stack| stack.map(stack::folded)).collect::<StringViewArray>())
            }
            Reading::LastFrame => {
                let frames = stacks.iter().map(|stack| stack.and_then(|s| stack::nth(s, -1)));
                Arc::new(frames.collect::<StringViewArray>())
            }
            Reading::UserFrame => {
                let frames = stacks.iter().map(|stack| stack.and_then(stack::user_frame));
                Arc::new(frames.collect::<StringViewArray>())
            }
        }
    }
}

fn document(reading: Reading, what: &str, answer: &str) -> Documentation {
    let name = reading.name();
    Documentation::builder(STACKS, what, format!("{name}(call_stack)"))
        .with_argument("call_stack", "A call stack, as in memory_events.")
        .with_sql_example(format!("SELECT {name}(call_stack) FROM memory_events('run');  -- {answer}"))
        .build()
}

/// A function of a call stack alone.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct StackReading {
    reading: Reading,
    signature: Signature,
}

impl StackReading {
    /// The function that reads this.
    pub fn new(reading: Reading) -> Self {
        Self { reading, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl ScalarUDFImpl for StackReading {
    fn name(&self) -> &str {
        self.reading.name()
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [stack] => Ok(vec![coerced_text(self.name(), stack)?]),
            _ => plan_err!("{}: expected one argument, a call stack, got {}", self.name(), types.len()),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(match self.reading {
            Reading::Depth => DataType::Int64,
            Reading::Folded | Reading::LastFrame | Reading::UserFrame => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.as_slice() {
            [ColumnarValue::Array(stacks)] => {
                Ok(ColumnarValue::Array(per_distinct_text(stacks, |texts| Ok(self.reading.read(texts)))?))
            }
            [ColumnarValue::Scalar(stack)] => {
                let answer = self.reading.read(&StringViewArray::from_iter([constant_text(stack)?]));
                Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&answer, 0)?))
            }
            other => internal_err!("{}: expected one argument, got {}", self.name(), other.len()),
        }
    }

    fn documentation(&self) -> Option<&Documentation> {
        Some(self.reading.documentation())
    }
}
