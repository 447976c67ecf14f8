//! The engine as the command line wants it: threads, memory, disk.

use std::num::NonZeroUsize;
use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::disk_manager::DiskManagerBuilder;
use datafusion::execution::memory_pool::{FairSpillPool, TrackConsumersPool};
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::SessionContext;
use rl_insight_sql::session;

use super::confine::{Root, watch_calls};
use super::failure::{Failure, clear_text};
use super::inputs::{Inputs, Watchful};
use super::invocation::Engine;

/// A session context as the command line wants it.
///
/// # Errors
/// When it cannot be set up; [`Failure::Usage`] for a directory of `--functions`.
pub(crate) fn context(engine: &Engine) -> Result<SessionContext, Failure> {
    let mut config = session::config().with_target_partitions(engine.threads.get());
    // For the caret in error messages.
    config.options_mut().sql_parser.collect_spans = true;
    let context = session::context_with(config, runtime(engine)?)?;
    for directory in &engine.functions {
        session::add_functions(&context, directory)
            .map_err(|e| Failure::Usage(format!("--functions: {}", clear_text(&e))))?;
    }
    Ok(context)
}

/// The same session, with every call and every plan looked at: what is read is remembered, and must be
/// below the root, if there is one.
pub(crate) fn watched(context: SessionContext, root: Option<&Root>, inputs: &Inputs) -> SessionContext {
    let rule = Watchful { inputs: inputs.clone(), root: root.cloned() };
    let state = SessionStateBuilder::new_from_existing(context.state())
        .with_physical_optimizer_rule(Arc::new(rule))
        .build();
    let context = SessionContext::new_with_state(state);
    watch_calls(&context, root, inputs);
    context
}

/// Memory that the operators of all queries share fairly; they spill to disk when it gets short. An
/// error names the biggest consumers.
fn runtime(engine: &Engine) -> Result<Arc<RuntimeEnv>> {
    const NAMED: NonZeroUsize = NonZeroUsize::MIN.saturating_add(2);
    let mut builder = RuntimeEnvBuilder::new();
    if let Some(bytes) = engine.memory_limit {
        let pool = TrackConsumersPool::new(FairSpillPool::new(bytes), NAMED);
        builder = builder.with_memory_pool(Arc::new(pool));
    }
    if engine.temp_dir.is_some() || engine.disk_limit.is_some() {
        builder = builder.with_disk_manager_builder(DiskManagerBuilder::default());
    }
    if let Some(dir) = &engine.temp_dir {
        builder = builder.with_temp_file_path(dir);
    }
    if let Some(bytes) = engine.disk_limit {
        builder = builder.with_max_temp_directory_size(bytes as u64);
    }
    builder.build_arc()
}
