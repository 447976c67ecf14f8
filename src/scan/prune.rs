//! Choosing units by predicates, before any of their files is opened.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, AsArray, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::Session;
use datafusion::common::{DFSchema, Result, ScalarValue, exec_datafusion_err};
use datafusion::logical_expr::Expr;

use crate::source::{KeyColumn, KeyType, Unit};

use super::keys::scalar;

/// The column that says where a row comes from; every format has it, with one value per unit.
const SOURCE_PATH: &str = "source_path";

/// Whether a predicate can be decided for whole units: it only speaks of key columns and of
/// `source_path`.
pub fn is_unit_filter(filter: &Expr, keys: &[KeyColumn]) -> bool {
    let columns = filter.column_refs();
    let known = |name: &str| name == SOURCE_PATH || keys.iter().any(|k| k.name == name);
    !filter.is_volatile() && !columns.is_empty() && columns.iter().all(|c| known(&c.name))
}

/// Keeps the units for which all predicates are true. Each predicate must be a unit filter.
///
/// # Errors
/// When a predicate cannot be evaluated, for example because it divides by zero.
pub fn prune_units(
    session: &dyn Session,
    filters: &[Expr],
    keys: &[KeyColumn],
    units: Vec<Unit>,
) -> Result<Vec<Unit>> {
    if filters.is_empty() || units.is_empty() {
        return Ok(units);
    }
    let (mut fields, mut columns) = (Vec::new(), Vec::<ArrayRef>::new());
    for (at, key) in keys.iter().enumerate() {
        let data_type = match key.kind {
            KeyType::Text => DataType::Utf8View,
            KeyType::Int => DataType::Int64,
        };
        fields.push(Field::new(key.name, data_type, true));
        let values = units.iter().filter_map(|u| u.keys.get(at)).map(|v| scalar(v, key.kind));
        columns.push(ScalarValue::iter_to_array(values)?);
    }
    fields.push(Field::new(SOURCE_PATH, DataType::Utf8View, false));
    columns.push(Arc::new(StringViewArray::from_iter_values(units.iter().map(|u| &u.source_path))));
    let schema = Arc::new(Schema::new(fields));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns)?;
    let schema = DFSchema::try_from(schema)?;
    let mut keep = vec![true; units.len()];
    for filter in filters {
        let decided = session
            .create_physical_expr(filter.clone(), &schema)?
            .evaluate(&batch)?
            .into_array(units.len())?;
        let decided = decided
            .as_boolean_opt()
            .ok_or_else(|| exec_datafusion_err!("the predicate {filter} is not a boolean"))?;
        for (keep, decided) in keep.iter_mut().zip(decided) {
            *keep &= decided == Some(true);
        }
    }
    Ok(units.into_iter().zip(keep).filter_map(|(unit, keep)| keep.then_some(unit)).collect())
}
