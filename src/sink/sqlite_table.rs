//! `COPY ... STORED AS SQLITE`: the result of any query as a table of a SQLite database.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, BinaryViewArray, Float64Array, Int64Array, RecordBatch, StringViewArray,
};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Schema};
use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::ExecutionPlan;
use rusqlite::types::{ToSqlOutput, ValueRef};

use super::arrange::in_fixed_order;
use super::staged_database::StagedDatabase;
use super::{Export, ExportOption, ExportPlan, ExportRequest, Remark, SinkError, Writer};

/// Name of the table when none is given.
const DEFAULT_TABLE: &str = "result";

/// How a column is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Storage {
    /// Integers and booleans (1 and 0).
    Integer,
    /// Numbers. SQLite has no NaN: it becomes NULL, and is counted.
    Real,
    /// Texts; also times and decimals, which SQLite has no types for.
    Text,
    /// Bytes.
    Blob,
}

impl Storage {
    /// How values of this type are stored, if they can be.
    fn of(kind: &DataType) -> Option<Self> {
        Some(match kind {
            kind if kind.is_integer() => Storage::Integer,
            DataType::Boolean | DataType::Null => Storage::Integer,
            kind if kind.is_floating() => Storage::Real,
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Storage::Text,
            DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::FixedSizeBinary(_) => Storage::Blob,
            DataType::Dictionary(_, values) => return Self::of(values),
            kind if kind.is_temporal() || kind.is_decimal() => Storage::Text,
            _ => return None,
        })
    }

    /// The type that values are brought to before they are stored.
    fn arrow(self) -> DataType {
        match self {
            Storage::Integer => DataType::Int64,
            Storage::Real => DataType::Float64,
            Storage::Text => DataType::Utf8View,
            Storage::Blob => DataType::BinaryView,
        }
    }

    /// The type in SQLite.
    fn name(self) -> &'static str {
        match self {
            Storage::Integer => "INTEGER",
            Storage::Real => "REAL",
            Storage::Text => "TEXT",
            Storage::Blob => "BLOB",
        }
    }
}

/// Exports any result as one table.
#[derive(Debug)]
pub(super) struct SqliteExport;

impl Export for SqliteExport {
    fn name(&self) -> &'static str {
        "SQLITE"
    }

    fn purpose(&self) -> &'static str {
        "SQLite database with the rows as one table"
    }

    fn options(&self) -> &'static [ExportOption] {
        &[ExportOption { name: "table", values: &[], purpose: "name of the table; result if not given" }]
    }

    fn plan(&self, input: Arc<dyn ExecutionPlan>, request: ExportRequest) -> Result<ExportPlan> {
        let schema = input.schema();
        if schema.fields().is_empty() {
            return plan_err!("SQLITE: the query has no columns");
        }
        let mut names = BTreeSet::new();
        for field in schema.fields() {
            let name = field.name();
            if Storage::of(field.data_type()).is_none() {
                let kind = field.data_type();
                return plan_err!(
                    "SQLITE: column {name} is {kind}, which SQLite cannot hold; CAST it to VARCHAR"
                );
            }
            if !names.insert(name.to_lowercase()) {
                return plan_err!("SQLITE: two columns are called {name}; rename one with AS");
            }
        }
        let table = request.option("table").unwrap_or(DEFAULT_TABLE).to_owned();
        if table.is_empty() {
            return plan_err!("SQLITE: option table is empty, expected the name of the table");
        }
        let (input, order) = in_fixed_order(input, request.order.clone())?;
        let target = request.target.clone();
        let open = move || -> Result<Box<dyn Writer>, SinkError> {
            Ok(Box::new(TableWriter::create(&target, &table, &schema)?))
        };
        Ok(ExportPlan { input, order, open: Arc::new(open) })
    }
}

/// Writes one table.
struct TableWriter {
    database: StagedDatabase,
    insert: String,
    columns: Vec<(String, Storage)>,
    rows: u64,
    nan: u64,
    infinite: u64,
}

/// A column of a batch in the form in which it is stored.
enum Values {
    Integer(Int64Array),
    Real(Float64Array),
    Text(StringViewArray),
    Blob(BinaryViewArray),
}

impl Values {
    fn new(array: &ArrayRef, storage: Storage) -> Result<Self, String> {
        // A number that does not fit is an error, never a NULL.
        let options = CastOptions { safe: false, ..CastOptions::default() };
        let array = cast_with_options(array, &storage.arrow(), &options).map_err(|e| e.to_string())?;
        let any = array.as_any();
        let values = match storage {
            Storage::Integer => any.downcast_ref().cloned().map(Values::Integer),
            Storage::Real => any.downcast_ref().cloned().map(Values::Real),
            Storage::Text => any.downcast_ref().cloned().map(Values::Text),
            Storage::Blob => any.downcast_ref().cloned().map(Values::Blob),
        };
        values.ok_or_else(|| format!("cannot be stored as {}", storage.name()))
    }

    fn get(&self, row: usize) -> ValueRef<'_> {
        let null = match self {
            Values::Integer(a) => a.is_null(row),
            Values::Real(a) => a.is_null(row),
            Values::Text(a) => a.is_null(row),
            Values::Blob(a) => a.is_null(row),
        };
        match self {
            _ if null => ValueRef::Null,
            Values::Integer(a) => ValueRef::Integer(a.value(row)),
            Values::Real(a) => ValueRef::Real(a.value(row)),
            Values::Text(a) => ValueRef::Text(a.value(row).as_bytes()),
            Values::Blob(a) => ValueRef::Blob(a.value(row)),
        }
    }
}

impl TableWriter {
    fn create(target: &Path, table: &str, schema: &Schema) -> Result<Self, SinkError> {
        let database = StagedDatabase::create(target)?;
        let columns: Vec<(String, Storage)> = schema
            .fields()
            .iter()
            .map(|f| (f.name().clone(), Storage::of(f.data_type()).unwrap_or(Storage::Text)))
            .collect();
        let list: Vec<String> = columns.iter().map(|(n, s)| format!("{} {}", quoted(n), s.name())).collect();
        let create = format!("CREATE TABLE {} ({})", quoted(table), list.join(", "));
        database.connection().execute_batch(&create).map_err(|e| database.error(e))?;
        let marks = vec!["?"; columns.len()].join(",");
        let insert = format!("INSERT INTO {} VALUES ({marks})", quoted(table));
        Ok(Self { database, insert, columns, rows: 0, nan: 0, infinite: 0 })
    }
}

impl Writer for TableWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), SinkError> {
        let mut columns = Vec::with_capacity(self.columns.len());
        for ((name, storage), array) in self.columns.iter().zip(batch.columns()) {
            let fault = |e| SinkError::rows(self.database.target(), format!("column {name}: {e}"));
            columns.push(Values::new(array, *storage).map_err(fault)?);
        }
        let error = |e| self.database.error(e);
        let mut insert = self.database.connection().prepare_cached(&self.insert).map_err(error)?;
        for row in 0..batch.num_rows() {
            for (parameter, column) in (1..).zip(&columns) {
                let mut value = column.get(row);
                if let ValueRef::Real(number) = value {
                    self.infinite += u64::from(number.is_infinite());
                    if number.is_nan() {
                        self.nan += 1;
                        value = ValueRef::Null;
                    }
                }
                insert.raw_bind_parameter(parameter, ToSqlOutput::Borrowed(value)).map_err(error)?;
            }
            insert.raw_execute().map_err(error)?;
        }
        self.rows += batch.num_rows() as u64;
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(u64, Vec<Remark>), SinkError> {
        self.database.publish()?;
        let remarks = vec![
            Remark { name: "values_nan", count: self.nan },
            Remark { name: "infinities_kept", count: self.infinite },
        ];
        Ok((self.rows, remarks))
    }
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
