//! Stretches of rows of `trend_data` that are written as pages.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use crate::format::msprobe_dump::Metric;

use super::super::SinkError;
use super::super::early_sync::EarlySync;
use super::super::row_pages::{Cells, RowPages, Value};
use super::super::staged_database::StagedDatabase;

/// Rows of one rank and step that are worth pages of their own. The last page of such a run is half
/// empty, so there should be many before it.
const LEAST_RUN: usize = 1024;

/// Rows that may be set aside because they fit in nowhere, before everything goes through statements.
const MOST_ASIDE: usize = 1 << 16;

/// Number of a metric in the database.
pub(super) fn metric_id(metric: Metric) -> i64 {
    metric.index() as i64 + 1
}

/// A row as it is stored.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row {
    pub(super) key: Key,
    /// Norm, max, min and mean as they are stored; NaN stands for NULL.
    pub(super) statistics: [f64; 4],
}

/// The columns of the primary key, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) rank: i64,
    pub(super) step: i64,
    /// The number of the target.
    pub(super) target: i64,
    pub(super) metric: Metric,
}

/// The part of the table that is written as pages: long stretches of rows in order, which do not overlap.
///
/// Each run has leaves of its own, so that others, which come later, find their place between two runs.
/// The rest is left to whoever stores rows through statements.
#[derive(Debug)]
pub(super) struct Runs {
    pages: RowPages,
    /// The root of the table.
    root: u32,
    cells: Cells<8>,
    /// Stretches of rows that were written, by their first key.
    runs: BTreeMap<Key, Run>,
    /// Stretches of keys that rows were met of, from the first to the last: the runs, and rows aside.
    taken: BTreeMap<Key, Key>,
    /// Rows in runs.
    written: u64,
    /// Rows at the ends of runs that are in no page.
    between: Vec<Row>,
    /// Rows that are few or among those of others, in the order in which they came.
    aside: Vec<Row>,
}

/// What is left to do when the pages are complete.
pub(super) struct Left {
    /// Rows that are in the table.
    pub(super) written: u64,
    /// Single rows that are not, none of which has the key of another row.
    pub(super) between: Vec<Row>,
    /// Rows that are not, and may have the key of another, which came first.
    pub(super) aside: Vec<Row>,
    /// The pages on their way to the disk.
    pub(super) sync: EarlySync,
}

#[derive(Debug)]
struct Run {
    leaves: Range<usize>,
    /// The row behind its last leaf.
    last: Row,
}

impl Runs {
    /// Pauses the database, whose table is empty, and begins.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn new(database: &StagedDatabase) -> Result<Self, SinkError> {
        let number = |sql: &str| {
            let number = database.connection().query_row(sql, [], |row| row.get::<_, u32>(0));
            number.map_err(|e| database.error(e))
        };
        let root = number("SELECT rootpage FROM sqlite_schema WHERE name = 'trend_data'")?;
        let file = database.pause()?;
        let pages = number("PRAGMA page_count")?;
        Ok(Self {
            pages: RowPages::new(file, pages)
                .map_err(SinkError::io(database.target(), "write its rows to the file beside it"))?,
            root,
            cells: Cells::new(),
            runs: BTreeMap::new(),
            taken: BTreeMap::new(),
            written: 0,
            between: Vec::new(),
            aside: Vec::new(),
        })
    }

    /// Takes rows in the order of their keys, which are different.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn add(&mut self, rows: Vec<Row>) -> io::Result<()> {
        let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(()) };
        let alone = self.take(first.key, last.key);
        if !alone || rows.len() < LEAST_RUN {
            self.aside.extend(rows);
            return Ok(());
        }
        self.cells.clear();
        for Row { key, statistics } in &rows {
            let [norm, max, min, mean] = statistics.map(Value::Real);
            let [rank, step, target] = [key.rank, key.step, key.target].map(Value::Int);
            self.cells.push([rank, step, target, Value::Int(metric_id(key.metric)), norm, max, min, mean]);
        }
        let written = self.pages.run(&self.cells)?;
        let mut inside = rows.as_slice();
        if written.without_last
            && let Some((last, before)) = rows.split_last()
        {
            self.between.push(*last);
            inside = before;
        }
        if let Some(last) = inside.last() {
            self.runs.insert(first.key, Run { leaves: written.leaves, last: *last });
        }
        self.written += inside.len() as u64;
        Ok(())
    }

    /// Notes that there are rows from the first to the last key; whether there were none before.
    fn take(&mut self, first: Key, last: Key) -> bool {
        let (mut from, mut to) = (first, last);
        let mut alone = true;
        while let Some((&start, &end)) = self.taken.range(..=to).next_back()
            && end >= from
        {
            alone = false;
            self.taken.remove(&start);
            (from, to) = (from.min(start), to.max(end));
        }
        self.taken.insert(from, to);
        alone
    }

    /// Whether so many rows fit in nowhere that pages are not worth it any more.
    pub(super) fn are_disturbed(&self) -> bool {
        self.aside.len() > MOST_ASIDE
    }

    /// Completes the table as far as it is in pages, after which the database can be resumed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn finish(mut self) -> io::Result<Left> {
        // Behind the last of all leaves there is no page, so the row there is in none.
        let last = self.runs.last_key_value().map(|(_, run)| run.last);
        self.written -= u64::from(last.is_some());
        self.between.extend(last);
        let sync = self.pages.finish(self.root, self.runs.into_values().map(|run| run.leaves))?;
        Ok(Left { written: self.written, between: self.between, aside: self.aside, sync })
    }
}
