//! Text that repeats, stored once.

use std::sync::Arc;

use datafusion::arrow::array::{StringViewArray, StringViewBuilder};
use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

/// Size of one block of text. A longer text gets a block of its own.
const BLOCK: usize = 1 << 20;

/// A set of texts, each known by a small number.
///
/// Numbers are given in order of first appearance, starting at 0.
#[derive(Debug, Default)]
pub struct Interner {
    blocks: Vec<String>,
    places: Vec<Place>,
    table: HashTable<(u64, u32)>,
    text_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    block: u32,
    start: u32,
    end: u32,
}

impl Interner {
    /// An empty set.
    pub fn new() -> Self {
        Self::default()
    }

    /// The number of this text; it is stored if it is new.
    pub fn intern(&mut self, text: &str) -> u32 {
        let hash = xxh3_64(text.as_bytes());
        let (blocks, places) = (&self.blocks, &self.places);
        let found = self.table.find(hash, |&(h, id)| h == hash && lookup(blocks, places, id) == Some(text));
        if let Some(&(_, id)) = found {
            return id;
        }
        let fits = self.blocks.last().is_some_and(|b| b.capacity() - b.len() >= text.len());
        if !fits {
            self.blocks.push(String::with_capacity(text.len().max(BLOCK.min(64 + self.text_bytes))));
        }
        let block = self.blocks.len() - 1;
        let id = self.places.len() as u32;
        if let Some(b) = self.blocks.last_mut() {
            let start = b.len() as u32;
            b.push_str(text);
            self.places.push(Place { block: block as u32, start, end: b.len() as u32 });
        }
        self.text_bytes += text.len();
        self.table.insert_unique(hash, (hash, id), |&(h, _)| h);
        id
    }

    /// The number of this text, if it is in the set.
    pub fn find(&self, text: &str) -> Option<u32> {
        let hash = xxh3_64(text.as_bytes());
        self.table
            .find(hash, |&(h, id)| h == hash && lookup(&self.blocks, &self.places, id) == Some(text))
            .map(|&(_, id)| id)
    }

    /// The text with this number.
    pub fn get(&self, id: u32) -> Option<&str> {
        lookup(&self.blocks, &self.places, id)
    }

    /// All texts, in order of their numbers.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len() as u32).map(|id| self.get(id).unwrap_or_default())
    }

    /// How many texts there are.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Whether there is no text at all.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// Memory in use, in bytes.
    pub fn allocated(&self) -> usize {
        self.blocks.iter().map(String::capacity).sum::<usize>()
            + self.places.capacity() * size_of::<Place>()
            + self.table.capacity() * size_of::<(u64, u32)>()
    }

    /// All texts as one Arrow array, in order of their numbers: rows are made from it with the
    /// `take` kernel, which copies 16 bytes a row and shares the text.
    pub fn to_array(&self) -> Arc<StringViewArray> {
        let mut out = StringViewBuilder::with_capacity(self.len()).with_fixed_block_size(BLOCK as u32);
        for text in self.iter() {
            out.append_value(text);
        }
        Arc::new(out.finish())
    }
}

fn lookup<'a>(blocks: &'a [String], places: &[Place], id: u32) -> Option<&'a str> {
    let p = places.get(id as usize)?;
    blocks.get(p.block as usize)?.get(p.start as usize..p.end as usize)
}

/// A number for a text that never changes: the same in every rank, run and version of this program.
///
/// It is the XXH3 64-bit hash of the UTF-8 bytes, read as a signed integer; the empty text is 0.
pub fn stable_id(text: &str) -> i64 {
    if text.is_empty() { 0 } else { xxh3_64(text.as_bytes()).cast_signed() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::array::Array;

    #[test]
    fn a_text_has_one_number_and_is_stored_once() {
        let mut set = Interner::new();
        let long = "x".repeat(3 * BLOCK);
        let ids: Vec<u32> =
            ["a", "", "栈", "a", long.as_str(), "栈", long.as_str()].iter().map(|t| set.intern(t)).collect();
        assert_eq!(ids, [0, 1, 2, 0, 3, 2, 3]);
        assert_eq!(set.get(2), Some("栈"));
        assert_eq!(set.find("b"), None);
        let array = set.to_array();
        assert_eq!(array.len(), 4);
        assert_eq!(array.value(3), long);
    }

    #[test]
    fn the_stable_id_is_pinned() {
        assert_eq!(stable_id(""), 0);
        assert_eq!(stable_id("main.py(9): <module>"), stable_id("main.py(9): <module>"));
        assert_eq!(stable_id("a"), xxh3_64(b"a").cast_signed());
    }
}
