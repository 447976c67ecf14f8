//! `memscope_config`: the settings that a process was recorded with.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, StringViewArray};
use serde_json::Value;

use crate::source::{
    Counter, DataError, Finding, Format, Host, InputFile, KeyColumn, Kind, Layout, ReadError, ReadRequest,
    Root, Unit, UnitReader,
};

use super::columns::{UnitColumns, batch_of};
use super::layout::{self, CONFIG, FileKind};
use super::rows::{BYTE_ORDER_MARK, unreadable};
use super::schema::{Config, KEY_COLUMNS};

/// Settings are small; what is larger is something else.
const MAX_BYTES: u64 = 16 << 20;

/// The format behind `memscope_config`. A unit is a `config.json` in a process directory.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeConfig;

impl Format for MemscopeConfig {
    fn name(&self) -> &'static str {
        "memscope_config"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Config::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let (found, findings) =
            layout::find(self.name(), roots, &[FileKind::Config], "config.json in a process directory")?;
        Ok(Layout { units: found.iter().map(layout::FoundFile::unit).collect(), findings })
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let settings = read(unit, host.as_ref())?;
        host.count(Counter::RowsRead, settings.len() as u64);
        Ok(Box::new(ConfigReader { unit: unit.clone(), request: request.clone(), settings }))
    }
}

/// Key and value of one setting.
type Setting = (String, String);

fn read(unit: &Unit, host: &dyn Host) -> Result<Vec<Setting>, ReadError> {
    let path = unit.file(CONFIG).map_or(unit.path(), |file| &file.path);
    let file = match InputFile::open(path) {
        Ok(file) => file,
        Err(e) => return host.report(unreadable(path, &e)).map(|()| vec![]),
    };
    host.opened(&file)?;
    let bytes = match file.read_all(MAX_BYTES) {
        Ok(bytes) => bytes,
        Err(e) => return host.report(unreadable(path, &e)).map(|()| vec![]),
    };
    host.count(Counter::BytesRead, bytes.len() as u64);
    let mut settings = vec![];
    let text = match bytes.strip_prefix(BYTE_ORDER_MARK) {
        Some(text) => {
            host.report(Finding::note(Kind::Encoding, path, "the file starts with a byte-order mark"))?;
            text
        }
        None => &bytes,
    };
    match serde_json::from_slice::<Value>(text) {
        Ok(value @ Value::Object(_)) => flatten("", &value, &mut settings),
        Ok(_) => {
            let message = "the file holds no JSON object, expected settings by name";
            host.report(Finding::problem(Kind::BadStructure, path, message))?;
        }
        Err(e) => {
            let message = format!("broken JSON: {e}; expected an object of settings");
            host.report(Finding::problem(Kind::BadStructure, path, message))?;
        }
    }
    Ok(settings)
}

fn flatten(prefix: &str, value: &Value, out: &mut Vec<Setting>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, value, out);
            }
        }
        Value::String(text) => out.push((prefix.to_owned(), text.clone())),
        other => out.push((prefix.to_owned(), other.to_string())),
    }
}

/// What the number of a setting stands for.
fn meaning(key: &str, value: &str) -> Option<String> {
    let number: u64 = value.parse().ok()?;
    let bits = |names: &[&str]| {
        let set: Vec<&str> =
            names.iter().enumerate().filter(|(k, _)| number >> k & 1 == 1).map(|(_, n)| *n).collect();
        Some(if set.is_empty() { "none".to_owned() } else { set.join(",") })
    };
    let choice = |names: &[&str]| names.get(usize::try_from(number).ok()?).map(|n| (*n).to_owned());
    match key {
        "analysisType" => bits(&["leaks", "decompose", "inefficient", "oom"]),
        "eventType" | "dumpEventType" => bits(&["alloc", "free", "launch", "access"]),
        "levelType" => bits(&["op", "kernel"]),
        "dataFormat" => choice(&["csv", "db"]),
        "collectMode" => choice(&["immediate", "deferred"]),
        _ => None,
    }
}

struct ConfigReader {
    unit: Unit,
    request: ReadRequest,
    settings: Vec<Setting>,
}

impl UnitReader for ConfigReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if self.settings.is_empty() {
            return Ok(None);
        }
        let rest = self.settings.split_off(self.request.batch_rows.max(1).min(self.settings.len()));
        let settings = std::mem::replace(&mut self.settings, rest);
        let (unit, rows) = (UnitColumns::new(&self.unit), settings.len());
        let mut columns = vec![];
        for column in self.request.projection.iter().filter_map(|at| Config::ALL.get(*at)) {
            columns.push(match column {
                Config::Key => {
                    Arc::new(StringViewArray::from_iter_values(settings.iter().map(|s| &s.0))) as ArrayRef
                }
                Config::Value => Arc::new(StringViewArray::from_iter_values(settings.iter().map(|s| &s.1))),
                Config::Meaning => Arc::new(
                    settings.iter().map(|(key, value)| meaning(key, value)).collect::<StringViewArray>(),
                ),
                Config::RunDir => unit.run_dir(rows)?,
                Config::RunPid => unit.run_pid(rows),
                Config::SourcePath => unit.source_path(rows)?,
            });
        }
        batch_of(&Arc::new(Config::schema().project(&self.request.projection)?), columns, rows).map(Some)
    }
}
