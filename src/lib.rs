//! Ask in SQL what a reinforcement-learning job left on disk.
//!
//! Table functions open diagnostic data where it lies, without an import step. Register them on a
//! [`SessionContext`](datafusion::prelude::SessionContext) with [`session::register`], or take a
//! ready one from [`session::context`], and query.
//!
//! The modules, from the top down; each depends on those below it only:
//!
//! | module | what it is |
//! |---|---|
//! | [`reference`](mod@reference) | what functions and their columns are, as lists and as a page |
//! | [`session`] | registers everything; what an embedder calls |
//! | [`remedy`] | faults of the engine that make answers wrong or end the process, and what keeps a session from them |
//! | [`overview`] | what lies below a path: for a first look, and for views over it |
//! | [`library`] | SQL files that are table functions with named parameters |
//! | [`function`] | scalar functions, such as those that read call stacks |
//! | [`sink`] | where results are written as other files |
//! | [`table`] | table functions and providers: from a call to a scan |
//! | [`scan`] | the one execution plan: partitions, pruning, order, limits, memory, metrics |
//! | [`mod@format`] | the formats, one folder each: from a path to units, from a unit to record batches |
//! | [`source`] | the contract between formats and scan |
//! | [`plot`] | pictures of answers, as pages and as text |
//! | [`stack`] | call stacks as text: frames, and whose code they are |
//! | [`text`] | bytes: JSON, CSV, exact decimal numbers, interned text |

pub mod format;
pub mod function;
pub mod library;
pub mod overview;
pub mod plot;
pub mod reference;
pub mod remedy;
pub mod scan;
pub mod session;
pub mod sink;
pub mod source;
pub mod stack;
pub mod table;
pub mod text;
