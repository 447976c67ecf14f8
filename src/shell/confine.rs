//! `--root`: no file outside of one directory is read or written, whatever the SQL says.
//!
//! Table functions are checked when they are called, which every query over our formats comes down to,
//! views and functions that are queries included; the files that are found for them when a query is
//! planned (see [`inputs`](super::inputs)). COPY and CREATE EXTERNAL TABLE are checked on their plans, and
//! the files of commands when they are run.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::error::{DataFusionError, Result};
use datafusion::prelude::SessionContext;
use rl_insight_sql::source::expand_roots;
use rl_insight_sql::table::{
    Arguments, FormatFunction, STEP_PAIRS, StepPairsFunction, TableFunction, Takes, all_table_functions,
};

use super::address::local_paths;
use super::failure::Failure;
use super::inputs::Inputs;

/// The directory that files must be in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Root {
    given: PathBuf,
    real: PathBuf,
}

impl Root {
    /// This directory.
    ///
    /// # Errors
    /// [`Failure::Usage`] when it is none.
    pub(crate) fn new(given: PathBuf) -> Result<Self, Failure> {
        match given.canonicalize() {
            Ok(real) if real.is_dir() => Ok(Self { given, real }),
            _ => Err(Failure::Usage(format!("--root {}: no such directory", given.display()))),
        }
    }

    /// Whether a path or glob stays inside.
    ///
    /// # Errors
    /// [`Failure::Refused`] when it does not.
    pub(crate) fn pass(&self, path: &str) -> Result<(), Failure> {
        if self.holds(path) { Ok(()) } else { Err(self.refusal(path)) }
    }

    /// What is said about a path that does not.
    pub(crate) fn refusal(&self, path: &str) -> Failure {
        let root = self.given.display();
        Failure::Refused(format!("{path}: outside of {root}, and --root allows only what is in it"))
    }

    /// Whether all that a location of the engine may stand for stays inside.
    pub(crate) fn holds_location(&self, location: &str) -> bool {
        let paths = local_paths(location);
        !paths.is_empty() && paths.iter().all(|path| path.to_str().is_some_and(|path| self.holds(path)))
    }

    /// What is said about the first link at or below a path that leads outside: the engine lists directories by
    /// itself, and follows all links.
    pub(crate) fn link_outside(&self, path: &Path) -> Option<String> {
        let roots = expand_roots("--root", &[path.to_str()?.to_owned()]).unwrap_or_default();
        let mut waiting: Vec<PathBuf> = roots.into_iter().map(|root| root.path).collect();
        while let Some(next) = waiting.pop() {
            if !self.holds_file(&next) {
                return Some(self.refusal_of_link(&next));
            }
            // A link to a directory is not followed: what it leads to is inside, and looked at by its own name.
            let is_directory = next.symlink_metadata().is_ok_and(|there| there.is_dir());
            let entries = if is_directory { std::fs::read_dir(&next).ok() } else { None };
            waiting.extend(entries.into_iter().flatten().flatten().map(|entry| entry.path()));
        }
        None
    }

    fn holds(&self, path: &str) -> bool {
        match expand_roots("--root", &[path.to_owned()]) {
            Ok(roots) => roots.iter().all(|root| self.is_inside(&root.path)),
            // What is not there cannot be read, but it may be about to be written.
            Err(_) => self.is_inside(Path::new(path)),
        }
    }

    fn is_inside(&self, path: &Path) -> bool {
        // The part that exists is followed through all links; the rest must not climb back.
        let mut rest = Vec::new();
        let mut front = path;
        loop {
            let there = if front.as_os_str().is_empty() { Path::new(".") } else { front };
            if let Ok(real) = there.canonicalize() {
                let climbs = rest.iter().any(|c| matches!(c, Component::ParentDir));
                return real.starts_with(&self.real) && !climbs;
            }
            // A link that leads nowhere may lead anywhere once it is written through.
            if there.is_symlink() {
                return false;
            }
            rest.extend(front.components().next_back());
            match front.parent() {
                Some(parent) => front = parent,
                None => return false,
            }
        }
    }

    /// Whether an existing file is inside, all links followed.
    pub(crate) fn holds_file(&self, file: &Path) -> bool {
        // What is not there cannot be read, and whoever tries says so.
        file.canonicalize().map_or(true, |real| real.starts_with(&self.real))
    }

    /// What is said about a file that only a link makes part of the root.
    pub(crate) fn refusal_of_link(&self, file: &Path) -> String {
        let real = file.canonicalize().unwrap_or_else(|_| file.to_path_buf());
        format!(
            "{}: a link leads to {}, outside of {}, and --root allows only what is in it\nhint: name the \
             directories without that link, or choose another root",
            file.display(),
            real.display(),
            self.given.display()
        )
    }
}

/// Puts functions that look at their arguments in the place of all table functions that read files.
pub(crate) fn watch_calls(context: &SessionContext, root: Option<&Root>, inputs: &Inputs) {
    for function in all_table_functions() {
        let watched = Watched { function: *function, root: root.cloned(), inputs: inputs.clone() };
        context.register_udtf(function.name, Arc::new(watched));
    }
    if let Some(root) = root {
        context.register_udtf(STEP_PAIRS, Arc::new(WatchedPairs { root: root.clone() }));
    }
}

/// A table function that reads only below the root, and whose files are never written.
#[derive(Debug)]
struct Watched {
    function: TableFunction,
    root: Option<Root>,
    inputs: Inputs,
}

impl TableFunctionImpl for Watched {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        let arguments = Arguments::read(self.function.name, self.function.paths, args.exprs())?;
        let is_file = |name: &str| {
            self.function.arguments.iter().any(|a| a.name == name && matches!(a.takes, Takes::File))
        };
        let files = || arguments.options.iter().filter(|(name, _)| is_file(name)).map(|(_, value)| value);
        if let Some(root) = &self.root {
            for path in arguments.paths.iter().chain(files()) {
                root.pass(path).map_err(refused)?;
            }
        }
        self.inputs.add_files(files().map(PathBuf::from));
        FormatFunction::new(self.function).call_with_args(args)
    }
}

/// The function that lists the steps of dumps, only below the root.
#[derive(Debug)]
struct WatchedPairs {
    root: Root,
}

impl TableFunctionImpl for WatchedPairs {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        for path in StepPairsFunction::paths(args.exprs())?.iter().flatten() {
            self.root.pass(path).map_err(refused)?;
        }
        StepPairsFunction.call_with_args(args)
    }
}

fn refused(failure: Failure) -> DataFusionError {
    DataFusionError::Plan(failure.text().unwrap_or_default().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_below_the_root_is_inside() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("root");
        std::fs::create_dir_all(root.join("a")).unwrap();
        std::fs::create_dir_all(dir.path().join("root2")).unwrap();
        let confined = Root::new(root.clone()).unwrap();
        let at = |path: &str| format!("{}/{path}", root.display());
        for inside in ["", "a", "a/..", "new.csv", "new/x.csv", "*", "./a"] {
            assert!(confined.pass(&at(inside)).is_ok(), "{inside}");
        }
        for outside in ["..", "../root2", "a/../../root2", "new/../../x", "../*", "../new.csv"] {
            assert!(confined.pass(&at(outside)).is_err(), "{outside}");
        }
        assert!(confined.pass("/").is_err() && confined.pass("/etc/passwd").is_err());
        assert!(confined.holds_location(&format!("file://{}", at("a/x.csv"))));
        for outside in ["/..", "/%2e%2e/x.csv", "/a/%2E%2e/../x.csv"] {
            assert!(!confined.holds_location(&format!("file://{}{outside}", root.display())), "{outside}");
        }
        for outside in ["s3://bucket/x", "http://host/x", "file:/etc/passwd", "FILE:///etc/passwd"] {
            assert!(!confined.holds_location(outside), "{outside}");
        }
        #[cfg(unix)]
        {
            std::os::unix::fs::symlink(dir.path(), root.join("out")).unwrap();
            std::os::unix::fs::symlink(dir.path().join("nowhere"), root.join("dangling")).unwrap();
            assert!(confined.pass(&at("out")).is_err() && confined.pass(&at("out/root2")).is_err());
            assert!(confined.pass(&at("dangling")).is_err());
        }
    }
}
