//! The tables of a trend database, to the letter as the reference creates them.
//!
//! `tag_target_mapping` refers to a table that does not exist. That is the reference's fault and part
//! of the format; nobody notices as long as foreign keys are not enforced.

/// Created before the first row.
pub(super) const TABLES: [&str; 5] = [
    "CREATE TABLE monitoring_targets (
            target_id INTEGER PRIMARY KEY AUTOINCREMENT,
            target_name TEXT NOT NULL,
            vpp_stage INTEGER NOT NULL,
            micro_step INTEGER NOT NULL DEFAULT 0,
            UNIQUE(target_name, vpp_stage, micro_step)
        )",
    "CREATE TABLE monitoring_metrics (
            metric_id INTEGER PRIMARY KEY AUTOINCREMENT,
            metric_name TEXT UNIQUE NOT NULL
        )",
    "CREATE TABLE monitoring_tags (
            tag_id INTEGER PRIMARY KEY AUTOINCREMENT,
            tag_name TEXT NOT NULL,
            category TEXT NOT NULL,
            metric_id INTEGER NOT NULL,
            UNIQUE(tag_name, category, metric_id),
            FOREIGN KEY (metric_id) REFERENCES monitoring_metrics(metric_id)
        )",
    "CREATE TABLE tag_target_mapping (
            tag_id INTEGER NOT NULL,
            target_id INTEGER NOT NULL,
            PRIMARY KEY (tag_id, target_id),
            FOREIGN KEY (tag_id) REFERENCES monitoring_tags(tag_id),
            FOREIGN KEY (target_id) REFERENCES monitoring_target(target_id)
        )",
    "CREATE TABLE trend_data (
            rank INTEGER NOT NULL,
            step INTEGER NOT NULL,
            target_id INTEGER NOT NULL,
            metric_id INTEGER NOT NULL,
            norm REAL DEFAULT NULL, max REAL DEFAULT NULL, min REAL DEFAULT NULL, mean REAL DEFAULT NULL,
            PRIMARY KEY (rank, step, target_id, metric_id),
            FOREIGN KEY (target_id) REFERENCES monitoring_targets(target_id),
            FOREIGN KEY (metric_id) REFERENCES monitoring_metrics(metric_id)
        ) WITHOUT ROWID",
];

/// Created after the last row.
pub(super) const TOTALS: &str = "CREATE TABLE global_stats (
            max_rank INTEGER DEFAULT 0, min_step INTEGER DEFAULT 0, max_step INTEGER DEFAULT 0, forward TEXT DEFAULT NULL, backward TEXT DEFAULT NULL, recompute TEXT DEFAULT NULL, parameters_grad TEXT DEFAULT NULL
        )";

/// What the totals say about each metric: the statistics that it has.
pub(super) const STATISTICS: &str = "norm,max,min,mean";

/// For the queries of the Trend Analyzer that otherwise read all of `trend_data`: values of one step,
/// of one target, and the list of targets of a metric. Not in the reference's schema.
pub(super) const INDEXES: [&str; 2] = [
    "CREATE INDEX trend_data_metric_step ON trend_data (metric_id, step)",
    "CREATE INDEX trend_data_metric_target ON trend_data (metric_id, target_id)",
];
