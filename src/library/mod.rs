//! SQL files that are table functions with named parameters.
//!
//! Each file in `sql/`, and in a directory of the user's own, starts with its call and says what it
//! answers:
//!
//! ```sql
//! -- memory_at_peak(path, match => 'nearest', on_error => 'strict')
//! -- Who holds memory when most of it is allocated? One row per ...
//! ```
//!
//! followed by one query in which the parameters stand as `$path`, `$match`, ... A call is replaced
//! by that query while it is planned, so predicates and limits reach the scan as if the query had
//! been written out. What the parameters can be is told by their defaults, and by a line of the header:
//!
//! ```sql
//! -- Values: mark text; start_index integer >= 0; window number > 0 or 'auto'
//! ```
//!
//! A line `-- Columns:` names and explains the columns of the rows.

mod columns;
mod function;
mod own_names;
mod planner;
mod values;

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use datafusion::common::{Result, plan_err};
use include_dir::{Dir, include_dir};

pub use columns::{DescribedColumn, DescribedColumns};
pub use function::LibraryFunction;
pub use planner::LibraryPlanner;

/// The folder `sql/`: what is in it when the program is built.
static FILES: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/sql");

/// The folder of statements that are run as they are, with `-f`.
const SCRIPTS: &str = "scripts";

/// The functions of a session: those of the product, and those of directories that were added.
#[derive(Debug, Default)]
pub struct Library {
    functions: RwLock<Vec<Arc<LibraryFunction>>>,
}

impl Library {
    /// The functions of the product.
    ///
    /// # Errors
    /// When a shipped file is malformed, which a test rules out.
    pub fn shipped() -> Result<Self> {
        let mut functions = vec![];
        for (path, text) in files().into_iter().filter(|(path, _)| !path.starts_with(SCRIPTS)) {
            let function = LibraryFunction::new(Cow::Borrowed(text), format!("sql/{}", path.display()))?;
            named_as_file(&function, path)?;
            functions.push(Arc::new(function));
        }
        functions.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(Self { functions: RwLock::new(functions) })
    }

    /// Adds the files `*.sql` that stand in a directory, each a function; gives how many. All of them or,
    /// when there is an error, none.
    ///
    /// # Errors
    /// When the directory or a file cannot be read, a file is no function (see [`self`]), or a name is
    /// taken: by another function, or one of `taken`.
    pub fn add_directory(&self, directory: &Path, taken: &[String]) -> Result<usize> {
        let mut added: Vec<Arc<LibraryFunction>> = vec![];
        for path in sql_files(directory)? {
            let text = match fs::read_to_string(&path) {
                Ok(text) => text,
                Err(e) => return plan_err!("{}: cannot be read: {e}", path.display()),
            };
            let function = LibraryFunction::new(Cow::Owned(text), path.display().to_string())?;
            named_as_file(&function, &path)?;
            function.check()?;
            added.push(Arc::new(function));
        }
        let mut functions = self.functions.write().unwrap_or_else(PoisonError::into_inner);
        for function in &added {
            if let Some(other) = functions.iter().find(|f| f.name() == function.name()) {
                return plan_err!(
                    "{}: there is a function {} already, in {}; choose another name",
                    function.origin(),
                    function.name(),
                    other.origin()
                );
            }
            if taken.iter().any(|name| name == function.name()) {
                return plan_err!(
                    "{}: {} is a table function of the product or the engine; choose another name",
                    function.origin(),
                    function.name()
                );
            }
        }
        let count = added.len();
        functions.extend(added);
        functions.sort_by(|a, b| a.name().cmp(b.name()));
        Ok(count)
    }

    /// All functions, in order of their names.
    pub fn functions(&self) -> Vec<Arc<LibraryFunction>> {
        self.functions.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The function of this name, in any case.
    pub fn get(&self, name: &str) -> Option<Arc<LibraryFunction>> {
        let functions = self.functions.read().unwrap_or_else(PoisonError::into_inner);
        functions.iter().find(|f| f.name().eq_ignore_ascii_case(name)).cloned()
    }
}

fn named_as_file(function: &LibraryFunction, path: &Path) -> Result<()> {
    if path.file_stem().is_some_and(|stem| stem == function.name()) {
        return Ok(());
    }
    plan_err!(
        "{}, line 1: holds the function {}, expected it in a file {}.sql",
        function.origin(),
        function.name(),
        function.name()
    )
}

/// The SQL files of a directory, by name.
fn sql_files(directory: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(directory).and_then(|entries| entries.collect::<std::io::Result<Vec<_>>>());
    let mut paths: Vec<PathBuf> = match listed {
        Ok(entries) => entries.into_iter().map(|entry| entry.path()).collect(),
        Err(e) => return plan_err!("{}: cannot be listed: {e}", directory.display()),
    };
    // A file whose name begins with a dot is an editor's, not the user's.
    let visible = |p: &PathBuf| p.file_name().is_some_and(|n| !n.as_encoded_bytes().starts_with(b"."));
    paths.retain(|p| p.extension().is_some_and(|e| e == "sql") && visible(p) && !p.is_dir());
    paths.sort();
    Ok(paths)
}

/// A script of the product by its name, without `.sql`: statements that are run as they are.
pub fn script(name: &str) -> Option<&'static str> {
    FILES.get_file(Path::new(SCRIPTS).join(name).with_extension("sql"))?.contents_utf8()
}

/// Paths below `sql/` and contents of all SQL files.
fn files() -> Vec<(&'static Path, &'static str)> {
    fn visit(dir: &'static Dir<'static>, found: &mut Vec<(&'static Path, &'static str)>) {
        let sql = dir.files().filter(|f| f.path().extension().is_some_and(|e| e == "sql"));
        found.extend(sql.filter_map(|f| Some((f.path(), f.contents_utf8()?))));
        dir.dirs().for_each(|d| visit(d, found));
    }
    let mut found = Vec::new();
    visit(&FILES, &mut found);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_product_is_a_function_that_says_what_it_answers() {
        let functions = Library::shipped().unwrap().functions();
        assert!(functions.len() > 40);
        for function in functions {
            assert!(!function.purpose().is_empty(), "{} does not say what it answers", function.name());
            function.check().unwrap();
        }
    }

    #[test]
    fn a_directory_is_added_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(dir.path().join(name), text).unwrap();
        let library = Library::shipped().unwrap();
        let shipped = library.functions().len();
        let add = || library.add_directory(dir.path(), &["memory_events".to_owned()]);
        write("notes.txt", "no function");
        write(".half.sql", "an editor's");
        write("twice.sql", "-- twice(n)\n-- Doubles.\n\nSELECT $n * 2 AS doubled");
        for (name, text, said) in [
            ("bad.sql", "SELECT 1", "line 1: expected the call as a comment"),
            ("bad.sql", "-- Bad(n)\nSELECT 1", "found '-- Bad(n)'"),
            ("bad.sql", "-- other(n)\nSELECT 1", "expected it in a file other.sql"),
            ("bad.sql", "-- bad(n)\nSELECT (1", "bad ("),
            ("bad.sql", "-- bad(n)\nDROP TABLE x", "expected a query, found DROP TABLE x"),
            ("bad.sql", "-- bad(n)\nSELECT 1; SELECT 2", "found 2 statements"),
            ("bad.sql", "-- bad(n)\n", "found nothing"),
            ("bad.sql", "-- bad(n => )\nSELECT 1", "default of n"),
            ("bad.sql", "-- bad(n, n)\nSELECT 1", "'n' cannot be the name of a parameter"),
            ("memory_events.sql", "-- memory_events(n)\nSELECT 1", "choose another name"),
            ("memory_at.sql", "-- memory_at(n)\nSELECT 1", "already, in sql/memory/memory_at.sql"),
        ] {
            write(name, text);
            let error = add().unwrap_err().to_string();
            assert!(error.contains(said) && error.contains(name), "{text}: {error}");
            assert_eq!(library.functions().len(), shipped, "{text}");
            fs::remove_file(dir.path().join(name)).unwrap();
        }
        assert_eq!(add().unwrap(), 1);
        assert_eq!(library.get("TWICE").unwrap().purpose(), "Doubles.");
        assert!(add().unwrap_err().to_string().contains("there is a function twice already"));
    }
}
