//! The diagnostic formats, one folder each. They know Arrow, but not DataFusion.

use std::path::Path;

pub mod ascend_profile;
pub mod memscope;
pub mod msprobe_dump;

/// What a file at this path would be taken for, told from the names in the path alone; `None` when no
/// format would read it. Nothing is opened, and the file need not be there: a new file in a profile
/// becomes a part of it.
pub fn input_name(path: &Path) -> Option<&'static str> {
    // Names like `.` and links say nothing; the directory is there, or nothing can be written into it.
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let full = match (directory.canonicalize(), path.file_name()) {
        (Ok(directory), Some(name)) => directory.join(name),
        _ => path.to_path_buf(),
    };
    let names: Vec<&str> = full.iter().filter_map(|name| name.to_str()).collect();
    let (name, directories) = names.split_last()?;
    ascend_profile::input_name(directories)
        .or_else(|| msprobe_dump::input_name(directories))
        .or_else(|| memscope::input_name(directories, name))
}
