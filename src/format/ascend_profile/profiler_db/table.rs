//! Tables: which columns they have, and their rows in the order in which they were written.

use std::collections::VecDeque;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};

use crate::source::{Degree, Finding, Kind, Place, quoted_name};
use crate::text::decimal;

use super::{Access, Budget, Fault};

/// What a name in the schema stands for.
pub(super) enum Found {
    /// Nothing has that name.
    Missing,
    /// Something else than a table with rows of its own: a view, a virtual table.
    Other(String),
    /// A table.
    Table(Shape),
}

/// The columns of a table, and how its rows are numbered.
pub(super) struct Shape {
    /// Per column: its name, and whether it is the declared `INTEGER PRIMARY KEY`.
    columns: Vec<(String, bool)>,
    /// The name under which the row number can be asked for; a table without any has `None`.
    rowid: Option<&'static str>,
    /// What the rows are to be sorted by, as SQL: their stored order. Empty when nothing names it.
    order: String,
}

impl Shape {
    /// Whether there is such a column. As in SQL, case does not matter.
    pub(super) fn has(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, _)| name.eq_ignore_ascii_case(column))
    }

    /// Whether a row is found by this column without reading the table.
    pub(super) fn is_key(&self, column: &str) -> bool {
        self.columns.iter().any(|(name, key)| *key && name.eq_ignore_ascii_case(column))
    }
}

/// Looks up a table. `name` is one of ours, never text from the file.
pub(super) fn find(conn: &Connection, name: &str) -> rusqlite::Result<Found> {
    let mut found = Found::Missing;
    let mut stmt =
        conn.prepare("SELECT type, rootpage FROM main.sqlite_schema WHERE name = ?1 COLLATE NOCASE")?;
    let mut rows = stmt.query([name])?;
    while let Some(row) = rows.next()? {
        let kind: Option<String> = row.get(0)?;
        let kind = kind.unwrap_or_default();
        // A virtual table has type `table` too, but no pages.
        let stored = row.get::<_, Option<i64>>(1)?.is_some_and(|page| page > 0);
        if kind == "table" && stored {
            return shape(conn, name).map(Found::Table);
        }
        found = Found::Other(if kind == "table" { "virtual table".into() } else { kind });
    }
    Ok(found)
}

fn shape(conn: &Connection, name: &str) -> rusqlite::Result<Shape> {
    let mut columns = Vec::new();
    let mut keys = Vec::new();
    let mut stmt = conn.prepare("SELECT name, type, pk FROM pragma_table_info(?1)")?;
    let mut rows = stmt.query([name])?;
    while let Some(row) = rows.next()? {
        let integer = row.get::<_, Option<String>>(1)?.is_some_and(|t| t.eq_ignore_ascii_case("integer"));
        let (column, place): (String, i64) = (row.get(0)?, row.get(2)?);
        if place > 0 {
            keys.push((place, quoted_name(&column)));
        }
        columns.push((column, integer && place > 0));
    }
    if keys.len() > 1 {
        columns.iter_mut().for_each(|(_, key)| *key = false);
    }
    // Without row numbers the rows are stored by the primary key. It has to be asked for: SQLite may
    // read such a table through an index even when told not to.
    keys.sort_unstable();
    let order = keys.into_iter().map(|(_, column)| column).collect::<Vec<_>>().join(", ");
    let mut shape = Shape { columns, rowid: None, order };
    for alias in ["rowid", "_rowid_", "oid"] {
        // A column of that name hides the row number.
        if !shape.has(alias) && conn.prepare(&format!("SELECT {alias} FROM main.{name} LIMIT 0")).is_ok() {
            shape.rowid = Some(alias);
            shape.order = alias.into();
            break;
        }
    }
    Ok(shape)
}

/// A value as it matters here. Text that is a number counts as that number.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) enum Cell {
    /// No value.
    #[default]
    Null,
    /// An integer.
    Int(i64),
    /// A finite number that is no 64-bit integer, or was not stored as one.
    Real(f64),
    /// Anything else; the start of it, for a message.
    Other(String),
}

impl Cell {
    fn read(value: ValueRef<'_>) -> Self {
        match value {
            ValueRef::Null => Cell::Null,
            ValueRef::Integer(i) => Cell::Int(i),
            ValueRef::Real(x) if x.is_finite() => Cell::Real(x),
            ValueRef::Real(x) => Cell::Other(x.to_string()),
            ValueRef::Blob(b) => Cell::Other(format!("a blob of {} bytes", b.len())),
            ValueRef::Text(text) => {
                let whole = std::str::from_utf8(text).ok().and_then(|t| t.trim().parse().ok());
                let real = || decimal::float(text).filter(|x| x.is_finite()).map(Cell::Real);
                whole.map(Cell::Int).or_else(real).unwrap_or_else(|| {
                    let start = text.get(..40).unwrap_or(text);
                    Cell::Other(format!("the text '{}'", String::from_utf8_lossy(start).escape_debug()))
                })
            }
        }
    }

    /// The value as an exact integer; a float counts only where floats are exact.
    ///
    /// # Errors
    /// What was found and expected, when it is something else.
    pub(super) fn int(&self, column: &str) -> Result<Option<i64>, String> {
        const EXACT: f64 = (1u64 << 53) as f64;
        match self {
            Cell::Null => Ok(None),
            Cell::Int(i) => Ok(Some(*i)),
            Cell::Real(x) if x.fract() == 0.0 && x.abs() < EXACT => Ok(Some(*x as i64)),
            Cell::Real(x) => Err(format!("{column} is {x}, expected an integer")),
            Cell::Other(what) => Err(format!("{column} is {what}, expected an integer")),
        }
    }

    /// The value as a float.
    ///
    /// # Errors
    /// What was found and expected, when it is something else.
    pub(super) fn float(&self, column: &str) -> Result<Option<f64>, String> {
        match self {
            Cell::Null => Ok(None),
            Cell::Int(i) => Ok(Some(*i as f64)),
            Cell::Real(x) => Ok(Some(*x)),
            Cell::Other(what) => Err(format!("{column} is {what}, expected a number")),
        }
    }
}

/// A column that is asked for.
pub(super) struct Column {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether the table is of no use without it.
    pub(super) required: bool,
}

/// Shorthand for the constant tables of columns.
pub(super) const fn required(name: &'static str) -> Column {
    Column { name, required: true }
}

/// Shorthand for the constant tables of columns.
pub(super) const fn optional(name: &'static str) -> Column {
    Column { name, required: false }
}

/// Which row a set of cells comes from.
#[derive(Debug, Clone, Copy)]
pub(super) struct At {
    /// Its position, counted from 1.
    pub(super) row_no: i64,
    /// SQLite's number of it.
    pub(super) rowid: Option<i64>,
}

/// What is done with each row.
type Each<'f, const N: usize> = dyn FnMut(&Table<N>, At, [Cell; N]) -> Result<(), Fault> + 'f;

/// A table and the columns that are read from it.
#[derive(Debug)]
pub(super) struct Table<const N: usize> {
    name: &'static str,
    rowid: Option<&'static str>,
    present: [bool; N],
    /// `SELECT ... FROM ...`, with the row number first and NULL for columns that are not there.
    select: String,
    /// As [`Shape`] has it.
    order: String,
}

impl<const N: usize> Table<N> {
    /// Looks for a table; `None` when it cannot be used, which has been reported with `degree` then.
    /// `why` says in a message what it is needed for.
    pub(super) fn open(
        db: &Access<'_>,
        name: &'static str,
        columns: &[Column; N],
        degree: Degree,
        why: &str,
    ) -> Result<Option<Self>, Fault> {
        let tell = |kind: Kind, message: String| -> Result<Option<Self>, Fault> {
            let finding = match degree {
                Degree::Note => Finding::note(kind, db.path, message),
                Degree::Problem => Finding::problem(kind, db.path, message),
            };
            db.host.report(finding.at(Place::Key(name.into())))?;
            Ok(None)
        };
        let shape = match find(db.conn, name)? {
            Found::Missing => return tell(Kind::Missing, format!("there is no table {name}: {why}")),
            Found::Other(kind) => {
                return tell(Kind::BadStructure, format!("{name} is a {kind}, expected a table: {why}"));
            }
            Found::Table(shape) => shape,
        };
        let present = columns.each_ref().map(|c| shape.has(c.name));
        let absent = |needed: bool| {
            let missing = columns.iter().zip(present).filter(|(c, there)| c.required == needed && !there);
            missing.map(|(c, _)| c.name).collect::<Vec<_>>().join(", ")
        };
        let (required, optional) = (absent(true), absent(false));
        if !required.is_empty() {
            return tell(Kind::Columns, format!("{name} has no column {required}: {why}"));
        }
        if !optional.is_empty() {
            let message = format!("{name} has no column {optional}: read as NULL");
            db.host.report(Finding::note(Kind::Columns, db.path, message).at(Place::Key(name.into())))?;
        }
        let mut select = format!("SELECT {}", shape.rowid.unwrap_or("NULL"));
        for (column, there) in columns.iter().zip(present) {
            select.push_str(", ");
            select.push_str(if there { column.name } else { "NULL" });
        }
        // An index may hold expressions and another order; the table itself is what counts.
        select.push_str(&format!(" FROM main.{name} NOT INDEXED"));
        Ok(Some(Self { name, rowid: shape.rowid, present, select, order: shape.order }))
    }

    /// Whether each of the columns is really there.
    pub(super) fn present(&self) -> &[bool; N] {
        &self.present
    }

    /// A row, for a message.
    pub(super) fn place(&self, at: At) -> Place {
        Place::Key(match at.rowid {
            Some(rowid) => format!("{} rowid {rowid}", self.name),
            None => format!("{} row {}", self.name, at.row_no),
        })
    }

    /// Reads all rows, in the order of their numbers.
    pub(super) fn scan(&self, db: &Access<'_>, each: &mut Each<'_, N>) -> Result<(), Fault> {
        let by = if self.order.is_empty() { "" } else { " ORDER BY " };
        let mut stmt = db.conn.prepare(&format!("{}{by}{}", self.select, self.order))?;
        let mut rows = stmt.query([])?;
        let (mut row_no, mut next) = (0, Some(i64::MIN));
        while let Some(row) = rows.next()? {
            row_no += 1;
            db.poll(row_no)?;
            let rowid = self.step(row, &mut next)?;
            each(self, At { row_no, rowid }, cells(row)?)?;
        }
        db.read_through();
        Ok(())
    }

    /// The number of a row; `next` is the smallest that can come, and moves on.
    ///
    /// In a damaged file a page can be linked to again and again: that would never end.
    fn step(&self, row: &Row<'_>, next: &mut Option<i64>) -> Result<Option<i64>, Fault> {
        if self.rowid.is_none() {
            return Ok(None);
        }
        let rowid: i64 = row.get(0)?;
        if next.is_none_or(|least| rowid < least) {
            return Err(Fault::Structure(format!("rows of {} are out of order at rowid {rowid}", self.name)));
        }
        *next = rowid.checked_add(1);
        Ok(Some(rowid))
    }
}

fn cells<const N: usize>(row: &Row<'_>) -> rusqlite::Result<[Cell; N]> {
    let mut cells = [const { Cell::Null }; N];
    for (i, cell) in cells.iter_mut().enumerate() {
        *cell = Cell::read(row.get_ref(i + 1)?);
    }
    Ok(cells)
}

/// Reads a table some rows at a time, without keeping a statement open between them.
#[derive(Debug)]
pub(super) struct Cursor<const N: usize> {
    table: Table<N>,
    /// The smallest row number that has not been read; `None` at the end.
    next: Option<i64>,
    row_no: i64,
    /// All rows of a table whose rows have no numbers, so that no place in it can be found again.
    held: Option<VecDeque<[Cell; N]>>,
}

impl<const N: usize> Cursor<N> {
    /// At the start of a table.
    pub(super) fn new(table: Table<N>) -> Self {
        Self { table, next: Some(i64::MIN), row_no: 0, held: None }
    }

    /// Hands out the next rows, at most `max`; how many there were. Fewer than `max` are the last.
    pub(super) fn take(
        &mut self,
        db: &Access<'_>,
        max: usize,
        each: &mut Each<'_, N>,
    ) -> Result<usize, Fault> {
        let Some(alias) = self.table.rowid else { return self.take_held(db, max, each) };
        let Some(from) = self.next else { return Ok(0) };
        let sql = format!("{} WHERE {alias} >= ?1 ORDER BY {alias} LIMIT ?2", self.table.select);
        let mut stmt = db.conn.prepare_cached(&sql)?;
        let mut rows = stmt.query((from, i64::try_from(max).unwrap_or(i64::MAX)))?;
        let mut taken = 0;
        while let Some(row) = rows.next()? {
            taken += 1;
            self.row_no += 1;
            db.poll(self.row_no)?;
            let rowid = self.table.step(row, &mut self.next)?;
            each(&self.table, At { row_no: self.row_no, rowid }, cells(row)?)?;
        }
        if taken < max {
            self.next = None;
            db.read_through();
        }
        Ok(taken)
    }

    fn take_held(&mut self, db: &Access<'_>, max: usize, each: &mut Each<'_, N>) -> Result<usize, Fault> {
        if self.held.is_none() {
            let mut held = VecDeque::new();
            let mut budget = Budget::default();
            self.table.scan(db, &mut |_, _, cells| {
                held.push_back(cells);
                budget.cover(held.capacity() * size_of::<[Cell; N]>(), db.host)?;
                Ok(())
            })?;
            self.held = Some(held);
        }
        let mut taken = 0;
        while taken < max
            && let Some(cells) = self.held.as_mut().and_then(VecDeque::pop_front)
        {
            taken += 1;
            self.row_no += 1;
            db.poll(self.row_no)?;
            each(&self.table, At { row_no: self.row_no, rowid: None }, cells)?;
        }
        Ok(taken)
    }
}
