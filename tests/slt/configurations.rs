//! The sessions in which every answer must be the same.

use std::env;
use std::fmt;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::memory_pool::FairSpillPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::SessionContext;
use rl_insight_sql::scan::{Promise, Promises};
use rl_insight_sql::session;

/// How a session is set up.
#[derive(Clone, Copy, PartialEq)]
pub(crate) struct Configuration {
    pub(crate) partitions: usize,
    pub(crate) batch: usize,
    /// Bytes that the operators may use, if they are limited.
    memory: Option<usize>,
    off: Off,
}

/// What the scans of a session may not do.
#[derive(Clone, Copy, PartialEq)]
enum Off {
    Nothing,
    One(Promise, &'static str),
    Everything,
}

/// Little memory, with which all questions of the tests can still be answered: each partition of an
/// operator gets its share, and grouping by texts takes blocks of 2 MB. What waits in a join or a sort is
/// counted batch by batch, each with the whole blocks of text that it points into: many small batches count
/// for much more than they hold.
fn little(partitions: usize) -> usize {
    (64 << 20) + partitions * (24 << 20)
}

const fn plain(partitions: usize, batch: usize) -> Configuration {
    Configuration { partitions, batch, memory: None, off: Off::Nothing }
}

/// Every file runs in these, which have a label each.
const ALWAYS: [Configuration; 2] = [plain(1, 8192), plain(4, 8192)];

/// Files are completed in these.
pub(crate) const LABELLED: [Configuration; 4] = [plain(1, 8192), plain(4, 8192), plain(1, 1), plain(4, 1)];

/// Of the others each file runs in so many, unless the run is a long one.
const SHARE: usize = 2;

/// The configurations for the file with this number: those for all, and its share of the others, so
/// that files next to each other have different ones. With RELIABILITY=long these are all.
///
/// `SLT_SETUP='filter_pushdown'` runs only those whose description contains this text.
pub(crate) fn configurations(file: usize) -> Vec<Configuration> {
    let others = others();
    if let Ok(wanted) = env::var("SLT_SETUP") {
        return ALWAYS.into_iter().chain(others).filter(|c| c.to_string().contains(&wanted)).collect();
    }
    let long = env::var("RELIABILITY").is_ok_and(|size| size == "long");
    let share = if long { others.len() } else { SHARE };
    let chosen = others.iter().cycle().skip(file * SHARE).take(share).copied();
    ALWAYS.into_iter().chain(chosen).collect()
}

fn others() -> Vec<Configuration> {
    let switches = Promise::ALL.iter().map(|&(promise, name, _)| Off::One(promise, name));
    let switches: Vec<Off> = switches.chain([Off::Everything]).collect();
    let mut all = Vec::new();
    for (at, off) in switches.iter().enumerate() {
        for partitions in [4, 1] {
            let batch = if at % 2 == 0 { 7 } else { 8192 };
            all.push(Configuration { partitions, batch, memory: None, off: *off });
        }
    }
    for partitions in [1, 2, 4, 7] {
        for batch in [1, 7, 8192] {
            all.push(plain(partitions, batch));
        }
        // Texts that many batches share are counted once for each of them, so small batches would need much
        // more than they use.
        let memory = Some(little(partitions));
        all.push(Configuration { partitions, batch: 8192, memory, off: Off::Nothing });
    }
    all.retain(|c| !ALWAYS.contains(c));
    // A step that shares no factor with the length visits all, and far ones one after the other.
    (0..all.len()).filter_map(|k| all.get(k * 11 % all.len()).copied()).collect()
}

impl Configuration {
    /// Labels for `onlyif` and `skipif`.
    pub(crate) fn labels(self) -> Vec<String> {
        let mut labels = vec![format!("partitions{}", self.partitions), format!("batch{}", self.batch)];
        labels.extend(self.memory.map(|_| "memory_limit".to_owned()));
        if self.off == Off::Nothing {
            labels.push("plans".to_owned());
        }
        labels.extend(self.promises_off().map(|(_, name)| format!("{name}_off")));
        labels
    }

    fn promises_off(self) -> impl Iterator<Item = (Promise, &'static str)> {
        let off = move |name: &str| match self.off {
            Off::Nothing => false,
            Off::One(_, one) => one == name,
            Off::Everything => true,
        };
        Promise::ALL.iter().filter(move |(_, name, _)| off(name)).map(|&(promise, name, _)| (promise, name))
    }

    pub(crate) fn context(self) -> Result<SessionContext> {
        let mut config =
            session::config().with_target_partitions(self.partitions).with_batch_size(self.batch);
        let promises = self.promises_off().fold(Promises::default(), |kept, (p, _)| kept.without(p));
        config.options_mut().extensions.insert(promises);
        let mut runtime = RuntimeEnvBuilder::new();
        if let Some(bytes) = self.memory {
            runtime = runtime.with_memory_pool(Arc::new(FairSpillPool::new(bytes)));
            // What a sort sets aside for merging; the default alone is nearly the limit.
            config = config.with_sort_spill_reservation_bytes(64 << 10);
        }
        session::context_with(config, runtime.build_arc()?)
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} partitions, batch size {}", self.partitions, self.batch)?;
        if let Some(bytes) = self.memory {
            write!(f, ", {} MB of memory", bytes >> 20)?;
        }
        match self.off {
            Off::Nothing => Ok(()),
            Off::One(_, name) => write!(f, ", rl_insight.{name} = false"),
            Off::Everything => f.write_str(", all of rl_insight.* = false"),
        }
    }
}

pub(crate) fn every_configuration_has_its_turn(files: usize) {
    if env::var_os("SLT_SETUP").is_some() {
        return;
    }
    let seen: Vec<Configuration> = (0..files).flat_map(configurations).collect();
    let missing: Vec<String> = others().iter().filter(|c| !seen.contains(c)).map(|c| c.to_string()).collect();
    assert!(missing.is_empty(), "no file runs with {}", missing.join("; "));
}
