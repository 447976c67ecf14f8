//! Ascend PyTorch profiler trees: `*_ascend_pt` and `*_ascend_ms` directories.

pub mod ops;
