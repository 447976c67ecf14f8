//! Repeated keys: in JSON as Python reads it a key counts with its last value, at its first place.

use std::borrow::Cow;

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64;

use crate::text::json::escape::text_of;

use super::tensor::Tensor;

/// The values of one object, by key, with the tensors that each of them came to.
///
/// The tensors of one value lie beside each other; [`Values::finish`] puts those of all values into the
/// order of their keys. Whatever the number of keys, each is looked up and each tensor moved once.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    seen: Vec<Value<'a>>,
    /// Where to look in `seen`, once there are too many to look at each.
    index: HashTable<usize>,
    /// Where the tensors of the first value began.
    base: usize,
    /// Whether a key was met again.
    moved: bool,
}

#[derive(Debug)]
struct Value<'a> {
    key: Cow<'a, [u8]>,
    start: usize,
    end: usize,
}

/// So many keys are compared one after the other.
const FEW: usize = 16;

impl<'a> Values<'a> {
    /// Whether no value was met.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Notes that the value of `key` was read and added the tensors from `start` to `end`. If the key was
    /// there already, they take the place of those that it had.
    pub(super) fn settle(&mut self, key: &'a [u8], start: usize, end: usize) {
        let key = unescaped(key);
        if let Some(value) = self.find(&key).and_then(|at| self.seen.get_mut(at)) {
            (value.start, value.end) = (start, end);
            self.moved = true;
            return;
        }
        if self.seen.is_empty() {
            self.base = start;
        }
        self.seen.push(Value { key, start, end });
        if self.seen.len() > FEW {
            let (seen, from) = (&self.seen, self.index.len());
            let hash = |at: &usize| seen.get(*at).map_or(0, |value| xxh3_64(&value.key));
            for at in from..seen.len() {
                self.index.insert_unique(hash(&at), at, hash);
            }
        }
    }

    fn find(&self, key: &[u8]) -> Option<usize> {
        if self.index.is_empty() {
            return self.seen.iter().position(|value| *value.key == *key);
        }
        let same = |at: &usize| self.seen.get(*at).is_some_and(|value| *value.key == *key);
        self.index.find(xxh3_64(key), same).copied()
    }

    /// The end of the object: takes out what was replaced, and puts the rest into the order of the keys.
    pub(super) fn finish(self, tensors: &mut Vec<Tensor<'a>>) {
        if !self.moved {
            return;
        }
        let mut met: Vec<Option<Tensor<'a>>> = tensors.drain(self.base..).map(Some).collect();
        for value in &self.seen {
            let own = met.iter_mut().take(value.end - self.base).skip(value.start - self.base);
            tensors.extend(own.filter_map(Option::take));
        }
    }
}

/// A key as it is compared, given the bytes between its quotes. One whose escapes are broken is itself.
fn unescaped(raw: &[u8]) -> Cow<'_, [u8]> {
    if memchr::memchr(b'\\', raw).is_none() {
        return Cow::Borrowed(raw);
    }
    text_of(raw).map_or(Cow::Borrowed(raw), |(text, _)| Cow::Owned(text.into_owned().into_bytes()))
}
