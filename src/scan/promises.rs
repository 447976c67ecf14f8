//! What a scan promises the engine, and the settings that take each promise back.
//!
//! A promise makes queries faster and must never change an answer: a wrong one, such as an order that
//! the rows do not have, gives wrong rows without any error. So each can be switched off in a session,
//! `SET rl_insight.order = false`, which the tests do, and which tells whether a promise is to blame
//! when an answer looks wrong.

use std::any::Any;

use datafusion::common::config::{ConfigEntry, ConfigExtension, ConfigOptions, ExtensionOptions};
use datafusion::common::{Result, config_datafusion_err};

/// Something that a scan promises, or does on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Promise {
    /// Predicates are decided by the scan.
    FilterPushdown,
    /// Columns that nobody asks for are not read.
    ProjectionPushdown,
    /// Reading ends after as many rows as are needed.
    LimitPushdown,
    /// The rows of a partition are ordered by the keys of their units.
    Order,
    /// Partitions are ranges of the keys.
    Ranges,
    /// Estimates of rows and bytes, the least and greatest keys.
    Statistics,
    /// Several threads work on one unit.
    SplitUnits,
    /// Several units of one partition are read at a time, where their rows are needed in order.
    ReadAhead,
}

impl Promise {
    /// All of them, with the name and the description of the setting.
    pub const ALL: [(Promise, &'static str, &'static str); 8] = [
        (
            Promise::FilterPushdown,
            "filter_pushdown",
            "Predicates are decided while reading: whole ranks, steps or files are not opened",
        ),
        (Promise::ProjectionPushdown, "projection_pushdown", "Columns that nobody asks for are not read"),
        (Promise::LimitPushdown, "limit_pushdown", "Reading ends after as many rows as LIMIT needs"),
        (Promise::Order, "order", "Rows are declared as ordered by role, rank, step, ... where they are"),
        (Promise::Ranges, "ranges", "Partitions are declared as ranges of role, rank, step, ..."),
        (
            Promise::Statistics,
            "statistics",
            "Sizes of files, and the least and greatest rank, step, ... guide the choice of a plan",
        ),
        (Promise::SplitUnits, "split_units", "Several threads work on one rank or file when there are few"),
        (
            Promise::ReadAhead,
            "read_ahead",
            "Exports, which need the rows in order, read several ranks or files at a time",
        ),
    ];

    fn bit(self) -> u16 {
        1 << self as u16
    }
}

/// Which promises a session keeps: all, unless some are switched off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Promises {
    off: u16,
}

impl Promises {
    /// Those of a session. A session without our settings keeps all.
    pub fn of(options: &ConfigOptions) -> Self {
        options.extensions.get::<Promises>().copied().unwrap_or_default()
    }

    /// Whether this promise is kept.
    pub fn keeps(self, promise: Promise) -> bool {
        self.off & promise.bit() == 0
    }

    /// The same without this promise.
    pub fn without(self, promise: Promise) -> Self {
        Self { off: self.off | promise.bit() }
    }
}

impl ConfigExtension for Promises {
    const PREFIX: &'static str = "rl_insight";
}

impl ExtensionOptions for Promises {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn as_any_mut(&mut self) -> &mut dyn Any {
        self
    }

    fn cloned(&self) -> Box<dyn ExtensionOptions> {
        Box::new(*self)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<()> {
        let named = Promise::ALL.iter().find(|(_, name, _)| name.eq_ignore_ascii_case(key));
        let Some((promise, name, _)) = named else {
            let names: Vec<&str> = Promise::ALL.iter().map(|(_, name, _)| *name).collect();
            return Err(config_datafusion_err!(
                "there is no setting rl_insight.{key}, expected one of {}",
                names.join(", ")
            ));
        };
        match value.trim().to_ascii_lowercase().as_str() {
            "true" | "on" | "1" => self.off &= !promise.bit(),
            "false" | "off" | "0" => self.off |= promise.bit(),
            _ => {
                return Err(config_datafusion_err!(
                    "rl_insight.{name} is set to '{value}', expected true or false"
                ));
            }
        }
        Ok(())
    }

    fn entries(&self) -> Vec<ConfigEntry> {
        let entry = |&(promise, name, description): &(Promise, &str, &'static str)| ConfigEntry {
            key: format!("{}.{name}", Self::PREFIX),
            value: Some(self.keeps(promise).to_string()),
            description,
        };
        Promise::ALL.iter().map(entry).collect()
    }
}
