//! Values as text, for all formats but JSON.

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};

/// The columns of a batch, ready to be read cell by cell.
///
/// Floating-point numbers come as the shortest text that reads back as the same number, times in
/// ISO 8601. Nothing depends on the locale.
pub(super) struct Cells<'a> {
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    values: ArrayFormatter<'a>,
    nulls: Option<NullBuffer>,
}

impl<'a> Cells<'a> {
    /// The cells of a batch.
    ///
    /// # Errors
    /// When a column has a type that has no text form.
    pub(super) fn new(batch: &'a RecordBatch) -> Result<Self, ArrowError> {
        // Nulls inside lists and structs only: those of the column are the format's business.
        let options = FormatOptions::new().with_null("NULL");
        let column = |array: &'a dyn Array| {
            Ok(Column { values: ArrayFormatter::try_new(array, &options)?, nulls: array.logical_nulls() })
        };
        let columns =
            batch.columns().iter().map(|c| column(c.as_ref())).collect::<Result<_, ArrowError>>()?;
        Ok(Self { columns })
    }

    /// Calls `each` with the cells of a row from left to right: the text, or `None` for NULL.
    ///
    /// # Errors
    /// When a value has no text form, for example a timestamp outside the calendar.
    pub(super) fn row(&self, row: usize, mut each: impl FnMut(Option<&str>)) -> Result<(), ArrowError> {
        let mut text = String::new();
        for column in &self.columns {
            if column.nulls.as_ref().is_some_and(|n| n.is_null(row)) {
                each(None);
                continue;
            }
            text.clear();
            column.values.value(row).write(&mut text)?;
            each(Some(&text));
        }
        Ok(())
    }
}
