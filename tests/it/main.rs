//! Tests of the program as a whole. One binary, because each one links the whole query engine.

// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod big_run;
mod cases;
mod check;
mod cli;
mod command_lines;
mod discovery;
mod docs;
#[cfg(unix)]
mod inputs;
mod library;
mod limits;
mod memscope;
mod over_rows;
mod overview;
mod plot;
mod questions_model;
mod read_only;
mod sample_data;
mod scan;
mod sqlite_export;
mod support;
#[cfg(unix)]
mod surroundings;
mod trend_export;
mod trend_scope;
