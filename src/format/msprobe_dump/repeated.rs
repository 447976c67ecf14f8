//! Repeated keys: in JSON as Python reads it a key counts with its last value, at its first place.

use crate::text::json::escape::text_of;

use super::tensor::Tensor;

/// The values of one object, by key, with the tensors that each of them came to.
///
/// The tensors of one value lie beside each other, and values lie in the order of their keys.
#[derive(Debug, Default)]
pub(super) struct Values<'a> {
    seen: Vec<Value<'a>>,
}

#[derive(Debug)]
struct Value<'a> {
    key: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Values<'a> {
    /// Whether no value was met.
    pub(super) fn is_empty(&self) -> bool {
        self.seen.is_empty()
    }

    /// Notes that the value of `key` was read and added the tensors from `before` on. If the key was
    /// there already, they take the place of those that it had.
    pub(super) fn settle(&mut self, tensors: &mut Vec<Tensor<'a>>, key: &'a [u8], before: usize) {
        let Some(at) = self.seen.iter().position(|value| same_key(value.key, key)) else {
            self.seen.push(Value { key, start: before, end: tensors.len() });
            return;
        };
        let new: Vec<Tensor<'a>> = tensors.drain(before..).collect();
        let count = new.len();
        let mut values = self.seen.iter_mut().skip(at);
        let Some(value) = values.next() else { return };
        let old = value.end - value.start;
        tensors.splice(value.start..value.end, new);
        value.end = value.start + count;
        for later in values {
            later.start = later.start + count - old;
            later.end = later.end + count - old;
        }
    }
}

/// Whether two keys, as they stand between their quotes, are the same text.
fn same_key(a: &[u8], b: &[u8]) -> bool {
    a == b
        || ((a.contains(&b'\\') || b.contains(&b'\\'))
            && text_of(a).zip(text_of(b)).is_some_and(|((a, _), (b, _))| a == b))
}
