//! The rows of `trend_data` on their way into the database.

use std::collections::BTreeMap;
use std::io;

use crate::format::msprobe_dump::Metric;

use super::super::SinkError;
use super::super::bulk_insert::{BulkInsert, Cell};
use super::super::early_sync::EarlySync;
use super::super::staged_database::StagedDatabase;
use super::runs::{Key, Row, Runs, metric_id};
use super::targets::Targets;

/// Rows in one statement; more hardly helps.
const ROWS_PER_INSERT: usize = 100;

/// Rows that may wait for the end of their file. A larger file is stored in pieces.
const MOST_WAITING: usize = 1 << 18;

/// A row that waits for the number of its target.
#[derive(Debug, Clone, Copy)]
pub(super) struct Waiting {
    pub(super) rank: i64,
    pub(super) step: i64,
    /// The target, as [`Targets`] knows it.
    pub(super) target: u32,
    pub(super) metric: Metric,
    /// Norm, max, min and mean as they are stored; NaN stands for NULL.
    pub(super) statistics: [f64; 4],
}

/// What tells a row from the others of its rank and step, and which of those that wait it is.
type Within = ((i64, Metric), u32);

/// How many rows there are.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Stored {
    /// Rows in the database.
    pub(super) rows: u64,
    /// Rows that were left out, because there was one of the same key before.
    pub(super) repeated: u64,
}

/// Stores rows: as pages of their own as long as they come in long stretches that do not overlap, which
/// those of a dump do, and through statements after that. The table is the same.
#[derive(Debug)]
pub(super) struct Values {
    waiting: Vec<Waiting>,
    runs: Option<Runs>,
    /// The pages on their way to the disk, after that.
    sync: Option<EarlySync>,
    insert: BulkInsert<2, 6>,
    stored: Stored,
}

impl Values {
    /// Begins with an empty table. The database is paused as long as pages are written.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(super) fn new(database: &StagedDatabase) -> Result<Self, SinkError> {
        Ok(Self {
            waiting: Vec::new(),
            runs: Some(Runs::new(database)?),
            sync: None,
            insert: BulkInsert::new("INSERT OR IGNORE INTO trend_data", ROWS_PER_INSERT),
            stored: Stored::default(),
        })
    }

    /// Adds a row, which is stored later.
    #[inline]
    pub(super) fn push(&mut self, row: Waiting) {
        self.waiting.push(row);
    }

    /// Whether so many rows wait that they should be stored before their file ends.
    pub(super) fn full(&self) -> bool {
        self.waiting.len() >= MOST_WAITING
    }

    /// Stores the rows that wait. Their targets must have their numbers.
    ///
    /// # Errors
    /// When they cannot be stored.
    pub(super) fn store(&mut self, database: &StagedDatabase, targets: &Targets) -> Result<(), SinkError> {
        for ((rank, step), mut order) in self.by_place(targets) {
            // Of equal keys the first row counts.
            let all = order.len();
            order.sort_unstable();
            order.dedup_by_key(|(key, _)| *key);
            self.stored.repeated += (all - order.len()) as u64;
            let row = |&((target, metric), at): &Within| {
                let statistics = self.waiting.get(at as usize)?.statistics;
                Some(Row { key: Key { rank, step, target, metric }, statistics })
            };
            let rows: Vec<Row> = order.iter().filter_map(row).collect();
            match &mut self.runs {
                Some(runs) => {
                    runs.add(rows).map_err(write_error(database))?;
                    if runs.are_disturbed() {
                        self.end_runs(database)?;
                    }
                }
                None => self.insert(database, &rows)?,
            }
        }
        self.waiting.clear();
        Ok(())
    }

    /// Ends the pages, after which the database can be used as any other; says what was stored. Rows that
    /// wait must have been stored before.
    ///
    /// # Errors
    /// When something cannot be stored.
    pub(super) fn finish(&mut self, database: &StagedDatabase) -> Result<Stored, SinkError> {
        self.end_runs(database)?;
        Ok(self.stored)
    }

    /// Waits until the pages are on the disk.
    ///
    /// # Errors
    /// When they do not arrive there.
    pub(super) fn wait(&mut self, database: &StagedDatabase) -> Result<(), SinkError> {
        self.sync.as_mut().map_or(Ok(()), EarlySync::wait).map_err(write_error(database))
    }

    /// The rows that wait, by rank and step.
    fn by_place(&self, targets: &Targets) -> BTreeMap<(i64, i64), Vec<Within>> {
        let mut places = BTreeMap::<_, Vec<Within>>::new();
        let mut rows = self.waiting.iter().zip(0u32..).peekable();
        while let Some((first, _)) = rows.peek() {
            let place = (first.rank, first.step);
            let order = places.entry(place).or_default();
            while let Some((row, at)) = rows.next_if(|(row, _)| (row.rank, row.step) == place) {
                order.push(((targets.id(row.target), row.metric), at));
            }
        }
        places
    }

    /// Completes the table as far as it was written as pages, and stores what did not fit among them.
    fn end_runs(&mut self, database: &StagedDatabase) -> Result<(), SinkError> {
        let Some(runs) = self.runs.take() else { return Ok(()) };
        let left = runs.finish().map_err(write_error(database))?;
        database.resume()?;
        self.sync = Some(left.sync);
        self.stored.rows += left.written;
        // Rows that were set aside may be equal to others, and are later then.
        self.insert(database, &left.between)?;
        self.insert(database, &left.aside)
    }

    /// Stores rows through statements.
    fn insert(&mut self, database: &StagedDatabase, rows: &[Row]) -> Result<(), SinkError> {
        let place = |row: &Row| (row.key.rank, row.key.step);
        for rows in rows.chunk_by(|a, b| place(a) == place(b)) {
            let Some(first) = rows.first() else { continue };
            let cells = rows.iter().map(|Row { key, statistics }| {
                let [norm, max, min, mean] = statistics.map(Cell::Real);
                [Cell::Int(key.target), Cell::Int(metric_id(key.metric)), norm, max, min, mean]
            });
            let shared = [Cell::Int(first.key.rank), Cell::Int(first.key.step)];
            let new = self.insert.run(database.connection(), shared, cells);
            let new = new.map_err(|e| database.error(e))?;
            self.stored.rows += new as u64;
            self.stored.repeated += rows.len().saturating_sub(new) as u64;
        }
        Ok(())
    }
}

fn write_error(database: &StagedDatabase) -> impl FnOnce(io::Error) -> SinkError {
    SinkError::io(database.target(), "write its rows to the file beside it")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use rusqlite::Connection;

    use super::*;
    use crate::sink::trend_db::schema::TABLES;

    /// Numbers that look random, the same in every run.
    struct Random(u64);

    impl Random {
        fn below(&mut self, limit: u64) -> u64 {
            self.0 = self.0.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (self.0 >> 33) % limit
        }

        fn statistic(&mut self) -> f64 {
            let edges = [f64::NAN, 0.0, -0.0, 1.0, -1.0, 127.0, 128.0, -32769.0, 8388608.0, 1e9 + 1.0, -1e9];
            match self.below(3) {
                0 => edges.get(self.below(edges.len() as u64) as usize).copied().unwrap_or_default(),
                1 => self.below(1 << 31) as f64 - f64::from(1u32 << 30),
                _ => f64::from_bits(self.below(1 << 31) << 32 | self.below(1 << 31)).clamp(-1e9, 1e9),
            }
        }
    }

    /// What a rank, a step, a target and a metric have in the table: NaN is NULL, and minus zero zero.
    type Table = BTreeMap<(i64, i64, i64, i64), [Option<u64>; 4]>;

    fn table_of(path: &Path) -> Table {
        let db = Connection::open(path).expect("a database");
        let check = |row: &rusqlite::Row<'_>| row.get::<_, String>(0);
        assert_eq!(db.query_row("PRAGMA integrity_check", [], check).expect("checked"), "ok");
        let mut rows = db.prepare("SELECT * FROM trend_data").expect("prepared");
        let row = |row: &rusqlite::Row<'_>| {
            let number = |at| row.get::<_, Option<f64>>(at).map(|n| n.map(f64::to_bits));
            let key = (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            Ok((key, [number(4)?, number(5)?, number(6)?, number(7)?]))
        };
        rows.query_map([], row).expect("read").collect::<rusqlite::Result<_>>().expect("rows")
    }

    /// Stores files of rows (rank, step, target, metric) and checks that each row can be read again.
    /// Returns whether it all went into pages.
    fn check(files: &[Vec<(i64, i64, u32, Metric)>]) -> bool {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.trend.db");
        let database = StagedDatabase::create(&path).expect("created");
        TABLES.iter().for_each(|table| database.connection().execute_batch(table).expect("a table"));
        let mut values = Values::new(&database).expect("begun");
        let mut targets = Targets::default();
        let mut random = Random(7);
        let (mut expected, mut repeated) = (Table::new(), 0);
        for file in files {
            let mut keys = Vec::new();
            for &(rank, step, target, metric) in file {
                let statistics = [0; 4].map(|_: i32| random.statistic());
                let target = targets.find(Metric::Forward, &target.to_string(), 0, 0);
                values.push(Waiting { rank, step, target, metric, statistics });
                keys.push((rank, step, target, metric, statistics));
            }
            targets.number();
            values.store(&database, &targets).expect("stored");
            for (rank, step, target, metric, statistics) in keys {
                let key = (rank, step, targets.id(target), metric_id(metric));
                let stored = statistics.map(|n| (!n.is_nan()).then(|| (n + 0.0).to_bits()));
                match expected.entry(key) {
                    std::collections::btree_map::Entry::Vacant(slot) => drop(slot.insert(stored)),
                    std::collections::btree_map::Entry::Occupied(_) => repeated += 1,
                }
            }
        }
        let in_pages = values.runs.is_some();
        let stored = values.finish(&database).expect("complete");
        assert_eq!((stored.rows, stored.repeated), (expected.len() as u64, repeated));
        // The table is a table like any other: it can be written to.
        let one_more = "INSERT INTO trend_data VALUES (-5, 3, 1, 1, 0, 0, 0, 0)";
        database.connection().execute_batch(one_more).expect("written");
        expected.insert((-5, 3, 1, 1), [Some(0); 4]);
        database.publish().expect("published");
        let table = table_of(&path);
        assert_eq!(table.len(), expected.len());
        assert!(table == expected);
        in_pages
    }

    /// Rows of one rank and step, so many targets with each of two metrics, in an order that is not that
    /// of the keys.
    fn run(rank: i64, step: i64, targets: u32) -> Vec<(i64, i64, u32, Metric)> {
        let of = |metric| (0..targets).map(move |target| (rank, step, target, metric));
        of(Metric::Backward).chain(of(Metric::Forward)).collect()
    }

    #[test]
    fn long_runs_become_pages_in_whatever_order_they_come() {
        let places = |steps: i64, ranks: i64| (0..steps).flat_map(move |s| (0..ranks).map(move |r| (r, s)));
        assert!(check(&places(4, 5).map(|(rank, step)| run(rank, step, 700)).collect::<Vec<_>>()));
        assert!(check(
            &places(2, 3).map(|(rank, step)| run(-rank, i64::MAX - step, 600)).collect::<Vec<_>>()
        ));
        // Several ranks and steps in one file, in turn.
        let mixed =
            |file: i64| (0..3000).map(move |n| (file * 10 + n % 2, -(n % 3), n as u32, Metric::Forward));
        let mixed: Vec<Vec<_>> = (0..3).map(|file| mixed(file).collect()).collect();
        assert!(check(&mixed));
        // Sizes around those of a run, and such that the last leaf gets any number of rows.
        for targets in 505..520 {
            assert!(check(&[run(0, 0, targets), run(1, 0, targets + 90), run(0, 1, 2 * targets)]));
        }
        // Three levels of pages.
        assert!(check(&(0..5).map(|rank| run(300 - rank, 1 << 40, 60_000)).collect::<Vec<_>>()));
    }

    #[test]
    fn short_and_overlapping_runs_are_stored_too() {
        assert!(check(&[]));
        assert!(check(&[run(0, 0, 1)]));
        assert!(check(&[run(0, 0, 700), run(0, 0, 900), run(1, 0, 700), run(0, 0, 3), run(1, 0, 5)]));
        // Short before long of the same keys: the first row counts.
        assert!(check(&[run(2, 0, 20), run(2, 0, 900), run(0, 0, 900), run(2, 0, 1)]));
        // So many that everything behind them goes through statements.
        let short: Vec<_> = (0..200).map(|n| run(n % 7, n, 400)).collect();
        assert!(!check(&short));
        let long_first: Vec<_> = [run(3, 0, 2000), run(1, 0, 2000)].into_iter().chain(short).collect();
        assert!(!check(&long_first));
    }

    #[test]
    fn rows_in_no_order_at_all() {
        let mut random = Random(1);
        let metrics = Metric::ALL;
        for size in [0, 1, 50, 3000, 40_000] {
            let file = |random: &mut Random| {
                let row = |_| {
                    let metric = metrics.get(random.below(4) as usize).copied().unwrap_or(Metric::Forward);
                    (random.below(3) as i64, random.below(2) as i64, random.below(5000) as u32, metric)
                };
                (0..size).map(row).collect::<Vec<_>>()
            };
            let files: Vec<_> = (0..4).map(|_| file(&mut random)).collect();
            check(&files);
        }
    }
}
