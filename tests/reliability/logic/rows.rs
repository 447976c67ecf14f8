//! Rows as texts, so that they can be compared as multisets.

use datafusion::arrow::array::Array;
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::prelude::SessionContext;

use crate::random::Random;

/// What a column holds, as far as predicates care.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Integer,
    Float,
    Text,
    Boolean,
}

pub(super) struct Column {
    pub(super) name: String,
    pub(super) kind: Kind,
}

/// What a call gives without any predicate.
pub(super) struct Table {
    pub(super) call: String,
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Vec<String>>,
}

/// How NULL looks among the values.
pub(super) const NULL: &str = "\u{0}";

impl Table {
    pub(super) async fn read(context: &SessionContext, call: &str) -> Self {
        let sql = format!("SELECT * FROM {call}");
        let frame = context.sql(&sql).await.unwrap_or_else(|e| panic!("{sql}: {e}"));
        let column = |field: &datafusion::arrow::datatypes::FieldRef| Column {
            name: field.name().clone(),
            kind: match field.data_type() {
                DataType::Int64 => Kind::Integer,
                DataType::Float64 => Kind::Float,
                DataType::Boolean => Kind::Boolean,
                DataType::Utf8 | DataType::Utf8View => Kind::Text,
                DataType::Dictionary(_, value) if value.is_string() => Kind::Text,
                other => panic!("{call}: {} is {other}: say how to test it", field.name()),
            },
        };
        let columns = frame.schema().fields().iter().map(column).collect();
        let rows = fetch(context, &sql).await.unwrap_or_else(|e| panic!("{e}"));
        Self { call: call.to_owned(), columns, rows }
    }

    /// Some of the columns, in any order.
    pub(super) fn some_columns(&self, random: &mut Random) -> Vec<usize> {
        let mut rest: Vec<usize> = (0..self.columns.len()).collect();
        let count = 1 + random.below(rest.len().min(6));
        (0..count).map(|_| rest.swap_remove(random.below(rest.len()))).collect()
    }
}

pub(crate) async fn fetch(context: &SessionContext, sql: &str) -> Result<Vec<Vec<String>>, String> {
    let batches =
        async { context.sql(sql).await?.collect().await }.await.map_err(|e| format!("{e}\n{sql}"))?;
    let options = FormatOptions::default().with_null(NULL);
    let mut rows = Vec::new();
    for batch in &batches {
        let columns: Vec<ArrayFormatter> = batch
            .columns()
            .iter()
            .map(|column| ArrayFormatter::try_new(column.as_ref() as &dyn Array, &options).unwrap())
            .collect();
        rows.extend(
            (0..batch.num_rows()).map(|row| columns.iter().map(|c| c.value(row).to_string()).collect()),
        );
    }
    Ok(rows)
}
