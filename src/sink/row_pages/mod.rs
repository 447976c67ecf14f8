//! Rows of a SQLite table written as the finished pages that they end up in.
//!
//! A statement searches the tree from its root for every row, and moves rows from page to page as pages
//! fill. Rows that arrive in the order of their keys need neither: pages are filled one after the other
//! and never touched again, at a fraction of the time. This works for tables `WITHOUT ROWID` whose
//! columns stand in the order of their primary key, in a file that nobody else has open. All else is
//! left to SQLite, which goes on with the file as if it had written it.
//!
//! The layout is that of <https://www.sqlite.org/fileformat2.html>, sections 1.3, 1.6 and 2.1.

mod cell;
mod page;
mod tree;

pub(super) use cell::{Cells, Value};
pub(super) use tree::RowPages;

/// Bytes of a page; the database must have been created with it.
pub(super) const PAGE_BYTES: usize = 4096;
