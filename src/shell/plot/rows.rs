//! The rows of a query by columns.

use datafusion::arrow::array::{
    AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
};
use datafusion::arrow::compute::{cast, concat_batches};
use datafusion::arrow::datatypes::{DataType, Float64Type, Int64Type};

use crate::shell::failure::Failure;

/// All rows of one query.
pub(crate) struct Rows(Option<RecordBatch>);

impl Rows {
    /// Rows from their batches.
    ///
    /// # Errors
    /// When they do not fit together.
    pub(crate) fn new(batches: &[RecordBatch]) -> Result<Self, Failure> {
        let Some(first) = batches.first() else { return Ok(Self(None)) };
        Ok(Self(Some(concat_batches(&first.schema(), batches)?).filter(|all| all.num_rows() > 0)))
    }

    /// Whether there is none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    fn column(&self, name: &str, to: &DataType) -> Result<datafusion::arrow::array::ArrayRef, Failure> {
        let Some(batch) = &self.0 else { return Ok(datafusion::arrow::array::new_empty_array(to)) };
        let Some(column) = batch.column_by_name(name) else {
            return Err(Failure::Query(format!(
                "internal error, please report it: no column {name} for a picture"
            )));
        };
        Ok(cast(column, to)?)
    }

    /// A column as texts.
    ///
    /// # Errors
    /// When there is no such column.
    pub(crate) fn texts(&self, name: &str) -> Result<StringViewArray, Failure> {
        Ok(self.column(name, &DataType::Utf8View)?.as_string_view().clone())
    }

    /// A column as whole numbers.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub(crate) fn ints(&self, name: &str) -> Result<Int64Array, Failure> {
        Ok(self.column(name, &DataType::Int64)?.as_primitive::<Int64Type>().clone())
    }

    /// A column as numbers.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub(crate) fn floats(&self, name: &str) -> Result<Float64Array, Failure> {
        Ok(self.column(name, &DataType::Float64)?.as_primitive::<Float64Type>().clone())
    }

    /// A column of yes and no; unknown counts as no.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub(crate) fn flags(&self, name: &str) -> Result<Vec<bool>, Failure> {
        let column: BooleanArray = self.column(name, &DataType::Boolean)?.as_boolean().clone();
        Ok(column.iter().map(|flag| flag.unwrap_or(false)).collect())
    }

    /// A column of kilobytes as bytes. Sizes count in whole bytes, so nothing is lost.
    ///
    /// # Errors
    /// As [`texts`](Self::texts).
    pub(crate) fn kilobytes(&self, name: &str) -> Result<Vec<i64>, Failure> {
        let column = self.floats(name)?;
        Ok(column.iter().map(|kb| (kb.unwrap_or(0.0) * 1024.0).round() as i64).collect())
    }
}
