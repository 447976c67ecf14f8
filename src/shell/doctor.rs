//! `doctor`: what is installed, what the limits are, what a path holds; one block to paste.

use std::env;
use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};

use rl_insight_sql::library::Library;
use rl_insight_sql::table::all_table_functions;

use super::amount::size;
use super::failure::Failure;
use super::places;
use super::run_dir;

/// Prints the block on stdout.
///
/// # Errors
/// When a path does not exist, or stdout cannot be written to.
pub(crate) async fn run(paths: Vec<String>) -> Result<(), Failure> {
    let mut text = String::new();
    let mut line = |name: &str, value: String| {
        // Writing to memory does not fail.
        let _ = writeln!(text, "{name:<16}{value}");
    };
    line("version", format!("rl-insight-sql {}", env!("CARGO_PKG_VERSION")));
    line("engine", format!("DataFusion {}", datafusion::DATAFUSION_VERSION));
    line("system", format!("{} {}", env::consts::OS, env::consts::ARCH));
    let cores = std::thread::available_parallelism().map_or_else(|e| e.to_string(), |n| n.to_string());
    line("cores", cores);
    line("memory", memory().unwrap_or_else(|| "not known".into()));
    line("open files", open_files().unwrap_or_else(|| "not known".into()));
    line("temporary files", writable(&env::temp_dir()));
    let shown = |path: Option<std::path::PathBuf>| match path {
        None => "none".to_owned(),
        Some(path) if path.exists() => path.display().to_string(),
        Some(path) => format!("{} (not there)", path.display()),
    };
    line("history", shown(places::history_file()));
    line("start file", shown(places::init_file()));
    line("settings", shown(places::config_file()));
    line("pager", env::var("PAGER").unwrap_or_else(|_| "less".into()));
    let terminal = |is: bool| if is { "terminal" } else { "no terminal" };
    line(
        "streams",
        format!(
            "stdin {}, stdout {}, stderr {}",
            terminal(io::stdin().is_terminal()),
            terminal(io::stdout().is_terminal()),
            terminal(io::stderr().is_terminal())
        ),
    );
    let tables: Vec<&str> = all_table_functions().iter().map(|f| f.name).collect();
    line("table functions", tables.join(", "));
    line("questions", Library::shipped()?.functions().len().to_string());
    if !paths.is_empty() {
        let overview = run_dir::survey(&paths).await?;
        for (index, found) in run_dir::lines(&overview, &paths).into_iter().enumerate() {
            line(if index == 0 { "data" } else { "" }, found);
        }
        let missing: Vec<&str> = all_table_functions()
            .iter()
            .filter(|f| f.view.is_some() && !overview.found.iter().any(|found| found.function() == f.name))
            .map(|f| f.name)
            .collect();
        if !missing.is_empty() {
            line("no data for", missing.join(", "));
        }
    }
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()).map_err(|e| Failure::writing(&e))
}

fn memory() -> Option<String> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let kilobytes = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name))?;
        line.trim().trim_end_matches(" kB").trim().parse::<u64>().ok()
    };
    Some(format!(
        "{}, {} available",
        size(kilobytes("MemTotal:")? << 10),
        size(kilobytes("MemAvailable:")? << 10)
    ))
}

fn open_files() -> Option<String> {
    let text = std::fs::read_to_string("/proc/self/limits").ok()?;
    let line = text.lines().find_map(|l| l.strip_prefix("Max open files"))?;
    let mut words = line.split_whitespace();
    Some(format!("{} (at most {})", words.next()?, words.next()?))
}

fn writable(directory: &std::path::Path) -> String {
    let probe = directory.join(format!(".rl-insight-sql-doctor-{}", std::process::id()));
    let created = std::fs::OpenOptions::new().write(true).create_new(true).open(&probe);
    let text = match created {
        Ok(_) => format!("{} can be written", directory.display()),
        Err(e) => format!("{} cannot be written: {e}", directory.display()),
    };
    let _ = std::fs::remove_file(probe);
    text
}
