//! A tensor object: its fields, and which tensors the reference takes.

use crate::text::json::escape::text_of;

use super::section::{Section, Skip};

/// A tensor object of the entry.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tensor<'a> {
    /// Where it stands.
    pub(super) section: Section,
    /// Its place or name there: a piece of the labels of the entry.
    pub(super) label: (u32, u32),
    /// Why the reference does not take it.
    pub(super) skip: Option<Skip>,
    /// Norm, max, min and mean.
    pub(super) statistics: [Option<f64>; 4],
    /// `type` as it stands between its quotes.
    pub(super) kind: Option<&'a [u8]>,
    /// `dtype`, likewise.
    pub(super) dtype: Option<&'a [u8]>,
    /// The list `shape` as it stands in the file.
    pub(super) shape: Option<&'a [u8]>,
}

/// The fields of an object that may be a tensor.
#[derive(Debug, Default)]
pub(super) struct Object<'a> {
    /// `type`, if it is a text.
    pub(super) kind: Option<&'a [u8]>,
    /// `dtype`, if it is a text.
    pub(super) dtype: Option<&'a [u8]>,
    /// `shape`, whatever it is.
    pub(super) shape: Option<&'a [u8]>,
    /// Norm, max, min and mean.
    pub(super) statistics: [Option<f64>; 4],
    /// It has a type and an element type, or a statistic and no tensors in it.
    pub(super) looks_like_a_tensor: bool,
}

impl<'a> Object<'a> {
    /// Why the reference does not take it where it looks for tensors; nothing when it does.
    pub(super) fn skip(&self) -> Option<Skip> {
        if !self.kind.is_some_and(|t| is_one_of(t, &TYPES)) {
            Some(Skip::Type)
        } else if !self.dtype.is_some_and(|t| is_one_of(t, &DTYPES)) {
            Some(Skip::Dtype)
        } else {
            None
        }
    }

    /// The tensor that it is, at its place.
    pub(super) fn tensor(self, section: Section, label: (u32, u32), skip: Option<Skip>) -> Tensor<'a> {
        Tensor {
            section,
            label,
            skip,
            statistics: self.statistics,
            kind: self.kind,
            dtype: self.dtype,
            shape: self.shape,
        }
    }
}

/// The types of tensors that the reference takes.
const TYPES: [&str; 3] = ["torch.Tensor", "mindspore.Tensor", "mindtorch.Tensor"];

/// The element types that the reference takes.
const DTYPES: [&str; 6] =
    ["torch.float32", "torch.bfloat16", "torch.float16", "Float32", "BFloat16", "Float16"];

#[inline]
fn is_one_of(raw: &[u8], names: &[&str]) -> bool {
    names.iter().any(|n| n.as_bytes() == raw)
        || (raw.contains(&b'\\') && text_of(raw).is_some_and(|(text, _)| names.contains(&text.as_ref())))
}

/// A field of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// `type`
    Type,
    /// `dtype`
    Dtype,
    /// `shape`
    Shape,
    /// A statistic, with its position in [`Tensor::statistics`].
    Statistic(usize),
    /// `requires_grad`, of which nothing is wanted; named because all tensors have it.
    RequiresGrad,
    /// Anything else.
    Other,
}

impl Field {
    /// The field with this key.
    #[inline]
    pub(super) fn of(key: &[u8]) -> Self {
        match key {
            b"type" => Field::Type,
            b"dtype" => Field::Dtype,
            b"shape" => Field::Shape,
            b"Norm" => Field::Statistic(0),
            b"Max" => Field::Statistic(1),
            b"Min" => Field::Statistic(2),
            b"Mean" => Field::Statistic(3),
            b"requires_grad" => Field::RequiresGrad,
            _ => plain(key).map_or(Field::Other, |text| Field::of(text.as_bytes())),
        }
    }

    /// Its key.
    pub(super) fn key(self) -> &'static [u8] {
        match self {
            Field::Type => b"type",
            Field::Dtype => b"dtype",
            Field::Shape => b"shape",
            Field::Statistic(0) => b"Norm",
            Field::Statistic(1) => b"Max",
            Field::Statistic(2) => b"Min",
            Field::Statistic(_) => b"Mean",
            Field::RequiresGrad => b"requires_grad",
            Field::Other => b"",
        }
    }
}

/// The text of a key that is spelled with escapes and can be spelled without.
#[inline]
pub(super) fn plain(key: &[u8]) -> Option<String> {
    if !key.contains(&b'\\') {
        return None;
    }
    text_of(key).map(|(text, _)| text.into_owned()).filter(|text| !text.contains('\\'))
}
