//! What the keys of units allow the scan to declare: order, ranges, statistics.

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::arrow::compute::SortOptions;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, SplitPoint, Statistics};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{
    AcrossPartitions, ConstExpr, LexOrdering, PhysicalExpr, PhysicalSortExpr, RangePartitioning,
};
use datafusion::physical_plan::Partitioning;

use crate::source::{KeyColumn, KeyType, KeyValue, Unit};

/// A key value as a scalar of its column's type.
pub(super) fn scalar(value: &KeyValue, kind: KeyType) -> ScalarValue {
    match (value, kind) {
        (KeyValue::Text(text), _) => ScalarValue::Utf8View(Some(text.clone())),
        (KeyValue::Int(n), _) => ScalarValue::Int64(Some(*n)),
        (KeyValue::Null, KeyType::Text) => ScalarValue::Utf8View(None),
        (KeyValue::Null, KeyType::Int) => ScalarValue::Int64(None),
    }
}

/// Key columns that have the same value in all rows of the scan.
pub(super) fn constants(keys: &[KeyColumn], schema: &SchemaRef, runs: &[Vec<Unit>]) -> Vec<ConstExpr> {
    let constant = |(at, key): (usize, &KeyColumn)| {
        let index = schema.index_of(key.name).ok()?;
        let mut values = runs.iter().flatten().map(|u| u.keys.get(at));
        let first = values.next()?;
        let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(key.name, index));
        values.all(|v| v == first).then(|| ConstExpr::new(column, AcrossPartitions::Uniform(None)))
    };
    keys.iter().enumerate().filter_map(constant).collect()
}

/// The order of the rows: by the leading key columns that the projection keeps.
pub(super) fn ordering(keys: &[KeyColumn], schema: &SchemaRef) -> Vec<PhysicalSortExpr> {
    let options = SortOptions { descending: false, nulls_first: false };
    keys.iter()
        .map_while(|key| {
            let index = schema.index_of(key.name).ok()?;
            let column: Arc<dyn PhysicalExpr> = Arc::new(Column::new(key.name, index));
            Some(PhysicalSortExpr::new(column, options))
        })
        .collect()
}

/// Ranges of all key columns, when the projection keeps all of them; else nothing is claimed.
///
/// Never a hash partitioning: DataFusion takes two of the same size as equal and joins wrongly.
pub(super) fn partitioning(keys: &[KeyColumn], schema: &SchemaRef, runs: &[Vec<Unit>]) -> Partitioning {
    let unknown = Partitioning::UnknownPartitioning(runs.len().max(1));
    let order = ordering(keys, schema);
    if order.len() < keys.len() || runs.is_empty() {
        return unknown;
    }
    let split = |run: &Vec<Unit>| {
        let values = run.first()?.keys.iter().zip(keys).map(|(value, key)| scalar(value, key.kind)).collect();
        Some(SplitPoint::new(values))
    };
    let splits: Option<Vec<SplitPoint>> = runs.iter().skip(1).map(split).collect();
    let ranges =
        LexOrdering::new(order).zip(splits).and_then(|(order, s)| RangePartitioning::try_new(order, s).ok());
    ranges.map_or(unknown, Partitioning::Range)
}

/// What is known without opening a file. The number of rows is only an estimate.
pub(super) fn statistics<'a>(
    keys: &[KeyColumn],
    schema: &SchemaRef,
    units: impl Iterator<Item = &'a Unit> + Clone,
) -> Statistics {
    /// About what a row of text takes.
    const ROW_BYTES: u64 = 160;
    let bytes: u64 = units.clone().map(Unit::bytes).sum();
    let column = |name: &str| {
        let Some(at) = keys.iter().position(|k| k.name == name) else {
            return ColumnStatistics::new_unknown();
        };
        let values: BTreeSet<&KeyValue> = units.clone().filter_map(|u| u.keys.get(at)).collect();
        let (first, last) = (values.first(), values.last());
        let (Some(first), Some(last)) = (first, last) else { return ColumnStatistics::new_unknown() };
        if **last == KeyValue::Null {
            return ColumnStatistics::new_unknown();
        }
        let kind = keys.get(at).map_or(KeyType::Text, |k| k.kind);
        // Inexact: a unit may turn out to have no rows.
        ColumnStatistics {
            min_value: Precision::Inexact(scalar(first, kind)),
            max_value: Precision::Inexact(scalar(last, kind)),
            null_count: Precision::Exact(0),
            distinct_count: Precision::Inexact(values.len()),
            ..ColumnStatistics::new_unknown()
        }
    };
    Statistics {
        num_rows: Precision::Inexact(usize::try_from(bytes / ROW_BYTES).unwrap_or(usize::MAX)),
        total_byte_size: Precision::Inexact(usize::try_from(bytes).unwrap_or(usize::MAX)),
        column_statistics: schema.fields().iter().map(|f| column(f.name())).collect(),
    }
}
