//! What the program is made of: `docs/licences.md` lists every package and its licence, `deny.toml` says
//! what they may be, and both must be true of `Cargo.lock`.
//!
//! The licences are those that the packages state in their own manifests, as cargo has unpacked them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

const INTRODUCTION: &str = "# Licences of what the program is made of

<!-- Made by the test `supply`; UPDATE_DOCS=1 cargo test --test reliability supply writes it. -->

All packages that go into the program on Linux, with the licences that they state. Packages that only tests
or other systems need are not listed. Nothing of it has copyleft, and nothing talks to a network.
";

/// Packages of the program on Linux: names and versions with licences. `None` without cargo or its registry.
fn packages() -> Option<BTreeMap<(String, String), String>> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
    let output = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .args(["--filter-platform", "x86_64-unknown-linux-gnu", "--manifest-path"])
        .arg(manifest)
        .output()
        .ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    let nodes: BTreeMap<&str, &Value> = metadata["resolve"]["nodes"]
        .as_array()?
        .iter()
        .filter_map(|n| Some((n["id"].as_str()?, n)))
        .collect();
    // From the root along what is no dependency of tests.
    let root = metadata["resolve"]["root"].as_str()?;
    let mut reached = std::collections::BTreeSet::from([root]);
    let mut open = vec![root];
    while let Some(id) = open.pop() {
        for dependency in nodes.get(id)?["deps"].as_array()? {
            let kinds = dependency["dep_kinds"].as_array()?;
            let wanted = kinds.iter().any(|k| k["kind"].is_null() || k["kind"] == "build");
            let package = dependency["pkg"].as_str()?;
            if wanted && reached.insert(package) {
                open.push(package);
            }
        }
    }
    let mut found = BTreeMap::new();
    for package in metadata["packages"].as_array()? {
        let id = package["id"].as_str()?;
        if id == root || !reached.contains(id) {
            continue;
        }
        let text = |key: &str| package[key].as_str().unwrap_or("").to_owned();
        assert!(!text("license").is_empty(), "{} states no licence", text("name"));
        assert!(text("source").starts_with("registry+"), "{} is not from the registry", text("name"));
        found.insert((text("name"), text("version")), text("license").replace('/', " OR "));
    }
    Some(found)
}

fn page(packages: &BTreeMap<(String, String), String>) -> String {
    let mut by_licence: BTreeMap<&str, usize> = BTreeMap::new();
    for licence in packages.values() {
        *by_licence.entry(licence).or_default() += 1;
    }
    let mut page = INTRODUCTION.to_owned();
    page += "\n| licence | packages |\n|---|---|\n";
    for (licence, count) in by_licence {
        writeln!(page, "| {licence} | {count} |").unwrap();
    }
    page += "\n| package | version | licence |\n|---|---|---|\n";
    for ((name, version), licence) in packages {
        writeln!(page, "| {name} | {version} | {licence} |").unwrap();
    }
    page
}

/// Whether one of the choices of a licence consists of licences that are allowed.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let plain = licence.replace(['(', ')'], "");
    // `AND` binds tighter than `OR`; the one licence with brackets around an `OR` has it in front of an `AND`.
    if licence.contains(") AND ") {
        return plain.split(" AND ").all(|part| is_allowed(part, allowed));
    }
    plain.split(" OR ").any(|choice| choice.split(" AND ").all(|one| allowed.iter().any(|a| a == one.trim())))
}

#[test]
fn licences_are_listed_and_allowed() {
    let Some(packages) = packages() else {
        eprintln!("skipped: cargo metadata is not to be had offline");
        return;
    };
    assert!(packages.len() > 100, "{} packages", packages.len());
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let rules = fs::read_to_string(root.join("deny.toml")).unwrap();
    let list = |name: &str| -> Vec<String> {
        let from = rules.find(name).unwrap() + name.len();
        let text = &rules[from..from + rules[from..].find("\n]").unwrap()];
        text.split('"').skip(1).step_by(2).map(str::to_owned).collect()
    };
    let (allowed, banned) = (list("\nallow = ["), list("\ndeny = ["));
    assert!(allowed.len() > 5 && banned.len() > 3, "{allowed:?} {banned:?}");
    for ((name, _), licence) in &packages {
        assert!(is_allowed(licence, &allowed), "{name}: {licence} is not allowed by deny.toml");
        assert!(!banned.contains(name), "{name} is banned by deny.toml");
    }
    let (path, text) = (root.join("docs/licences.md"), page(&packages));
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, &text).unwrap();
    }
    assert!(
        fs::read_to_string(&path).unwrap_or_default() == text,
        "docs/licences.md is out of date; UPDATE_DOCS=1 cargo test --test reliability supply writes it"
    );
}

/// A query needs no network, not even the loopback.
#[cfg(target_os = "linux")]
#[test]
fn nothing_talks_to_a_network() {
    let Ok(unshared) = Command::new("unshare").args(["-n", "true"]).status() else {
        eprintln!("skipped: there is no unshare");
        return;
    };
    if !unshared.success() {
        eprintln!("skipped: only root can take the network away");
        return;
    }
    let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/run");
    let sql = format!("SELECT count(*) FROM memory_events('{}')", sample.display());
    let output = Command::new("unshare")
        .args(["-n", env!("CARGO_BIN_EXE_rl-insight-sql"), "--format", "csv", "-c", &sql])
        .env_clear()
        .env("PATH", "/usr/bin:/bin:/usr/sbin:/sbin")
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8_lossy(&output.stdout).contains("324"));
}
