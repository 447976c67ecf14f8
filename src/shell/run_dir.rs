//! What is said about the paths that the program was pointed at.

use super::amount::{counted, size};
use super::failure::{Failure, join_text};
use super::signals::Signals;
use rl_insight_sql::overview::{Found, Overview};

/// So many role names are spelled out.
const ROLES: usize = 8;

/// Lists what is below paths, on a thread where blocking is allowed.
///
/// # Errors
/// [`Failure::Usage`] when a path does not exist.
pub(crate) async fn survey(paths: &[String]) -> Result<Overview, Failure> {
    let owned = paths.to_vec();
    let mut signals = Signals::listen(true);
    let listed = tokio::select! {
        listed = tokio::task::spawn_blocking(move || Overview::of(&owned)) => listed,
        asked = signals.asked_to_end() => return Err(asked),
    };
    let listed = listed.map_err(|e| Failure::Query(join_text(&e)))?;
    listed.map_err(|e| Failure::Usage(e.to_string()))
}

/// A line per view, and what to do next.
pub(crate) fn lines(overview: &Overview, paths: &[String]) -> Vec<String> {
    if overview.found.is_empty() && !overview.readers.is_empty() {
        let readers = overview.readers.join(", ");
        return vec![format!(
            "{}: no views are made of it, but it can be read by {readers}",
            paths.join(", ")
        )];
    }
    if overview.is_empty() {
        return nothing(overview, paths).lines().map(str::to_owned).collect();
    }
    let width = overview.found.iter().map(|f| f.view.len()).max().unwrap_or(0);
    let mut lines: Vec<String> =
        overview.found.iter().map(|found| format!("{:<width$}  {}", found.view, line(found))).collect();
    let problems: usize = overview.found.iter().map(|f| f.with_problems).sum();
    if problems > 0 {
        lines.push(
            "a query that meets a problem fails; .diagnostics lists them, --on-error skip leaves them out"
                .into(),
        );
    }
    lines
}

/// What is said about paths that hold nothing, with what was looked for.
fn nothing(overview: &Overview, paths: &[String]) -> String {
    let mut text = format!("{}: nothing found that can be read", paths.join(", "));
    for finding in &overview.looked_for {
        text.push_str(&format!("\n  {finding}"));
    }
    text
}

/// A path that holds nothing is the wrong one: nobody should have to find that out later.
///
/// # Errors
/// [`Failure::Data`] when nothing at all was found.
pub(crate) fn checked(overview: Overview, paths: &[String]) -> Result<Overview, Failure> {
    if overview.is_empty() {
        let hint = "give the directory of a run, or one above it";
        return Err(Failure::Data(nothing(&overview, paths)).hinted(hint));
    }
    Ok(overview)
}

fn line(found: &Found) -> String {
    let mut parts = Vec::new();
    if !found.processes.is_empty() {
        let plural = if found.processes.len() == 1 { "" } else { "es" };
        parts.push(format!("{} process{plural}", found.processes.len()));
    } else if !found.ranks.is_empty() || !found.roles.is_empty() {
        let mut part = counted(found.ranks.len() as u64, "rank");
        let mut names: Vec<&str> = found.roles.iter().map(String::as_str).take(ROLES).collect();
        if found.roles.len() > ROLES {
            names.push("...");
        }
        if !names.is_empty() {
            let roles = counted(found.roles.len() as u64, "role");
            part.push_str(&format!(" in {roles} ({})", names.join(", ")));
        }
        parts.push(part);
    }
    if !found.devices.is_empty() {
        parts.push(counted(found.devices.len() as u64, "device"));
    }
    if let (Some(first), Some(last)) = (found.steps.first(), found.steps.last()) {
        let steps = counted(found.steps.len() as u64, "step");
        parts.push(if first == last {
            format!("{steps} ({first})")
        } else {
            format!("{steps} ({first} to {last})")
        });
    }
    parts.push(counted(found.units as u64, "unit"));
    parts.push(size(found.bytes));
    if found.with_problems > 0 {
        parts.push(format!("{} with problems", found.with_problems));
    }
    format!("{}: {}", found.function(), parts.join(", "))
}
