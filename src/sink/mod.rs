//! Where `COPY ... STORED AS` writes. Only here a database is written.
//!
//! ```text
//! COPY plan ──export_format──▶ an Export for its name ──▶ export_sink: batches ──channel──▶ a Writer
//!                                                          on a blocking thread ──▶ staged file ──rename──▶ target
//! ```
//!
//! csv, json, parquet and arrow are written by DataFusion, into a staged file as well when the target is one file
//! (`whole_file`, `staged_store`); the files of a COPY into a directory are there one by one.
//!
//! A database is written by SQLite, and where rows come in order, in its place, by the module `row_pages`.

mod arrange;
mod bulk_insert;
mod early_sync;
mod error;
mod export;
mod export_format;
mod export_sink;
mod losses;
mod own_texts;
mod row_pages;
mod sqlite_table;
mod staged_database;
mod staged_file;
mod staged_store;
pub mod trend_db;
mod whole_file;

use std::sync::Arc;

pub use error::SinkError;
pub use export::{Export, ExportOption, ExportPlan, ExportRequest, Opener, Remark, Writer};
pub use export_format::ExportFormatFactory;
pub use export_sink::REMARKS;
pub use own_texts::with_own_texts;
pub use staged_file::{StagedFile, remove_unfinished_files};
pub use whole_file::whole_file_formats;

/// Everything that can stand behind `STORED AS` in a COPY besides the formats of DataFusion.
pub fn all_exports() -> Vec<Arc<dyn Export>> {
    vec![Arc::new(trend_db::TrendExport), Arc::new(sqlite_table::SqliteExport)]
}
