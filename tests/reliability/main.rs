//! The promises that nothing breaks: faults, limits, scale. A binary of its own, because these tests
//! look at the whole process (threads, open files, memory), which others would disturb.
//!
//! Faults are injected from outside, see `shim/faults.c`; tests of what belongs to the process run in one of
//! their own. The ordinary run is short; all of it is run by
//!
//! ```sh
//! RELIABILITY=long cargo test --release --locked --test reliability
//! ```

// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[cfg(target_os = "linux")]
mod answer;
mod c11;
#[cfg(target_os = "linux")]
mod cancellation;
#[cfg(target_os = "linux")]
mod census;
#[cfg(target_os = "linux")]
mod concurrency;
mod crash;
#[cfg(target_os = "linux")]
mod exports;
#[cfg(target_os = "linux")]
mod failing_io;
#[cfg(target_os = "linux")]
mod failing_memory;
#[cfg(target_os = "linux")]
mod fault;
mod fuzz;
#[cfg(target_os = "linux")]
mod growth;
mod hostile;
#[cfg(target_os = "linux")]
mod large;
mod logic;
mod malformed;
mod matching;
mod memscope;
#[cfg(target_os = "linux")]
mod odd_files;
#[cfg(target_os = "linux")]
mod own_process;
#[cfg(target_os = "linux")]
mod pool;
mod random;
#[cfg(target_os = "linux")]
mod rss;
#[cfg(target_os = "linux")]
mod sample;
mod second_engine;
// Each group of tests needs another part of it.
#[allow(dead_code)]
mod size;
mod supply;
mod trend;
mod upstream;
