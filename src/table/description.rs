//! What each table function is: one description for the planner, listings and documentation.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{Result, plan_err};

use crate::format::ascend_profile::{MatchRule, MemoryEvents, MemoryRecords};
use crate::format::memscope::{
    Level, MemscopeBlockCalls, MemscopeBlocks, MemscopeCompare, MemscopeConfig, MemscopeEvents,
    MemscopeFiles, MemscopePythonTrace, MemscopeSteps, MemscopeWatch,
};
use crate::format::msprobe_dump::{DumpTrend, Scope, TrendOptions};
use crate::scan::{Diagnostics, OnError};
use crate::source::Format;

use super::Options;

/// A named argument of a table function.
#[derive(Debug, Clone, Copy)]
pub struct Argument {
    /// Its name.
    pub name: &'static str,
    /// What it takes.
    pub takes: Takes,
    /// What it does, in one line.
    pub purpose: &'static str,
}

/// The values of a named argument.
#[derive(Debug, Clone, Copy)]
pub enum Takes {
    /// One of these texts; the first is the default.
    OneOf(&'static [&'static str]),
    /// `true` or `false`; this is the default.
    Flag(bool),
    /// The path of a file; none by default.
    File,
}

impl Takes {
    /// The default as it would be written in SQL, if there is one.
    pub fn default_value(self) -> Option<String> {
        match self {
            Takes::OneOf(values) => values.first().map(|v| format!("'{v}'")),
            Takes::Flag(value) => Some(value.to_string()),
            Takes::File => None,
        }
    }

    /// All values as they would be written in SQL.
    fn choices(self) -> String {
        match self {
            Takes::OneOf(values) => values.iter().map(|v| format!("'{v}'")).collect::<Vec<_>>().join("|"),
            Takes::Flag(_) => "true|false".to_owned(),
            Takes::File => "'file'".to_owned(),
        }
    }

    /// Whether this is one of the values.
    fn accepts(self, value: &str) -> bool {
        match self {
            Takes::OneOf(values) => values.contains(&value),
            Takes::Flag(_) => matches!(value, "true" | "false"),
            Takes::File => !value.is_empty(),
        }
    }
}

/// A table function over a format.
#[derive(Clone, Copy)]
pub struct TableFunction {
    /// Its name.
    pub name: &'static str,
    /// What its rows are, in one line.
    pub purpose: &'static str,
    /// The name of the view over a directory that holds its data, if it gets one.
    pub view: Option<&'static str>,
    /// What its positional arguments are called; they can be given by these names, too.
    pub paths: &'static [&'static str],
    /// The named arguments it takes besides.
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
    takes: Takes::OneOf(&["strict", "skip"]),
    purpose: "strict: a problem in the input fails the query; skip: the bad piece is left out and counted",
};
const MATCH: Argument = Argument {
    name: "match",
    takes: Takes::OneOf(&["nearest", "inside"]),
    purpose: "nearest: the latest op of that name that has started; inside: the op that contains or caused the allocation",
};

const MICRO_STEP: Argument = Argument {
    name: "micro_step",
    takes: Takes::Flag(true),
    purpose: "true: the step counts the micro-steps of all steps, told from construct.json; false: it is the number of the step directory",
};
const MAPPING: Argument = Argument {
    name: "mapping",
    takes: Takes::File,
    purpose: "a JSON object of texts and their replacements, applied in its order to the key of each entry",
};
const SCOPE: Argument = Argument {
    name: "scope",
    takes: Takes::OneOf(&["reference", "all"]),
    purpose: "reference: the tensors that msprobe data2db takes; all: every tensor, and reference_skip says why it leaves one out",
};

const LEVEL: Argument = Argument {
    name: "level",
    takes: Takes::OneOf(&["op", "kernel"]),
    purpose: "what is aligned: operators or the kernels that they launch",
};

const COMPAT: Argument = Argument {
    name: "compat",
    takes: Takes::Flag(false),
    purpose: "true: releases that the tool made up, and blocks of workspaces that are printed as PTA, count, as in its offline check_inefficient; false: they do not, as while it records",
};

/// Most functions take one path, which may be a list.
const PATH: &[&str] = &["path"];

const TABLE_FUNCTIONS: [TableFunction; 13] = [
    TableFunction {
        name: "memory_events",
        purpose: "allocations of an Ascend PyTorch profiler tree, each with its call stack",
        view: Some("memory"),
        paths: PATH,
        arguments: &[MATCH, ON_ERROR],
        make: |chosen| Arc::new(MemoryEvents::new(chosen.pick("match", &MatchRule::ALL))),
    },
    TableFunction {
        name: "memory_records",
        purpose: "level of device memory over time, from memory_record.csv or the profiler database",
        view: Some("memory_record"),
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemoryRecords),
    },
    TableFunction {
        name: "dump_trend",
        purpose: "statistics of the tensors of an msprobe dump over steps and ranks",
        view: Some("trend"),
        paths: PATH,
        arguments: &[MICRO_STEP, MAPPING, SCOPE, ON_ERROR],
        make: |chosen| {
            let options = TrendOptions::default()
                .with_micro_step(chosen.flag("micro_step", true))
                .with_mapping(chosen.text("mapping").map(PathBuf::from))
                .with_scope(chosen.pick("scope", &Scope::ALL));
            Arc::new(DumpTrend::new(options))
        },
    },
    TableFunction {
        name: "memscope_events",
        purpose: "events of msMemScope files (csv or db; old msLeaks files too), one row each",
        view: Some("memscope"),
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeEvents),
    },
    TableFunction {
        name: "memscope_blocks",
        purpose: "allocations of msMemScope files from MALLOC to FREE, one row each",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeBlocks),
    },
    TableFunction {
        name: "memscope_block_calls",
        purpose: "API calls in which the blocks of msMemScope files were allocated, used and released",
        view: None,
        paths: PATH,
        arguments: &[COMPAT, ON_ERROR],
        make: |chosen| Arc::new(MemscopeBlockCalls::new(chosen.flag("compat", false))),
    },
    TableFunction {
        name: "memscope_steps",
        purpose: "steps of msMemScope files, as their marks say",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeSteps),
    },
    TableFunction {
        name: "memscope_watch",
        purpose: "check sums of watched tensors, from csv files or from images (.bin)",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeWatch),
    },
    TableFunction {
        name: "memscope_python_trace",
        purpose: "Python calls that msMemScope traced",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopePythonTrace),
    },
    TableFunction {
        name: "memscope_config",
        purpose: "settings with which msMemScope ran, from config.json",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeConfig),
    },
    TableFunction {
        name: "memscope_files",
        purpose: "files of msMemScope under a path: process, device, kind, version",
        view: None,
        paths: PATH,
        arguments: &[ON_ERROR],
        make: |_| Arc::new(MemscopeFiles),
    },
    TableFunction {
        name: "memscope_compare",
        purpose: "launches of two msMemScope runs side by side, aligned by name",
        view: None,
        paths: &["base", "target"],
        arguments: &[LEVEL, ON_ERROR],
        make: |chosen| Arc::new(MemscopeCompare::new(chosen.pick("level", &Level::ALL))),
    },
    TableFunction {
        name: "diagnostics",
        purpose: "what was found under a path, and every problem and note about it",
        view: None,
        paths: PATH,
        arguments: &[],
        make: |_| {
            Arc::new(Diagnostics::new(vec![
                (Arc::new(MemoryEvents::default()), true),
                (Arc::new(MemoryRecords), false),
                (Arc::new(DumpTrend::new(TrendOptions::default().with_audit(true))), true),
                (Arc::new(MemscopeBlocks), true),
                (Arc::new(MemscopeEvents), false),
                (Arc::new(MemscopeWatch), true),
                (Arc::new(MemscopePythonTrace), true),
                (Arc::new(MemscopeConfig), false),
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

    /// The text that was given.
    fn text(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }

    /// What was given, or the default.
    fn flag(&self, name: &str, default: bool) -> bool {
        self.text(name).map_or(default, |value| value == "true")
    }
}

impl TableFunction {
    /// The columns of its rows.
    pub fn schema(&self) -> SchemaRef {
        self.format().schema()
    }

    /// The format that it reads when no option is given.
    pub fn format(&self) -> Arc<dyn Format> {
        (self.make)(&Chosen { options: &vec![] })
    }

    /// How to call it, for listings: `memory_events(path [, match => 'nearest'|'inside'] ...)`.
    pub fn signature(&self) -> String {
        let option = |a: &Argument| format!(" [, {} => {}]", a.name, a.takes.choices());
        format!(
            "{}({}{})",
            self.name,
            self.paths.join(", "),
            self.arguments.iter().map(option).collect::<String>()
        )
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
                        format!("only {}", self.paths.join(", "))
                    } else {
                        format!("one of: {}, {}", self.paths.join(", "), known.join(", "))
                    }
                );
            };
            if !argument.takes.accepts(value) {
                let expected = match argument.takes {
                    Takes::OneOf(values) => format!("one of: {}", values.join(", ")),
                    Takes::Flag(_) => "true or false".to_owned(),
                    Takes::File => "the path of a file".to_owned(),
                };
                return plan_err!("{}: {name} is '{value}', expected {expected}", self.name);
            }
        }
        let chosen = Chosen { options };
        Ok(((self.make)(&chosen), chosen.pick("on_error", &OnError::ALL)))
    }
}
