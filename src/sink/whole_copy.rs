//! Files of the engine's own formats, whole or absent.
//!
//! The engine writes CSV, JSON, Arrow and Parquet beside the target and moves them into its place, too.
//! But it never looks for what a killed process has left there, and nothing makes sure that the bytes are
//! on the disk. So it is given a staged file as its target.

use std::path::Path;

use datafusion::logical_expr::LogicalPlan;

use super::{SinkError, StagedFile, all_exports};

/// The option of a COPY that decides between one file and a directory of files.
const ONE_FILE: &str = "single_file_output";

/// Sends the output of a COPY to a staged file, if it is one local file and none of our own exports, which
/// do that by themselves. The caller publishes it when the plan has run to its end.
///
/// # Errors
/// When a file cannot be created there.
pub fn stage_copy(plan: LogicalPlan) -> Result<(LogicalPlan, Option<StagedFile>), SinkError> {
    let LogicalPlan::Copy(mut copy) = plan else { return Ok((plan, None)) };
    let target = Path::new(&copy.output_url);
    let kind = copy.file_type.get_ext();
    let own = all_exports().iter().any(|export| export.name().eq_ignore_ascii_case(&kind));
    let one_file = match copy.options.get(ONE_FILE).map(String::as_str) {
        None => target.extension().is_some() && !copy.output_url.ends_with(std::path::is_separator),
        Some(given) => given.trim() == "true",
    };
    let elsewhere = copy.output_url.contains("://") || target.is_dir();
    if own || !one_file || elsewhere || !copy.partition_by.is_empty() {
        return Ok((LogicalPlan::Copy(copy), None));
    }
    let staged = StagedFile::create(target)?;
    copy.output_url = staged.path().display().to_string();
    copy.options.insert(ONE_FILE.to_owned(), "true".to_owned());
    Ok((LogicalPlan::Copy(copy), Some(staged)))
}
