//! Watches a statement while it runs: what it has read so far, shown on stderr when it takes long.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use datafusion::physical_plan::ExecutionPlan;
use rl_insight_sql::scan::UnitScanExec;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthChar;

use super::amount::{counted, size};
use super::failure::tell;
use super::screen;
use super::voice::Voice;

/// When progress is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Progress {
    /// On a terminal, after two seconds
    #[default]
    Auto,
    /// Always: on a terminal at once, otherwise one line per second
    Always,
    /// One JSON object per second on stderr, for programs
    Json,
    /// Never
    Never,
}

/// Queries that are faster than this show no progress.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often progress is looked at.
pub(crate) const TICK: Duration = Duration::from_millis(200);

/// Watches one statement after the other. Clones watch the same.
#[derive(Clone, Default)]
pub(crate) struct Watch {
    state: Arc<State>,
    voice: Voice,
}

#[derive(Default)]
struct State {
    progress: Mutex<Progress>,
    plan: Mutex<Option<Arc<dyn ExecutionPlan>>>,
    started: Mutex<Option<Instant>>,
    /// Whether a line of progress is on the screen.
    shown: AtomicBool,
    /// Set when the result is on the same screen.
    hidden: AtomicBool,
    ticks: std::sync::atomic::AtomicU64,
}

/// What a statement has used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Usage {
    /// Wall time since it was begun.
    pub(crate) time: Duration,
    /// Files that were opened.
    pub(crate) files: u64,
    /// Bytes that were read from them.
    pub(crate) bytes: u64,
    /// Rows that were met in them.
    pub(crate) rows: u64,
    /// The most memory that the process has had so far, in bytes, where the system tells.
    pub(crate) peak: Option<u64>,
}

impl std::fmt::Debug for Watch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl Watch {
    /// A watch that shows progress when it is wanted, in the words of this voice.
    pub(crate) fn new(progress: Progress, voice: Voice) -> Self {
        let watch = Self { voice, ..Self::default() };
        if let Ok(mut own) = watch.state.progress.lock() {
            *own = progress;
        }
        watch
    }

    /// A statement begins.
    pub(crate) fn begin(&self) {
        if let Ok(mut plan) = self.state.plan.lock() {
            *plan = None;
        }
        if let Ok(mut started) = self.state.started.lock() {
            *started = Some(Instant::now());
        }
        self.state.hidden.store(false, Ordering::Relaxed);
        self.state.ticks.store(0, Ordering::Relaxed);
    }

    /// This is the plan that it runs.
    pub(crate) fn plan(&self, plan: &Arc<dyn ExecutionPlan>) {
        if let Ok(mut own) = self.state.plan.lock() {
            *own = Some(Arc::clone(plan));
        }
    }

    /// The statement is over.
    pub(crate) fn end(&self) -> Usage {
        let usage = self.usage();
        self.erase();
        if let Ok(mut plan) = self.state.plan.lock() {
            *plan = None;
        }
        usage
    }

    /// Shows how far it is, when it is time for that. To be called every [`TICK`].
    pub(crate) fn tick(&self) {
        let progress = self.state.progress.lock().map(|p| *p).unwrap_or_default();
        let terminal = io::stderr().is_terminal();
        let ticks = self.state.ticks.fetch_add(1, Ordering::Relaxed);
        let elapsed = self.elapsed();
        let wanted = match progress {
            Progress::Never => false,
            Progress::Auto => terminal && elapsed >= PATIENCE,
            Progress::Json => ticks.is_multiple_of(5),
            Progress::Always => terminal || ticks.is_multiple_of(5),
        };
        if !wanted || self.state.hidden.load(Ordering::Relaxed) {
            return;
        }
        let (usage, scans) = (self.usage(), self.scans());
        if progress == Progress::Json {
            tell(scans.json(&usage));
            return;
        }
        let line = scans.line(&usage);
        let line = self.voice.words(&line);
        if !terminal {
            tell(self.voice.words(&format!("progress: {line}")));
            return;
        }
        let (width, _) = screen::of_stderr();
        let line = fitting(&line, width.saturating_sub(1));
        // Under the lock of stdout, so that it does not get into the middle of a result.
        let guard = io::stdout().lock();
        if !self.state.hidden.load(Ordering::Relaxed) {
            self.state.shown.store(true, Ordering::Relaxed);
            let _ = io::stderr().write_all(format!("\r\u{1b}[K{line}").as_bytes());
        }
        drop(guard);
    }

    /// A result is about to be written; the caller holds the lock of stdout.
    pub(crate) fn make_room(&self) {
        if io::stdout().is_terminal() {
            self.state.hidden.store(true, Ordering::Relaxed);
        }
        self.erase();
    }

    fn erase(&self) {
        if self.state.shown.swap(false, Ordering::Relaxed) {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }

    fn elapsed(&self) -> Duration {
        let started = self.state.started.lock().ok().and_then(|s| *s);
        started.map(|s| s.elapsed()).unwrap_or_default()
    }

    fn scans(&self) -> Scans {
        let mut scans = Scans::default();
        if let Some(plan) = self.state.plan.lock().ok().and_then(|plan| plan.clone()) {
            scans.add(&plan);
        }
        scans
    }

    fn usage(&self) -> Usage {
        let plan = self.state.plan.lock().ok().and_then(|plan| plan.clone());
        let sum = |metric| plan.as_ref().map_or(0, |plan| summed(plan, metric));
        Usage {
            time: self.elapsed(),
            files: sum("files_opened"),
            bytes: sum("bytes_read"),
            rows: sum("rows_read"),
            peak: peak_memory(),
        }
    }
}

impl std::fmt::Display for Usage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:.3} s", self.time.as_secs_f64())?;
        write!(f, ", {}, {} read", counted(self.files, "file"), size(self.bytes))?;
        write!(f, ", {}", counted(self.rows, "row"))?;
        match self.peak {
            Some(peak) => write!(f, ", peak memory {}", size(peak)),
            None => Ok(()),
        }
    }
}

/// How far the scans of a plan are, together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Scans {
    units: usize,
    begun: usize,
    files: usize,
    bytes: u64,
    /// What each scan that is under way began last.
    current: Vec<String>,
}

impl Scans {
    fn add(&mut self, plan: &Arc<dyn ExecutionPlan>) {
        if let Some(scan) = plan.downcast_ref::<UnitScanExec>() {
            let progress = scan.progress();
            self.units += progress.units;
            self.begun += progress.begun;
            self.files += progress.files;
            self.bytes += progress.bytes;
            if progress.begun < progress.units || self.current.is_empty() {
                self.current.push(progress.current);
            }
        }
        plan.children().into_iter().for_each(|child| self.add(child));
    }

    /// One line for people.
    fn line(&self, usage: &Usage) -> String {
        if self.units == 0 {
            return usage.to_string();
        }
        let mut line = format!("{:.1} s, unit {} of {}", usage.time.as_secs_f64(), self.begun, self.units);
        if let Some(current) = self.current.iter().rev().find(|name| !name.is_empty()) {
            line.push_str(&format!(" ({current})"));
        }
        let (read, all) = (size(usage.bytes), size(self.bytes));
        line.push_str(&format!(
            ", {} of {}, {read} of {all}",
            usage.files,
            counted(self.files as u64, "file")
        ));
        line.push_str(&format!(", {}", counted(usage.rows, "row")));
        if let Some(peak) = usage.peak {
            line.push_str(&format!(", peak memory {}", size(peak)));
        }
        line
    }

    /// One object for programs.
    fn json(&self, usage: &Usage) -> Value {
        json!({
            "progress": {
                "seconds": usage.time.as_secs_f64(),
                "units": self.begun,
                "units_total": self.units,
                "reading": self.current.last(),
                "files": usage.files,
                "files_total": self.files,
                "bytes": usage.bytes,
                "bytes_total": self.bytes,
                "rows": usage.rows,
                "peak_memory": usage.peak,
            }
        })
    }
}

/// As much of a line as there is room for.
fn fitting(line: &str, width: usize) -> String {
    let mut used = 0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    line.chars().take_while(fits).collect()
}

/// Sums a metric over all operators.
pub(crate) fn summed(plan: &Arc<dyn ExecutionPlan>, metric: &str) -> u64 {
    let own = plan.metrics().and_then(|m| m.sum_by_name(metric));
    let below: u64 = plan.children().into_iter().map(|child| summed(child, metric)).sum();
    own.map_or(0, |v| v.as_usize() as u64) + below
}

/// What the system says was the most memory this process has had.
fn peak_memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    Some(line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()? << 10)
}
