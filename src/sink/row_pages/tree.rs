//! The tree of pages.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use super::super::early_sync::EarlySync;
use super::PAGE_BYTES;
use super::cell::Cells;
use super::page::Page;

/// Pages that are written at a time.
const PAGES_AT_A_TIME: usize = 64;

/// SQLite locks bytes of this page, if the file is that large, and keeps nothing in it.
const LOCK_PAGE: u32 = (0x4000_0000 / PAGE_BYTES) as u32 + 1;

/// Where the header of the file says how often the file was changed, and how many pages it has; and, far
/// behind, for which number of changes the latter holds.
const CHANGES_AND_PAGES: u64 = 24;
const PAGES_VALID_FOR: u64 = 92;

/// Pages of one table that are being added to the end of a database.
///
/// In this kind of tree every row stands once: rows that separate two pages stand in a page above them,
/// and only there. Leaves are written as they fill, and what is kept of each is its number and the row
/// behind it, which is about a hundredth of the file.
#[derive(Debug)]
pub(in super::super) struct RowPages {
    file: File,
    sync: EarlySync,
    /// The number of the next new page; numbers begin with 1.
    next: u32,
    /// Pages that were not written yet, and the number of the first of them.
    waiting: Vec<u8>,
    waiting_from: u32,
    leaf: Page,
    leaves: Vec<Child>,
    /// The rows behind the leaves.
    separators: Vec<u8>,
}

/// A page below another, and the row behind it: a range of the separators.
#[derive(Debug, Clone)]
struct Child {
    page: u32,
    separator: Range<usize>,
}

/// A stretch of rows in order that was written.
#[derive(Debug)]
pub(in super::super) struct Run {
    /// Its leaves.
    pub(in super::super) leaves: Range<usize>,
    /// Whether its last row is not among them and has to be stored otherwise.
    pub(in super::super) without_last: bool,
}

impl RowPages {
    /// Adds pages to a database of so many pages.
    ///
    /// # Errors
    /// When the file cannot be opened a second time.
    pub(in super::super) fn new(file: File, pages: u32) -> io::Result<Self> {
        Ok(Self {
            sync: EarlySync::new(file.try_clone()?),
            file,
            next: pages + 1,
            waiting: Vec::with_capacity(PAGES_AT_A_TIME * PAGE_BYTES),
            waiting_from: pages + 1,
            leaf: Page::default(),
            leaves: Vec::new(),
            separators: Vec::new(),
        })
    }

    /// Writes the leaves of a stretch of rows, which are in the order of their keys and different.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(in super::super) fn run<const N: usize>(&mut self, rows: &Cells<N>) -> io::Result<Run> {
        let first = self.leaves.len();
        for row in rows.iter() {
            if self.leaf.fits(row.len()) {
                self.leaf.push(row);
            } else {
                self.end_leaf(row)?;
            }
        }
        // The row behind the last leaf comes out of it, if that does not leave it empty.
        let without_last = self.leaf.len() == 1;
        let last = self.leaf.pop();
        if self.leaf.len() > 0 {
            self.end_leaf(&last)?;
        }
        Ok(Run { leaves: first..self.leaves.len(), without_last })
    }

    /// Puts the leaves of these runs, in the order of their keys, under the root of the table. The row
    /// behind the very last leaf is not in the tree then: there is nothing behind it. Gives back the file,
    /// which is being brought to the disk.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(in super::super) fn finish(
        mut self,
        root: u32,
        runs: impl Iterator<Item = Range<usize>>,
    ) -> io::Result<EarlySync> {
        let of_run = |run| self.leaves.get(run).unwrap_or_default();
        let mut level: Vec<Child> = runs.flat_map(of_run).cloned().collect();
        while !level.is_empty() {
            let at_root = self.inner_page_size(&level) == level.len();
            let mut above = Vec::new();
            let mut rest = level.as_slice();
            while let Some((page, behind)) = rest.split_at_checked(self.inner_page_size(rest)) {
                let Some((right, left)) = page.split_last() else { break };
                rest = behind;
                let mut inner = Page::default();
                for child in left {
                    inner.push_inner(
                        child.page,
                        self.separators.get(child.separator.clone()).unwrap_or_default(),
                    );
                }
                if at_root {
                    self.flush()?;
                    inner.write(Some(right.page), &mut self.waiting);
                    self.waiting_from = root;
                    self.flush()?;
                    self.write_header()?;
                    self.sync.begin()?;
                    return Ok(self.sync);
                }
                let number = self.begin_page()?;
                inner.write(Some(right.page), &mut self.waiting);
                above.push(Child { page: number, separator: right.separator.clone() });
            }
            level = above;
        }
        Ok(self.sync)
    }

    /// How many of these children go under one page: as many as find room, but never all but one, which
    /// would be left without a row of its own.
    fn inner_page_size(&self, children: &[Child]) -> usize {
        // The last child needs no row behind it.
        let room = 1 + Page::inner_cells(children.iter().map(|child| child.separator.len()));
        if room + 1 == children.len() { room - 1 } else { room.min(children.len()) }
    }

    /// Completes a leaf, which this row follows.
    fn end_leaf(&mut self, separator: &[u8]) -> io::Result<()> {
        let page = self.begin_page()?;
        self.leaf.write(None, &mut self.waiting);
        let start = self.separators.len();
        self.separators.extend_from_slice(separator);
        self.leaves.push(Child { page, separator: start..self.separators.len() });
        Ok(())
    }

    /// The number of a new page, whose bytes may be added to those that wait.
    fn begin_page(&mut self) -> io::Result<u32> {
        if self.next == LOCK_PAGE {
            self.flush()?;
            self.next += 1;
        }
        if self.waiting.len() >= PAGES_AT_A_TIME * PAGE_BYTES {
            self.flush()?;
        }
        if self.waiting.is_empty() {
            self.waiting_from = self.next;
        }
        let number = self.next;
        self.next = number.checked_add(1).ok_or(io::ErrorKind::FileTooLarge)?;
        Ok(number)
    }

    fn flush(&mut self) -> io::Result<()> {
        let place = u64::from(self.waiting_from - 1) * PAGE_BYTES as u64;
        self.file.write_all_at(&self.waiting, place)?;
        let bytes = self.waiting.len();
        self.waiting.clear();
        self.sync.wrote(bytes)
    }

    /// Says how many pages there are, as another change of the file: then SQLite looks at it again.
    fn write_header(&self) -> io::Result<()> {
        let mut changes = [0; 4];
        self.file.read_exact_at(&mut changes, CHANGES_AND_PAGES)?;
        let changes = u32::from_be_bytes(changes).wrapping_add(1).to_be_bytes();
        let pages = (self.next - 1).to_be_bytes();
        self.file.write_all_at(&[changes, pages].concat(), CHANGES_AND_PAGES)?;
        self.file.write_all_at(&changes, PAGES_VALID_FOR)
    }
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::Value;
    use super::*;

    /// A file of more than a gigabyte, most of it a hole.
    #[test]
    fn the_page_of_the_locks_is_left_alone() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("x.db");
        let db = Connection::open(&path).expect("a database");
        let table = "CREATE TABLE t (a INTEGER, b REAL, PRIMARY KEY (a)) WITHOUT ROWID";
        db.execute_batch(&format!("PRAGMA page_size = {PAGE_BYTES}; {table}")).expect("a table");
        let file = File::options().read(true).write(true).open(&path).expect("opened");
        file.set_len(u64::from(LOCK_PAGE - 3) * PAGE_BYTES as u64).expect("longer");
        let mut pages = RowPages::new(file.try_clone().expect("cloned"), LOCK_PAGE - 3).expect("begun");
        let mut cells = Cells::new();
        (0..10_000).for_each(|n| cells.push([Value::Int(n), Value::Real(n as f64 / 3.0)]));
        let run = pages.run(&cells).expect("written");
        pages.finish(2, std::iter::once(run.leaves)).expect("complete").wait().expect("on the disk");
        let mut lock_page = [1; PAGE_BYTES];
        let place = u64::from(LOCK_PAGE - 1) * PAGE_BYTES as u64;
        file.read_exact_at(&mut lock_page, place).expect("read");
        assert!(lock_page.iter().all(|byte| *byte == 0));
        let rows = "SELECT count(*), sum(b) FROM t WHERE a < 9000";
        let rows: (i64, f64) = db.query_row(rows, [], |r| Ok((r.get(0)?, r.get(1)?))).expect("read");
        assert_eq!(rows, (9000, (0..9000).map(|n| f64::from(n) / 3.0).sum()));
    }
}
