//! From a path to profiles: which directories are profiles, and what their role, rank and files are.
//!
//! The rules for directories, rank and role are those of RL-Insight 0.3.0, without its faults: the
//! path itself may be a profile, a single-process profile counts, `*_ascend_ms` counts, nothing is
//! counted twice, and no result depends on the order in which a file system lists names.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use serde_json::Value;

use crate::source::{
    DataError, Finding, InputFile, KeyValue, Kind, Layout, Place, Root, Unit, UnitFile, is_directory,
    list_directory, look_at,
};
use crate::text::decimal;

/// Directory inside a profile that holds the analysed data.
const OUTPUT: &str = "ASCEND_PROFILER_OUTPUT";
/// Where CANN's msprof puts its tables, below a `PROF_*` directory.
const MSPROF_OUTPUT: &str = "mindstudio_profiler_output";
/// Metadata is small; what is larger is not metadata.
const MAX_METADATA_BYTES: u64 = 256 << 20;

/// [`UnitFile::part`] of the allocations.
pub const OPERATOR_MEMORY: &str = "operator_memory";
/// [`UnitFile::part`] of the level over time.
pub const MEMORY_RECORD: &str = "memory_record";
/// [`UnitFile::part`] of the trace.
pub const TRACE_VIEW: &str = "trace_view";
/// [`UnitFile::part`] of the database.
pub const PROFILER_DB: &str = "profiler_db";

/// [`Unit::form`] when the text export is read.
pub const TEXT: &str = "text";
/// [`Unit::form`] when the database is read.
pub const DB: &str = "db";

/// Finds all profiles under the roots. `part` says which table is wanted from them:
/// [`OPERATOR_MEMORY`] or [`MEMORY_RECORD`]; text wins over the database when both have it.
///
/// # Errors
/// When a root that was named holds no profile, or globs matched places but none holds one.
pub fn discover(function: &str, roots: &[Root], part: &'static str) -> Result<Layout, DataError> {
    let mut layout = Layout::default();
    let mut found = Vec::new();
    for root in roots {
        let before = (found.len(), layout.findings.len());
        search_root(&root.path, &mut found, &mut layout.findings);
        if (found.len(), layout.findings.len()) == before && !root.from_glob {
            return Err(nothing_found(function, &root.argument));
        }
    }
    if found.is_empty() && layout.findings.is_empty() {
        return Err(nothing_found(function, roots.first().map_or("", |r| r.argument.as_str())));
    }
    let described: Vec<(Option<Unit>, Vec<Finding>)> =
        distinct(found).par_iter().map(|place| describe(place, part)).collect();
    for (unit, findings) in described {
        layout.units.extend(unit);
        layout.findings.extend(findings);
    }
    Ok(layout)
}

fn nothing_found(function: &str, argument: &str) -> DataError {
    let message = format!(
        "no profile found; looked at any depth for directories whose names end in ascend_pt or _ascend_ms, \
         and for {MSPROF_OUTPUT}"
    );
    DataError::new(
        function,
        vec![Finding::problem(Kind::Missing, argument, message)],
        "give the directory that the profiler wrote to, or one above it",
    )
}

/// A directory that holds, or should hold, profiler data.
#[derive(Debug, Clone)]
struct FoundProfile {
    /// The profile directory, as the user would write it.
    dir: PathBuf,
    /// Where its tables are.
    output: PathBuf,
    /// Whether it is a profiler's directory with metadata, or only a place with tables in it.
    kind: ProfileKind,
    /// Whether it was reached through a symbolic link.
    linked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProfileKind {
    Profile,
    Tables,
}

fn is_profile_name(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.ends_with("ascend_pt") || name.ends_with("_ascend_ms")
}

/// What a file in these directories, from the outermost on, belongs to.
pub(crate) fn input_name(directories: &[&str]) -> Option<&'static str> {
    let is_profile =
        |name: &&str| is_profile_name(OsStr::new(name)) || *name == OUTPUT || *name == MSPROF_OUTPUT;
    directories.iter().any(is_profile).then_some("a part of an Ascend profile")
}

/// The last component of a path, also for `.` and `..`.
fn own_name(path: &Path) -> Option<std::ffi::OsString> {
    match path.file_name() {
        Some(name) => Some(name.to_owned()),
        None => fs::canonicalize(path).ok()?.file_name().map(OsStr::to_owned),
    }
}

fn parent_of(path: &Path) -> PathBuf {
    match (path.file_name(), path.parent()) {
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(parent)) => parent.to_path_buf(),
        _ => path.join(".."),
    }
}

fn profile_at(dir: PathBuf, linked: bool) -> FoundProfile {
    FoundProfile { output: dir.join(OUTPUT), dir, kind: ProfileKind::Profile, linked }
}

/// Looks at a root: it may be a profile, its output directory, a file in it, or something above.
fn search_root(root: &Path, found: &mut Vec<FoundProfile>, findings: &mut Vec<Finding>) {
    let is_file = match look_at(root) {
        Ok(meta) => meta.is_some_and(|m| m.is_file()),
        Err(e) => return findings.push(unknown(root, &e)),
    };
    let directory = if is_file { parent_of(root) } else { root.to_path_buf() };
    let name = own_name(&directory).unwrap_or_default();
    if name == OUTPUT {
        let dir = parent_of(&directory);
        found.push(FoundProfile { dir, output: directory, kind: ProfileKind::Profile, linked: false });
        return;
    }
    if is_file && !is_table_name(&own_name(root).unwrap_or_default().to_string_lossy()) {
        return;
    }
    if is_profile_name(&name) {
        found.push(profile_at(directory.clone(), false));
    } else if has_tables(&directory, findings) {
        found.push(FoundProfile {
            output: directory.clone(),
            dir: directory.clone(),
            kind: ProfileKind::Tables,
            linked: false,
        });
    }
    if !is_file {
        search(&directory, is_profile_name(&name), found, findings);
    }
}

fn is_table_name(name: &str) -> bool {
    table_part(name).is_some_and(|part| part != TRACE_VIEW)
}

/// Whether there are tables in a directory; a problem when it cannot be listed.
fn has_tables(dir: &Path, findings: &mut Vec<Finding>) -> bool {
    match list_directory(dir) {
        Ok(names) => names.iter().any(|n| is_table_name(&n.file_name().to_string_lossy())),
        Err(e) => {
            findings.push(unlisted(dir, &e));
            false
        }
    }
}

/// Nobody knows what is in a directory.
fn unlisted(dir: &Path, e: &io::Error) -> Finding {
    Finding::problem(Kind::Unreadable, dir, format!("the directory cannot be listed: {e}"))
}

/// Nobody knows what a path leads to: there may be data behind it.
fn unknown(path: &Path, e: &io::Error) -> Finding {
    Finding::problem(Kind::Unreadable, path, format!("cannot be looked at: {e}"))
}

/// Walks down without following symbolic links to directories, except to a profile itself.
fn search(dir: &Path, inside_profile: bool, found: &mut Vec<FoundProfile>, findings: &mut Vec<Finding>) {
    let entries = match list_directory(dir) {
        Ok(entries) => entries,
        Err(e) => {
            findings.push(unlisted(dir, &e));
            return;
        }
    };
    for entry in entries {
        let (path, name) = (entry.path(), entry.file_name());
        let kind = entry.file_type();
        let linked = kind.as_ref().is_ok_and(|k| k.is_symlink());
        let directory = match kind {
            Ok(_) if linked => {
                if is_profile_name(&name) {
                    is_directory(&path)
                } else {
                    Ok(false)
                }
            }
            kind => kind.map(|kind| kind.is_dir()),
        };
        match directory {
            Ok(true) => {}
            Ok(false) => continue,
            Err(e) => {
                findings.push(unknown(&path, &e));
                continue;
            }
        }
        if is_profile_name(&name) {
            found.push(profile_at(path.clone(), linked));
            if !linked {
                search(&path, true, found, findings);
            }
        } else if name == MSPROF_OUTPUT {
            if has_tables(&path, findings) {
                found.push(FoundProfile {
                    output: path.clone(),
                    dir: path,
                    kind: ProfileKind::Tables,
                    linked,
                });
            }
        } else if name == OUTPUT {
            if !inside_profile {
                let message =
                    "not read: the name of the directory above does not end in ascend_pt or _ascend_ms";
                findings.push(Finding::note(Kind::Unused, path, message));
            }
        } else if !(inside_profile && is_raw_data(&name)) {
            search(&path, false, found, findings);
        }
    }
}

/// Raw data of the collectors: large, and without profiles of its own.
fn is_raw_data(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name == "FRAMEWORK" || name.starts_with("PROF_") || name == "logs"
}

/// Every directory once, however many paths lead to it; real directories win over links.
fn distinct(mut found: Vec<FoundProfile>) -> Vec<FoundProfile> {
    found.sort_by_key(|p| p.linked);
    let mut seen = HashSet::new();
    found.retain(|p| seen.insert(fs::canonicalize(&p.dir).unwrap_or_else(|_| p.dir.clone())));
    found
}

/// Reads metadata and lists files of one profile.
fn describe(place: &FoundProfile, part: &'static str) -> (Option<Unit>, Vec<Finding>) {
    let mut findings = Vec::new();
    let names = match list_directory(&place.dir) {
        Ok(entries) => {
            entries.iter().map(|e| e.file_name().to_string_lossy().into_owned()).collect::<Vec<_>>()
        }
        Err(e) => {
            return (None, vec![unlisted(&place.dir, &e)]);
        }
    };
    let (files, form) = match files_of(place, part, &mut findings) {
        Ok(files) => files,
        Err(f) => return (None, vec![f]),
    };
    let rank = match place.kind {
        ProfileKind::Tables => rank_of_tables(place, &files, &mut findings),
        ProfileKind::Profile => match rank_of(&place.dir, &names, &mut findings) {
            Some(rank) => rank,
            // Without a rank there is no unit; what was found says why.
            None => return (None, findings),
        },
    };
    let role = role_of(place, &names, &mut findings);
    let unit = Unit {
        keys: vec![KeyValue::Text(role), KeyValue::Int(rank)],
        inner_keys: vec![],
        source_path: place.dir.display().to_string(),
        form: form.to_owned(),
        files,
        findings,
    };
    (Some(unit), vec![])
}

/// The rank from the name of `profiler_info_<rank>.json`; `None` when it cannot be told.
fn rank_of(dir: &Path, names: &[String], findings: &mut Vec<Finding>) -> Option<i64> {
    let middle = |n: &String| n.strip_prefix("profiler_info_")?.strip_suffix(".json").map(str::to_owned);
    let named: Vec<(String, Option<i64>)> = names
        .iter()
        .filter_map(|n| Some((n.clone(), decimal::integer(&middle(n)?).filter(|r| *r >= 0))))
        .collect();
    let valid: Vec<&(String, Option<i64>)> = named.iter().filter(|n| n.1.is_some()).collect();
    match valid.as_slice() {
        [(_, rank)] => return *rank,
        [] if named.is_empty() => {}
        [] => {
            let list = named.iter().map(|n| n.0.as_str()).collect::<Vec<_>>().join(", ");
            let message = format!(
                "the rank cannot be told: {list} does not name one, expected profiler_info_<rank>.json"
            );
            findings.push(Finding::problem(Kind::Rank, dir, message));
            return None;
        }
        several => {
            let agrees = |name: &str, rank: Option<i64>| {
                let info = read_json(&dir.join(name), &mut vec![]).ok();
                info.and_then(|info| rank_in(&info)).is_some_and(|inside| Some(inside) == rank)
            };
            let agreeing: Vec<_> = several.iter().filter(|(name, rank)| agrees(name, *rank)).collect();
            let list = several.iter().map(|n| n.0.as_str()).collect::<Vec<_>>().join(", ");
            if let [(name, rank)] = agreeing.as_slice() {
                let message = format!("of {list} only {name} has the rank_id of its name and is used");
                findings.push(Finding::note(Kind::Rank, dir, message));
                return *rank;
            }
            let message =
                format!("the rank cannot be told: {list} contradict each other; keep the right one");
            findings.push(Finding::problem(Kind::Rank, dir, message));
            return None;
        }
    }
    if names.iter().any(|n| n == "profiler_info.json") {
        let path = dir.join("profiler_info.json");
        let rank = match read_json(&path, findings) {
            Ok(info) => rank_in(&info),
            Err(message) => {
                let message = format!("{message}; expected a JSON object with rank_id. It is taken to be -1");
                findings.push(Finding::problem(Kind::Metadata, path, message));
                return Some(-1);
            }
        };
        if rank.is_none() {
            let message = "single-process profile without a rank: rank_id is -1";
            findings.push(Finding::note(Kind::Rank, path, message));
        }
        return Some(rank.unwrap_or(-1));
    }
    let message = "the rank cannot be told: there is no profiler_info_<rank>.json and no profiler_info.json";
    findings.push(Finding::problem(Kind::Rank, dir, message));
    None
}

/// `rank_id` of an info file: an integer, or a text that is one.
fn rank_in(info: &Value) -> Option<i64> {
    let rank = match info.get("rank_id")? {
        Value::Number(n) => n.as_i64(),
        Value::String(s) => decimal::integer(s),
        _ => None,
    };
    rank.filter(|r| *r >= 0)
}

/// The rank of a place that has tables but no metadata: from the name of the database, if any.
fn rank_of_tables(place: &FoundProfile, files: &[UnitFile], findings: &mut Vec<Finding>) -> i64 {
    let from_db = files.iter().filter(|f| f.part == PROFILER_DB).find_map(|f| {
        let stem = f.path.file_stem()?.to_string_lossy().into_owned();
        decimal::integer(stem.strip_prefix("ascend_pytorch_profiler_")?)
    });
    if from_db.is_none() {
        let message =
            "tables without a profile around them: rank_id is -1, role is the name of the directory above";
        findings.push(Finding::note(Kind::Rank, &place.dir, message));
    }
    from_db.unwrap_or(-1)
}

/// `role` of the metadata, else the name of the parent directory.
fn role_of(place: &FoundProfile, names: &[String], findings: &mut Vec<Finding>) -> String {
    const FILE: &str = "profiler_metadata.json";
    let parent = || {
        let name = own_name(&parent_of(&place.dir)).unwrap_or_default().to_string_lossy().into_owned();
        if name.is_empty() { "unknown".to_owned() } else { name }
    };
    if !names.iter().any(|n| n == FILE) {
        return parent();
    }
    let path = place.dir.join(FILE);
    let value = match read_json(&path, findings) {
        Ok(value) => value,
        Err(message) => {
            let message = format!(
                "{message}; expected a JSON object. The role is taken from the directory: {}",
                parent()
            );
            findings.push(Finding::problem(Kind::Metadata, path, message));
            return parent();
        }
    };
    if !value.is_object() {
        let message = format!("expected a JSON object. The role is taken from the directory: {}", parent());
        findings.push(Finding::problem(Kind::Metadata, path, message));
        return parent();
    }
    let (role, what) = match value.get("role") {
        None | Some(Value::Null | Value::Bool(false)) => return parent(),
        Some(Value::String(role)) if role.is_empty() => return parent(),
        Some(Value::String(role)) => return role.clone(),
        Some(Value::Number(n)) if n.as_f64() == Some(0.0) => return parent(),
        Some(Value::Number(n)) => (n.to_string(), "a number"),
        Some(Value::Bool(true)) => ("true".to_owned(), "a boolean"),
        Some(Value::Array(a)) if a.is_empty() => return parent(),
        Some(Value::Object(o)) if o.is_empty() => return parent(),
        Some(Value::Array(_)) => (parent(), "a list"),
        Some(Value::Object(_)) => (parent(), "an object"),
    };
    let message = format!("role is {what}, expected a string; it is read as {role}");
    findings.push(Finding::problem(Kind::Metadata, path, message).at(Place::Key("role".into())));
    role
}

/// A JSON file as a value; the error says what is wrong with it, `findings` what is odd.
fn read_json(path: &Path, findings: &mut Vec<Finding>) -> Result<Value, String> {
    let bytes = InputFile::open(path)
        .and_then(|f| f.read_all(MAX_METADATA_BYTES))
        .map_err(|e| format!("cannot be read: {e}"))?;
    let mut odd = |message: &str| findings.push(Finding::note(Kind::Encoding, path, message));
    let text = match bytes.strip_prefix(b"\xEF\xBB\xBF") {
        Some(text) => {
            odd("the file begins with a byte-order mark");
            text
        }
        None => &bytes,
    };
    if text.is_empty() {
        return Err("the file is empty".into());
    }
    let text = String::from_utf8_lossy(text);
    if matches!(text, std::borrow::Cow::Owned(_)) {
        odd("bytes that are not UTF-8 are replaced by U+FFFD");
    }
    serde_json::from_str(&text).map_err(|e| format!("broken JSON: {e}"))
}

/// Which part a file name stands for.
fn table_part(name: &str) -> Option<&'static str> {
    let stem_of = |stem: &str| name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(".csv"));
    let is_table = |stem: &str| stem_of(stem).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'));
    let is_db = || name.strip_prefix("ascend_pytorch_profiler").and_then(|rest| rest.strip_suffix(".db"));
    if is_table(OPERATOR_MEMORY) {
        Some(OPERATOR_MEMORY)
    } else if is_table(MEMORY_RECORD) {
        Some(MEMORY_RECORD)
    } else if name == "trace_view.json" || name == "trace_view.json.gz" {
        Some(TRACE_VIEW)
    } else if is_db().is_some_and(|rest| rest.is_empty() || rest.starts_with('_')) {
        Some(PROFILER_DB)
    } else {
        None
    }
}

/// The files of one profile that a table is read from, and the form they are in.
fn files_of(
    place: &FoundProfile,
    part: &'static str,
    findings: &mut Vec<Finding>,
) -> Result<(Vec<UnitFile>, &'static str), Finding> {
    let entries = match list_directory(&place.output) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok((vec![], TEXT)),
        Err(e) => {
            return Err(unlisted(&place.output, &e));
        }
    };
    let mut all: Vec<UnitFile> = Vec::new();
    for entry in entries {
        let Some(part) = table_part(&entry.file_name().to_string_lossy()) else { continue };
        let path = entry.path();
        let bytes = look_at(&path).unwrap_or_else(|e| {
            findings.push(unknown(&path, &e));
            None
        });
        let bytes = bytes.map_or(0, |meta| meta.len());
        all.push(UnitFile { part: part.to_owned(), path, bytes });
    }
    let of = |part: &str| all.iter().filter(|f| f.part == part).cloned().collect::<Vec<_>>();
    let tables = newest_slices(of(part), part, findings);
    let mut databases = of(PROFILER_DB);
    if tables.is_empty() && !databases.is_empty() {
        let rest = databases.split_off(1);
        for file in rest {
            findings.push(Finding::note(
                Kind::Unused,
                file.path,
                "another database lies beside it and is used instead",
            ));
        }
        return Ok((databases, DB));
    }
    for file in databases {
        findings.push(Finding::note(
            Kind::Unused,
            file.path,
            "the text export lies beside it and is used instead",
        ));
    }
    let mut files = tables;
    if part == OPERATOR_MEMORY {
        let mut traces = of(TRACE_VIEW);
        traces.sort_by_key(|f| f.path.extension() == Some(OsStr::new("gz")));
        let rest = traces.split_off(traces.len().min(1));
        for file in rest {
            findings.push(Finding::note(
                Kind::Unused,
                file.path,
                "trace_view.json lies beside it and is used instead",
            ));
        }
        files.extend(traces);
    }
    Ok((files, TEXT))
}

/// Of several tables of one kind: the plain one, else all slices of the newest time stamp, in order.
fn newest_slices(files: Vec<UnitFile>, part: &str, findings: &mut Vec<Finding>) -> Vec<UnitFile> {
    let described = files.into_iter().map(|file| {
        let name = file.path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let rest = name.strip_prefix(part).unwrap_or("").trim_start_matches('_');
        let (slice, stamp) = match rest.strip_prefix("slice_") {
            Some(rest) => rest.split_once('_').unwrap_or((rest, "")),
            None => ("0", rest),
        };
        (rest.is_empty(), stamp.to_owned(), slice.parse::<u64>().unwrap_or(u64::MAX), file)
    });
    let mut described: Vec<_> = described.collect();
    described.sort_by(|a, b| (a.0, &a.1, a.2).cmp(&(b.0, &b.1, b.2)));
    let Some((plain, stamp)) = described.last().map(|l| (l.0, l.1.clone())) else { return vec![] };
    let (used, unused): (Vec<_>, Vec<_>) = described.into_iter().partition(|d| d.0 == plain && d.1 == stamp);
    for (.., file) in unused {
        findings.push(Finding::note(
            Kind::Unused,
            file.path,
            "a newer or complete table lies beside it and is used instead",
        ));
    }
    used.into_iter().map(|d| d.3).collect()
}

/// The problem that a table is not there: either it was not written, or nothing was analysed yet.
pub fn missing_table(output: PathBuf, file: &str, message: &str) -> Finding {
    if output.is_dir() {
        return Finding::problem(Kind::Missing, output.join(file), message);
    }
    let message = "directory not found: this profile was not analysed yet; run torch_npu.profiler.profiler.analyse on it";
    Finding::problem(Kind::Missing, output, message)
}

/// Whether a table of this kind lies where a unit's tables are expected.
///
/// # Errors
/// When the directory is there and cannot be listed.
pub fn has_table(unit: &Unit, part: &str) -> Result<bool, Finding> {
    let is_part = |name: &OsStr| table_part(&name.to_string_lossy()) == Some(part);
    let directory = output_directory(unit);
    match list_directory(&directory) {
        Ok(all) => Ok(all.iter().any(|entry| is_part(&entry.file_name()))),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(unlisted(&directory, &e)),
    }
}

/// The directory in which a unit's tables are expected, for messages.
pub fn output_directory(unit: &Unit) -> PathBuf {
    let own = own_name(unit.path());
    if own.is_some_and(|n| is_profile_name(&n)) {
        unit.path().join(OUTPUT)
    } else {
        unit.path().to_path_buf()
    }
}
