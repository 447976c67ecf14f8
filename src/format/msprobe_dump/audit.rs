//! What the reference and its database make of a file without a word, counted for `diagnostics`.

use std::path::Path;

use datafusion::arrow::array::{Array, BooleanArray, Float64Array, RecordBatch};
use datafusion::arrow::compute::filter_record_batch;

use crate::source::{Finding, Kind, ReadError};

use super::schema::Trend;

/// Values beyond this are cut to it in a trend database.
pub const STORED_LIMIT: f64 = 1e9;

/// Counts over the rows of one file.
#[derive(Debug, Default)]
pub(super) struct Audit {
    rows: u64,
    left_out: Vec<(String, u64)>,
    nan: u64,
    infinite: u64,
    clipped: u64,
}

impl Audit {
    /// Counts all rows and keeps those of the reference. Every column must be there.
    ///
    /// # Errors
    /// [`ReadError::Arrow`] when columns are missing, a fault of ours.
    pub(super) fn see(&mut self, batch: &RecordBatch) -> Result<RecordBatch, ReadError> {
        let skip = batch.column_by_name(Trend::ReferenceSkip.name());
        let skip = skip.and_then(|c| c.as_any().downcast_ref::<datafusion::arrow::array::StringViewArray>());
        let Some(skip) = skip else { return Ok(batch.clone()) };
        for reason in skip.iter().flatten() {
            match self.left_out.iter_mut().find(|(known, _)| known == reason) {
                Some((_, count)) => *count += 1,
                None => self.left_out.push((reason.to_owned(), 1)),
            }
        }
        let keep: BooleanArray = skip.iter().map(|reason| Some(reason.is_none())).collect();
        let kept = filter_record_batch(batch, &keep)?;
        self.rows += kept.num_rows() as u64;
        for column in [Trend::Norm, Trend::Max, Trend::Min, Trend::Mean] {
            let values = kept.column_by_name(column.name());
            let Some(values) = values.and_then(|c| c.as_any().downcast_ref::<Float64Array>()) else {
                continue;
            };
            for value in values.iter().flatten() {
                self.nan += u64::from(value.is_nan());
                self.infinite += u64::from(value.is_infinite());
                self.clipped += u64::from(value.is_finite() && value.abs() > STORED_LIMIT);
            }
        }
        Ok(kept)
    }

    /// What is to be said about the file.
    pub(super) fn notes(&self, path: &Path) -> Vec<Finding> {
        let mut notes = Vec::new();
        let mut note = |kind, count: u64, message: String| {
            if count > 0 {
                notes.push(Finding::note(kind, path, message).times(count));
            }
        };
        for (reason, count) in &self.left_out {
            let message =
                format!("tensors that msprobe data2db leaves out: {reason}; scope => 'all' shows them");
            note(Kind::Unused, *count, message);
        }
        note(Kind::BadValue, self.nan, "values are NaN; a trend database holds NULL for them".to_owned());
        let message = "values are infinite; a trend database holds 1000000001 or -1000000001 for them";
        note(Kind::BadValue, self.infinite, message.to_owned());
        let message =
            "finite values are beyond 1e9; a trend database holds 1000000000 or -1000000000 for them";
        note(Kind::BadValue, self.clipped, message.to_owned());
        if self.rows == 0 {
            let message = "has no rows; a trend database offers its step and rank all the same";
            note(Kind::Empty, 1, message.to_owned());
        }
        notes
    }
}
