//! Rows that are kept until it is known which of them are asked for.

use std::collections::HashSet;

use datafusion::arrow::array::{Array, ArrayData, ArrayRef, new_empty_array};
use datafusion::arrow::compute::{concat, interleave};
use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Result, internal_datafusion_err};

/// Rows of one kind, in the order in which they came. Texts stay where they are: batches of one file share
/// them.
#[derive(Debug)]
pub(super) struct Rows {
    kind: DataType,
    batches: Vec<ArrayRef>,
    /// The buffers that they are made of, by address, so that a shared one counts once.
    buffers: HashSet<usize>,
    bytes: usize,
}

impl Rows {
    /// None yet.
    pub(super) fn new(kind: DataType) -> Self {
        Self { kind, batches: vec![], buffers: HashSet::new(), bytes: 0 }
    }

    /// Their type.
    pub(super) fn kind(&self) -> &DataType {
        &self.kind
    }

    /// Takes more.
    pub(super) fn push(&mut self, batch: ArrayRef) {
        self.count(&batch.to_data());
        self.batches.push(batch);
    }

    fn count(&mut self, data: &ArrayData) {
        let validity = data.nulls().map(|nulls| nulls.buffer());
        for buffer in data.buffers().iter().chain(validity) {
            if self.buffers.insert(buffer.data_ptr().as_ptr().addr()) {
                self.bytes += buffer.capacity();
            }
        }
        data.child_data().iter().for_each(|child| self.count(child));
    }

    /// Hands over all and has none afterwards.
    pub(super) fn take_all(&mut self) -> Result<ArrayRef> {
        let taken = std::mem::replace(self, Self::new(self.kind.clone()));
        let batches: Vec<&dyn Array> = taken.batches.iter().map(AsRef::as_ref).collect();
        if batches.is_empty() { Ok(new_empty_array(&self.kind)) } else { Ok(concat(&batches)?) }
    }

    /// Those with these numbers, which rise.
    pub(super) fn pick(&self, numbers: impl Iterator<Item = usize>) -> Result<ArrayRef> {
        let mut places = vec![];
        let mut batches = self.batches.iter().map(|batch| batch.len()).enumerate();
        let (mut batch, mut first, mut after) = (0, 0, 0);
        for number in numbers {
            while number >= after {
                let next = batches.next();
                let (at, length) =
                    next.ok_or_else(|| internal_datafusion_err!("no row has number {number}"))?;
                (batch, first, after) = (at, after, after + length);
            }
            places.push((batch, number - first));
        }
        if places.is_empty() {
            return Ok(new_empty_array(&self.kind));
        }
        let batches: Vec<&dyn Array> = self.batches.iter().map(AsRef::as_ref).collect();
        Ok(interleave(&batches, &places)?)
    }

    /// How much memory they take, in bytes.
    pub(super) fn size(&self) -> usize {
        let lists =
            size_of::<ArrayRef>() * self.batches.capacity() + size_of::<usize>() * self.buffers.capacity();
        size_of::<Self>() + self.bytes + lists
    }
}
