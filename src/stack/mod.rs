//! Call stacks as text: what their frames are and whose code they belong to.
//!
//! Pure functions on text, without Arrow and without DataFusion.

mod frame;
mod origin;

pub use frame::{FrameChoice, UnknownFrame, depth, folded, frames, nth};
pub use origin::{is_user_frame, user_frame};

#[cfg(test)]
mod tests;
