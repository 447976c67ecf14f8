//! `running_sum`, `running_max`, `running_min`, `next_known`: what a column has come to, row by row.
//!
//! The engine computes `sum(x) OVER (... ROWS UNBOUNDED PRECEDING)` with an accumulator that is
//! handed one row at a time. A sweep over millions of allocations is little else than such windows,
//! so they have functions of their own, which only add and compare numbers.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{Array, ArrayRef, AsArray, PrimitiveArray, PrimitiveBuilder};
use datafusion::arrow::datatypes::{ArrowPrimitiveType, DataType, Field, FieldRef, Float64Type, Int64Type};
use datafusion::common::{Result, ScalarValue, exec_datafusion_err, exec_err, plan_err};
use datafusion::logical_expr::function::{PartitionEvaluatorArgs, WindowUDFFieldArgs};
use datafusion::logical_expr::{
    DocSection, Documentation, PartitionEvaluator, Signature, Volatility, WindowUDFImpl,
};

/// What is told of each row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Told {
    /// The sum of all values up to here.
    Sum,
    /// The largest value up to here.
    Max,
    /// The smallest value up to here.
    Min,
    /// The first value from here on that is not NULL.
    Next,
}

/// A window function over one column of numbers, BIGINT or DOUBLE: `running_sum(x) OVER (PARTITION BY
/// ... ORDER BY ...)`. NULLs are passed over; as long as there was no value, the answer is NULL.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct Running {
    told: Told,
    signature: Signature,
}

impl Running {
    /// The function that tells this.
    pub fn new(told: Told) -> Self {
        Self { told, signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl WindowUDFImpl for Running {
    fn name(&self) -> &str {
        match self.told {
            Told::Sum => "running_sum",
            Told::Max => "running_max",
            Told::Min => "running_min",
            Told::Next => "next_known",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match types {
            [one] if one.is_integer() || one.is_null() => Ok(vec![DataType::Int64]),
            [one] if one.is_floating() => Ok(vec![DataType::Float64]),
            _ => {
                let types = types.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
                plan_err!("{}: expected one number, BIGINT or DOUBLE, got ({types})", self.name())
            }
        }
    }

    fn field(&self, args: WindowUDFFieldArgs) -> Result<FieldRef> {
        let kind = args.input_fields().first().map_or(DataType::Int64, |f| f.data_type().clone());
        Ok(Arc::new(Field::new(args.name(), kind, true)))
    }

    fn partition_evaluator(&self, args: PartitionEvaluatorArgs) -> Result<Box<dyn PartitionEvaluator>> {
        Ok(match args.input_fields().first().map(|f| f.data_type()) {
            Some(DataType::Float64) => Box::new(State::<Float64Type> { told: self.told, value: None }),
            _ => Box::new(State::<Int64Type> { told: self.told, value: None }),
        })
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<[Documentation; 4]> = LazyLock::new(|| {
            [
                ("running_sum(x)", "The sum of x in this row and all rows before it"),
                ("running_max(x)", "The largest x in this row and all rows before it"),
                ("running_min(x)", "The smallest x in this row and all rows before it"),
                ("next_known(x)", "The first x that is not NULL, in this row or a later one"),
            ]
            .map(|(call, what)| {
                let section = DocSection { include: true, label: "Running values", description: None };
                let what = format!(
                    "{what} of its partition, in the order of the window; a frame is not looked at. NULLs are \
                     passed over. Several times faster than the aggregate with the same frame."
                );
                Documentation::builder(section, what, call)
                    .with_argument("x", "A number: BIGINT or DOUBLE.")
                    .build()
            })
        });
        DOCUMENTATION.get(self.told as usize)
    }
}

/// What the rows of a partition have come to.
#[derive(Debug)]
struct State<T: ArrowPrimitiveType> {
    told: Told,
    value: Option<T::Native>,
}

/// Numbers that can be told.
trait Number: Copy + PartialOrd {
    /// The sum, unless it does not fit.
    fn plus(self, other: Self) -> Option<Self>;
}

impl Number for i64 {
    fn plus(self, other: Self) -> Option<Self> {
        self.checked_add(other)
    }
}

impl Number for f64 {
    fn plus(self, other: Self) -> Option<Self> {
        Some(self + other)
    }
}

impl<T: ArrowPrimitiveType<Native: Number>> State<T> {
    /// Takes the next value.
    #[inline]
    fn take(&mut self, next: T::Native) -> Result<()> {
        self.value = Some(match (self.told, self.value) {
            (Told::Sum, Some(sum)) => sum.plus(next).ok_or_else(|| {
                exec_datafusion_err!("running_sum: the sum of integers does not fit into 64 bits")
            })?,
            (Told::Max, Some(most)) if most >= next => most,
            (Told::Min, Some(least)) if least <= next => least,
            _ => next,
        });
        Ok(())
    }
}

fn only(values: &[ArrayRef]) -> Result<&ArrayRef> {
    values.first().ok_or_else(|| exec_datafusion_err!("a running value needs one argument"))
}

impl<T: ArrowPrimitiveType<Native: Number> + std::fmt::Debug> PartitionEvaluator for State<T> {
    fn evaluate_all(&mut self, values: &[ArrayRef], num_rows: usize) -> Result<ArrayRef> {
        let values = only(values)?.as_primitive::<T>();
        if self.told == Told::Next {
            let mut next = None;
            let mut all: Vec<Option<T::Native>> = Vec::with_capacity(num_rows);
            for row in (0..values.len()).rev() {
                if values.is_valid(row) {
                    next = Some(values.value(row));
                }
                all.push(next);
            }
            return Ok(Arc::new(all.into_iter().rev().collect::<PrimitiveArray<T>>()));
        }
        let mut all = PrimitiveBuilder::<T>::with_capacity(num_rows);
        for value in values {
            if let Some(value) = value {
                self.take(value)?;
            }
            all.append_option(self.value);
        }
        Ok(Arc::new(all.finish()))
    }

    fn evaluate(&mut self, values: &[ArrayRef], range: &Range<usize>) -> Result<ScalarValue> {
        let values = only(values)?.as_primitive::<T>();
        if range.start >= values.len() {
            return exec_err!("a running value was asked for row {} of {}", range.start, values.len());
        }
        if values.is_valid(range.start) {
            self.take(values.value(range.start))?;
        }
        ScalarValue::new_primitive::<T>(self.value, &T::DATA_TYPE)
    }

    fn is_causal(&self) -> bool {
        self.told != Told::Next
    }

    fn supports_bounded_execution(&self) -> bool {
        self.told != Told::Next
    }
}
