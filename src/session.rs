//! Registers everything on a DataFusion session; what an embedder calls.

use std::path::Path;
use std::sync::Arc;

use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{SessionConfig, SessionContext};

use crate::function::{all_aggregate_functions, all_scalar_functions, all_window_functions};
use crate::library::{Library, LibraryPlanner};
use crate::remedy;
use crate::scan::Promises;
use crate::sink::{ExportFormatFactory, all_exports, whole_file_formats};
use crate::table::{
    ExternalTables, FormatFunction, NamedArguments, STEP_PAIRS, StepPairsFunction, all_table_functions,
};

/// The configuration that suits these tables: information schema on, and no round-robin
/// repartitioning, because parsing and not aggregation is what costs time here.
pub fn config() -> SessionConfig {
    let mut config = SessionConfig::new().with_information_schema(true);
    config.options_mut().optimizer.enable_round_robin_repartition = false;
    // Interleaving the branches of a UNION ALL that are partitioned alike fails in DataFusion 55 when
    // a branch groups after a window over one partition.
    config.options_mut().optimizer.prefer_existing_union = true;
    // What is grouped by role, rank and more is grouped where its rank is read: parsing bounds how fast rows
    // come, so sending each to the partition of its hash costs more than it brings.
    config.options_mut().optimizer.subset_repartition_threshold = 1;
    // DataFusion 55 takes `x IS TRUE` and `x IS DISTINCT FROM y` for nullable in one place and not in another,
    // and refuses to aggregate over them: sum(CASE WHEN x IS TRUE THEN 1 ELSE 0 END), over two of them.
    config.options_mut().execution.skip_physical_aggregate_schema_check = true;
    // A file of csv is not cut into parts where there may be a line break within quotes, as there is in call
    // stacks: each part would take half of such a value for rows.
    config.options_mut().catalog.newlines_in_values = true;
    config.options_mut().extensions.insert(Promises::default());
    config
}

/// A session with all table functions registered.
///
/// # Errors
/// When one of the shipped SQL files cannot be registered, which a test rules out.
pub fn context(config: SessionConfig) -> Result<SessionContext> {
    context_with(config, Arc::default())
}

/// The same, with a runtime environment of one's own: a memory limit, a directory for spilling.
///
/// # Errors
/// As [`context`].
pub fn context_with(config: SessionConfig, runtime: Arc<RuntimeEnv>) -> Result<SessionContext> {
    let builder = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime);
    let context = SessionContext::new_with_state(builder.with_default_features().build());
    register(&context)?;
    Ok(context)
}

/// Registers all table functions, library functions, `STORED AS` names and the settings
/// `rl_insight.*` on an existing session.
///
/// # Errors
/// As [`context`].
pub fn register(context: &SessionContext) -> Result<()> {
    remedy::apply(context)?;
    let functions = all_table_functions();
    for function in functions {
        context.register_udtf(function.name, Arc::new(FormatFunction::new(*function)));
    }
    context.register_udtf(STEP_PAIRS, Arc::new(StepPairsFunction));
    {
        let state = context.state_ref();
        let mut state = state.write();
        let options = state.config_mut().options_mut();
        if options.extensions.get::<Promises>().is_none() {
            options.extensions.insert(Promises::default());
        }
        for function in functions {
            let factory = Arc::new(ExternalTables::new(*function));
            state.table_factories_mut().insert(function.name.to_ascii_uppercase(), factory);
        }
        for format in whole_file_formats() {
            state.register_file_format(format, true)?;
        }
        for export in all_exports() {
            state.register_file_format(Arc::new(ExportFormatFactory::new(export)), true)?;
        }
    }
    for function in all_scalar_functions() {
        context.register_udf(function.as_ref().clone());
    }
    for function in all_aggregate_functions() {
        context.register_udaf(function.as_ref().clone());
    }
    for function in all_window_functions() {
        context.register_udwf(function.as_ref().clone());
    }
    context.register_relation_planner(Arc::new(NamedArguments::new(
        functions.iter().map(|f| f.name).collect(),
    )))?;
    let library = Arc::new(Library::shipped()?);
    context.state_ref().write().config_mut().set_extension(Arc::clone(&library));
    context.register_relation_planner(Arc::new(LibraryPlanner::new(library)))?;
    Ok(())
}

/// The functions of a session that are queries.
///
/// # Errors
/// As [`context`], for a session in which nothing was registered.
pub fn library(context: &SessionContext) -> Result<Arc<Library>> {
    match context.copied_config().get_extension::<Library>() {
        Some(library) => Ok(library),
        None => Ok(Arc::new(Library::shipped()?)),
    }
}

/// Makes a table function of each file `*.sql` in a directory of one's own, in the form of the files in
/// `sql/` (see [`crate::library`]); gives how many. All of them or, when there is an error, none.
///
/// # Errors
/// As [`Library::add_directory`].
pub fn add_functions(context: &SessionContext, directory: &Path) -> Result<usize> {
    let engine: Vec<String> = context.state().table_functions().keys().cloned().collect();
    library(context)?.add_directory(directory, &engine)
}

/// Names of everything that can be called behind FROM in this session, sorted: the engine's table
/// functions, ours, and those of the library.
///
/// # Errors
/// As [`context`].
pub fn table_function_names(context: &SessionContext) -> Result<Vec<String>> {
    let mut names: Vec<String> = context.state().table_functions().keys().cloned().collect();
    names.extend(library(context)?.functions().iter().map(|f| f.name().to_owned()));
    names.sort();
    names.dedup();
    Ok(names)
}
