//! What each table function is: one description for the planner, listings and documentation.

use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};

use crate::format::ascend_profile::{MatchRule, MemoryEvents, MemoryRecords};
use crate::scan::{Diagnostics, OnError};
use crate::source::Format;

use super::Options;

/// A named argument of a table function.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// The values it takes; the first is the default.
    pub values: &'static [&'static str],
    /// What it does, in one line.
    pub purpose: &'static str,
}

/// A table function over a format.
#[derive(Clone, Copy)]
pub struct TableFunction {
    /// Its name.
    pub name: &'static str,
    /// What its rows are, in one line.
    pub purpose: &'static str,
    /// The named arguments it takes besides the path.
    pub arguments: &'static [Argument],
    /// Makes the format from options that were checked against `arguments`.
    make: fn(&Chosen<'_>) -> Arc<dyn Format>,
}

impl std::fmt::Debug for TableFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TableFunction").field("name", &self.name).finish_non_exhaustive()
    }
}

const ON_ERROR: Argument = Argument {
    name: "on_error",
    values: &["strict", "skip"],
    purpose: "strict: a problem in the input fails the query; skip: the bad piece is left out and counted",
};
const MATCH: Argument = Argument {
    name: "match",
    values: &["nearest", "inside"],
    purpose: "nearest: the latest op of that name that has started; inside: the op that contains or caused the allocation",
};

const TABLE_FUNCTIONS: [TableFunction; 3] = [
    TableFunction {
        name: "memory_events",
        purpose: "allocations of an Ascend PyTorch profiler tree, each with its call stack",
        arguments: &[MATCH, ON_ERROR],
        make: |chosen| Arc::new(MemoryEvents::new(chosen.pick("match", &MatchRule::ALL))),
    },
    TableFunction {
        name: "memory_records",
        purpose: "level of device memory over time, from memory_record.csv or the profiler database",
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemoryRecords),
    },
    TableFunction {
        name: "diagnostics",
        purpose: "what was found under a path, and every problem and note about it",
        arguments: &[],
        make: |_| {
            Arc::new(Diagnostics::new(vec![
                (Arc::new(MemoryEvents::default()), true),
                (Arc::new(MemoryRecords), false),
            ]))
        },
    },
];

/// All table functions that read formats, in the order in which they are to be listed.
pub fn all_table_functions() -> &'static [TableFunction] {
    &TABLE_FUNCTIONS
}

/// Checked options.
struct Chosen<'a> {
    options: &'a Options,
}

impl Chosen<'_> {
    /// The value with the name that was given, or the first one.
    fn pick<T: Copy + Default>(&self, name: &str, values: &[(&str, T)]) -> T {
        let given = self.options.iter().find(|(n, _)| n == name);
        let found = given.and_then(|(_, value)| values.iter().find(|(v, _)| v == value));
        found.map_or_else(T::default, |(_, value)| *value)
    }
}

impl TableFunction {
    /// The columns of its rows.
    pub fn schema(&self) -> SchemaRef {
        (self.make)(&Chosen { options: &vec![] }).schema()
    }

    /// How to call it, for listings: `memory_events(path [, match => 'nearest'|'inside'] ...)`.
    pub fn signature(&self) -> String {
        let option = |a: &Argument| {
            let values: Vec<String> = a.values.iter().map(|v| format!("'{v}'")).collect();
            format!(" [, {} => {}]", a.name, values.join("|"))
        };
        format!("{}(path{})", self.name, self.arguments.iter().map(option).collect::<String>())
    }

    /// The format and the treatment of problems that these options stand for.
    ///
    /// # Errors
    /// A plan error that lists the choices when an option or its value is unknown.
    pub fn configure(&self, options: &Options) -> Result<(Arc<dyn Format>, OnError)> {
        for (name, value) in options {
            let Some(argument) = self.arguments.iter().find(|a| a.name == name) else {
                let known: Vec<&str> = self.arguments.iter().map(|a| a.name).collect();
                return plan_err!(
                    "{}: unknown argument {name}, expected {}",
                    self.name,
                    if known.is_empty() {
                        "only a path".to_owned()
                    } else {
                        format!("one of: path, {}", known.join(", "))
                    }
                );
            };
            if !argument.values.contains(&value.as_str()) {
                return plan_err!(
                    "{}: {name} is '{value}', expected one of: {}",
                    self.name,
                    argument.values.join(", ")
                );
            }
        }
        let chosen = Chosen { options };
        Ok(((self.make)(&chosen), chosen.pick("on_error", &OnError::ALL)))
    }
}
