//! The command line: first as clap sees it ([`Flags`]), then as ready-made objects ([`Invocation`]).

use std::ffi::OsString;
use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{ArgMatches, ColorChoice, CommandFactory, FromArgMatches, Parser};

use super::failure::Failure;
use super::output::Format;
use super::parameters::Parameters;
use super::script::Script;

const AFTER_HELP: &str = "\
With -c or -f the program runs what they give, in the order of the command line, and ends. Without
them it runs the SQL that it reads from standard input, or shows a prompt when that is a terminal: \\?
lists the commands there, and the history is in $XDG_STATE_HOME/rl-insight-sql (~/.local/state).

Results go to stdout; everything else goes to stderr.
  csv       NULL is an empty field, the empty string is \"\"
  tsv       tab, newline, carriage return and backslash are \\t \\n \\r \\\\; NULL is \\N
  json      one array per result, on one line; ndjson: one object per row; NaN and infinities are strings;
            of several columns with one name the later ones get a number: a, a_2
  table     shows the first rows only (see --max-rows); no other format ever leaves out a row

Exit codes:
  0    done (also when the reader of stdout has gone away)
  1    the SQL is wrong or running it failed; the statements after it are not run
  2    the command line is wrong, or a file given with -f cannot be read
  3    the input data cannot be read as asked
  130  interrupted with Ctrl-C

Examples:
  rl-insight-sql -c \"SELECT role, rank_id, max(total_allocated_mb) FROM memory_events('run') GROUP BY 1, 2\"
  rl-insight-sql --format json -f setup.sql -f report.sql > report.json";

/// Ask in SQL what a reinforcement-learning job left on disk.
// The text above is what `--help` begins with. Colours stay off: help must be clean in every pipe.
#[derive(Debug, Parser)]
#[command(name = "rl-insight-sql", version, after_help = AFTER_HELP, color = ColorChoice::Never)]
struct Flags {
    /// Run this SQL: one or more statements, separated by semicolons. May be given several times
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    commands: Vec<String>,

    /// Run the SQL in this file; - is standard input. May be given several times
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    files: Vec<PathBuf>,

    /// How results are written [default: table on a terminal, csv otherwise]
    #[arg(long, value_enum, value_name = "FORMAT")]
    format: Option<Format>,

    /// How many rows a table shows; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 40)]
    max_rows: usize,

    /// How many threads work on a query [default: the number of cores]
    #[arg(long, value_name = "N")]
    threads: Option<NonZeroUsize>,

    /// How much memory queries may use, for example 512m or 4g [default: no limit]
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    memory_limit: Option<usize>,

    /// A value for $NAME in the SQL: a number, true, false, or text ('...' for text that looks like a
    /// number). May be given several times
    #[arg(long = "param", value_name = "NAME=VALUE")]
    parameters: Vec<String>,

    /// Print results, errors and warnings that a result is not complete; nothing else
    #[arg(short, long)]
    quiet: bool,
}

/// What the command line asks for, checked and with all scripts read.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// What to run, in this order. `None`: show a prompt.
    pub(crate) scripts: Option<Vec<Script>>,
    /// How results look.
    pub(crate) format: Format,
    /// How many rows a table shows; `None` for all.
    pub(crate) max_rows: Option<usize>,
    /// Whether remarks are left out.
    pub(crate) quiet: bool,
    /// How many threads work on a query.
    pub(crate) threads: NonZeroUsize,
    /// How much memory queries may use, in bytes; `None` for no limit.
    pub(crate) memory_limit: Option<usize>,
    /// Values for `$name` in the SQL.
    pub(crate) parameters: Parameters,
}

/// What the surroundings of the program are like; asked once, here, so that the rest can be tested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    /// Whether somebody types.
    pub(crate) stdin_is_terminal: bool,
    /// Whether somebody looks at the results.
    pub(crate) stdout_is_terminal: bool,
}

impl Invocation {
    /// Reads the command line and the scripts that it names.
    ///
    /// # Errors
    /// The exit code, after everything has been said: for `--help`, `--version` and wrong usage.
    pub(crate) fn read(
        args: impl IntoIterator<Item = OsString>,
        around: Surroundings,
    ) -> Result<Self, ExitCode> {
        let matches = Flags::command().try_get_matches_from(args);
        let parsed = matches.and_then(|m| Flags::from_arg_matches(&m).map(|flags| (flags, m)));
        let (flags, matches) = match parsed {
            Ok(both) => both,
            Err(e) => {
                // Fails when the reader is gone, and then there is nobody to tell.
                let _ = e.print();
                return Err(ExitCode::from(if e.use_stderr() { 2 } else { 0 }));
            }
        };
        Self::build(flags, &matches, around).map_err(|failure| {
            failure.tell();
            failure.exit_code()
        })
    }

    fn build(flags: Flags, matches: &ArgMatches, around: Surroundings) -> Result<Self, Failure> {
        let sources = in_order(flags.commands, flags.files, matches);
        let scripts = match (sources.is_empty(), around.stdin_is_terminal) {
            (true, true) => None,
            (true, false) => Some(vec![Script::new(None, read_stdin()?)]),
            (false, _) => Some(read_sources(sources)?),
        };
        let default_format = if around.stdout_is_terminal { Format::Table } else { Format::Csv };
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        Ok(Self {
            scripts,
            format: flags.format.unwrap_or(default_format),
            max_rows: Some(flags.max_rows).filter(|n| *n > 0),
            quiet: flags.quiet,
            threads: flags.threads.unwrap_or(cores),
            memory_limit: flags.memory_limit,
            parameters: Parameters::read(&flags.parameters).map_err(Failure::Usage)?,
        })
    }
}

/// One `-c` or `-f`.
enum Source {
    Command(String),
    File(PathBuf),
}

/// Brings `-c` and `-f`, which clap collects apart, back into the order of the command line.
fn in_order(commands: Vec<String>, files: Vec<PathBuf>, matches: &ArgMatches) -> Vec<Source> {
    let places = |id| matches.indices_of(id).into_iter().flatten();
    let commands = places("commands").zip(commands.into_iter().map(Source::Command));
    let files = places("files").zip(files.into_iter().map(Source::File));
    let mut all: Vec<(usize, Source)> = commands.chain(files).collect();
    all.sort_by_key(|(place, _)| *place);
    all.into_iter().map(|(_, source)| source).collect()
}

/// Reads everything before anything is run: a mistyped name must not stop half of the work.
fn read_sources(sources: Vec<Source>) -> Result<Vec<Script>, Failure> {
    let is_stdin = |s: &Source| matches!(s, Source::File(path) if path == Path::new("-"));
    if sources.iter().filter(|s| is_stdin(s)).count() > 1 {
        return Err(Failure::Usage(
            "-f - can be given only once: standard input ends when it has been read".into(),
        ));
    }
    let several = sources.len() > 1;
    let read = |(number, source): (usize, Source)| -> Result<Script, Failure> {
        Ok(match source {
            Source::Command(sql) => Script::new(several.then(|| format!("-c number {number}")), sql),
            Source::File(path) if path == Path::new("-") => {
                Script::new(Some("standard input".into()), read_stdin()?)
            }
            Source::File(path) => Script::new(Some(path.display().to_string()), read_file(&path)?),
        })
    };
    let mut commands = 0;
    let numbered = sources.into_iter().map(|source| {
        commands += usize::from(matches!(source, Source::Command(_)));
        (commands, source)
    });
    numbered.map(read).collect()
}

/// The text of a script file.
///
/// # Errors
/// [`Failure::Usage`] when it cannot be read or is no text.
pub(crate) fn read_file(path: &Path) -> Result<String, Failure> {
    let name = path.display().to_string();
    text(&name, std::fs::read(path))
}

fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    text("standard input", read.map(|_| bytes))
}

fn text(name: &str, bytes: io::Result<Vec<u8>>) -> Result<String, Failure> {
    let bytes = bytes.map_err(|e| Failure::Usage(format!("{name}: cannot be read: {e}")))?;
    let text = String::from_utf8(bytes).map_err(|e| {
        let place = e.utf8_error().valid_up_to();
        Failure::Usage(format!("{name}: not UTF-8 text: byte {place} is invalid; save the file as UTF-8"))
    })?;
    // Some editors put a byte-order mark in front; to SQL it would be an unknown character.
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

/// Bytes from a size such as `4g`, `1.5 GiB` or `100000`. A kilobyte has 1024 bytes.
fn parse_size(text: &str) -> Result<usize, String> {
    let usage = || "expected a size above 0 such as 512m or 4g".to_owned();
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(usage()),
    };
    let bytes = number.parse::<f64>().map_err(|_| usage())? * (1_u64 << shift) as f64;
    if bytes >= usize::MAX as f64 {
        return Err("more than this machine can address".into());
    }
    // The range is checked; what is cut off is a fraction of a byte.
    Some(bytes as usize).filter(|b| *b > 0).ok_or_else(usage)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(args: &[&str]) -> Result<Invocation, ExitCode> {
        let args = std::iter::once("rl-insight-sql").chain(args.iter().copied()).map(OsString::from);
        Invocation::read(args, Surroundings { stdin_is_terminal: true, stdout_is_terminal: true })
    }

    #[test]
    fn the_flags_are_consistent() {
        Flags::command().debug_assert();
    }

    #[test]
    fn commands_and_files_keep_the_order_of_the_command_line() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("two.sql");
        std::fs::write(&file, "\u{feff}two").unwrap();
        let file = file.to_str().unwrap();
        let i = read(&["-c", "one", "-f", file, "-c", "-- three", "--file", file]).unwrap();
        let texts: Vec<_> = i.scripts.unwrap().iter().map(|s| s.text().to_owned()).collect();
        assert_eq!(texts, ["one", "two", "-- three", "two"]);
    }

    #[test]
    fn a_terminal_without_scripts_means_a_prompt_and_tables() {
        let i = read(&[]).unwrap();
        assert!(i.scripts.is_none());
        assert_eq!((i.format, i.max_rows), (Format::Table, Some(40)));
        assert_eq!(read(&["--max-rows", "0"]).unwrap().max_rows, None);
    }

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("4g"), Ok(4 << 30));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_size("100"), Ok(100));
        for bad in ["", "g", "-1g", "0", "0.1", "4x", "1e3", "99999999999t", "1.2.3"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }
}
