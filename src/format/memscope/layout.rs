//! From paths to process directories and files of msMemScope.
//!
//! ```text
//! msmemscope_<PID>_<time>_ascend/config.json
//!                                device_<N>/dump/memscope_dump_<time>.csv | .db
//!                                device_<N>/dump/python_trace_<time>.csv
//!                                device_<N>/watch_dump/watch_dump_data_check_sum_<time>.csv | *.bin
//! ```
//!
//! The dumps of one process directory are one unit, because events without a device stand in each of
//! its files and because numbers of events and blocks are counted per process. Older versions have no
//! process directory: there the files of one time stamp are one unit. A file that lies anywhere else
//! is a unit of its own.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::io;
use std::path::{Component, Path, PathBuf};

use crate::source::{
    DataError, Finding, KeyValue, Kind, Layout, Root, Unit, UnitFile, is_directory, list_directory, look_at,
    real_path,
};

/// [`UnitFile::part`] of a dump as csv.
pub(super) const DUMP_CSV: &str = "dump_csv";
/// [`UnitFile::part`] of a dump as database.
pub(super) const DUMP_DB: &str = "dump_db";
/// [`UnitFile::part`] of a Python trace as csv.
pub(super) const TRACE_CSV: &str = "trace_csv";
/// [`UnitFile::part`] of check sums of watched tensors.
pub(super) const WATCH_CSV: &str = "watch_csv";
/// [`UnitFile::part`] of a memory image of a watched tensor.
pub(super) const WATCH_IMAGE: &str = "watch_image";
/// [`UnitFile::part`] of the settings.
pub(super) const CONFIG: &str = "config";

/// No tool puts more directories around its files.
const MAX_DEPTH: usize = 12;

/// What a file is, as far as its name tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FileKind {
    DumpCsv,
    DumpDb,
    TraceCsv,
    WatchCsv,
    WatchImage,
    CompareCsv,
    Config,
    Log,
}

impl FileKind {
    fn of(name: &str) -> Option<Self> {
        let starts = |prefix: &[&str]| prefix.iter().any(|p| name.starts_with(p));
        let (stem, extension) = name.rsplit_once('.')?;
        Some(match extension {
            "csv" if starts(&["memscope_dump_", "leaks_dump_"]) => Self::DumpCsv,
            "db" if starts(&["memscope_dump_", "leaks_dump_"]) => Self::DumpDb,
            "csv" if starts(&["python_trace_"]) => Self::TraceCsv,
            "csv" if starts(&["watch_dump_data_check_sum_"]) => Self::WatchCsv,
            "csv" if starts(&["memory_compare_"]) => Self::CompareCsv,
            "bin" if stem.ends_with("_before") || stem.ends_with("_after") => Self::WatchImage,
            "json" if name == "config.json" => Self::Config,
            "log" if starts(&["msmemscope_", "msleaks_"]) => Self::Log,
            _ => return None,
        })
    }

    /// Whether it holds rows.
    fn is_data(self) -> bool {
        !matches!(self, Self::Config | Self::Log)
    }

    /// What a file that was named may be, whatever its name is.
    fn by_extension(name: &str, wanted: &[Self]) -> Option<Self> {
        let extension = name.rsplit_once('.')?.1;
        wanted.iter().copied().find(|kind| kind.extension() == extension)
    }

    pub(super) fn extension(self) -> &'static str {
        match self {
            Self::DumpCsv | Self::TraceCsv | Self::WatchCsv | Self::CompareCsv => "csv",
            Self::DumpDb => "db",
            Self::WatchImage => "bin",
            Self::Config => "json",
            Self::Log => "log",
        }
    }

    /// [`UnitFile::part`] of such files.
    pub(super) fn part(self) -> &'static str {
        match self {
            Self::DumpCsv => DUMP_CSV,
            Self::DumpDb => DUMP_DB,
            Self::TraceCsv => TRACE_CSV,
            Self::WatchCsv => WATCH_CSV,
            Self::WatchImage => WATCH_IMAGE,
            Self::CompareCsv => "compare_csv",
            Self::Config => CONFIG,
            Self::Log => "log",
        }
    }
}

/// Where a file lies.
#[derive(Debug, Clone)]
pub(super) struct FoundFile {
    pub(super) kind: FileKind,
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    /// The directory above that of the device; `None` for a file that lies anywhere else.
    run: Option<PathBuf>,
    /// Name of the process directory, or of the directory that the file is in.
    run_dir: String,
    /// The device that the directory is named after.
    pub(super) device: Option<String>,
}

/// What the name of a process directory says: process id and time stamp.
pub(super) fn process_directory(name: &str) -> Option<(i64, &str)> {
    let (pid, time) = name.strip_prefix("msmemscope_")?.strip_suffix("_ascend")?.split_once('_')?;
    let digits = |t: &str| !t.is_empty() && t.bytes().all(|b| b.is_ascii_digit());
    if digits(time) { Some((pid.parse().ok().filter(|_| digits(pid))?, time)) } else { None }
}

impl FoundFile {
    fn new(kind: FileKind, path: PathBuf, bytes: u64) -> Self {
        let names: Vec<String> = path
            .components()
            .filter(|c| *c != Component::CurDir)
            .map(|c| c.as_os_str().to_string_lossy().into_owned())
            .collect();
        // Of `run/device_0/dump/file` the place of `device_0`, at most two above the file.
        let device = (2..=3)
            .filter_map(|up| names.len().checked_sub(up))
            .find(|at| names.get(*at).is_some_and(|n| n.starts_with("device_")));
        let up = |levels: usize| {
            let above = path.ancestors().nth(levels).unwrap_or(Path::new(""));
            if above.as_os_str().is_empty() { PathBuf::from(".") } else { above.to_path_buf() }
        };
        let run = match (device, kind) {
            (Some(at), _) => Some(up(names.len() - at)),
            (None, FileKind::Config) => Some(up(1)),
            (None, _) => None,
        };
        let process = names.iter().rev().find(|n| process_directory(n).is_some());
        let run_dir = match process {
            Some(name) => name.clone(),
            None => own_name(run.as_deref().unwrap_or(&up(1))),
        };
        let device = device.and_then(|at| names.get(at)?.strip_prefix("device_").map(str::to_owned));
        Self { kind, path, bytes, run, run_dir, device }
    }

    /// Values of the key columns.
    pub(super) fn keys(&self) -> Vec<KeyValue> {
        let pid = process_directory(&self.run_dir).map(|(pid, _)| pid);
        vec![KeyValue::Text(self.run_dir.clone()), pid.map_or(KeyValue::Null, KeyValue::Int)]
    }

    /// The time stamp in the name of the process directory.
    pub(super) fn started_at(&self) -> Option<&str> {
        process_directory(&self.run_dir).map(|(_, time)| time)
    }

    /// What comes behind `memscope_dump_` in its name.
    fn stamp(&self) -> String {
        let stem = self.path.file_stem().unwrap_or_default().to_string_lossy();
        stem.rsplit_once('_').map_or_else(|| stem.clone().into_owned(), |(_, stamp)| stamp.to_owned())
    }

    pub(super) fn unit_file(&self) -> UnitFile {
        UnitFile { part: self.kind.part().to_owned(), path: self.path.clone(), bytes: self.bytes }
    }

    /// A unit of this file alone.
    pub(super) fn unit(&self) -> Unit {
        Unit {
            keys: self.keys(),
            inner_keys: vec![],
            source_path: self.path.display().to_string(),
            form: self.kind.extension().to_owned(),
            files: vec![self.unit_file()],
            findings: vec![],
        }
    }
}

/// The files of these kinds below the roots, in order, each once.
///
/// # Errors
/// When a root that was named holds none, or globs matched places but none holds one; `what` says in
/// the message what was looked for.
pub(super) fn find(
    function: &str,
    roots: &[Root],
    wanted: &[FileKind],
    what: &str,
) -> Result<(Vec<FoundFile>, Vec<Finding>), DataError> {
    let mut search = Search { wanted, found: vec![], findings: vec![], seen: HashSet::new() };
    for root in roots {
        let before = (search.found.len(), search.findings.len());
        search.root(root);
        let any = (search.found.len(), search.findings.len()) != before;
        // What an earlier root held already is no mistake.
        if !any && !root.from_glob && !search.holds(&root.path) {
            return Err(nothing_found(function, &root.argument, what));
        }
    }
    if search.found.is_empty() && !search.findings.iter().any(Finding::is_problem) {
        let argument = roots.first().map_or("", |r| r.argument.as_str());
        return Err(nothing_found(function, argument, what));
    }
    Ok((search.found, search.findings))
}

fn nothing_found(function: &str, argument: &str, what: &str) -> DataError {
    let message = format!("no output of msMemScope found; looked for {what}, at any depth");
    DataError::new(
        function,
        vec![Finding::problem(Kind::Missing, argument, message)],
        "give the output directory (memscopeDumpResults), a process directory in it, or one file",
    )
}

struct Search<'a> {
    wanted: &'a [FileKind],
    found: Vec<FoundFile>,
    findings: Vec<Finding>,
    /// What was visited, by its real path.
    seen: HashSet<PathBuf>,
}

impl Search<'_> {
    /// Whether a file was found that is this one or lies below this directory.
    fn holds(&self, path: &Path) -> bool {
        let Ok(Some(real)) = real_path(path) else { return false };
        let mut files = self.found.iter().filter_map(|f| real_path(&f.path).ok().flatten());
        files.any(|file| file.starts_with(&real))
    }

    fn root(&mut self, root: &Root) {
        match is_directory(&root.path) {
            Ok(true) => return self.directory(&root.path, 0),
            Ok(false) => {}
            Err(e) => return self.unknown(&root.path, &e),
        }
        let name = root.path.file_name().unwrap_or_default().to_string_lossy();
        let kind = match FileKind::of(&name) {
            Some(kind) => self.wanted.contains(&kind).then_some(kind),
            None => FileKind::by_extension(&name, self.wanted),
        };
        if let Some(kind) = kind {
            self.file(kind, root.path.clone());
        }
    }

    fn directory(&mut self, dir: &Path, depth: usize) {
        // Links may lead in circles, and several links to one place would count it twice.
        let new = match real_path(dir) {
            Ok(real) => real.is_some_and(|real| self.seen.insert(real)),
            Err(e) => return self.unknown(dir, &e),
        };
        if depth > MAX_DEPTH || !new {
            return;
        }
        let entries = match list_directory(dir) {
            Ok(entries) => entries,
            Err(e) => {
                let message = format!("the directory cannot be listed: {e}");
                self.findings.push(Finding::problem(Kind::Unreadable, dir, message));
                return;
            }
        };
        for entry in entries {
            let path = entry.path();
            let directory = match is_directory(&path) {
                Ok(directory) => directory,
                Err(e) => {
                    self.unknown(&path, &e);
                    continue;
                }
            };
            if directory {
                self.directory(&path, depth + 1);
            } else if let Some(kind) = FileKind::of(&entry.file_name().to_string_lossy())
                && self.wanted.contains(&kind)
                && (kind != FileKind::Config || is_process_directory(dir))
            {
                self.file(kind, path);
            } else if let Some(plain) = plain_name(&entry.file_name().to_string_lossy())
                && FileKind::of(&plain).is_some_and(|kind| kind.is_data() && self.wanted.contains(&kind))
                && !dir.join(&plain).exists()
            {
                let message = format!("expected {plain}, which is read; unpack or rename it");
                self.findings.push(Finding::problem(Kind::Unreadable, path, message));
            }
        }
    }

    /// Nobody knows what a path leads to: there may be data behind it.
    fn unknown(&mut self, path: &Path, e: &io::Error) {
        let message = format!("cannot be looked at: {e}");
        self.findings.push(Finding::problem(Kind::Unreadable, path, message));
    }

    fn file(&mut self, kind: FileKind, path: PathBuf) {
        let real = fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
        if self.seen.insert(real) {
            let bytes = look_at(&path).unwrap_or_else(|e| {
                self.unknown(&path, &e);
                None
            });
            let bytes = bytes.map_or(0, |meta| meta.len());
            self.found.push(FoundFile::new(kind, path, bytes));
        }
    }
}

/// The name that a file with data has before it is packed, or its ending is written large.
fn plain_name(name: &str) -> Option<String> {
    const PACKED: [&str; 6] = ["gz", "zst", "xz", "bz2", "lz4", "zip"];
    let small = |ending: &str| ending.to_ascii_lowercase();
    let (stem, ending) = name.rsplit_once('.')?;
    if PACKED.contains(&small(ending).as_str()) {
        return Some(plain_name(stem).unwrap_or_else(|| stem.to_owned()));
    }
    let plain = format!("{stem}.{}", small(ending));
    (plain != name).then_some(plain)
}

/// Many tools write a `config.json`: it is one of msMemScope when it lies in a process directory.
fn is_process_directory(dir: &Path) -> bool {
    process_directory(&own_name(dir)).is_some()
        || list_directory(dir).is_ok_and(|entries| {
            entries.iter().any(|e| e.file_name().to_string_lossy().starts_with("device_"))
        })
}

/// What a file of this name in these directories, from the outermost on, belongs to.
pub(crate) fn input_name(directories: &[&str], name: &str) -> Option<&'static str> {
    let in_process = directories.iter().any(|name| process_directory(name).is_some());
    // A config.json may be anything; one of msMemScope lies in a process directory.
    let of_tool = FileKind::of(name).is_some_and(|kind| kind != FileKind::Config);
    (in_process || of_tool).then_some("a file of msMemScope")
}

fn own_name(path: &Path) -> String {
    match path.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => fs::canonicalize(path)
            .ok()
            .and_then(|real| Some(real.file_name()?.to_string_lossy().into_owned()))
            .unwrap_or_else(|| path.display().to_string()),
    }
}

/// Finds all dumps, one unit for each process.
///
/// # Errors
/// As [`find`].
pub(super) fn discover_dumps(function: &str, roots: &[Root]) -> Result<Layout, DataError> {
    let what = "memscope_dump_*.csv and memscope_dump_*.db";
    let (found, findings) = find(function, roots, &[FileKind::DumpCsv, FileKind::DumpDb], what)?;
    let mut layout = Layout { units: vec![], findings };
    let mut runs: BTreeMap<(PathBuf, String), Vec<FoundFile>> = BTreeMap::new();
    for file in found {
        match &file.run {
            None => layout.units.push(file.unit()),
            Some(run) => {
                let stamp =
                    if process_directory(&file.run_dir).is_some() { String::new() } else { file.stamp() };
                runs.entry((run.clone(), stamp)).or_default().push(file);
            }
        }
    }
    let of_run = |run: &Path| runs.keys().filter(|(r, _)| r == run).count();
    for ((run, _), files) in &runs {
        // The directory names the unit, unless it holds several runs.
        let path = if of_run(run) == 1 { run.as_path() } else { files.first().map_or(run, |f| &f.path) };
        layout.units.push(process_unit(path, files));
    }
    Ok(layout)
}

fn process_unit(path: &Path, files: &[FoundFile]) -> Unit {
    let mut files: Vec<&FoundFile> = files.iter().collect();
    // By number and not by text; what has no number, such as device_cpu, comes last: it is the other
    // files that hold the events without a device.
    let number = |f: &FoundFile| f.device.as_ref().and_then(|d| d.parse::<u64>().ok()).unwrap_or(u64::MAX);
    files.sort_by(|a, b| (number(a), &a.path).cmp(&(number(b), &b.path)));
    let mut findings = vec![];
    let csvs: HashSet<PathBuf> =
        files.iter().filter(|f| f.kind == FileKind::DumpCsv).map(|f| f.path.with_extension("")).collect();
    files.retain(|f| {
        let twice = f.kind == FileKind::DumpDb && csvs.contains(&f.path.with_extension(""));
        if twice {
            let message = "not read: the csv of the same name beside it holds the same events";
            findings.push(Finding::note(Kind::Unused, &f.path, message));
        }
        !twice
    });
    let forms: HashSet<&str> = files.iter().map(|f| f.kind.extension()).collect();
    Unit {
        keys: files.first().map(|f| f.keys()).unwrap_or_default(),
        inner_keys: vec![],
        source_path: path.display().to_string(),
        form: if forms.len() > 1 { "mixed" } else { forms.into_iter().next().unwrap_or("csv") }.to_owned(),
        files: files.iter().map(|f| f.unit_file()).collect(),
        findings,
    }
}

/// The dump files of a unit as they are called in the column `file`: below the unit's path.
pub(super) fn file_names(unit: &Unit) -> Vec<String> {
    let dumps = unit.files.iter().filter(|f| f.part == DUMP_CSV || f.part == DUMP_DB);
    dumps
        .map(|f| match f.path.strip_prefix(unit.path()) {
            Ok(rest) if !rest.as_os_str().is_empty() => rest.display().to_string(),
            _ if unit.source_path == "." => f.path.display().to_string(),
            _ => f.path.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        })
        .collect()
}
