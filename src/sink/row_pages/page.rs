//! One page of a tree while it is being filled.

use super::PAGE_BYTES;

/// What stands in front of the cells: of a leaf, and of a page above.
const LEAF_HEADER: usize = 8;
const INNER_HEADER: usize = 12;

/// A page for which cells are collected in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Page {
    cells: Vec<u8>,
    starts: Vec<u16>,
}

impl Page {
    /// Whether a cell of so many bytes finds room in a leaf.
    #[inline]
    pub(super) fn fits(&self, cell: usize) -> bool {
        LEAF_HEADER + self.cells.len() + 2 * self.starts.len() + cell + 2 <= PAGE_BYTES
    }

    /// How many cells of these lengths find room in a page above the leaves.
    pub(super) fn inner_cells(lengths: impl Iterator<Item = usize>) -> usize {
        let mut used = INNER_HEADER;
        let fits = |length: &usize| {
            used += length + CHILD + 2;
            used <= PAGE_BYTES
        };
        lengths.take_while(fits).count()
    }

    /// Adds a row to a leaf.
    #[inline]
    pub(super) fn push(&mut self, cell: &[u8]) {
        self.starts.push(self.cells.len() as u16);
        self.cells.extend_from_slice(cell);
    }

    /// Adds a row to a page above the leaves, with the page of the rows in front of it.
    pub(super) fn push_inner(&mut self, child: u32, cell: &[u8]) {
        self.starts.push(self.cells.len() as u16);
        self.cells.extend_from_slice(&child.to_be_bytes());
        self.cells.extend_from_slice(cell);
    }

    /// How many rows there are.
    pub(super) fn len(&self) -> usize {
        self.starts.len()
    }

    /// Takes the last row out again.
    pub(super) fn pop(&mut self) -> Vec<u8> {
        self.starts.pop().map(|start| self.cells.split_off(start.into())).unwrap_or_default()
    }

    /// Adds the bytes of the page to `out` and begins an empty one. `right` is the page of the rows
    /// behind the last one; a leaf has none.
    pub(super) fn write(&mut self, right: Option<u32>, out: &mut Vec<u8>) {
        let start = out.len();
        let content = PAGE_BYTES.saturating_sub(self.cells.len());
        // Kind, no free blocks, rows, begin of the rows, no lost bytes.
        out.extend_from_slice(&[if right.is_some() { 0x02 } else { 0x0a }, 0, 0]);
        out.extend_from_slice(&(self.starts.len() as u16).to_be_bytes());
        out.extend_from_slice(&(content as u16).to_be_bytes());
        out.push(0);
        out.extend(right.iter().flat_map(|page| page.to_be_bytes()));
        out.extend(self.starts.iter().flat_map(|&at| (content as u16 + at).to_be_bytes()));
        out.resize(start + content, 0);
        out.append(&mut self.cells);
        self.starts.clear();
    }
}

/// Bytes of the number of a page.
const CHILD: usize = 4;
