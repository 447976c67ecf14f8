//! Runs every `tests/slt/**/*.slt` file as a test of its own.
//!
//! The answers must not depend on how a session is set up: {1, 2, 4, 7 partitions} x {batch size 1,
//! 7, 8192} x {memory limit none, small}, and each promise of our scans switched off (the settings
//! `rl_insight.*`). Each file runs in four of these configurations, another choice for each file;
//! `RELIABILITY=long cargo test --test slt` runs every file in all of them.
//!
//! Records that must differ say so by a label: `onlyif partitions4`, `batch1`, `memory_limit`;
//! `onlyif plans` stands before EXPLAIN, whose answer is the plan that the settings change;
//! `skipif filter_pushdown_off` and the like stand before records whose point is what is not read.
//! `grep -rn 'if .*_off' tests/slt` lists these exceptions.
//!
//! `SLT_COMPLETE=1 cargo test --test slt [filter]` writes the real results into the files. They
//! are to be read and checked against the data by hand before they are kept.
//!
//! In the files, `{data}` is `tests/data`, `{examples}` is `examples/data`, `{tmp}` is a directory
//! of this run, and `{shared}` is public data that lies outside of the repository: in `../shared`,
//! or where `RLI_SHARED` says. Files below `tests/slt/shared` need it, and are reported as ignored
//! where it is absent.
//!
//! The form of values, so that a row is one line and its columns can be told apart: `NULL`,
//! `(empty)` for the empty text, floats in the shortest form that reads back as the same number,
//! control characters as escapes (`;\r\n`), plans one line a row with leading blanks as `--`, and
//! `<time>` for whatever a metric measured with a clock.

use std::env;
use std::path::{Path, PathBuf};
use std::time::Duration;

use datafusion::arrow::array::cast::AsArray;
use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::datatypes::{DataType, Float32Type, Float64Type};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::error::DataFusionError;
use datafusion::prelude::SessionContext;
use sqllogictest::harness::{Arguments, Failed, Trial, glob, run};
use sqllogictest::{AsyncDB, ColumnType, DBOutput, Runner, default_validator, strict_column_validator};

#[path = "slt/configurations.rs"]
mod configurations;
use configurations::{Configuration, LABELLED, configurations, every_configuration_has_its_turn};

fn main() {
    let places = Places::find();
    let slt = places.repository.join("tests/slt");
    let mut files: Vec<PathBuf> =
        glob(&format!("{}/**/*.slt", slt.display())).into_iter().flatten().flatten().collect();
    files.sort();
    every_configuration_has_its_turn(files.len());
    let tests: Vec<Trial> =
        files.into_iter().enumerate().map(|(at, file)| trial(&slt, at, file, &places)).collect();
    assert!(!tests.is_empty(), "no .slt file below {}", slt.display());
    run(&Arguments::from_args(), tests).exit();
}

fn trial(slt: &Path, at: usize, file: PathBuf, places: &Places) -> Trial {
    let name = file.strip_prefix(slt).unwrap_or(&file).with_extension("").display().to_string();
    let absent = name.starts_with("shared") && places.shared.is_none();
    if absent {
        eprintln!("{name}: ignored, there is neither ../shared nor a directory in RLI_SHARED");
    }
    let places = places.clone();
    Trial::test(name, move || check(at, &file, &places)).with_ignored_flag(absent)
}

/// Directories that the files name in braces.
#[derive(Clone)]
struct Places {
    repository: PathBuf,
    shared: Option<PathBuf>,
}

impl Places {
    fn find() -> Self {
        let repository = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
        let shared = env::var_os("RLI_SHARED").map_or_else(|| repository.join("../shared"), PathBuf::from);
        let shared = shared.canonicalize().ok().filter(|p| p.is_dir());
        Self { repository, shared }
    }

    /// The names in braces and what they stand for.
    fn names(&self, scratch: &Path) -> Vec<(&'static str, String)> {
        let mut names = vec![
            ("{data}", self.repository.join("tests/data").display().to_string()),
            ("{examples}", self.repository.join("examples/data").display().to_string()),
            ("{tmp}", scratch.display().to_string()),
        ];
        names.extend(self.shared.iter().map(|p| ("{shared}", p.display().to_string())));
        names
    }
}

fn check(at: usize, file: &Path, places: &Places) -> Result<(), Failed> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let done = runtime.block_on(async {
        if env::var_os("SLT_COMPLETE").is_some() {
            for configuration in LABELLED {
                complete(file, places, configuration).await?;
            }
        }
        // Also after completing: this is where a result that differs between configurations shows.
        for configuration in configurations(at) {
            let mut runner = runner(places, configuration);
            runner
                .run_file_async(file)
                .await
                .map_err(|e| format!("with {configuration}: {}", e.display(false)))?;
        }
        Ok::<(), Failed>(())
    });
    runtime.shutdown_background();
    done
}

async fn complete(file: &Path, places: &Places, configuration: Configuration) -> Result<(), Failed> {
    runner(places, configuration)
        .update_test_file(file, " ", default_validator, keep, strict_column_validator)
        .await
        .map_err(|e| Failed::from(format!("cannot be completed: {e}")))
}

fn runner(
    places: &Places,
    configuration: Configuration,
) -> Runner<Engine, impl sqllogictest::MakeConnection<Conn = Engine>> {
    let places = places.clone();
    let mut runner = Runner::new(move || {
        let engine = Engine::new(&places, configuration);
        async move { engine }
    });
    runner.with_normalizer(keep);
    runner.with_column_validator(strict_column_validator);
    for label in configuration.labels() {
        runner.add_label(&label);
    }
    runner
}

/// Values are made regular in [`Engine`], so there is nothing left to do here.
#[allow(clippy::ptr_arg)] // the signature that sqllogictest asks for
fn keep(value: &String) -> String {
    value.clone()
}

/// What went wrong, with the paths of this machine taken out.
#[derive(Debug)]
struct Failure(String);

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Failure {}

/// A session as sqllogictest sees it.
struct Engine {
    context: SessionContext,
    names: Vec<(&'static str, String)>,
    _scratch: tempfile::TempDir,
}

impl Engine {
    fn new(places: &Places, configuration: Configuration) -> Result<Self, Failure> {
        let scratch = tempfile::tempdir().map_err(|e| Failure(e.to_string()))?;
        let context = configuration.context().map_err(|e| Failure(e.to_string()))?;
        Ok(Self { context, names: places.names(scratch.path()), _scratch: scratch })
    }

    fn real(&self, sql: &str) -> String {
        self.names.iter().fold(sql.to_owned(), |text, (name, path)| text.replace(name, path))
    }

    fn regular(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (name, path)| text.replace(path.as_str(), name))
    }

    async fn answer(&self, sql: &str) -> Result<DBOutput<Kind>, DataFusionError> {
        let frame = self.context.sql(&self.real(sql)).await?;
        let schema = frame.schema().as_arrow().clone();
        let batches = frame.collect().await?;
        let types: Vec<Kind> = schema.fields().iter().map(|f| Kind::of(f.data_type())).collect();
        if types.is_empty() {
            return Ok(DBOutput::StatementComplete(0));
        }
        let mut rows = Vec::new();
        for batch in &batches {
            self.add_rows(batch, &mut rows)?;
        }
        if schema.fields().first().is_some_and(|f| f.name() == "plan_type") {
            let rows = rows.iter().flat_map(|row| plan_lines(row)).map(|line| vec![line]).collect();
            return Ok(DBOutput::Rows { types: vec![Kind::Text], rows });
        }
        let rows = rows.into_iter().map(|row| row.iter().map(|v| one_line(v)).collect()).collect();
        Ok(DBOutput::Rows { types, rows })
    }

    fn add_rows(&self, batch: &RecordBatch, rows: &mut Vec<Vec<String>>) -> Result<(), ArrowError> {
        let options = FormatOptions::default().with_null("NULL");
        let columns = batch
            .columns()
            .iter()
            .map(|c| Ok((c, ArrayFormatter::try_new(c.as_ref(), &options)?)))
            .collect::<Result<Vec<_>, ArrowError>>()?;
        for row in 0..batch.num_rows() {
            let value = |(column, formatter): &(_, ArrayFormatter)| {
                float(column, row).unwrap_or_else(|| self.regular(&formatter.value(row).to_string()))
            };
            rows.push(columns.iter().map(value).collect());
        }
        Ok(())
    }
}

#[async_trait::async_trait]
impl AsyncDB for Engine {
    type Error = Failure;
    type ColumnType = Kind;

    async fn run(&mut self, sql: &str) -> Result<DBOutput<Kind>, Failure> {
        self.answer(sql).await.map_err(|e| Failure(self.regular(&e.strip_backtrace())))
    }

    fn engine_name(&self) -> &str {
        "rl-insight-sql"
    }

    async fn sleep(duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    async fn shutdown(&mut self) {}
}

/// The type letter of a column: `T`ext, `I`nteger, `R`eal, `B`oolean, `?` anything else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Text,
    Integer,
    Real,
    Boolean,
    Other,
}

impl Kind {
    fn of(data_type: &DataType) -> Self {
        match data_type {
            DataType::Dictionary(_, value) => Self::of(value),
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Kind::Text,
            DataType::Boolean => Kind::Boolean,
            t if t.is_integer() => Kind::Integer,
            t if t.is_floating() => Kind::Real,
            _ => Kind::Other,
        }
    }
}

impl ColumnType for Kind {
    fn from_char(letter: char) -> Option<Self> {
        [Kind::Text, Kind::Integer, Kind::Real, Kind::Boolean, Kind::Other]
            .into_iter()
            .find(|kind| kind.to_char() == letter)
    }

    fn to_char(&self) -> char {
        match self {
            Kind::Text => 'T',
            Kind::Integer => 'I',
            Kind::Real => 'R',
            Kind::Boolean => 'B',
            Kind::Other => '?',
        }
    }
}

fn float(column: &dyn Array, row: usize) -> Option<String> {
    if column.is_null(row) {
        return None;
    }
    match column.data_type() {
        DataType::Float64 => Some(format!("{:?}", column.as_primitive::<Float64Type>().value(row))),
        DataType::Float32 => Some(format!("{:?}", column.as_primitive::<Float32Type>().value(row))),
        _ => None,
    }
}

/// A value as it stands in a file: never empty, never more than one line, no blank at its edges.
fn one_line(value: &str) -> String {
    if value.is_empty() {
        return "(empty)".to_owned();
    }
    let last = value.chars().count() - 1;
    let mut out = String::with_capacity(value.len());
    for (at, c) in value.chars().enumerate() {
        match c {
            ' ' if at == 0 || at == last => out.push_str("\\x20"),
            c if c.is_control() || c == '\u{feff}' => out.extend(c.escape_default()),
            c => out.push(c),
        }
    }
    out
}

/// A row of EXPLAIN (type of the plan, plan) as lines that keep their indentation.
fn plan_lines(row: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    lines.extend(row.first().cloned());
    for line in row.iter().skip(1).flat_map(|plan| plan.lines()) {
        let text = line.trim_start();
        lines.push(format!("{}{}", "-".repeat(line.len() - text.len()), without_times(text)));
    }
    lines
}

/// Replaces what a clock measured: `elapsed_compute=1.25ms` becomes `elapsed_compute=<time>`.
fn without_times(line: &str) -> String {
    let mut parts = line.split('=');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find([',', ']', ' ']).unwrap_or(part.len());
        let (value, rest) = part.split_at(end);
        let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let timed = unit.len() < value.len() && ["ns", "µs", "μs", "ms", "s", "m", "h"].contains(&unit);
        out.push('=');
        out.push_str(if timed { "<time>" } else { value });
        out.push_str(rest);
    }
    out
}
