//! `.settings`: the value of every setting, and who gave it.

use std::collections::BTreeMap;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::error::ArrowError;
use datafusion::config::ConfigOptions;
use datafusion::prelude::SessionContext;

use super::config::{Config, setting_name};
use super::listing::{named, texts};

/// Flags that say what is to be done once, and are no settings.
const ERRANDS: [&str; 6] = ["command", "file", "output", "param", "help", "version"];

/// The settings of a session, as they were at its start.
#[derive(Debug, Default)]
pub(crate) struct Settings {
    own: Vec<Setting>,
    /// Values of those that commands can change.
    at_start: BTreeMap<&'static str, String>,
    engine_at_start: BTreeMap<String, Option<String>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Setting {
    name: String,
    /// What was given; nothing when it was not.
    value: Option<String>,
    origin: String,
    help: String,
}

impl Settings {
    /// The settings that a command line comes down to.
    pub(crate) fn new(command: &Command, matches: &ArgMatches, config: &Config) -> Self {
        let flags = command.get_arguments().filter(|flag| {
            flag.get_long().is_some_and(|long| !ERRANDS.contains(&long)) && !flag.is_positional()
        });
        let own = flags.map(|flag| {
            let id = flag.get_id().as_str();
            let raw = matches.get_raw(id).map(|values| {
                values.map(|v| v.to_string_lossy().into_owned()).collect::<Vec<_>>().join(", ")
            });
            let long = flag.get_long().unwrap_or_default();
            let origin = match matches.value_source(id) {
                Some(ValueSource::CommandLine) => format!("flag --{long}"),
                Some(ValueSource::EnvVariable) => {
                    let variable = flag.get_env().unwrap_or_default().to_string_lossy().into_owned();
                    format!("environment variable {variable}")
                }
                _ => config.place(id).unwrap_or_else(|| "default".to_owned()),
            };
            let help = flag.get_help().map(ToString::to_string).unwrap_or_default();
            Setting { name: setting_name(flag), value: raw, origin, help }
        });
        let mut own: Vec<Setting> = own.collect();
        let is_set = |id: &str| matches.try_get_one::<bool>(id).ok().flatten() == Some(&true);
        if is_set("agent") && !is_set("read_only") && !is_set("allow_write") {
            let read_only = own.iter_mut().filter(|setting| setting.name == "read_only");
            read_only.for_each(|setting| setting.origin = "flag --agent".to_owned());
        }
        Self { own, ..Self::default() }
    }

    /// Remembers what the session makes of them, before a statement or a command changes it.
    pub(crate) fn begin(&mut self, now: BTreeMap<&'static str, String>, context: &SessionContext) {
        self.at_start = now;
        let entries = context.copied_config().options().entries();
        self.engine_at_start = entries.into_iter().map(|entry| (entry.key, entry.value)).collect();
    }

    /// One row for each setting whose name fits the pattern: those of the program, then those of the engine.
    ///
    /// # Errors
    /// When the rows cannot be made, which does not happen.
    pub(crate) fn rows(
        &self,
        pattern: &str,
        now: &BTreeMap<&'static str, String>,
        context: &SessionContext,
    ) -> Result<RecordBatch, ArrowError> {
        let own = self.own.iter().map(|setting| {
            let mut setting = setting.clone();
            let name = setting.name.as_str();
            if let Some(value) = now.get(name) {
                if self.at_start.get(name) != Some(value) {
                    setting.origin = "changed in this session".to_owned();
                }
                setting.value = Some(value.clone());
            }
            [setting.name, setting.value.unwrap_or_default(), setting.origin, setting.help]
        });
        let defaults: BTreeMap<String, Option<String>> =
            ConfigOptions::new().entries().into_iter().map(|e| (e.key, e.value)).collect();
        let mut entries = context.copied_config().options().entries();
        entries.sort_by(|a, b| a.key.cmp(&b.key));
        let engine = entries.into_iter().map(|entry| {
            let origin = if self.engine_at_start.get(&entry.key) != Some(&entry.value) {
                "changed in this session"
            } else if defaults.get(&entry.key) != Some(&entry.value) {
                "rl-insight-sql"
            } else {
                "default"
            };
            let value = entry.value.unwrap_or_default();
            [entry.key, value, origin.to_owned(), entry.description.to_owned()]
        });
        let shown = |row: &[String; 4]| {
            let [name, ..] = row;
            named(pattern, name)
        };
        texts(["name", "value", "origin", "description"], own.chain(engine).filter(shown))
    }
}
