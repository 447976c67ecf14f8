//! What the text formats of DataFusion cannot say: counted while rows are written, so that it can be told.

use std::sync::Arc;

use datafusion::arrow::array::{Array, AsArray, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float16Type, Float32Type, Float64Type};

/// Which losses a format has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lossy {
    /// JSON: NaN and infinities become null.
    Nonfinite,
    /// CSV: the empty text looks like NULL.
    EmptyTexts,
}

/// Losses, counted batch by batch.
#[derive(Debug)]
pub(super) struct Losses {
    kind: Lossy,
    /// For each column: values that are lost, and whether there is something they can be mistaken for.
    columns: Vec<(usize, bool)>,
}

impl Losses {
    /// None yet.
    pub(super) fn new(kind: Lossy) -> Self {
        Self { kind, columns: vec![] }
    }

    /// Counts those of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch) {
        self.columns.resize(batch.num_columns(), (0, false));
        for ((lost, mistaken), array) in self.columns.iter_mut().zip(batch.columns()) {
            match self.kind {
                Lossy::Nonfinite => {
                    *lost += nonfinite(array);
                    *mistaken = true;
                }
                Lossy::EmptyTexts => {
                    *lost += empty_texts(array);
                    *mistaken |= array.logical_null_count() > 0;
                }
            }
        }
    }

    /// The name of the remark, and how many values it is about.
    pub(super) fn remark(&self) -> (&'static str, usize) {
        let name = match self.kind {
            Lossy::Nonfinite => "nonfinite_as_null",
            Lossy::EmptyTexts => "empty_as_null",
        };
        (name, self.columns.iter().filter(|(_, mistaken)| *mistaken).map(|(lost, _)| lost).sum())
    }
}

fn nonfinite(array: &Arc<dyn Array>) -> usize {
    match array.data_type() {
        DataType::Float64 => {
            array.as_primitive::<Float64Type>().iter().flatten().filter(|v| !v.is_finite()).count()
        }
        DataType::Float32 => {
            array.as_primitive::<Float32Type>().iter().flatten().filter(|v| !v.is_finite()).count()
        }
        DataType::Float16 => {
            array.as_primitive::<Float16Type>().iter().flatten().filter(|v| !v.is_finite()).count()
        }
        DataType::Struct(_) => array.as_struct().columns().iter().map(nonfinite).sum(),
        DataType::List(_) => array.as_list::<i32>().iter().flatten().map(|values| nonfinite(&values)).sum(),
        DataType::LargeList(_) => {
            array.as_list::<i64>().iter().flatten().map(|values| nonfinite(&values)).sum()
        }
        _ => 0,
    }
}

fn empty_texts(array: &Arc<dyn Array>) -> usize {
    match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().iter().flatten().filter(|v| v.is_empty()).count(),
        DataType::LargeUtf8 => array.as_string::<i64>().iter().flatten().filter(|v| v.is_empty()).count(),
        DataType::Utf8View => array.as_string_view().iter().flatten().filter(|v| v.is_empty()).count(),
        DataType::Dictionary(_, _) => match array.as_any_dictionary_opt() {
            // Without values there are no keys to look at either.
            Some(dictionary) if !dictionary.values().is_empty() => {
                let values = dictionary.values();
                let empty: Vec<bool> = (0..values.len())
                    .map(|at| values.is_valid(at) && empty_texts(&values.slice(at, 1)) > 0)
                    .collect();
                let keys = dictionary.normalized_keys();
                let valid = |at: usize| dictionary.keys().is_valid(at);
                let is_empty = |(at, key): &(usize, &usize)| valid(*at) && empty.get(**key) == Some(&true);
                keys.iter().enumerate().filter(is_empty).count()
            }
            _ => 0,
        },
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::arrow::array::{ArrayRef, DictionaryArray, Float64Array, StringArray};
    use datafusion::arrow::datatypes::Int32Type;

    use super::*;

    #[test]
    fn only_what_can_be_mistaken_is_counted() {
        let batch = |columns: Vec<(&str, ArrayRef)>| RecordBatch::try_from_iter(columns).unwrap();
        let texts: ArrayRef = Arc::new(StringArray::from(vec![Some(""), None, Some("x")]));
        let full: ArrayRef = Arc::new(StringArray::from(vec!["", "", "x"]));
        let words: DictionaryArray<Int32Type> = [Some(""), None, Some("")].into_iter().collect();
        let mut losses = Losses::new(Lossy::EmptyTexts);
        losses.add(&batch(vec![("a", texts), ("b", full), ("c", Arc::new(words))]));
        assert_eq!(losses.remark(), ("empty_as_null", 3));
        let mut losses = Losses::new(Lossy::Nonfinite);
        losses.add(&batch(vec![("a", Arc::new(Float64Array::from(vec![f64::NAN, 1.0, f64::INFINITY])))]));
        assert_eq!(losses.remark(), ("nonfinite_as_null", 2));
    }
}
