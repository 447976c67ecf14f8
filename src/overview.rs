//! What lies below some paths, told from listing alone: which tables have data there, and how much.
//!
//! No data file is opened, so a tree of thousands of ranks is surveyed in about a second.

use std::collections::{BTreeSet, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use datafusion::common::Result;
use datafusion::prelude::SessionContext;

use crate::source::{DataError, Finding, Format, KeyValue, Layout, Root, Unit, expand_roots};
use crate::table::{TableFunction, all_table_functions};

/// What was found below some paths.
#[derive(Debug, Clone, Default)]
pub struct Overview {
    /// One entry per table that has data there, in the order of the table functions.
    pub found: Vec<Found>,
    /// Table functions without a view that can read the paths, when no view could.
    pub readers: Vec<&'static str>,
    /// What each table function that has no data there looked for, when nothing at all was found.
    pub looked_for: Vec<Finding>,
    /// Paths that hold nothing, when others do. What only a glob matched is not among them.
    pub empty: Vec<String>,
}

/// The data of one table function below the paths.
#[derive(Debug, Clone)]
pub struct Found {
    function: &'static TableFunction,
    /// The name of the view over it.
    pub view: &'static str,
    /// The paths that hold such data.
    pub paths: Vec<String>,
    /// How many pieces there are: profiles, dumps, files of events.
    pub units: usize,
    /// Their roles.
    pub roles: BTreeSet<String>,
    /// Their ranks.
    pub ranks: BTreeSet<i64>,
    /// Their steps, when the format has steps.
    pub steps: BTreeSet<i64>,
    /// Their processes, when the format tells processes apart and not ranks.
    pub processes: BTreeSet<i64>,
    /// Their devices, as far as directories are named after them, each with the piece it belongs to.
    pub devices: BTreeSet<(String, u64)>,
    /// Size of their files together, in bytes.
    pub bytes: u64,
    /// How many have a problem that can be seen without opening them, with those that belong to none.
    pub with_problems: usize,
    /// Their files.
    pub files: Vec<PathBuf>,
}

impl Found {
    /// Nothing yet.
    fn new(function: &'static TableFunction, view: &'static str) -> Self {
        Self {
            function,
            view,
            paths: vec![],
            units: 0,
            roles: BTreeSet::new(),
            ranks: BTreeSet::new(),
            steps: BTreeSet::new(),
            processes: BTreeSet::new(),
            devices: BTreeSet::new(),
            bytes: 0,
            with_problems: 0,
            files: vec![],
        }
    }

    /// The table function that reads it.
    pub fn function(&self) -> &'static str {
        self.function.name
    }

    /// The query of the view.
    pub fn query(&self, on_error: &str) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
        let paths: Vec<String> = self.paths.iter().map(|p| quoted(p)).collect();
        let path = match paths.as_slice() {
            [one] => one.clone(),
            many => format!("[{}]", many.join(", ")),
        };
        let takes = self.function.arguments.iter().any(|a| a.name == "on_error");
        let option = if takes && on_error != "strict" {
            format!(", on_error => {}", quoted(on_error))
        } else {
            String::new()
        };
        format!("SELECT * FROM {}({path}{option})", self.function.name)
    }

    fn add(&mut self, format: &dyn Format, unit: Unit) {
        self.units += 1;
        self.bytes += unit.bytes();
        self.with_problems += usize::from(!problems(format, &unit).is_empty());
        for (column, value) in format.key_columns().iter().zip(&unit.keys) {
            match (column.name, value) {
                ("role", KeyValue::Text(role)) => drop(self.roles.insert(role.clone())),
                ("rank_id" | "rank", KeyValue::Int(rank)) => drop(self.ranks.insert(*rank)),
                ("run_pid", KeyValue::Int(process)) => drop(self.processes.insert(*process)),
                ("source_step" | "step", KeyValue::Int(step)) => drop(self.steps.insert(*step)),
                _ => {}
            }
        }
        // Profiles have such directories too, but tell ranks apart.
        for file in unit.files.iter().filter(|_| tells_processes(format)) {
            let number = |name: &OsStr| name.to_str()?.strip_prefix("device_")?.parse().ok();
            let device = file.path.components().rev().find_map(|part| number(part.as_os_str()));
            self.devices.extend(device.map(|device| (unit.source_path.clone(), device)));
        }
        self.files.extend(unit.files.into_iter().map(|f| f.path));
    }
}

impl Overview {
    /// Surveys paths and globs. Blocks on the file system.
    ///
    /// # Errors
    /// When a path does not exist. That a path holds nothing is no error: then nothing is found.
    pub fn of(paths: &[String]) -> Result<Self, DataError> {
        let roots = expand_roots("the path", paths)?;
        let functions: Vec<_> =
            all_table_functions().iter().filter_map(|f| Some((f, f.view?, f.format()))).collect();
        let list = &|format: &dyn Format| -> Vec<(String, Result<Layout, DataError>)> {
            let one =
                |root: &Root| (root.path.display().to_string(), format.discover(std::slice::from_ref(root)));
            roots.iter().map(one).collect()
        };
        // Each function walks on its own: their walks are short, and side by side they take as long as one.
        let listed: Vec<_> = thread::scope(|scope| {
            let walk = |format: &Arc<dyn Format>| {
                let format = Arc::clone(format);
                scope.spawn(move || list(format.as_ref()))
            };
            let handles: Vec<_> = functions.iter().map(|(_, _, format)| walk(format)).collect();
            handles.into_iter().map(|h| h.join().unwrap_or_default()).collect()
        });
        let mut overview = Self::default();
        let mut seen: HashSet<String> = HashSet::new();
        let mut told: HashSet<String> = HashSet::new();
        for ((function, view, format), layouts) in functions.into_iter().zip(listed) {
            let mut found = Found::new(function, view);
            let mut names = Vec::new();
            for (path, layout) in layouts {
                // A file of msMemScope can have any name. One that is known by its name is none of them.
                if tells_processes(format.as_ref()) && told.contains(&path) && Path::new(&path).is_file() {
                    continue;
                }
                match layout {
                    Ok(layout) => {
                        let before = found.units + found.with_problems;
                        // A place that another function reads, with nothing in it for this one.
                        let foreign = |u: &Unit| u.files.is_empty() && seen.contains(&u.source_path);
                        let own = !layout.units.iter().all(foreign);
                        if own {
                            found.with_problems += layout.findings.iter().filter(|f| f.is_problem()).count();
                        }
                        // Beside data of its own such a place counts when it would fail a query.
                        let fails = |u: &Unit| own && !problems(format.as_ref(), u).is_empty();
                        for unit in layout.units.into_iter().filter(|u| !foreign(u) || fails(u)) {
                            names.push(unit.source_path.clone());
                            found.add(format.as_ref(), unit);
                        }
                        if found.units + found.with_problems > before {
                            told.insert(path.clone());
                            found.paths.push(path);
                        }
                    }
                    Err(e) => overview.looked_for.extend(e.problems().iter().cloned()),
                }
            }
            seen.extend(names);
            if !found.paths.is_empty() {
                overview.found.push(found);
            }
        }
        let named = roots.iter().filter(|root| !root.from_glob).map(|root| root.path.display().to_string());
        let full: HashSet<&String> = overview.found.iter().flat_map(|found| &found.paths).collect();
        overview.empty = named.filter(|path| !full.is_empty() && !full.contains(path)).collect();
        overview.looked_for.dedup_by(|a, b| a.message == b.message);
        if overview.found.is_empty() {
            overview.readers = other_readers(&roots);
        } else {
            overview.looked_for.clear();
        }
        Ok(overview)
    }

    /// Whether there is something to read.
    pub fn is_empty(&self) -> bool {
        self.found.is_empty() && self.readers.is_empty()
    }

    /// Creates the views in a session; `on_error` is `strict` or `skip`, as for the functions.
    ///
    /// # Errors
    /// When a view cannot be created, for example because there is a table of that name.
    pub async fn register(&self, context: &SessionContext, on_error: &str) -> Result<()> {
        for found in &self.found {
            let sql = format!("CREATE OR REPLACE VIEW {} AS {}", found.view, found.query(on_error));
            context.sql(&sql).await?.collect().await?;
        }
        Ok(())
    }
}

/// Whether a format tells processes apart and not ranks.
fn tells_processes(format: &dyn Format) -> bool {
    format.key_columns().iter().any(|column| column.name == "run_pid")
}

/// What is wrong with a unit, as far as it can be seen without opening it, for a query of all columns.
fn problems(format: &dyn Format, unit: &Unit) -> Vec<Finding> {
    let columns: Vec<usize> = (0..format.schema().fields().len()).collect();
    format.known_problems(unit, &columns)
}

/// The table functions without a view that find something of their own below the roots.
fn other_readers(roots: &[Root]) -> Vec<&'static str> {
    let reads = |function: &&TableFunction| {
        let alone = function.view.is_none() && function.paths.len() == 1;
        alone && function.format().discover(roots).is_ok_and(|layout| !layout.units.is_empty())
    };
    all_table_functions().iter().filter(reads).map(|function| function.name).collect()
}
