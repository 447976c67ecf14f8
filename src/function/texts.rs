//! Text arguments: which types they have, and how each distinct text is looked at once only.

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, ArrayRef, StringViewArray, UInt32Array};
use datafusion::arrow::compute::{cast, take};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::scalar::ScalarValue;
use hashbrown::HashMap;

/// Whether an argument of this type is text: `Utf8`, `LargeUtf8`, `Utf8View`, or a dictionary of one
/// of them.
pub(super) fn is_text(data_type: &DataType) -> bool {
    match data_type {
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => true,
        DataType::Dictionary(_, values) => is_text(values),
        _ => false,
    }
}

/// The type that a text argument is given as: its own, and text for a bare NULL.
///
/// # Errors
/// A planning error when the argument is no text.
pub(super) fn coerced_text(function: &str, data_type: &DataType) -> Result<DataType> {
    match data_type {
        DataType::Null => Ok(DataType::Utf8View),
        text if is_text(text) => Ok(text.clone()),
        other => plan_err!("{function}: expected a text, got {other}"),
    }
}

/// The text of a constant; `None` for NULL.
///
/// # Errors
/// An internal error when the constant is no text, which the signature rules out.
pub(super) fn constant_text(value: &ScalarValue) -> Result<Option<&str>> {
    match value.try_as_str() {
        Some(text) => Ok(text),
        None if value.is_null() => Ok(None),
        None => internal_err!("expected a text, got {value}"),
    }
}

/// Applies a function of texts to a column: `compute` gets the distinct texts (as far as telling
/// them apart is cheap) and its answers are spread over the rows.
///
/// Call stacks repeat: thousands of rows share a view of the same bytes.
///
/// # Errors
/// Those of `compute`, and of Arrow.
pub(super) fn per_distinct_text(
    column: &ArrayRef,
    compute: impl FnOnce(&StringViewArray) -> Result<ArrayRef>,
) -> Result<ArrayRef> {
    if let Some(dictionary) = column.as_any_dictionary_opt() {
        let values = per_distinct_text(dictionary.values(), compute)?;
        return Ok(take(values.as_ref(), dictionary.keys(), None)?);
    }
    let column = match column.data_type() {
        DataType::Utf8View => column.clone(),
        _ => cast(column, &DataType::Utf8View)?,
    };
    let Some(texts) = column.as_string_view_opt() else {
        return internal_err!("expected a text, got {}", column.data_type());
    };
    let mut numbers: HashMap<u128, u32> = HashMap::new();
    let mut first_rows = Vec::new();
    let mut places = Vec::with_capacity(texts.len());
    for (row, view) in (0_u32..).zip(texts.views().iter()) {
        // Equal views of one array are the same bytes. The view of a NULL can be any text's.
        if texts.is_null(row as usize) {
            places.push(None);
            continue;
        }
        let number = *numbers.entry(*view).or_insert_with(|| {
            first_rows.push(row);
            first_rows.len() as u32 - 1
        });
        places.push(Some(number));
    }
    let distinct = take(texts, &UInt32Array::from(first_rows), None)?;
    let answers = compute(distinct.as_string_view())?;
    Ok(take(answers.as_ref(), &UInt32Array::from(places), None)?)
}
