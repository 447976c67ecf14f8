//! Rows without the texts of other rows.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::error::ArrowError;

/// The same rows, with columns that hold their own texts and no others. The batches of one result share the
/// texts of all of them, and a format that writes columns as they are would write all of these once per batch.
///
/// # Errors
/// None that a valid batch could cause.
pub fn with_own_texts(batch: &RecordBatch) -> Result<RecordBatch, ArrowError> {
    let column = |column: &ArrayRef| -> ArrayRef {
        match column.data_type() {
            DataType::Utf8View => Arc::new(column.as_string_view().gc()),
            DataType::BinaryView => Arc::new(column.as_binary_view().gc()),
            _ => Arc::clone(column),
        }
    };
    RecordBatch::try_new(batch.schema(), batch.columns().iter().map(column).collect())
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::StringViewArray;

    use super::*;

    #[test]
    fn a_row_does_not_carry_the_texts_of_others() {
        let texts: StringViewArray = (0..100).map(|n| Some(format!("{n:0>100}"))).collect();
        let whole = RecordBatch::try_from_iter([("text", Arc::new(texts) as ArrayRef)]).unwrap();
        let one = whole.slice(7, 1);
        let own = with_own_texts(&one).unwrap();
        assert_eq!(own, one);
        let held = |batch: &RecordBatch| -> usize {
            batch.column(0).as_string_view().data_buffers().iter().map(|buffer| buffer.len()).sum()
        };
        assert_eq!((held(&one), held(&own)), (10_000, 100));
    }
}
