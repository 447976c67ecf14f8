//! From paths to dumps: which directories hold `step<N>/rank<R>`, and what their role, step and rank are.
//!
//! A plain dump is a directory with step directories; only it is looked at, as the reference does.
//! Frameworks for reinforcement learning put directories of their own around that of the collector,
//! `step_5/actor_update/rank_0/step0/rank0`. Of those around it, a step or rank gives the number
//! when this leaves every dump its own place, and all others together are the role:
//!
//! | path below the argument | role | source_step | rank |
//! |---|---|---|---|
//! | `step0/rank3` | NULL | 0 | 3 |
//! | `actor/step0/rank3` | `actor` | 0 | 3 |
//! | `step_5/actor_update/rank_3/step0/rank0` | `actor_update` | 5 | 3 |
//!
//! Where several arguments are given, their own names come first in the role, so that series of
//! different roots never mix.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::source::{
    DataError, Finding, KeyValue, Kind, Layout, Root, Unit, UnitFile, list_directory, look_at, real_path,
};
use crate::text::decimal;

use super::below::{self, Below, dumps_below, dumps_in_step};
use super::directories::{
    CONSTRUCT, DUMP, RankDir, StepDir, is_rank_name, leads_to_directory, number_of, ranks_of, steps_of,
    unknown, unlisted,
};
use super::series::Series;

/// [`UnitFile::part`] of the data.
pub const DUMP_PART: &str = "dump";
/// [`UnitFile::part`] of the file that says which call is in which module.
pub const CONSTRUCT_PART: &str = "construct";

/// [`Unit::form`] of all units.
pub const FORM: &str = "dump";

/// No framework puts more directories around a dump.
const MAX_DEPTH: usize = 12;

/// The runs that the units of a listing belong to, by the paths of the units.
pub(super) type Plan = HashMap<String, Arc<Series>>;

/// Finds all dumps under the roots. With `micro_step` the units know their `construct.json`.
///
/// # Errors
/// When a root that was named holds no dump, or globs matched places but none holds one.
pub(super) fn discover(
    function: &str,
    roots: &[Root],
    micro_step: bool,
) -> Result<(Layout, Plan), DataError> {
    let mut layout = Layout::default();
    let mut sources = Sources::default();
    let mut unread: Vec<Below> = Vec::new();
    for root in roots {
        let before = layout.findings.len();
        let any = sources.search_root(root, &mut layout.findings, &mut unread);
        if !any && before == layout.findings.len() && !root.from_glob {
            return Err(nothing_found(function, &root.argument));
        }
    }
    let sources = sources.found;
    if sources.is_empty() {
        // Without data a note about what is missing is all that can be said.
        let said: Vec<Finding> = layout.findings.iter().filter(|f| f.is_problem()).cloned().collect();
        if said.is_empty() {
            return Err(nothing_found(function, roots.first().map_or("", |r| r.argument.as_str())));
        }
        return Ok((layout, Plan::new()));
    }
    layout.findings.extend(below::notes(unread, sources.iter().map(|s| s.dir.as_path())));
    let dumps = place(&sources, &mut layout.findings);
    let mut plan = Plan::new();
    let mut runs: BTreeMap<(&Path, &Option<String>), Vec<&Dump<'_>>> = BTreeMap::new();
    for dump in &dumps {
        runs.entry((dump.source.base.as_path(), &dump.role)).or_default().push(dump);
    }
    for run in runs.into_values() {
        let members = run.iter().map(|d| (d.step, d.rank_dir.path.join(CONSTRUCT))).collect();
        let series = Arc::new(Series::new(members));
        for dump in run.iter().filter(|d| d.selected()) {
            let unit = dump.unit(micro_step);
            plan.insert(unit.source_path.clone(), Arc::clone(&series));
            layout.units.push(unit);
        }
    }
    Ok((layout, plan))
}

fn nothing_found(function: &str, argument: &str) -> DataError {
    let message = format!("no dump found; looked for step<N>/rank<R>/{DUMP} (or proc<PID>), at any depth");
    DataError::new(
        function,
        vec![Finding::problem(Kind::Missing, argument, message)],
        "give the directory that holds the step directories, or one above it; what msprobe's monitor writes is not read",
    )
}

/// A directory with step directories.
#[derive(Debug)]
struct Source {
    /// The argument that it was found through, without the part that a glob matched.
    base: PathBuf,
    /// The directory.
    dir: PathBuf,
    /// The names between the two.
    outer: Vec<String>,
    steps: Vec<StepDir>,
    /// The step or rank directories that were asked for; nothing means all.
    only: HashSet<PathBuf>,
}

/// One `dump.json` with its place.
#[derive(Debug)]
struct Dump<'a> {
    source: &'a Source,
    step_dir: &'a StepDir,
    rank_dir: &'a RankDir,
    role: Option<String>,
    step: i64,
    rank: i64,
}

impl Dump<'_> {
    fn selected(&self) -> bool {
        let only = &self.source.only;
        only.is_empty() || only.contains(&self.rank_dir.path) || only.contains(&self.step_dir.path)
    }

    fn unit(&self, micro_step: bool) -> Unit {
        let mut findings = vec![];
        let mut file = |part: &str, name: &str| {
            let path = self.rank_dir.path.join(name);
            let bytes = match look_at(&path) {
                Ok(meta) => meta.filter(fs::Metadata::is_file)?.len(),
                Err(e) => {
                    findings.push(unknown(&path, &e));
                    0
                }
            };
            Some(UnitFile { part: part.to_owned(), path, bytes })
        };
        let mut files: Vec<UnitFile> = file(DUMP_PART, DUMP).into_iter().collect();
        let step = KeyValue::Int(self.step);
        let mut keys = vec![self.role.clone().map_or(KeyValue::Null, KeyValue::Text), step.clone()];
        if micro_step {
            files.extend(file(CONSTRUCT_PART, CONSTRUCT));
        } else {
            keys.push(step);
        }
        keys.push(KeyValue::Int(self.rank));
        Unit {
            keys,
            inner_keys: vec![],
            source_path: self.rank_dir.path.join(DUMP).display().to_string(),
            form: FORM.to_owned(),
            files,
            findings,
        }
    }
}

/// Step directory and rank of a unit.
pub(super) fn place_of(unit: &Unit) -> (i64, i64) {
    let int = |key: Option<&KeyValue>| match key {
        Some(KeyValue::Int(n)) => *n,
        _ => 0,
    };
    (int(unit.keys.get(1)), int(unit.keys.last()))
}

/// Where the `construct.json` of a unit is, or should be.
pub(super) fn construct_path(unit: &Unit) -> PathBuf {
    // Not from the unit's own path, which is text: the real one may be no UTF-8.
    parent_of(unit.files.first().map_or(unit.path(), |file| &file.path)).join(CONSTRUCT)
}

/// The sources below all roots. A glob may name thousands of steps or ranks of one, which is listed once.
#[derive(Debug, Default)]
struct Sources {
    found: Vec<Source>,
    /// By their directory.
    index: HashMap<PathBuf, usize>,
}

impl Sources {
    /// Adds a source, or what is asked of it, to those that are known.
    fn add(&mut self, new: Source) {
        let Some(old) = self.index.get(&new.dir).and_then(|at| self.found.get_mut(*at)) else {
            self.index.insert(new.dir.clone(), self.found.len());
            self.found.push(new);
            return;
        };
        if old.only.is_empty() || new.only.is_empty() {
            old.only.clear();
        } else {
            old.only.extend(new.only);
        }
    }

    /// Looks at a root: it may be a dump, a step or a rank of one, a dump file, or something above. Whether
    /// there was anything.
    fn search_root(&mut self, root: &Root, findings: &mut Vec<Finding>, unread: &mut Vec<Below>) -> bool {
        let mut dir = clean(&root.path);
        if dir.is_file() && dir.file_name().is_some_and(|n| n == DUMP) {
            dir = parent_of(&dir);
        }
        let name = |dir: &Path| own_name(dir).unwrap_or_default();
        let mut asked = None;
        if is_rank_name(&name(&dir))
            && dir.join(DUMP).is_file()
            && number_of(&name(&parent_of(&dir)), "step").is_some()
        {
            asked = Some(parent_of(&parent_of(&dir)));
        } else if number_of(&name(&dir), "step").is_some() && !ranks_of(&dir, &mut vec![]).is_empty() {
            asked = Some(parent_of(&dir));
        }
        let above = asked.as_ref().unwrap_or(&dir).clone();
        let base = if root.from_glob { fixed_part(&root.argument) } else { above.clone() };
        if asked.is_some() {
            self.add_part(base, above, dir, findings, unread);
            return true;
        }
        let mut search = Search { base: &base, seen: HashSet::new(), found: vec![], findings, unread };
        search.walk(&dir, 0);
        let found = search.found;
        let any = !found.is_empty();
        found.into_iter().for_each(|source| self.add(source));
        any
    }

    /// Adds one step or rank directory of the dump in `above`.
    fn add_part(
        &mut self,
        base: PathBuf,
        above: PathBuf,
        part: PathBuf,
        findings: &mut Vec<Finding>,
        unread: &mut Vec<Below>,
    ) {
        let steps = match self.index.get(&above).and_then(|at| self.found.get(*at)) {
            Some(known) => Cow::Borrowed(known.steps.as_slice()),
            None => Cow::Owned(steps_of(&above, findings)),
        };
        if part.parent() == Some(&above) {
            steps.iter().filter(|step| step.path == part).for_each(|step| dumps_in_step(step, unread));
        }
        let steps = match steps {
            // Those of the source that is known.
            Cow::Borrowed(_) => vec![],
            Cow::Owned(steps) => steps,
        };
        let outer = between(&base, &above);
        self.add(Source { base, dir: above, outer, steps, only: HashSet::from([part]) });
    }
}

/// The search for dumps below one root.
struct Search<'a> {
    base: &'a Path,
    /// The directories that were looked at, without links on the way.
    seen: HashSet<PathBuf>,
    found: Vec<Source>,
    findings: &'a mut Vec<Finding>,
    unread: &'a mut Vec<Below>,
}

impl Search<'_> {
    /// Walks down to directories with steps. What is below them is not read.
    fn walk(&mut self, dir: &Path, depth: usize) {
        // Links may lead in circles, and several links to the same dump would count it twice.
        if depth > MAX_DEPTH || !leads_to_directory(dir, self.findings) {
            return;
        }
        let new = match real_path(dir) {
            Ok(real) => real.is_some_and(|real| self.seen.insert(real)),
            Err(e) => return self.findings.push(unknown(dir, &e)),
        };
        if !new {
            return;
        }
        let mut about = Vec::new();
        let steps = steps_of(dir, &mut about);
        let any = !steps.is_empty() || about.iter().any(Finding::is_problem);
        self.findings.append(&mut about);
        if any {
            dumps_below(dir, &steps, self.unread);
            self.found.extend((!steps.is_empty()).then(|| Source {
                base: self.base.to_path_buf(),
                dir: dir.to_path_buf(),
                outer: between(self.base, dir),
                steps,
                only: HashSet::new(),
            }));
            return;
        }
        match list_directory(dir) {
            Ok(entries) => entries.iter().for_each(|entry| self.walk(&entry.path(), depth + 1)),
            Err(e) => self.findings.push(unlisted(dir, &e)),
        }
    }
}

/// The numbers that the directories around a dump name, and the rest of them.
#[derive(Debug, Default)]
struct Outer<'a> {
    step: Option<i64>,
    rank: Option<i64>,
    stage: Vec<&'a str>,
}

impl<'a> Outer<'a> {
    fn of(names: &'a [String]) -> Self {
        let mut outer = Outer::default();
        for name in names {
            let number = |prefix: &str| decimal::integer(name.strip_prefix(prefix)?.trim_start_matches('_'));
            match (number("global_step").or_else(|| number("step")), number("rank")) {
                (Some(step), _) if outer.step.is_none() => outer.step = Some(step),
                (_, Some(rank)) if outer.rank.is_none() => outer.rank = Some(rank),
                _ => outer.stage.push(name),
            }
        }
        outer
    }
}

/// The sources of one stage.
type Group<'a> = Vec<(&'a Source, Outer<'a>)>;

/// Gives every dump its role, step and rank.
fn place<'a>(sources: &'a [Source], findings: &mut Vec<Finding>) -> Vec<Dump<'a>> {
    let bases: BTreeSet<&Path> = sources.iter().map(|s| s.base.as_path()).collect();
    let names = base_names(&bases);
    let mut groups: BTreeMap<(&Path, Vec<&str>), Group<'_>> = BTreeMap::new();
    for source in sources {
        let outer = Outer::of(&source.outer);
        groups.entry((source.base.as_path(), outer.stage.clone())).or_default().push((source, outer));
    }
    let mut dumps = Vec::new();
    for ((base, _), group) in groups {
        let by_step = group.iter().all(|(s, o)| o.step.is_some() && s.steps.len() == 1);
        let one_rank = |s: &Source| s.steps.iter().all(|step| step.ranks.len() == 1);
        let by_rank = group.iter().all(|(s, o)| o.rank.is_some() && one_rank(s));
        for (source, outer) in group {
            let mut parts: Vec<&str> = names.get(base).map(String::as_str).into_iter().collect();
            for name in &source.outer {
                let number = !outer.stage.contains(&name.as_str());
                let is_step = number && name.contains("step");
                if !number || (is_step && !by_step) || (!is_step && !by_rank) {
                    parts.push(name);
                }
            }
            let role = (!parts.is_empty()).then(|| parts.join("/"));
            unstable_processes(source, findings);
            for step_dir in &source.steps {
                for rank_dir in &step_dir.ranks {
                    let step = outer.step.filter(|_| by_step).unwrap_or(step_dir.number);
                    let rank = outer.rank.filter(|_| by_rank).unwrap_or(rank_dir.rank);
                    dumps.push(Dump { source, step_dir, rank_dir, role: role.clone(), step, rank });
                }
            }
        }
    }
    let mut places = HashSet::new();
    dumps.retain(|d| {
        let new = places.insert((d.source.base.clone(), d.role.clone(), d.step, d.rank));
        if !new {
            let message = format!(
                "a second dump for step {} and rank {}; give only one of the two roots",
                d.step, d.rank
            );
            findings.push(Finding::problem(Kind::Rank, d.rank_dir.path.join(DUMP), message));
        }
        new
    });
    dumps
}

/// What tells several arguments apart in a role: their names, or all of them when names repeat.
fn base_names<'a>(bases: &BTreeSet<&'a Path>) -> HashMap<&'a Path, String> {
    if bases.len() < 2 {
        return HashMap::new();
    }
    let short: Vec<String> = bases.iter().map(|b| own_name(b).unwrap_or_default()).collect();
    let distinct: HashSet<&String> = short.iter().collect();
    let unique = distinct.len() == bases.len() && !distinct.contains(&String::new());
    let full = bases.iter().map(|b| b.display().to_string());
    bases.iter().copied().zip(if unique { short.clone() } else { full.collect() }).collect()
}

/// The same process can get different ranks in different steps, which joins two processes in one series.
fn unstable_processes(source: &Source, findings: &mut Vec<Finding>) {
    let mut ranks: BTreeMap<i64, BTreeSet<i64>> = BTreeMap::new();
    for rank in source.steps.iter().flat_map(|s| &s.ranks) {
        if let Some(pid) = rank.pid {
            ranks.entry(pid).or_default().insert(rank.rank);
        }
    }
    for (pid, ranks) in ranks.into_iter().filter(|(_, ranks)| ranks.len() > 1) {
        let list = ranks.iter().map(i64::to_string).collect::<Vec<_>>().join(", ");
        let message =
            format!("process {pid} is not the same rank in all steps ({list}), as in the reference");
        findings.push(Finding::note(Kind::Rank, &source.dir, message));
    }
}

/// The names between a directory and one below it.
fn between(base: &Path, dir: &Path) -> Vec<String> {
    let here = base == Path::new(".");
    let rest = dir.strip_prefix(base).unwrap_or(if here { dir } else { Path::new("") });
    rest.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect()
}

/// The directories of a glob in front of the first one with a pattern.
fn fixed_part(glob: &str) -> PathBuf {
    let pattern = |c: &Component<'_>| c.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let fixed: PathBuf = Path::new(glob).components().take_while(|c| !pattern(c)).collect();
    clean(&fixed)
}

/// The same path without `.` and trailing separators, so that prefixes can be compared.
fn clean(path: &Path) -> PathBuf {
    let clean: PathBuf = path.components().filter(|c| *c != Component::CurDir).collect();
    if clean.as_os_str().is_empty() { PathBuf::from(".") } else { clean }
}

fn own_name(path: &Path) -> Option<String> {
    let name = match path.file_name() {
        Some(name) => name.to_owned(),
        None => fs::canonicalize(path).ok()?.file_name()?.to_owned(),
    };
    Some(name.to_string_lossy().into_owned())
}

fn parent_of(path: &Path) -> PathBuf {
    match (path.file_name(), path.parent()) {
        (Some(_), Some(parent)) if parent.as_os_str().is_empty() => PathBuf::from("."),
        (Some(_), Some(parent)) => parent.to_path_buf(),
        _ => path.join(".."),
    }
}
