//! Functions that make much of little are kept within bounds.
//!
//! `repeat('x', 2000000000)` and `range(0, 10000000000)` ask for no memory of the pool: DataFusion 55 allocates
//! what it is told to, and the process ends when there is no more. Here such a call is an error before it begins.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, GenericListArray, Int64Array, OffsetSizeTrait, StringViewArray,
};
use datafusion::arrow::compute::{cast, kernels::length::length};
use datafusion::arrow::datatypes::{DataType, FieldRef, IntervalMonthDayNano, IntervalUnit, TimeUnit};
use datafusion::common::cast::{as_int64_array, as_interval_mdn_array, as_string_view_array};
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
use memchr::memmem;

/// What a call may make of one batch of rows, in bytes. Texts of two gigabytes have no place in a batch anyway.
const MOST: u128 = 1 << 30;

/// What an element of a list takes while it is made, besides its value.
const ELEMENT: u128 = 24;

/// How a function grows what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Growth {
    /// The first, so often as the second says.
    Repeat,
    /// A list of the first, so often as the second says.
    RepeatElement,
    /// As long as the second says, in characters.
    Pad,
    /// The third in place of each second in the first.
    Replace,
    /// The third in place of what is found in the first.
    ReplaceFound,
    /// The second between all elements of the first, in which the third stands for NULL.
    Join,
    /// From one to another, in steps.
    Range,
    /// So many elements as the second says; the third where there are none.
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
    ("array_repeat", Growth::RepeatElement),
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

/// About how many bytes a call makes of a batch, and more rather than fewer. Of what regexp_replace finds nothing
/// is known before; there it is what the longest row might become. Constants count once.
fn most_bytes(growth: Growth, args: &ScalarFunctionArgs) -> Result<u128> {
    let arg = |at: usize| args.args.get(at);
    let Some(first) = arg(0) else { return Ok(0) };
    let constant = args.args.iter().all(|arg| matches!(arg, ColumnarValue::Scalar(_)));
    let rows = 0..if constant { 1 } else { args.number_rows };
    // Of a row with a NULL nothing is made.
    let total =
        |bytes: &dyn Fn(usize) -> Option<u128>| rows.clone().filter_map(bytes).fold(0, u128::saturating_add);
    Ok(match (growth, arg(1), arg(2)) {
        (Growth::Repeat, Some(times), _) => {
            let (first, times) = (Sizes::of(first)?, Numbers::of(times)?);
            total(&|row| Some(first.at(row)? * times.at(row)?))
        }
        (Growth::RepeatElement, Some(times), _) => {
            let (first, times) = (Sizes::of(first)?, Numbers::of(times)?);
            total(&|row| Some((first.at(row).unwrap_or(0) + ELEMENT) * times.at(row)?))
        }
        (Growth::Pad, Some(characters), with) => {
            // A character has up to four bytes.
            let widest = if with.is_some() { 4 } else { 1 };
            let (first, characters) = (Sizes::of(first)?, Numbers::of(characters)?);
            total(&|row| Some(first.at(row)? + widest * characters.at(row)?))
        }
        (Growth::Replace, Some(from), Some(to)) => {
            let (lengths, of_from, of_to) = (Sizes::of(first)?, Sizes::of(from)?, Sizes::of(to)?);
            let most = total(&|row| {
                let (text, from, to) = (lengths.at(row)?, of_from.at(row)?, of_to.at(row)?);
                Some(text + (text / from.max(1) + 1) * to)
            });
            if most <= MOST {
                return Ok(most);
            }
            // Most texts have few such places or none, so they are counted before anything is refused.
            let (texts, from) = (Texts::of(first)?, Texts::of(from)?);
            total(&|row| {
                let found = match from.at(row)? {
                    "" => 0,
                    from => memmem::find_iter(texts.at(row)?.as_bytes(), from).count() as u128,
                };
                Some(lengths.at(row)? + found * of_to.at(row)?)
            })
        }
        (Growth::ReplaceFound, Some(_), Some(to)) => {
            let everywhere = arg(3).map(Texts::of).transpose()?;
            let (first, to) = (Sizes::of(first)?, Sizes::of(to)?);
            let longest = rows.filter_map(|row| {
                let (text, to) = (first.at(row)?, to.at(row)?);
                let everywhere =
                    everywhere.as_ref().is_some_and(|f| f.at(row).is_some_and(|f| f.contains('g')));
                Some(if everywhere { (text + 1) * (to + 1) } else { text + to })
            });
            longest.max().unwrap_or(0)
        }
        (Growth::Join, Some(between), null) => {
            let longest = |value: &ColumnarValue| -> Result<u128> {
                let lengths = Sizes::of(value)?;
                Ok(rows.clone().filter_map(|row| lengths.at(row)).max().unwrap_or(0))
            };
            let between = longest(between)?.max(null.map(longest).transpose()?.unwrap_or(0));
            let (lists, one) = array(first)?;
            let lists = if one { rows.len() as u128 } else { 1 } * leaves(&lists) as u128;
            lists * between
        }
        (Growth::Resize, Some(elements), with) => {
            let elements = Numbers::of(elements)?;
            let with = with.map(Sizes::of).transpose()?;
            total(&|row| {
                let value = with.as_ref().and_then(|with| with.at(row)).unwrap_or(0);
                Some(elements.at(row)? * (value + ELEMENT))
            })
        }
        (Growth::Range, stop, step) => {
            let (start, stop) = match stop {
                Some(stop) => (Moments::of(first)?, Moments::of(stop)?),
                None => (Moments::constant(0), Moments::of(first)?),
            };
            let step = step.map_or_else(|| Ok(Moments::constant(1)), Moments::of)?;
            total(&|row| {
                let (way, step) = (stop.at(row)? - start.at(row)?, step.at(row)?);
                let arrives = step != 0 && (way == 0 || (way > 0) == (step > 0));
                arrives.then(|| 8 * (way.unsigned_abs() / step.unsigned_abs() + 1))
            })
        }
        _ => 0,
    })
}

/// How many values there are in lists, and in the lists in them.
fn leaves(array: &ArrayRef) -> usize {
    fn of<O: OffsetSizeTrait>(list: &GenericListArray<O>) -> usize {
        let offsets = list.value_offsets();
        let (Some(first), Some(last)) = (offsets.first(), offsets.last()) else { return 0 };
        leaves(&list.values().slice(first.as_usize(), last.as_usize() - first.as_usize()))
    }
    match array.data_type() {
        DataType::List(_) => array.as_list_opt::<i32>().map_or(0, of),
        DataType::LargeList(_) => array.as_list_opt::<i64>().map_or(0, of),
        DataType::FixedSizeList(..) => array.as_fixed_size_list_opt().map_or(0, |list| leaves(list.values())),
        _ => array.len(),
    }
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

    fn signed(&self, row: usize) -> Option<i64> {
        let row = if self.one { 0 } else { row };
        let values = self.values.as_ref()?;
        (row < values.len() && values.is_valid(row)).then(|| values.value(row))
    }

    /// None for NULL, 0 for what is less.
    fn at(&self, row: usize) -> Option<u128> {
        Some(u128::try_from(self.signed(row)?).unwrap_or(0))
    }
}

/// Texts of the rows.
struct Texts {
    values: StringViewArray,
    one: bool,
}

impl Texts {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let (array, one) = array(value)?;
        Ok(Self { values: as_string_view_array(&cast(&array, &DataType::Utf8View)?)?.clone(), one })
    }

    fn at(&self, row: usize) -> Option<&str> {
        let row = if self.one { 0 } else { row };
        (row < self.values.len() && self.values.is_valid(row)).then(|| self.values.value(row))
    }
}

/// Bytes of the values.
enum Sizes {
    /// So many of each size.
    Many(Numbers, u128),
    /// As much for each.
    Each(u128),
}

impl Sizes {
    fn of(value: &ColumnarValue) -> Result<Self> {
        let kind = value.data_type();
        if let Some(width) = kind.primitive_width() {
            return Ok(Self::Each(width as u128));
        }
        Ok(match kind {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Binary => {
                Self::Many(Numbers::lengths(value)?, 1)
            }
            DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) => {
                let (array, _) = array(value)?;
                let element = array.get_array_memory_size() / leaves(&array).max(1);
                Self::Many(Numbers::lengths(value)?, element as u128)
            }
            _ => {
                let (array, _) = array(value)?;
                Self::Each((array.get_array_memory_size() / array.len().max(1)) as u128)
            }
        })
    }

    /// None for NULL.
    fn at(&self, row: usize) -> Option<u128> {
        match self {
            Self::Many(numbers, size) => Some(numbers.at(row)? * size),
            Self::Each(bytes) => Some(*bytes),
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
            DataType::Date64 | DataType::Timestamp(TimeUnit::Millisecond, _) => 1_000_000,
            DataType::Timestamp(TimeUnit::Second, _) => 1_000_000_000,
            DataType::Timestamp(TimeUnit::Microsecond, _) => 1000,
            DataType::Interval(IntervalUnit::MonthDayNano) => return Self::of_steps(value),
            _ => 1,
        };
        Ok(Self { numbers: Numbers::of(value)?, scale })
    }

    /// # Errors
    /// When a step goes there and back: a month forward and thirty days back arrive nowhere.
    fn of_steps(value: &ColumnarValue) -> Result<Self> {
        let (array, one) = array(value)?;
        let mut steps = Vec::with_capacity(array.len());
        for step in as_interval_mdn_array(&array)? {
            let Some(IntervalMonthDayNano { months, days, nanoseconds }) = step else {
                steps.push(None);
                continue;
            };
            let parts = [i64::from(months), i64::from(days), nanoseconds];
            if parts.iter().any(|part| *part > 0) && parts.iter().any(|part| *part < 0) {
                return exec_err!(
                    "a range whose step goes forward and back may have no end: {months} months, {days} days, \
                     {nanoseconds} ns; use a step of one direction"
                );
            }
            // The shortest month, so that a range has no more of them.
            let days = i128::from(months) * 28 + i128::from(days);
            let all = days * DAY + i128::from(nanoseconds);
            steps.push(Some(i64::try_from(all).unwrap_or(if all < 0 { i64::MIN } else { i64::MAX })));
        }
        Ok(Self { numbers: Numbers { values: Some(steps.into_iter().collect()), one }, scale: 1 })
    }

    fn constant(number: i64) -> Self {
        Self { numbers: Numbers { values: Some(Int64Array::from(vec![number])), one: true }, scale: 1 }
    }

    fn at(&self, row: usize) -> Option<i128> {
        Some(i128::from(self.numbers.signed(row)?) * self.scale)
    }
}

/// The values, and whether there is one for all rows.
fn array(value: &ColumnarValue) -> Result<(ArrayRef, bool)> {
    Ok(match value {
        ColumnarValue::Array(array) => (Arc::clone(array), false),
        ColumnarValue::Scalar(scalar) => (scalar.to_array()?, true),
    })
}
