//! `memscope_python_trace`: calls of Python functions, on the clock of the events.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use crate::source::{
    Counter, DataError, Finding, Format, Host, KeyColumn, Kind, Layout, Place, ReadError, ReadRequest, Root,
    Unit, UnitReader, quoted_name,
};

use super::columns::{RowColumns, UnitColumns};
use super::database::{self, DumpError};
use super::layout::{self, FileKind, TRACE_CSV};
use super::lines::{Lines, check_text, split_right};
use super::number;
use super::rows::unreadable;
use super::schema::{KEY_COLUMNS, Trace};

/// The format behind `memscope_python_trace`. A unit is a csv, or a database with tables of traces.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopePythonTrace;

impl Format for MemscopePythonTrace {
    fn name(&self) -> &'static str {
        "memscope_python_trace"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Trace::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let what = "python_trace_*.csv and memscope_dump_*.db";
        let (found, findings) =
            layout::find(self.name(), roots, &[FileKind::TraceCsv, FileKind::DumpDb], what)?;
        Ok(Layout { units: found.iter().map(layout::FoundFile::unit).collect(), findings })
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let path = unit.files.first().map_or(unit.path(), |file| &file.path);
        let source = if unit.file(TRACE_CSV).is_some() {
            Lines::behind_header(HEADER, path, host.as_ref())?.map(Source::Csv)
        } else {
            match database::open(path, host.as_ref())? {
                Some(connection) => match trace_tables(&connection, path) {
                    Ok((tables, notes)) => {
                        notes.into_iter().try_for_each(|note| host.report(note))?;
                        Some(Source::Db { connection, tables, from: i64::MIN })
                    }
                    Err(e) => {
                        host.report(database::broken(path, &e))?;
                        None
                    }
                },
                None => None,
            }
        };
        Ok(Box::new(TraceReader {
            unit: unit.clone(),
            request: request.clone(),
            host,
            source,
            row: 0,
            rest: None,
        }))
    }
}

/// How the names of tables with traces begin.
const TABLES: &str = "python_trace_";

/// The tables with traces, and a note on each view of such a name: anything may be behind one, so it is not
/// read, and nobody shall miss its rows without a word.
fn trace_tables(connection: &Connection, path: &Path) -> rusqlite::Result<(VecDeque<String>, Vec<Finding>)> {
    let tables = database::tables(connection)?.into_iter().filter(|t| t.starts_with(TABLES)).collect();
    let others = database::no_tables(connection)?.into_iter().filter(|(name, _)| name.starts_with(TABLES));
    let note = |(name, what): (String, _)| {
        let message = format!("this is {what}, no table: the rows that it shows are not read");
        Finding::note(Kind::Unused, path, message).at(Place::Key(name))
    };
    Ok((tables, others.map(note).collect()))
}

/// The first line of a csv.
const HEADER: &str = "FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id";

enum Source {
    Csv(Lines),
    Db { connection: Connection, tables: VecDeque<String>, from: i64 },
}

/// Reads one file.
struct TraceReader {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    source: Option<Source>,
    row: i64,
    /// Rows that were read and not handed out yet.
    rest: Option<RecordBatch>,
}

/// Rows that are taken from a table at a time, whatever the size of batches: in a damaged table it decides
/// what is found, and what is found must not depend on the batches.
const TABLE_ROWS: usize = 8192;

/// One call; times and numbers as written, `N/A` when they are not known.
struct Call<'a> {
    func: &'a [u8],
    numbers: [Option<i64>; 4],
    row: i64,
    table: Option<&'a str>,
}

type Rows = RowColumns<Trace>;

/// Adds a call to the rows.
fn push(rows: &mut Rows, call: &Call<'_>) {
    let [start, end, tid, pid] = call.numbers;
    rows.push(|column, builder| match column {
        Trace::Func => builder.text(Some(call.func)),
        Trace::StartNs => builder.int(start),
        Trace::EndNs => builder.int(end),
        Trace::Tid => builder.int(tid),
        Trace::Pid => builder.int(pid),
        Trace::RowNo => builder.int(Some(call.row)),
        Trace::TraceTable => builder.text(call.table.map(str::as_bytes)),
        Trace::RunDir | Trace::RunPid | Trace::SourcePath => {}
    });
}

impl TraceReader {
    /// Reads up to a batch of lines; false at the end.
    fn read_csv(&mut self, lines: &mut Lines, rows: &mut Rows) -> Result<bool, ReadError> {
        let path = self.unit.path().to_path_buf();
        while rows.rows() < self.request.batch_rows.max(1) {
            match lines.next() {
                Ok(None) => return Ok(false),
                Ok(Some((_, line))) if line.trim_ascii().is_empty() => {}
                Ok(Some((number, line))) => {
                    self.host.count(Counter::RowsRead, 1);
                    self.row = i64::try_from(number).unwrap_or(i64::MAX).saturating_sub(1);
                    let read = |(func, cells): (_, [&[u8]; 4])| {
                        let known =
                            cells.iter().all(|c| number::is_absent(c) || number::integer(c).is_some());
                        let numbers = cells.map(number::integer);
                        known.then_some(Call { func, numbers, row: self.row, table: None })
                    };
                    match split_right::<4>(line).and_then(read) {
                        Some(call) => {
                            check_text(line, number, &path, self.host.as_ref())?;
                            push(rows, &call);
                        }
                        None => {
                            self.host.count(Counter::RowsLeftOut, 1);
                            let message = "the line is broken or cut off: expected function, start, end, thread and process";
                            let finding = Finding::problem(Kind::BadRow, &path, message);
                            self.host.report(finding.at(Place::Line(number)))?;
                        }
                    }
                }
                Err(e) => {
                    self.host.report(unreadable(&path, &e))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// A number in a table, `None` when it is not known; the error says what stands in its place.
fn number_in(value: ValueRef<'_>) -> Result<Option<i64>, &'static str> {
    match value {
        ValueRef::Integer(n) => Ok(Some(n)),
        ValueRef::Null => Ok(None),
        ValueRef::Text(text) if number::is_absent(text) => Ok(None),
        ValueRef::Text(text) => number::integer(text).map(Some).ok_or("a text"),
        ValueRef::Real(_) => Err("a fraction"),
        ValueRef::Blob(_) => Err("a blob"),
    }
}

/// Reads up to [`TABLE_ROWS`] rows of a table from a rowid on; gives the next rowid when there may be more. What is
/// wrong with rows that are left out goes to `bad`.
fn read_table(
    connection: &Connection,
    table: &str,
    from: i64,
    row_no: &mut i64,
    rows: &mut Rows,
    bad: &mut Vec<String>,
) -> Result<Option<i64>, DumpError> {
    let sql = format!(
        "SELECT rowid, \"FuncInfo\", \"StartTime(ns)\", \"EndTime(ns)\", \"Thread Id\", \"Process Id\" \
         FROM main.{} WHERE rowid >= ?1 ORDER BY rowid LIMIT {TABLE_ROWS}",
        quoted_name(table)
    );
    let mut statement = connection.prepare_cached(&sql)?;
    let mut found = statement.query([from])?;
    let (mut next, mut n) = (Some(from), 0);
    while let Some(row) = found.next()? {
        let number: i64 = row.get(0)?;
        // In a damaged file a page can be linked to again and again: that would never end.
        if next.is_none_or(|next| number < next) {
            return Err(DumpError::OutOfOrder(number));
        }
        next = number.checked_add(1);
        n += 1;
        *row_no += 1;
        let func = match row.get_ref(1)? {
            ValueRef::Text(text) => Ok(text),
            ValueRef::Null => Ok(&b""[..]),
            _ => Err(("FuncInfo", "no text")),
        };
        let columns = ["StartTime(ns)", "EndTime(ns)", "Thread Id", "Process Id"];
        let mut wrong = func.err();
        let mut numbers = [None; 4];
        for (at, (number, column)) in numbers.iter_mut().zip(columns).enumerate() {
            match number_in(row.get_ref(at + 2)?) {
                Ok(value) => *number = value,
                Err(what) => wrong = wrong.or(Some((column, what))),
            }
        }
        match (func, wrong) {
            (Ok(func), None) => push(rows, &Call { func, numbers, row: *row_no, table: Some(table) }),
            (_, wrong) => {
                let (column, what) = wrong.unwrap_or_default();
                let expected = if column == "FuncInfo" { "a text" } else { "an integer or N/A" };
                bad.push(format!("row {row_no} holds {what} as {column}, expected {expected}"));
            }
        }
    }
    Ok(next.filter(|_| n == TABLE_ROWS))
}

impl UnitReader for TraceReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if self.host.stopped() {
            return Err(ReadError::Stopped);
        }
        let rest = match self.rest.take() {
            Some(rest) => Some(rest),
            None => self.read_on()?,
        };
        let Some(rest) = rest else { return Ok(None) };
        let most = self.request.batch_rows.max(1).min(rest.num_rows());
        let behind = rest.num_rows() - most;
        self.rest = (behind > 0).then(|| rest.slice(most, behind));
        Ok(Some(rest.slice(0, most)))
    }
}

impl TraceReader {
    /// The next rows, at least one; `None` at the end.
    fn read_on(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        let mut rows = Rows::new(&self.request.projection, Trace::ALL, Trace::SPECS);
        match self.source.take() {
            Some(Source::Csv(mut lines)) => {
                let more = self.read_csv(&mut lines, &mut rows)?;
                self.source = more.then_some(Source::Csv(lines));
            }
            Some(Source::Db { connection, mut tables, mut from }) => {
                let mut bad = vec![];
                while rows.rows() == 0
                    && let Some(table) = tables.front()
                {
                    let read = read_table(&connection, table, from, &mut self.row, &mut rows, &mut bad);
                    let place = Place::Key(table.clone());
                    self.host.count(Counter::RowsRead, bad.len() as u64);
                    self.host.count(Counter::RowsLeftOut, bad.len() as u64);
                    for message in bad.drain(..) {
                        let finding = Finding::problem(Kind::BadValue, self.unit.path(), message);
                        self.host.report(finding.at(place.clone()))?;
                    }
                    let more = match read {
                        Ok(more) => more,
                        Err(e) => {
                            self.host.report(e.finding(self.unit.path()))?;
                            None
                        }
                    };
                    from = more.unwrap_or(i64::MIN);
                    if more.is_none() {
                        tables.pop_front();
                        self.row = 0;
                    }
                }
                self.host.count(Counter::RowsRead, rows.rows() as u64);
                self.source = Some(Source::Db { connection, tables, from });
            }
            None => {}
        }
        if rows.rows() == 0 {
            return Ok(None);
        }
        let schema = Arc::new(Trace::schema().project(&self.request.projection)?);
        rows.finish(&UnitColumns::new(&self.unit), &schema).map(Some)
    }
}
