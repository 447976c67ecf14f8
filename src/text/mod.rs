//! The byte-level core that the formats share: numbers, JSON, CSV and interned text.

pub mod blocks;
pub mod csv;
pub mod decimal;
pub mod encoding;
pub mod interner;
pub mod json;
pub mod unicode_digits;
