//! What a session has read, or is about to: such files are never written.
//!
//! A rule of the physical planner sees every plan, however it came about, and with it every file that
//! is going to be opened. The same place serves `--root`: a link below the root that leads outside is
//! found here, where it is known what would be read through it.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::config::ConfigOptions;
use datafusion::error::{DataFusionError, Result};
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::ExecutionPlan;
use rl_insight_sql::scan::UnitScanExec;

use super::confine::Root;

/// Files and places that were opened. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs {
    known: Arc<Mutex<Known>>,
}

#[derive(Debug, Default)]
struct Known {
    files: HashSet<PathBuf>,
    /// Files and directories that tables of the engine lie in.
    places: HashSet<PathBuf>,
    /// The same, for each name that such a table was ever given.
    tables: HashMap<String, Vec<PathBuf>>,
}

impl Inputs {
    /// Remembers files.
    pub(crate) fn add_files(&self, files: impl IntoIterator<Item = PathBuf>) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).files.extend(files);
    }

    /// Remembers a file or directory with everything below it.
    pub(crate) fn add_place(&self, place: PathBuf) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).places.insert(place);
    }

    /// Remembers where a table of the engine lies.
    pub(crate) fn add_table(&self, name: &str, place: PathBuf) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tables.entry(name.to_owned()).or_default().push(place);
    }

    /// Where tables of this name lie.
    pub(crate) fn of_table(&self, name: &str) -> Vec<PathBuf> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.tables.get(name).cloned().unwrap_or_default()
    }

    /// Whether this existing file was opened, or lies where a table of the engine does, by whatever name.
    pub(crate) fn hold(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let is_there = |place: &PathBuf| place.canonicalize().is_ok_and(|place| real.starts_with(place));
        self.known.lock().unwrap_or_else(PoisonError::into_inner).places.iter().any(is_there)
            || self.opened(path)
    }

    /// Whether this existing file was opened, by whatever name.
    pub(crate) fn opened(&self, path: &Path) -> bool {
        let Ok(real) = path.canonicalize() else { return false };
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        // Resolving the names of thousands of files takes a while; the size tells most of them apart.
        let size = fs::metadata(&real).map(|m| m.len()).ok();
        let may_be = |file: &&PathBuf| fs::metadata(file).map(|m| m.len()).ok() == size;
        known.files.contains(path)
            || known.files.iter().filter(may_be).any(|file| file.canonicalize().is_ok_and(|f| f == real))
    }
}

/// Looks at every plan before it is run.
#[derive(Debug)]
pub(crate) struct Watchful {
    /// Where what it reads is remembered.
    pub(crate) inputs: Inputs,
    /// Where all of it must be, if not anywhere.
    pub(crate) root: Option<Root>,
}

impl PhysicalOptimizerRule for Watchful {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _config: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let mut files = Vec::new();
        collect(&plan, &mut files);
        if let Some(root) = &self.root
            && let Some(outside) = files.iter().find(|file| !root.holds_file(file))
        {
            return Err(DataFusionError::Plan(root.refusal_of_link(outside)));
        }
        self.inputs.add_files(files);
        Ok(plan)
    }

    fn name(&self) -> &str {
        "inputs"
    }

    fn schema_check(&self) -> bool {
        true
    }
}

fn collect(plan: &Arc<dyn ExecutionPlan>, files: &mut Vec<PathBuf>) {
    if let Some(scan) = plan.downcast_ref::<UnitScanExec>() {
        let units = scan.runs().iter().flatten();
        files.extend(units.flat_map(|unit| unit.files.iter().map(|file| file.path.clone())));
    }
    plan.children().into_iter().for_each(|child| collect(child, files));
}
