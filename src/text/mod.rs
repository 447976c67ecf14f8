//! The byte-level core that the formats share: numbers, JSON, CSV and interned text.

pub mod decimal;
pub mod interner;
