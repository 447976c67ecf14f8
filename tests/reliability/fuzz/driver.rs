//! Runs a target: first its corpus, then inputs made of it. The unit tests of the crate and of the program
//! include this file, too, for what cannot be reached from outside.

// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use super::mutate::{Random, mutated};

/// What is fuzzed.
pub(crate) struct Target<'a> {
    /// Its name, and that of the directory of its corpus.
    pub(crate) name: &'static str,
    /// Inputs to begin with, besides the corpus.
    pub(crate) seeds: Vec<Vec<u8>>,
    /// Words of the format.
    pub(crate) words: &'a [&'a str],
    /// The longest input, in bytes.
    pub(crate) most: usize,
    /// Tries an input: panics when a promise is broken, else gives the outcome.
    pub(crate) check: &'a dyn Fn(&[u8]) -> u64,
}

/// An input that takes longer than this hangs.
const HANG: Duration = Duration::from_secs(300);

/// A process that has more memory than this (in bytes) has an input that takes it without end.
const MOST_MEMORY: u64 = 8 << 30;

/// Memory of this process, in bytes; none where the system does not tell.
fn memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}

fn long() -> bool {
    std::env::var_os("RELIABILITY").is_some_and(|value| value == "long")
}

fn directory(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/fuzz").join(name)
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

pub(crate) fn hash(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Tries the corpus, and then new inputs until the time is up.
pub(crate) fn fuzz(target: &Target<'_>) {
    let mut corpus = target.seeds.clone();
    let mut kept: Vec<PathBuf> = fs::read_dir(directory(target.name))
        .map(|entries| entries.flatten().map(|e| e.path()).collect())
        .unwrap_or_default();
    kept.sort();
    corpus.extend(kept.iter().map(|path| fs::read(path).unwrap()));
    quiet();
    let current = Arc::new(Mutex::new((Instant::now(), vec![])));
    let watcher = watch(target.name, Arc::clone(&current));
    let tried = |input: &[u8]| {
        *current.lock().unwrap() = (Instant::now(), input.to_vec());
        catch_unwind(AssertUnwindSafe(|| (target.check)(input))).map_err(|error| {
            let text = error.downcast_ref::<String>().cloned();
            text.or_else(|| error.downcast_ref::<&str>().map(|s| (*s).to_owned())).unwrap_or_default()
        })
    };
    let mut outcomes: HashMap<u64, usize> = HashMap::new();
    // The seeds may be many, and other tests have tried them as they are.
    let first = if long() { 0 } else { target.seeds.len() };
    for (at, input) in corpus.iter().enumerate().skip(first) {
        match tried(input) {
            Ok(outcome) => {
                outcomes.entry(outcome).or_insert(input.len());
            }
            Err(error) => {
                let from = at.checked_sub(target.seeds.len()).map(|k| kept[k].display().to_string());
                panic!("{}: {}: {error}", target.name, from.unwrap_or_else(|| format!("seed {at}")));
            }
        }
    }
    let seconds = if long() { setting("FUZZ_SECONDS").unwrap_or(600) * 1000 } else { 1200 };
    let mut random = Random::new(setting("FUZZ_SEED").unwrap_or(1) ^ hash(target.name));
    let (end, mut inputs) = (Instant::now() + Duration::from_millis(seconds), 0u64);
    let mut broken = HashSet::new();
    while Instant::now() < end {
        let input = mutated(&mut random, &corpus, target.words, target.most);
        inputs += 1;
        match tried(&input) {
            Ok(outcome) => {
                let shortest = outcomes.entry(outcome).or_insert(usize::MAX);
                if input.len() < *shortest {
                    let new = *shortest == usize::MAX;
                    *shortest = input.len();
                    if std::env::var_os("FUZZ_KEEP").is_some() && input.len() < 2000 {
                        save(target.name, &format!("kept-{outcome:016x}"), &input);
                    }
                    if new && corpus.len() < 4000 {
                        corpus.push(input);
                    }
                }
            }
            Err(error) => {
                // What is the same but for numbers is one finding.
                let kind: String = error.chars().filter(|c| !c.is_ascii_digit()).take(60).collect();
                if broken.insert(kind) {
                    let small = smaller(&input, &|input| tried(input).is_err());
                    let path = save(target.name, &format!("found-{:016x}", hash(&small)), &small);
                    eprintln!("{}: {}: {error}", target.name, path.display());
                }
                if broken.len() > 10 {
                    break;
                }
            }
        }
    }
    drop(watcher);
    eprintln!("fuzz {}: {inputs} inputs, {} outcomes", target.name, outcomes.len());
    assert!(broken.is_empty(), "{}: {} findings, see above", target.name, broken.len());
}

/// What panics here is caught and told once, at its smallest.
fn quiet() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        let others = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let fuzzing = std::thread::current().name().is_some_and(|name| name.contains("fuzz"));
            let own = info.location().is_some_and(|l| l.file().ends_with("driver.rs"));
            if !fuzzing || own {
                others(info);
            }
        }));
    });
}

fn save(target: &str, name: &str, input: &[u8]) -> PathBuf {
    let directory = directory(target);
    fs::create_dir_all(&directory).unwrap();
    let path = directory.join(name);
    fs::write(&path, input).unwrap();
    path
}

/// The same failure from fewer bytes.
fn smaller(input: &[u8], fails: &dyn Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut best, start) = (input.to_vec(), Instant::now());
    let mut size = best.len() / 2;
    while size > 0 && start.elapsed() < Duration::from_secs(10) {
        let mut at = 0;
        while at < best.len() && start.elapsed() < Duration::from_secs(10) {
            let without = [&best[..at], &best[(at + size).min(best.len())..]].concat();
            if fails(&without) { best = without } else { at += size }
        }
        size /= 2;
    }
    best
}

/// Ends the process when an input hangs or takes all memory, which no panic could; the input is put to the
/// corpus before.
fn watch(name: &'static str, current: Arc<Mutex<(Instant, Vec<u8>)>>) -> Arc<()> {
    let alive = Arc::new(());
    let fuzzing = Arc::downgrade(&alive);
    std::thread::spawn(move || {
        while fuzzing.upgrade().is_some() {
            std::thread::sleep(Duration::from_millis(200));
            let (since, input) = current.lock().unwrap().clone();
            let memory = memory();
            if (since.elapsed() > HANG || memory > MOST_MEMORY) && fuzzing.upgrade().is_some() {
                let path = save(name, &format!("found-{:016x}", hash(&input)), &input);
                eprintln!("{name}: {} hangs, with {} MB of memory", path.display(), memory >> 20);
                std::process::abort();
            }
        }
    });
    alive
}
