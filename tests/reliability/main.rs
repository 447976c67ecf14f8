//! The promises that nothing breaks: faults, limits, scale. A binary of its own, because these tests
//! look at the whole process (threads, open files, memory), which others would disturb.

// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

mod c11;
mod crash;
mod fuzz;
mod hostile;
mod logic;
mod malformed;
mod matching;
mod memscope;
mod random;
// Each group of tests needs another part of it.
#[allow(dead_code)]
mod size;
mod supply;
mod trend;
mod upstream;
