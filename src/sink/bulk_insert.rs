//! Many rows in one statement: preparing and stepping a statement costs more than storing a row.

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{Connection, ToSql};

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(super) enum Cell<'a> {
    /// An integer.
    Int(i64),
    /// A number; NaN is stored as NULL.
    Real(f64),
    /// A text.
    Text(&'a str),
}

impl ToSql for Cell<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Cell::Int(value) => ValueRef::Integer(*value),
            // SQLite would do the same; to say so is clearer.
            Cell::Real(value) if value.is_nan() => ValueRef::Null,
            Cell::Real(value) => ValueRef::Real(*value),
            Cell::Text(value) => ValueRef::Text(value.as_bytes()),
        }))
    }
}

/// An insert into one table: of each row `SHARED` leading values are the same in all rows of a call,
/// and the other `OWN` are not.
#[derive(Debug)]
pub(super) struct BulkInsert<const SHARED: usize, const OWN: usize> {
    many: String,
    one: String,
    rows: usize,
}

impl<const SHARED: usize, const OWN: usize> BulkInsert<SHARED, OWN> {
    /// `verb` is what stands before the values, for example `INSERT OR FAIL INTO t`; `rows` go into one
    /// statement. Without `OR` SQLite would keep copies of pages to undo the statement alone, and a
    /// statement that fails here ends the whole file.
    pub(super) fn new(verb: &str, rows: usize) -> Self {
        let rows = rows.max(1);
        let row = |number: usize| {
            let own = SHARED + number * OWN;
            let parameters = (1..=SHARED).chain(own + 1..=own + OWN).map(|n| format!("?{n}"));
            format!("({})", parameters.collect::<Vec<_>>().join(","))
        };
        Self {
            many: format!("{verb} VALUES {}", (0..rows).map(row).collect::<Vec<_>>().join(",")),
            one: format!("{verb} VALUES {}", row(0)),
            rows,
        }
    }

    /// Inserts rows; returns how many are new.
    pub(super) fn run<'a>(
        &self,
        db: &Connection,
        shared: [Cell<'_>; SHARED],
        rows: impl ExactSizeIterator<Item = [Cell<'a>; OWN]>,
    ) -> rusqlite::Result<usize> {
        let mut left = rows.len();
        let mut rows = rows;
        let mut inserted = 0;
        for (sql, size) in [(&self.many, self.rows), (&self.one, 1)] {
            if left < size {
                continue;
            }
            let mut statement = db.prepare_cached(sql)?;
            for (parameter, cell) in (1..).zip(shared) {
                statement.raw_bind_parameter(parameter, cell)?;
            }
            while left >= size {
                let mut parameter = SHARED + 1;
                for row in rows.by_ref().take(size) {
                    for cell in row {
                        statement.raw_bind_parameter(parameter, cell)?;
                        parameter += 1;
                    }
                }
                inserted += statement.raw_execute()?;
                left -= size;
            }
        }
        Ok(inserted)
    }
}
