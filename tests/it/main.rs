//! Tests of the program as a whole. One binary, because each one links the whole query engine.

mod cases;
mod cli;
mod discovery;
mod docs;
mod sample_data;
mod scan;
mod support;
