//! Functions that make much of little are kept within bounds.
//!
//! `repeat('x', 2000000000)` and `range(0, 10000000000)` ask for no memory of the pool: DataFusion 55 allocates
//! what it is told to, and the process ends when there is no more. Here such a call is an error before it begins.

use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef, Int64Array};
use datafusion::arrow::compute::{cast, kernels::length::length};
use datafusion::arrow::datatypes::{DataType, FieldRef, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use datafusion::common::cast::{as_int64_array, as_interval_mdn_array};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{Result, ScalarValue, exec_err};
use datafusion::logical_expr::interval_arithmetic::Interval;
use datafusion::logical_expr::preimage::PreimageResult;
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::sort_properties::{ExprProperties, SortProperties};
use datafusion::logical_expr::{
    ColumnarValue, Documentation, Expr, ExpressionPlacement, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF,
    ScalarUDFImpl, Signature, StructFieldMapping,
};

/// What a call may make of one batch of rows, in bytes. Texts of two gigabytes have no place in a batch anyway.
const MOST: u128 = 1 << 30;

/// How a function grows what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Growth {
    /// As long as the first, so often as the second says.
    Repeat,
    /// As long as the second says, in characters.
    Pad,
    /// The third in place of each second in the first.
    Replace,
    /// The third in place of whatever is found in the first.
    ReplaceFound,
    /// The second, so often as the first has elements.
    Join,
    /// From one to another, in steps.
    Range,
    /// So many elements as the second says.
    Resize,
}

/// The functions that grow.
const GROWING: [(&str, Growth); 10] = [
    ("repeat", Growth::Repeat),
    ("lpad", Growth::Pad),
    ("rpad", Growth::Pad),
    ("replace", Growth::Replace),
    ("regexp_replace", Growth::ReplaceFound),
    ("array_to_string", Growth::Join),
    ("array_repeat", Growth::Repeat),
    ("array_resize", Growth::Resize),
    ("range", Growth::Range),
    ("generate_series", Growth::Range),
];

/// A function of the engine, within bounds; itself when it is none of those that grow.
pub(super) fn bounded(function: &ScalarUDF) -> Option<ScalarUDF> {
    let (_, growth) = GROWING.iter().find(|(name, _)| *name == function.name())?;
    let known = function.inner().downcast_ref::<Bounded>().is_some();
    (!known).then(|| ScalarUDF::new_from_impl(Bounded { inner: function.clone(), growth: *growth }))
}

/// A function that is not called when it would make too much.
#[derive(Debug, PartialEq, Eq, Hash)]
struct Bounded {
    inner: ScalarUDF,
    growth: Growth,
}

impl ScalarUDFImpl for Bounded {
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let bytes = most_bytes(self.growth, &args)?;
        if bytes > MOST {
            return exec_err!(
                "{}() would make {} MB of {}, and at most {} MB are allowed; ask for less at a time",
                self.name(),
                bytes >> 20,
                if args.number_rows == 1 {
                    "one row".to_owned()
                } else {
                    format!("{} rows", args.number_rows)
                },
                MOST >> 20
            );
        }
        self.inner.invoke_with_args(args)
    }

    fn name(&self) -> &str {
        self.inner.name()
    }

    fn aliases(&self) -> &[String] {
        self.inner.aliases()
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        self.inner.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        self.inner.signature()
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        self.inner.return_type(arg_types)
    }

    fn with_updated_config(&self, config: &ConfigOptions) -> Option<ScalarUDF> {
        let inner = self.inner.inner().with_updated_config(config)?;
        Some(ScalarUDF::new_from_impl(Self { inner, growth: self.growth }))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        self.inner.return_field_from_args(args)
    }

    fn is_strict(&self) -> bool {
        self.inner.is_strict()
    }

    fn simplify(&self, args: Vec<Expr>, info: &SimplifyContext) -> Result<ExprSimplifyResult> {
        self.inner.simplify(args, info)
    }

    fn preimage(&self, args: &[Expr], literal: &Expr, info: &SimplifyContext) -> Result<PreimageResult> {
        self.inner.preimage(args, literal, info)
    }

    fn short_circuits(&self) -> bool {
        self.inner.short_circuits()
    }

    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        self.inner.conditional_arguments(args)
    }

    fn evaluate_bounds(&self, inputs: &[&Interval]) -> Result<Interval> {
        self.inner.evaluate_bounds(inputs)
    }

    fn propagate_constraints(
        &self,
        interval: &Interval,
        inputs: &[&Interval],
    ) -> Result<Option<Vec<Interval>>> {
        self.inner.propagate_constraints(interval, inputs)
    }

    fn output_ordering(&self, inputs: &[ExprProperties]) -> Result<SortProperties> {
        self.inner.output_ordering(inputs)
    }

    fn preserves_lex_ordering(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.inner().preserves_lex_ordering(inputs)
    }

    fn strictly_order_preserving(&self, inputs: &[ExprProperties]) -> Result<bool> {
        self.inner.inner().strictly_order_preserving(inputs)
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        self.inner.coerce_types(arg_types)
    }

    fn struct_field_mapping(&self, literals: &[Option<ScalarValue>]) -> Option<StructFieldMapping> {
        self.inner.struct_field_mapping(literals)
    }

    fn documentation(&self) -> Option<&Documentation> {
        self.inner.documentation()
    }

    fn placement(&self, args: &[ExpressionPlacement]) -> ExpressionPlacement {
        self.inner.placement(args)
    }
}

/// No fewer bytes than a call makes of a batch; as good as none when it will be refused anyway.
fn most_bytes(growth: Growth, args: &ScalarFunctionArgs) -> Result<u128> {
    let arg = |at: usize| args.args.get(at);
    let Some(first) = arg(0) else { return Ok(0) };
    let rows = if args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_))) {
        1
    } else {
        args.number_rows
    };
    let total = |bytes: &dyn Fn(usize) -> u128| (0..rows).map(bytes).fold(0, u128::saturating_add);
    Ok(match (growth, arg(1), arg(2)) {
        (Growth::Repeat, Some(times), _) => {
            let (first, times) = (Sizes::of(first)?, Numbers::of(times)?);
            total(&|row| first.at(row) * times.at(row))
        }
        (Growth::Pad, Some(characters), with) => {
            // A character has up to four bytes.
            let widest = if with.is_some() { 4 } else { 1 };
            let (first, characters) = (Sizes::of(first)?, Numbers::of(characters)?);
            total(&|row| (widest * characters.at(row)).max(first.at(row)))
        }
        (Growth::Replace, Some(from), Some(to)) => {
            let (first, from, to) = (Sizes::of(first)?, Sizes::of(from)?, Sizes::of(to)?);
            // Most texts have few places or none; what matters is one row that would be larger than all may be.
            (0..rows)
                .map(|row| first.at(row) + (first.at(row) / from.at(row).max(1) + 1) * to.at(row))
                .max()
                .unwrap_or(0)
        }
        (Growth::ReplaceFound, Some(_), Some(to)) => {
            let (first, to) = (Sizes::of(first)?, Sizes::of(to)?);
            (0..rows).map(|row| (first.at(row) + 1) * (to.at(row) + 1)).max().unwrap_or(0)
        }
        (Growth::Join, Some(between), _) => {
            let (first, between) = (Numbers::lengths(first)?, Sizes::of(between)?);
            total(&|row| first.at(row) * between.at(row))
        }
        (Growth::Resize, Some(elements), with) => {
            let elements = Numbers::of(elements)?;
            let with = with.map(Sizes::of).transpose()?;
            total(&|row| elements.at(row) * with.as_ref().map_or(8, |with| with.at(row)))
        }
        (Growth::Range, stop, step) => {
            let (start, stop) = match stop {
                Some(stop) => (Moments::of(first)?, Moments::of(stop)?),
                None => (Moments::zero(), Moments::of(first)?),
            };
            let step = step.map_or_else(|| Ok(Moments::one()), Moments::of)?;
            total(&|row| {
                let distance = stop.at(row).abs_diff(start.at(row));
                8 * (distance / step.at(row).unsigned_abs().max(1))
            })
        }
        _ => 0,
    })
}

/// Whole numbers of the rows; one for all when there is only one.
struct Numbers {
    values: Option<Int64Array>,
    one: bool,
}

impl Numbers {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let (array, one) = array(value)?;
        // What is no number is refused by the function itself.
        let numbers = cast(&array, &DataType::Int64).ok();
        Ok(Self { values: numbers.as_ref().map(|n| as_int64_array(n).cloned()).transpose()?, one })
    }

    /// How many elements the lists have, or bytes the texts.
    fn lengths(value: &ColumnarValue) -> Result<Self> {
        let (array, one) = array(value)?;
        let numbers = length(&array).and_then(|lengths| cast(&lengths, &DataType::Int64)).ok();
        Ok(Self { values: numbers.as_ref().map(|n| as_int64_array(n).cloned()).transpose()?, one })
    }

    fn signed(&self, row: usize) -> i64 {
        let row = if self.one { 0 } else { row };
        match &self.values {
            Some(values) if row < values.len() && values.is_valid(row) => values.value(row),
            _ => 0,
        }
    }

    fn at(&self, row: usize) -> u128 {
        u128::try_from(self.signed(row)).unwrap_or(0)
    }
}

/// Bytes of the values.
enum Sizes {
    Texts(Numbers),
    /// About as much for each.
    Others(u128),
}

impl Sizes {
    fn of(value: &ColumnarValue) -> Result<Self> {
        if matches!(
            value.data_type(),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary
        ) {
            return Ok(Self::Texts(Numbers::lengths(value)?));
        }
        if let Some(width) = value.data_type().primitive_width() {
            return Ok(Self::Others(width as u128));
        }
        let (array, _) = array(value)?;
        Ok(Self::Others((array.get_array_memory_size() / array.len().max(1)).max(8) as u128))
    }

    fn at(&self, row: usize) -> u128 {
        match self {
            Self::Texts(lengths) => lengths.at(row),
            Self::Others(bytes) => *bytes,
        }
    }
}

/// Numbers, or times and what lies between them in nanoseconds; what a range is made of.
struct Moments {
    numbers: Numbers,
    /// How much of the range's unit one of them is.
    scale: i128,
}

/// A day, in nanoseconds.
const DAY: i128 = 86_400_000_000_000;

impl Moments {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let scale = match value.data_type() {
            DataType::Date32 => DAY,
            DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
            DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
            DataType::Timestamp(TimeUnit::Microsecond, _) => 1000,
            DataType::Interval(IntervalUnit::MonthDayNano) => {
                let (array, one) = array(value)?;
                let whole = |span: Option<_>| {
                    span.map(|span: IntervalMonthDayNano| {
                        // The shortest month, so that a range has no more of them.
                        let days = i128::from(span.months) * 28 + i128::from(span.days);
                        let whole = days * DAY + i128::from(span.nanoseconds);
                        i64::try_from(whole).unwrap_or(i64::MAX)
                    })
                };
                let values: Int64Array = as_interval_mdn_array(&array)?.iter().map(whole).collect();
                return Ok(Self { numbers: Numbers { values: Some(values), one }, scale: 1 });
            }
            _ => 1,
        };
        Ok(Self { numbers: Numbers::of(value)?, scale })
    }

    fn zero() -> Self {
        Self { numbers: Numbers { values: None, one: true }, scale: 1 }
    }

    fn one() -> Self {
        Self { numbers: Numbers { values: Some(Int64Array::from(vec![1])), one: true }, scale: 1 }
    }

    fn at(&self, row: usize) -> i128 {
        i128::from(self.numbers.signed(row)) * self.scale
    }
}

/// The values, and whether there is one for all rows.
fn array(value: &ColumnarValue) -> Result<(ArrayRef, bool)> {
    Ok(match value {
        ColumnarValue::Array(array) => (Arc::clone(array), false),
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
    })
}
