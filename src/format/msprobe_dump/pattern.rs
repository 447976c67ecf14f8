//! What stands between the values of tensor objects.
//!
//! Collectors write all tensors with the same keys in the same order and the same white space. So what
//! was found between two values is likely to be found again, and comparing it is much quicker than
//! parsing it. Only what was parsed once is compared with, so nothing passes that would not have been
//! parsed.

use super::tensor::Field;

/// No collector has more kinds of objects.
const MAX_NODES: usize = 256;

/// Different texts that may follow the same values.
const MAX_EDGES: usize = 6;

/// The texts that were met, as a tree: what followed the bracket, what followed the first value behind
/// that, and so on.
#[derive(Debug)]
pub(super) struct Pattern {
    nodes: Vec<Node>,
    /// Shapes that were met lately; what is met often moves to the front.
    shapes: [Box<[u8]>; SHAPES],
}

/// How many different shapes are remembered: about as many as one layer of a model has.
const SHAPES: usize = 8;

/// A place between two values.
#[derive(Debug, Default)]
struct Node {
    /// What may stand here, with the key that it ends with and the place behind the value.
    edges: Vec<Edge>,
}

/// A text up to the next value, or up to the end of the object.
#[derive(Debug)]
struct Edge {
    text: Box<[u8]>,
    next: Option<(Field, usize)>,
}

/// What a text leads to.
#[derive(Debug, Clone, Copy)]
pub(super) enum Ahead {
    /// The value of this field; behind it is this place.
    Value(Field, usize),
    /// The end of the object.
    End,
}

impl Default for Pattern {
    fn default() -> Self {
        Self { nodes: vec![Node::default()], shapes: Default::default() }
    }
}

impl Pattern {
    /// The place behind the bracket that opens an object.
    pub(super) const START: usize = 0;

    /// Finds which of the texts known at a place satisfies `is_next`.
    #[inline]
    pub(super) fn find(&self, place: usize, mut is_next: impl FnMut(&[u8]) -> bool) -> Option<Ahead> {
        let edge = self.nodes.get(place)?.edges.iter().find(|e| is_next(&e.text))?;
        Some(edge.next.map_or(Ahead::End, |(field, next)| Ahead::Value(field, next)))
    }

    /// Whether one of the shapes that were met lately satisfies `is_next`.
    #[inline]
    pub(super) fn find_shape(&mut self, mut is_next: impl FnMut(&[u8]) -> bool) -> bool {
        let Some(at) = self.shapes.iter().position(|shape| !shape.is_empty() && is_next(shape)) else {
            return false;
        };
        if at > 0 {
            self.shapes.swap(at, at - 1);
        }
        true
    }

    /// Remembers a shape that was parsed: a list up to its bracket.
    pub(super) fn learn_shape(&mut self, text: &[u8]) {
        if let Some(last) = self.shapes.last_mut() {
            *last = text.into();
        }
    }

    /// Remembers a text that was parsed at a place; returns the place behind the value.
    pub(super) fn learn(&mut self, place: usize, text: &[u8], field: Option<Field>) -> usize {
        // A place that nobody knows, where nothing is learnt.
        const NOWHERE: usize = usize::MAX;
        let full = self.nodes.len() >= MAX_NODES;
        let new = self.nodes.len();
        let Some(node) = self.nodes.get_mut(place).filter(|n| !full && n.edges.len() < MAX_EDGES) else {
            return NOWHERE;
        };
        let next = field.map(|field| (field, new));
        node.edges.push(Edge { text: text.into(), next });
        if next.is_some() {
            self.nodes.push(Node::default());
        }
        new
    }
}
