//! Where `COPY ... STORED AS` writes. Only here a database is written.

mod bulk_insert;
mod error;
mod staged_file;
pub mod trend_db;

pub use error::SinkError;
pub use staged_file::StagedFile;
