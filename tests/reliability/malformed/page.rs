//! The rules as a page of the documentation.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use super::Outcome;
use super::samples::Sample;

const INTRODUCTION: &str = "# What becomes of damaged files

<!-- Made by the test `malformed`; RELIABILITY=long UPDATE_DOCS=1 cargo test --test reliability malformed writes it. -->

Every file that is read, damaged in every way that we know of. A small good file of three or more rows is
damaged, and then read:

- *strict* is what a query does by itself: `read`, or the place at which it fails.
- *skip* is how many rows it gives with `on_error => 'skip'`, of how many in the good file; `changed` are rows
  that are not those of the good file, such as a row that lost its call stack.
- *listed* is what `diagnostics(path)` says.

What the words mean, and the rules behind them, are in [inputs.md](inputs.md). A test makes all of these files,
reads them, and compares what happens with this page.
";

/// What damages are called that only the long form makes.
pub(super) const LARGE: &str = " MB";

/// The page.
pub(super) fn text(tables: &[(&Sample, Vec<Outcome>)]) -> String {
    let mut page = INTRODUCTION.to_owned();
    for (sample, outcomes) in tables {
        write!(page, "\n## {}\n\nRead by `{}`.\n\n", sample.title, sample.function).unwrap();
        page += "| damage | strict | skip | listed |\n|---|---|---|---|\n";
        for outcome in outcomes {
            let listed: Vec<String> = outcome.listed.iter().map(|l| cell(l)).collect();
            let (what, strict, skip) = (outcome.what, strict(outcome), skip(outcome));
            writeln!(page, "| {what} | {strict} | {skip} | {} |", listed.join("<br>")).unwrap();
        }
    }
    page
}

fn strict(outcome: &Outcome) -> String {
    match &outcome.strict {
        None => "read".to_owned(),
        Some(_) => "fails".to_owned(),
    }
}

fn skip(outcome: &Outcome) -> String {
    let good = outcome.good;
    match &outcome.skip {
        Err(_) => "fails".to_owned(),
        Ok((rows, same)) if rows == same => format!("{rows} of {good}"),
        Ok((rows, same)) => format!("{rows} of {good}, {} changed", rows - same),
    }
}

/// A text in one line, short enough for a table.
fn cell(text: &str) -> String {
    let line: String = text
        .chars()
        .map(|c| if c == '\n' { ' ' } else { c })
        .flat_map(|c| if c.is_control() { c.escape_default().collect::<Vec<_>>() } else { vec![c] })
        .collect();
    let short: String = line.chars().take(400).collect();
    short.replace('|', "\\|").replace('<', "&lt;")
}

/// Compares with the page that is there, or writes it.
pub(super) fn check(text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/malformed.md");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        assert!(crate::size::long(), "set RELIABILITY=long as well: some damages are made only then");
        fs::write(path, text).unwrap();
        return;
    }
    let mut there = fs::read_to_string(&path).unwrap_or_default();
    if !crate::size::long() {
        let small = |line: &&str| !line.split(" | ").next().is_some_and(|what| what.ends_with(LARGE));
        there = there.split_inclusive('\n').filter(small).collect();
    }
    let differing = there.lines().zip(text.lines()).find(|(old, new)| old != new);
    assert!(
        there == text,
        "docs/malformed.md is not what happens; first difference: {differing:#?}\n\
         RELIABILITY=long UPDATE_DOCS=1 cargo test --test reliability malformed writes it"
    );
}
