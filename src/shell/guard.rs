//! What statements may do: decided on their logical plans, because text can be written in many ways.

use std::fs;
use std::path::Path;

use datafusion::common::tree_node::{Transformed, TreeNodeRecursion};
use datafusion::error::Result;
use datafusion::logical_expr::{CreateExternalTable, DdlStatement, LogicalPlan, Statement};
use rl_insight_sql::format::input_name;
use rl_insight_sql::remedy::changes_nothing;
use rl_insight_sql::table::all_table_functions;

use super::address::local_paths;
use super::confine::Root;
use super::failure::Failure;
use super::inputs::Inputs;

/// Lets plans pass, or not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Guard {
    /// Refuse everything that writes.
    pub(crate) read_only: bool,
    /// Existing targets may be replaced.
    pub(crate) force: bool,
    /// Files that were read, and are never a target.
    pub(crate) inputs: Inputs,
    /// Where all files must be, if not anywhere.
    pub(crate) root: Option<Root>,
}

/// The option of a COPY that allows an existing target.
const OVERWRITE: &str = "overwrite";

impl Guard {
    /// The plan as it may be run.
    ///
    /// # Errors
    /// [`Failure::Refused`], saying what is refused and how it can be allowed.
    pub(crate) fn pass(&self, plan: LogicalPlan) -> Result<LogicalPlan, Failure> {
        if let LogicalPlan::Statement(Statement::SetVariable(set)) = &plan {
            within_bounds(&set.variable, &set.value)?;
        }
        if self.read_only {
            return match refused(&plan)? {
                None => Ok(plan),
                Some(what) => Err(Failure::Refused(format!(
                    "read-only: {what} is refused, nothing may be written\n\
                     hint: leave out --read-only, or give --allow-write to --agent"
                ))),
            };
        }
        let mut refusal = None;
        let plan = plan.transform_down_with_subqueries(|node| {
            let checked = match &node {
                LogicalPlan::Ddl(DdlStatement::CreateExternalTable(table)) => self.external(table),
                LogicalPlan::Dml(insert) => self.inserted(insert.table_name.table()),
                LogicalPlan::Statement(Statement::SetVariable(set)) => self.set(&set.variable, &set.value),
                _ => Ok(()),
            };
            refusal = refusal.take().or(checked.err());
            let LogicalPlan::Copy(mut copy) = node else { return Ok(Transformed::no(node)) };
            let keys = [OVERWRITE.to_owned(), format!("format.{OVERWRITE}")];
            let given: Vec<String> = keys.iter().filter_map(|key| copy.options.remove(key)).collect();
            let allowed = self.force || given.iter().any(|v| v.eq_ignore_ascii_case("true"));
            if refusal.is_none() {
                let hint = "give --force, or OPTIONS (overwrite 'true') behind the COPY";
                refusal = self.copied(&copy.output_url, allowed, hint).err();
            }
            Ok(Transformed::yes(LogicalPlan::Copy(copy)))
        })?;
        match refusal {
            Some(failure) => Err(failure),
            None => Ok(plan.data),
        }
    }

    /// Whether a file may be touched at all.
    ///
    /// # Errors
    /// [`Failure::Refused`] when it is outside of the root.
    pub(crate) fn inside(&self, path: &str) -> Result<(), Failure> {
        self.root.as_ref().map_or(Ok(()), |root| root.pass(path))
    }

    /// Whether all that a location in SQL may stand for may be touched.
    fn inside_all(&self, location: &str) -> Result<(), Failure> {
        match &self.root {
            Some(root) if !root.holds_location(location) => Err(root.refusal(location)),
            _ => Ok(()),
        }
    }

    /// An external table: where it lies is remembered, because INSERT may write there.
    fn external(&self, table: &CreateExternalTable) -> Result<(), Failure> {
        // Scans of our formats are looked at when they are planned.
        let ours = all_table_functions().iter().any(|f| f.name.eq_ignore_ascii_case(&table.file_type));
        let root = self.root.as_ref().filter(|_| !ours);
        for location in &table.locations {
            self.inside_all(location)?;
            for path in local_paths(location) {
                if let Some(link) = root.and_then(|root| root.link_outside(&path)) {
                    return Err(Failure::Refused(link));
                }
                self.inputs.add_place(path.clone());
                self.inputs.add_table(table.name.table(), path);
            }
        }
        Ok(())
    }

    /// INSERT: a file more in the directory of an external table, or more rows in the file of an unbounded one.
    fn inserted(&self, table: &str) -> Result<(), Failure> {
        self.inputs.of_table(table).iter().try_for_each(|path| self.protect(path, self.inputs.opened(path)))
    }

    /// SET of where temporary files are.
    fn set(&self, variable: &str, value: &str) -> Result<(), Failure> {
        if variable.eq_ignore_ascii_case("datafusion.runtime.temp_directory") {
            return self.inside(value);
        }
        Ok(())
    }

    /// Whether a COPY may write to a location.
    fn copied(&self, location: &str, allowed: bool, hint: &str) -> Result<(), Failure> {
        self.inside_all(location)?;
        local_paths(location).iter().try_for_each(|path| self.writable(path, allowed, hint))
    }

    /// Whether a file (or directory) may be written.
    ///
    /// # Errors
    /// [`Failure::Refused`] when it is outside of the root, is input, or is there already and may not be replaced.
    pub(crate) fn target(&self, target: &str, allowed: bool, hint: &str) -> Result<(), Failure> {
        self.inside(target)?;
        self.writable(Path::new(target), allowed, hint)
    }

    fn writable(&self, path: &Path, allowed: bool, hint: &str) -> Result<(), Failure> {
        self.protect(path, self.inputs.hold(path))?;
        let Ok(there) = fs::metadata(path) else { return Ok(()) };
        let empty = there.is_dir() && fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
        // A terminal or a pipe is not replaced by being written to.
        let kept = there.is_file() || there.is_dir();
        if kept && !empty && !allowed {
            return Err(Failure::Refused(format!("{}: exists already\nhint: {hint}", path.display())));
        }
        Ok(())
    }

    /// Whether none of the files that a plan writes is one that the session has read, or is about to read for
    /// it. To be asked once the plan is made physical: only then it is known what it reads.
    ///
    /// # Errors
    /// [`Failure::Refused`] when one is.
    pub(crate) fn pass_targets(&self, plan: &LogicalPlan) -> Result<(), Failure> {
        let mut refusal = None;
        plan.apply_with_subqueries(|node| {
            if let (None, LogicalPlan::Copy(copy)) = (&refusal, node) {
                let targets = local_paths(&copy.output_url);
                refusal = targets.iter().find_map(|path| self.protect(path, self.inputs.hold(path)).err());
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        refusal.map_or(Ok(()), Err)
    }

    /// Refuses what is input data, whether this session reads it or not.
    fn protect(&self, target: &Path, is_read: bool) -> Result<(), Failure> {
        // Into a directory, files of any name are written.
        let new = target.to_string_lossy().ends_with('/') || target.is_dir();
        // Behind a link, the name of what it leads to counts as well.
        let real = target.canonicalize().ok();
        let name = input_name(target)
            .or_else(|| real.as_deref().and_then(input_name))
            .or_else(|| new.then(|| input_name(&target.join("part.csv"))).flatten());
        let why = match (is_read, name) {
            (true, _) => "this session reads it".to_owned(),
            (false, Some(name)) => format!("by its name it is {name}"),
            (false, None) => return Ok(()),
        };
        let target = target.display();
        Err(Failure::Refused(format!(
            "{target}: {why}, and input data is never written\nhint: name another file"
        )))
    }
}

/// Settings of the engine with values that it does not survive, and the least and most that they may have: it
/// allocates so much at once, starts so many tasks, or waits for what never comes.
const BOUNDS: [(&str, u64, u64); 5] = [
    ("datafusion.execution.batch_size", 1, 1 << 20),
    ("datafusion.execution.target_partitions", 0, 4096),
    ("datafusion.execution.objectstore_writer_buffer_size", 1024, 1 << 30),
    ("datafusion.execution.parquet.maximum_parallel_row_group_writers", 1, 4096),
    ("datafusion.execution.parquet.maximum_buffered_record_batches_per_stream", 1, 1 << 20),
];

/// Whether a setting may have a value. What is no number is refused by the engine.
fn within_bounds(variable: &str, value: &str) -> Result<(), Failure> {
    let bounds = BOUNDS.iter().find(|(name, ..)| variable.eq_ignore_ascii_case(name));
    match (bounds, value.parse::<u128>()) {
        (Some((name, least, most)), Ok(number))
            if number < u128::from(*least) || number > u128::from(*most) =>
        {
            Err(Failure::Query(format!("{name} is {value}, expected a number from {least} to {most}")))
        }
        _ => Ok(()),
    }
}

/// What in a plan writes, or is not known to be harmless.
fn refused(plan: &LogicalPlan) -> Result<Option<String>> {
    let mut found = None;
    plan.apply_with_subqueries(|node| {
        found = writes(node);
        Ok(if found.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}

fn writes(node: &LogicalPlan) -> Option<String> {
    Some(match node {
        LogicalPlan::Copy(_) => "COPY".to_owned(),
        LogicalPlan::Dml(dml) => dml.op.to_string().to_uppercase().replace("MERGEINTO", "MERGE"),
        LogicalPlan::Ddl(DdlStatement::CreateView(_) | DdlStatement::DropView(_)) => return None,
        LogicalPlan::Ddl(ddl) => match ddl {
            DdlStatement::CreateExternalTable(_) => "CREATE EXTERNAL TABLE",
            DdlStatement::CreateMemoryTable(_) => "CREATE TABLE",
            DdlStatement::DropTable(_) => "DROP TABLE",
            DdlStatement::CreateCatalogSchema(_) => "CREATE SCHEMA",
            DdlStatement::CreateCatalog(_) => "CREATE DATABASE",
            DdlStatement::DropCatalogSchema(_) => "DROP SCHEMA",
            DdlStatement::CreateIndex(_) => "CREATE INDEX",
            DdlStatement::CreateFunction(_) => "CREATE FUNCTION",
            DdlStatement::DropFunction(_) => "DROP FUNCTION",
            _ => "this statement",
        }
        .to_owned(),
        // The budget and the directory for temporary files were set on the command line.
        LogicalPlan::Statement(Statement::SetVariable(set)) if is_runtime(&set.variable) => {
            format!("SET {}", set.variable)
        }
        LogicalPlan::Statement(Statement::ResetVariable(reset)) if is_runtime(&reset.variable) => {
            format!("RESET {}", reset.variable)
        }
        LogicalPlan::Statement(Statement::TransactionStart(_) | Statement::TransactionEnd(_)) => {
            "a transaction".to_owned()
        }
        LogicalPlan::Extension(_) if !changes_nothing(node) => "an extension of the engine".to_owned(),
        _ => return None,
    })
}

fn is_runtime(variable: &str) -> bool {
    variable.to_ascii_lowercase().starts_with("datafusion.runtime.")
}
