//! What a location in SQL stands for on this machine, as the engine reads it.
//!
//! `COPY ... TO` and `CREATE EXTERNAL TABLE ... LOCATION` take paths and addresses. The engine decodes an
//! address (`file:///a%20b`), and takes `..` out of both before it looks at the file system, while the
//! tables of our formats and its own streams open the path as it is written. Whoever wants to know which
//! files are meant asks here, and gets all that it may be.

use std::path::{Component, Path, PathBuf};

use datafusion::datasource::listing::ListingTableUrl;

/// The paths that a location may stand for; none when it is on no file system of this machine.
pub(crate) fn local_paths(location: &str) -> Vec<PathBuf> {
    let as_written = location.strip_prefix("file://").unwrap_or(location);
    let read = ListingTableUrl::parse(location).ok().filter(|url| url.scheme() == "file");
    let read = read.and_then(|url| Some((url.get_url().to_file_path().ok()?, url.get_glob().is_some())));
    if !has_scheme(location) {
        // In front of a pattern the engine begins to list; that matters only where it leads elsewhere.
        let climbs = Path::new(location).components().any(|part| part == Component::ParentDir);
        let read = read.filter(|(_, is_pattern)| !is_pattern || climbs).map(|(path, _)| path);
        return different(Some(PathBuf::from(location)), read);
    }
    let Some((path, _)) = read else { return vec![] };
    // Our own tables take only the sign of an address away.
    different(Some(path), Some(PathBuf::from(as_written)).filter(|path| path.is_absolute()))
}

fn different(a: Option<PathBuf>, b: Option<PathBuf>) -> Vec<PathBuf> {
    let b = b.filter(|b| a.as_ref() != Some(b));
    a.into_iter().chain(b).collect()
}

/// Whether a text begins as an address does: `file:`, `s3:`.
fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(location: &str) -> Vec<String> {
        local_paths(location).iter().map(|path| path.display().to_string()).collect()
    }

    #[test]
    fn addresses_are_decoded() {
        assert_eq!(paths("file:///a/b.csv"), ["/a/b.csv"]);
        assert_eq!(paths("FILE:///a/b.csv"), ["/a/b.csv"]);
        assert_eq!(paths("file:/a/b.csv"), ["/a/b.csv"]);
        assert_eq!(paths("file:///a/x%5Fy.csv"), ["/a/x_y.csv", "/a/x%5Fy.csv"]);
        assert_eq!(paths("file:///a/%2e%2e/b.csv"), ["/b.csv", "/a/%2e%2e/b.csv"]);
        assert_eq!(paths("s3://bucket/a.csv"), Vec::<String>::new());
        assert_eq!(paths("file://host/a.csv"), Vec::<String>::new());
    }

    #[test]
    fn paths_are_taken_as_they_are_and_as_the_engine_shortens_them() {
        assert_eq!(paths("/a/%2e%2e/b.csv"), ["/a/%2e%2e/b.csv"]);
        assert_eq!(paths("/a/link/../../b.csv"), ["/a/link/../../b.csv", "/b.csv"]);
        assert_eq!(paths("/a/*/b.csv"), ["/a/*/b.csv"]);
        assert_eq!(paths("/a/link/../../*/b.csv"), ["/a/link/../../*/b.csv", "/"]);
    }
}
