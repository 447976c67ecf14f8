//! Strings that repeat, known by the bytes in which they are written.

use std::borrow::Cow;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::text::json::escape::Oddities;

/// How the bytes of a string become text; `None` when they cannot.
pub(super) type Decode = fn(&[u8]) -> Option<(Cow<'_, str>, Oddities)>;

/// Numbers for strings, given in order of first appearance from 0 on.
///
/// A string is looked up as it is written, escapes and all, and decoded only once. Its text is not
/// kept here but handed over with [`Dictionary::take_new`].
#[derive(Debug)]
pub(super) struct Dictionary {
    decode: Decode,
    table: HashTable<Entry>,
    /// The bytes of all entries.
    raw: Vec<u8>,
    /// The entry that was found last: ops that lie inside of each other have the same stack.
    last: Option<Entry>,
    new: Vec<String>,
    /// Bytes of the texts in `new`.
    new_bytes: usize,
}

#[derive(Debug, Clone, Copy)]
struct Entry {
    hash: u64,
    start: usize,
    len: usize,
    id: u32,
    odd: Oddities,
}

impl Entry {
    #[inline]
    fn is(&self, raw: &[u8], all: &[u8]) -> bool {
        self.len == raw.len() && all.get(self.start..self.start + self.len) == Some(raw)
    }
}

impl Dictionary {
    /// An empty one.
    pub(super) fn new(decode: Decode) -> Self {
        Self { decode, table: HashTable::new(), raw: Vec::new(), last: None, new: Vec::new(), new_bytes: 0 }
    }

    /// The number of a string and what is odd about it; `None` when it cannot be decoded.
    #[inline]
    pub(super) fn intern(&mut self, raw: &[u8]) -> Option<(u32, Oddities)> {
        if let Some(last) = self.last.filter(|e| e.is(raw, &self.raw)) {
            return Some((last.id, last.odd));
        }
        let hash = xxh3_64(raw);
        let found = self.table.find(hash, |e| e.hash == hash && e.is(raw, &self.raw)).copied();
        let entry = match found {
            Some(entry) => entry,
            None => self.add(raw, hash)?,
        };
        self.last = Some(entry);
        Some((entry.id, entry.odd))
    }

    #[cold]
    fn add(&mut self, raw: &[u8], hash: u64) -> Option<Entry> {
        let (text, odd) = (self.decode)(raw)?;
        let id = self.table.len() as u32;
        let entry = Entry { hash, start: self.raw.len(), len: raw.len(), id, odd };
        self.raw.extend_from_slice(raw);
        self.table.insert_unique(hash, entry, |e| e.hash);
        self.new_bytes += text.len();
        self.new.push(text.into_owned());
        Some(entry)
    }

    /// The texts that came since the last call, in order of their numbers.
    pub(super) fn take_new(&mut self) -> Vec<String> {
        self.new_bytes = 0;
        std::mem::take(&mut self.new)
    }

    /// Memory in use, in bytes.
    pub(super) fn allocated(&self) -> usize {
        self.raw.capacity()
            + self.table.capacity() * size_of::<Entry>()
            + self.new.capacity() * size_of::<String>()
            + self.new_bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::json::escape::text_of;

    #[test]
    fn a_spelling_is_decoded_once() {
        let mut set = Dictionary::new(text_of);
        let ids: Vec<_> = [&b"a\\n"[..], b"", b"a\\n", b"\\u0061\\n", b"bad\\", b"", b"x\xff"]
            .iter()
            .map(|r| set.intern(r))
            .collect();
        let plain = Oddities::default();
        let bad = Oddities { not_utf8: true, ..plain };
        assert_eq!(
            ids,
            [
                Some((0, plain)),
                Some((1, plain)),
                Some((0, plain)),
                Some((2, plain)),
                None,
                Some((1, plain)),
                Some((3, bad))
            ]
        );
        assert_eq!(set.take_new(), ["a\n", "", "a\n", "x\u{FFFD}"]);
        assert!(set.take_new().is_empty());
    }
}
