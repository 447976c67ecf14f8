//! From the path argument of a table function to the places that are searched.

use std::path::{Path, PathBuf};

use super::{DataError, Finding, Kind, look_at};

/// A place to search, with the text that the user gave for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Root {
    /// An existing file or directory.
    pub path: PathBuf,
    /// The argument it comes from: the path itself, or the glob that matched it.
    pub argument: String,
    /// Whether it is one of many matches of a glob: then it may hold nothing of interest.
    pub from_glob: bool,
}

/// Turns paths and globs into existing places, in the order given; glob matches are sorted.
///
/// A text that names an existing file or directory is that path, even when it holds `*`, `?` or `[`.
///
/// # Errors
/// When the list is empty, a path does not exist, or a glob is malformed or matches nothing.
pub fn expand_roots(function: &str, arguments: &[String]) -> Result<Vec<Root>, DataError> {
    let fail = |path: &str, message: String, hint: &str| {
        Err(DataError::new(function, vec![Finding::problem(Kind::Missing, path, message)], hint))
    };
    if arguments.is_empty() {
        return Err(DataError::new(function, vec![], "give a directory, a glob, or a list of them"));
    }
    let mut roots = Vec::new();
    for argument in arguments {
        if argument.is_empty() {
            return fail("''", "the path is empty".into(), "give a directory; '.' is the current one");
        }
        match look_at(Path::new(argument)) {
            Ok(Some(_)) => {
                roots.push(Root { path: argument.into(), argument: argument.clone(), from_glob: false });
                continue;
            }
            Ok(None) => {}
            Err(e) => {
                return fail(argument, format!("cannot be looked at: {e}"), "check the permissions");
            }
        }
        if !argument.contains(['*', '?', '[']) {
            return fail(
                argument,
                "no such file or directory".into(),
                "check the path; relative paths start at the current directory",
            );
        }
        let matches = match glob::glob(argument) {
            Ok(m) => m,
            Err(e) => {
                return fail(
                    argument,
                    format!("not a valid glob: {} at character {}", e.msg, e.pos),
                    "see the README for globs",
                );
            }
        };
        let before = roots.len();
        for m in matches {
            match m {
                Ok(path) => roots.push(Root { path, argument: argument.clone(), from_glob: true }),
                Err(e) => {
                    let p = e.path().display().to_string();
                    return fail(&p, format!("cannot be read: {}", e.error()), "check the permissions");
                }
            }
        }
        if roots.len() == before {
            return fail(
                argument,
                "the glob matches nothing".into(),
                "check the pattern; * does not cross a /, ** does",
            );
        }
    }
    Ok(roots)
}
