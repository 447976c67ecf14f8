//! The diagnostic formats, one folder each. They know Arrow, but not DataFusion.

pub mod ascend_profile;
pub mod memscope;
pub mod msprobe_dump;
