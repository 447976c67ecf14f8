//! Writing a trend database.

use std::panic::resume_unwind;
use std::path::Path;

use crate::format::msprobe_dump::{Extent, Metric, STORED_LIMIT};

use super::super::SinkError;
use super::super::bulk_insert::{BulkInsert, Cell};
use super::super::staged_database::StagedDatabase;
use super::runs::metric_id;
use super::schema::{INDEXES, STATISTICS, TABLES, TOTALS};
use super::tags::Tags;
use super::targets::Targets;
use super::values::{Stored, Values, Waiting};

/// The reference stores rows, and thereby numbers targets, whenever a multiple of so many rows waits
/// behind an entry.
const FLUSH_ROWS: usize = 5000;

/// Rows in one statement; more hardly helps.
const ROWS_PER_INSERT: usize = 100;

/// One value of a tensor in a step.
#[derive(Debug, Clone, Copy)]
pub struct TrendRow<'a> {
    /// The rank.
    pub rank: i64,
    /// The global step.
    pub step: i64,
    /// The metric.
    pub metric: Metric,
    /// Name of the target.
    pub target: &'a str,
    /// Its stage of virtual pipeline parallelism.
    pub vpp_stage: i64,
    /// Its call index.
    pub micro_step: i64,
    /// Norm, max, min and mean, as they are in the dump.
    pub statistics: [Option<f64>; 4],
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Summary {
    /// Rows in `trend_data`.
    pub rows: u64,
    /// Rows that were not stored, because their target has a value for that rank and step already.
    pub repeated: u64,
    /// Different targets.
    pub targets: u64,
    /// Finite values that were cut to the limits of the format.
    pub clipped: u64,
    /// Infinite values, which became a number just beyond these limits.
    pub infinite: u64,
    /// Values that are NaN and became NULL.
    pub nan: u64,
}

/// A trend database that is being written. Dropped before [`TrendDatabase::finish`] it leaves nothing.
#[derive(Debug)]
pub struct TrendDatabase {
    database: StagedDatabase,
    targets: Targets,
    values: Values,
    /// Rows since targets got their numbers last.
    unnumbered: usize,
    seen: Option<Extent>,
    summary: Summary,
}

impl TrendDatabase {
    /// Begins a database that will replace the target when it is complete.
    ///
    /// # Errors
    /// When the file cannot be created.
    pub fn create(target: &Path) -> Result<Self, SinkError> {
        let database = StagedDatabase::create(target)?;
        let db = database.connection();
        for table in TABLES {
            db.execute_batch(table).map_err(|e| database.error(e))?;
        }
        let insert_metric = BulkInsert::<0, 1>::new("INSERT INTO monitoring_metrics (metric_name)", 1);
        let names = Metric::ALL.iter().map(|m| [Cell::Text(m.name())]);
        insert_metric.run(db, [], names).map_err(|e| database.error(e))?;
        let values = Values::new(&database)?;
        Ok(Self {
            database,
            targets: Targets::default(),
            values,
            unnumbered: 0,
            seen: None,
            summary: Summary::default(),
        })
    }

    /// The file that it will be.
    pub fn target(&self) -> &Path {
        self.database.target()
    }

    /// Adds a row.
    pub fn push(&mut self, row: &TrendRow<'_>) {
        let TrendRow { rank, step, .. } = *row;
        let target = self.targets.find(row.metric, row.target, row.vpp_stage, row.micro_step);
        let statistics = row.statistics.map(|value| self.stored(value));
        self.values.push(Waiting { rank, step, target, metric: row.metric, statistics });
        self.unnumbered += 1;
        let seen = self.seen.get_or_insert(Extent { max_rank: 0, min_step: step, max_step: step });
        seen.max_rank = seen.max_rank.max(rank);
        seen.min_step = seen.min_step.min(step);
        seen.max_step = seen.max_step.max(step);
    }

    /// Says that the rows of an entry are complete.
    ///
    /// # Errors
    /// When rows cannot be stored.
    pub fn end_entry(&mut self) -> Result<(), SinkError> {
        if self.unnumbered > 0 && self.unnumbered.is_multiple_of(FLUSH_ROWS) {
            self.number();
        }
        // Rows of targets that have no numbers yet must wait.
        if self.values.full() && self.unnumbered == 0 { self.store() } else { Ok(()) }
    }

    /// Says that the rows of a dump file are complete.
    ///
    /// # Errors
    /// When rows cannot be stored.
    pub fn end_file(&mut self) -> Result<(), SinkError> {
        self.number();
        self.store()
    }

    /// Adds tags and totals, and puts the file in the place of the target. `extent` says which steps
    /// and ranks the database offers; without it, those of the rows.
    ///
    /// # Errors
    /// When something cannot be stored. Then the target is as it was before.
    pub fn finish(mut self, extent: Option<Extent>, indexes: bool) -> Result<Summary, SinkError> {
        self.end_file()?;
        let Stored { rows, repeated } = self.values.finish(&self.database)?;
        (self.summary.rows, self.summary.repeated) = (rows, repeated);
        self.summary.targets = self.targets.len() as u64;
        let extent = extent.or(self.seen).unwrap_or(Extent { max_rank: 0, min_step: 0, max_step: 0 });
        self.write_end(extent, indexes).map_err(|e| self.database.error(e))?;
        self.values.wait(&self.database)?;
        self.database.publish()?;
        Ok(self.summary)
    }

    /// A value as the reference stores it; NaN stands for NULL.
    #[inline]
    fn stored(&mut self, value: Option<f64>) -> f64 {
        let Some(value) = value else { return f64::NAN };
        if value.abs() <= STORED_LIMIT {
            return value;
        }
        if value.is_nan() {
            self.summary.nan += 1;
            return value;
        }
        if value.is_infinite() {
            self.summary.infinite += 1;
            return (STORED_LIMIT + 1.0).copysign(value);
        }
        self.summary.clipped += 1;
        STORED_LIMIT.copysign(value)
    }

    /// Gives numbers to the targets that are new.
    fn number(&mut self) {
        self.targets.number();
        self.unnumbered = 0;
    }

    fn store(&mut self) -> Result<(), SinkError> {
        self.values.store(&self.database, &self.targets)
    }

    /// The tags of each metric, in the order in which the metrics were met. The readers have come to
    /// their end, so there are threads to spare.
    fn tags(&self) -> Vec<(Metric, Tags)> {
        // The connection may not be shared, and need not be.
        let targets = &self.targets;
        let of_metric = |metric: Metric| {
            let mut tags = Tags::default();
            targets.of_metric(metric).for_each(|(id, name)| tags.add(id, name));
            (metric, tags)
        };
        std::thread::scope(|scope| {
            let jobs: Vec<_> = targets.metrics().iter().map(|m| scope.spawn(move || of_metric(*m))).collect();
            let ended = jobs.into_iter().map(|job| job.join().unwrap_or_else(|e| resume_unwind(e)));
            ended.collect()
        })
    }

    fn write_end(&mut self, extent: Extent, indexes: bool) -> rusqlite::Result<()> {
        let db = self.database.connection();
        let targets = self.targets.numbered();
        let cells = targets.map(|(id, name, vpp, micro)| {
            [Cell::Int(id), Cell::Text(name), Cell::Int(vpp), Cell::Int(micro)]
        });
        BulkInsert::<0, 4>::new("INSERT OR FAIL INTO monitoring_targets", ROWS_PER_INSERT).run(
            db,
            [],
            cells,
        )?;
        let insert_tag = BulkInsert::<0, 4>::new("INSERT OR FAIL INTO monitoring_tags", ROWS_PER_INSERT);
        let insert_pair =
            BulkInsert::<0, 2>::new("INSERT OR FAIL INTO tag_target_mapping", 4 * ROWS_PER_INSERT);
        let mut last_tag = 0;
        for (metric, mut tags) in self.tags() {
            let tags = tags.sorted();
            let first = last_tag + 1;
            let numbered = || (first..).zip(&tags);
            let rows: Vec<_> = numbered()
                .map(|(id, (name, category, _))| {
                    [
                        Cell::Int(id),
                        Cell::Text(name),
                        Cell::Text(category.name()),
                        Cell::Int(metric_id(metric)),
                    ]
                })
                .collect();
            insert_tag.run(db, [], rows.into_iter())?;
            let pairs: Vec<(i64, i64)> =
                numbered().flat_map(|(id, (_, _, targets))| targets.iter().map(move |t| (id, *t))).collect();
            insert_pair.run(
                db,
                [],
                pairs.iter().map(|(tag, target)| [Cell::Int(*tag), Cell::Int(*target)]),
            )?;
            last_tag += tags.len() as i64;
        }
        if self.targets.tries() > 0 {
            let sql = "UPDATE sqlite_sequence SET seq = ? WHERE name = 'monitoring_targets'";
            db.execute(sql, [self.targets.tries()])?;
        }
        db.execute_batch(TOTALS)?;
        let totals = [extent.max_rank, extent.min_step, extent.max_step].map(Cell::Int);
        let [rank, first, last] = totals;
        let text = Cell::Text(STATISTICS);
        BulkInsert::<0, 7>::new("INSERT INTO global_stats", 1).run(
            db,
            [],
            [[rank, first, last, text, text, text, text]].into_iter(),
        )?;
        for index in INDEXES.iter().filter(|_| indexes) {
            db.execute_batch(index)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::*;

    fn row(step: i64, metric: Metric, target: &'static str, max: f64) -> TrendRow<'static> {
        let statistics = [None, Some(max), Some(f64::NAN), Some(-0.5)];
        TrendRow { rank: 3, step, metric, target, vpp_stage: 0, micro_step: 0, statistics }
    }

    #[test]
    fn a_database_is_there_when_it_is_complete() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.trend.db");
        std::fs::write(&path, "old").expect("written");
        let mut dropped = TrendDatabase::create(&path).expect("created");
        dropped.push(&row(0, Metric::Forward, "Module.a.input.0", 1.0));
        drop(dropped);
        assert_eq!(std::fs::read_to_string(&path).expect("readable"), "old");

        let mut database = TrendDatabase::create(&path).expect("created");
        database.push(&row(5, Metric::Backward, "Module.a.input.0", f64::INFINITY));
        database.push(&row(5, Metric::Forward, "Module.a.input.0", -2e9));
        database.push(&row(5, Metric::Forward, "Module.a.input.0", 7.0));
        database.end_file().expect("stored");
        let summary = database.finish(None, true).expect("complete");
        let expected = Summary { rows: 2, repeated: 1, targets: 1, clipped: 1, infinite: 1, nan: 3 };
        assert_eq!(summary, expected);

        let db = Connection::open(&path).expect("a database");
        let one = |sql: &str| db.query_row(sql, [], |r| r.get::<_, String>(0)).expect("one row");
        assert_eq!(
            one("SELECT group_concat(max || ' ' || coalesce(min, 'NULL')) FROM trend_data"),
            "-1000000000.0 NULL,1000000001.0 NULL"
        );
        assert_eq!(one("SELECT max_rank || ' ' || min_step || ' ' || max_step FROM global_stats"), "3 5 5");
        assert_eq!(one("SELECT seq || '' FROM sqlite_sequence WHERE name = 'monitoring_targets'"), "2");
        assert_eq!(one("PRAGMA integrity_check"), "ok");
        assert_eq!(std::fs::read_dir(dir.path()).expect("listed").count(), 1);
    }
}
