//! Fuzzing on stable Rust: each target gets inputs made of its corpus, for a short fixed time in the
//! ordinary run and for `FUZZ_SECONDS` (600 unless set) in the long one:
//!
//! ```text
//! RELIABILITY=long [FUZZ_SECONDS=n] [FUZZ_SEED=n] [FUZZ_KEEP=1] cargo test --release --test reliability fuzz::[target]
//! ```
//!
//! The corpus of a target is `tests/data/fuzz/<target>`. All of it is tried first, so that what was
//! found once stays found. An input that breaks a promise is made smaller and put there. With
//! `FUZZ_KEEP` inputs that lead to an outcome that was not seen before are kept, too.
//!
//! There is no measure of coverage. Instead each target says what came of an input in a number, its
//! *outcome* (which findings, how many rows), and inputs with a new one are built upon.

mod commands;
mod driver;
mod formats;
mod mutate;
mod sql;
mod texts;

use driver::{Target, fuzz, hash};
pub(crate) use mutate::Random;
