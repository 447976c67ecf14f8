//! Makes a small, realistic profile of a reinforcement-learning job: what the Ascend PyTorch
//! profiler leaves on disk, without needing an NPU.
//!
//! `examples/data/run` was made with `cargo run --example make_profile -- --out examples/data/run`;
//! `examples/data/README.md` says what there is to be found in it.

use std::io;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

mod profile;

/// Make a profiler tree of an invented job. The same arguments always give the same bytes.
///
/// A role whose name contains "rollout" or "generate" generates text, any other role trains.
/// Rank 1 of a training role (and 5, 9, ...) gets longer sequences than the others.
#[derive(Debug, Parser)]
struct Arguments {
    /// The directory to make; it must not exist.
    #[arg(long)]
    out: PathBuf,
    /// Roles, in the order in which they run.
    #[arg(long, value_delimiter = ',', default_value = "rollout_generate,actor_update")]
    roles: Vec<String>,
    /// Number of ranks of each role.
    #[arg(long, default_value_t = 2)]
    ranks: u32,
    /// Number of training or generation steps that were profiled.
    #[arg(long, default_value_t = 3)]
    steps: u32,
    /// Number of layers of the model.
    #[arg(long, default_value_t = 1)]
    layers: u32,
    /// Go on with steps until each trace_view.json has at least this many megabytes.
    #[arg(long, conflicts_with = "steps")]
    trace_mb: Option<u64>,
    /// Seed for the durations of operators and the like.
    #[arg(long, default_value_t = 7)]
    seed: u64,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match make(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("make_profile: {}: {e}", arguments.out.display());
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: &Arguments) -> io::Result<()> {
    let length = match arguments.trace_mb {
        Some(mb) => profile::Length::TraceBytes(mb.saturating_mul(1_000_000)),
        None => profile::Length::Steps(arguments.steps),
    };
    let job = profile::Job {
        roles: arguments.roles.clone(),
        ranks: arguments.ranks,
        layers: arguments.layers,
        seed: arguments.seed,
        length,
    };
    profile::write_tree(&job, &arguments.out)
}
