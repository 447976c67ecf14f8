//! `examples/data/run` is what the generator in `examples/make_profile` makes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

#[path = "../../examples/make_profile/profile/mod.rs"]
mod profile;

#[test]
fn the_generator_makes_the_sample_data_byte_for_byte() {
    let scratch = tempfile::tempdir().unwrap();
    let made = scratch.path().join("run");
    // The defaults of the program.
    let job = profile::Job {
        roles: vec!["rollout_generate".to_owned(), "actor_update".to_owned()],
        ranks: 2,
        layers: 1,
        seed: 7,
        length: profile::Length::Steps(3),
    };
    profile::write_tree(&job, &made).unwrap();

    let committed = files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/data/run"));
    let made = files(&made);
    assert_eq!(committed.keys().collect::<Vec<_>>(), made.keys().collect::<Vec<_>>());
    for (path, bytes) in &made {
        assert!(committed.get(path) == Some(bytes), "{} differs", path.display());
    }
}

#[test]
fn a_longer_trace_is_one_json_array_of_the_size_asked_for() {
    let scratch = tempfile::tempdir().unwrap();
    let made = scratch.path().join("run");
    let job = profile::Job {
        roles: vec!["actor_update".to_owned()],
        ranks: 1,
        layers: 2,
        seed: 1,
        length: profile::Length::TraceBytes(300_000),
    };
    profile::write_tree(&job, &made).unwrap();
    let files = files(&made);
    let (_, trace) = files.iter().find(|(path, _)| path.ends_with("trace_view.json")).unwrap();
    assert!((300_000..600_000).contains(&trace.len()), "{} bytes", trace.len());
    let events: Vec<serde_json::Value> = serde_json::from_slice(trace).unwrap();
    assert!(events.iter().any(|e| e["args"]["Call stack"].is_string()));
}

/// All files below a directory, by their paths relative to it.
fn files(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    walkdir::WalkDir::new(root)
        .into_iter()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_type().is_file())
        .map(|entry| (entry.path().strip_prefix(root).unwrap().to_owned(), fs::read(entry.path()).unwrap()))
        .collect()
}
