//! The one execution plan for all formats.
