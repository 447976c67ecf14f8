//! JSON, read piece by piece from files that may be larger than memory.
//!
//! Profilers write one array with millions of elements of which a few per cent are wanted. So the
//! reading is split in two: [`array::ArrayScanner`] finds where the elements of a top-level array
//! begin and end, 64 bytes at a time, and hands over those that may matter; [`pull::Pull`] parses
//! what lies inside one complete element. Nothing here knows what the elements mean.
//!
//! | module | what it is |
//! |---|---|
//! | [`blocks`] | 64 bytes as bit masks: quotes, brackets, what lies inside of strings |
//! | [`mod@array`] | the elements of a top-level array, from a stream |
//! | [`gap`] | what stands between the elements |
//! | [`outer`] | what stands around the array: byte-order mark, object form, the end of the file |
//! | [`window`] | the part of a stream that is in memory |
//! | [`pull`] | parsing inside one complete value |
//! | [`cursor`] | parsing values of which the end may not be in memory yet |
//! | [`escape`] | from the bytes between two quotes to text |
//!
//! The dialect is Python's: `NaN`, `Infinity` and `-Infinity` are values, and raw control
//! characters and invalid UTF-8 inside strings do not stop the reading.

pub mod array;
pub mod blocks;
pub mod cursor;
pub mod escape;
pub mod gap;
pub mod outer;
pub mod pull;
pub mod window;
