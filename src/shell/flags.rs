//! The command line as clap sees it.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::BoolishValueParser;
use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use super::amount::{parse_size, parse_threads};
use super::language::Wanted;
use super::output::{BigIntegers, Format, Nonfinite};
use super::voice::Colours;
use super::watch::Progress;

/// What stands below the flags.
pub(crate) const AFTER_HELP: &str = "\
With -c or -f the program runs what they give, in the order of the command line, and ends. Without
them it runs the SQL that it reads from standard input, or shows a prompt when that is a terminal.
Commands of the prompt (\\? lists them) also work in scripts, on lines of their own.

PATHs are surveyed at the start, without opening data files: what they hold is said on stderr and is
there as views: memory, memory_record, trend, ... One path is also $run in SQL: memory_peaks($run).

Results go to stdout; everything else goes to stderr.
  csv       NULL is an empty field, the empty string is \"\"
  tsv       tab, newline, carriage return and backslash are \\t \\n \\r \\\\; NULL is \\N
  json      one array per result, on one line; ndjson: one object per row; NaN and infinities are strings
            (--json-nonfinite null makes them null);
            of several columns with one name the later ones get a number: a, a_2
  table     shows the first rows only (see --max-rows), and on a terminal as much as fits its width;
            no other format ever leaves out anything
  arrow, parquet  one result per file

Exit codes:
  0    done (also when the reader of stdout has gone away)
  1    the SQL is wrong, running it failed, or --read-only refused it; later statements are not run
  2    the command line is wrong, or a file or PATH that it names cannot be read
  3    the input data cannot be read as asked
  4    done, but on_error => 'skip' left something out and --fail-on-partial was given
  5    the memory, disk or time that was allowed is used up
  6    check: an assertion does not hold
  130  interrupted with Ctrl-C
  143  ended by SIGTERM

Files and environment:
  Flags named with [env: ...] can be given there, and in $XDG_CONFIG_HOME/rl-insight-sql/config.toml
  (~/.config), as memory_limit = \"4g\"; the command line comes first, then the environment.
  $XDG_STATE_HOME/rl-insight-sql/history (~/.local/state) keeps what is typed; RL_INSIGHT_SQL_HISTORY
  names another file, or none when it is empty. $XDG_CONFIG_HOME/rl-insight-sql/init.sql (~/.config) is
  run when the prompt starts. PAGER, NO_COLOR, CLICOLOR_FORCE and TERM mean what they always do.

Examples:
  rl-insight-sql run/
  rl-insight-sql run/ -c \"SELECT role, rank_id, max(total_allocated_mb) FROM memory GROUP BY 1, 2\"
  rl-insight-sql --format json -f setup.sql -f report.sql > report.json
  rl-insight-sql report run/ -o report.md
  rl-insight-sql export-trend dump/ -o out/dump_data.trend.db
  rl-insight-sql check nightly.slt run/ --format junit -o report.xml
  rl-insight-sql plot flame run/ at_peak rank=3 -o peak.html";

/// Ask in SQL what a reinforcement-learning job left on disk.
// The text above is what `--help` begins with. Colours stay off: help must be clean in every pipe.
#[derive(Debug, Parser)]
#[command(
    name = "rl-insight-sql",
    version,
    after_help = AFTER_HELP,
    color = ColorChoice::Never,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true
)]
pub(crate) struct Flags {
    /// Directories, files or globs to begin with: views are made of what is found there
    #[arg(value_name = "PATH")]
    pub(crate) paths: Vec<String>,

    /// Run this SQL: one or more statements, separated by semicolons. May be given several times
    #[arg(short = 'c', long = "command", value_name = "SQL", allow_hyphen_values = true)]
    pub(crate) commands: Vec<String>,

    /// Run the SQL in this file; - is standard input. May be given several times
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,

    /// How results are written [default: table on a terminal, by the name of the file with -o, else csv]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,

    /// Write results to this file, which is there when all of them are in it and not before
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Replace files that exist already: the target of -o, .output, .once and COPY
    #[arg(long)]
    pub(crate) force: bool,

    /// How many rows a table shows; 0 shows all [default: 40, with --agent 1000]
    #[arg(long, env = "RL_INSIGHT_SQL_MAX_ROWS", hide_env_values = true, value_name = "N")]
    pub(crate) max_rows: Option<usize>,

    /// How many bytes of rows --agent prints
    #[arg(long, env = "RL_INSIGHT_SQL_MAX_BYTES", hide_env_values = true, value_name = "SIZE", value_parser = parse_size, default_value = "100k")]
    pub(crate) max_bytes: usize,

    /// Leave out the line of column names in csv and tsv
    #[arg(long)]
    pub(crate) no_headers: bool,

    /// What stands for NULL in csv, tsv, table and line
    #[arg(long, value_name = "TEXT")]
    pub(crate) null_value: Option<String>,

    /// Group the digits of numbers in tables: 1,234,567
    #[arg(long, env = "RL_INSIGHT_SQL_GROUP_DIGITS", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) group_digits: bool,

    /// What NaN and infinities are in json, ndjson and with --agent
    #[arg(
        long,
        env = "RL_INSIGHT_SQL_JSON_NONFINITE",
        hide_env_values = true,
        value_enum,
        value_name = "AS",
        default_value_t
    )]
    pub(crate) json_nonfinite: Nonfinite,

    /// What 64-bit integers beyond 2^53 are in json, ndjson and with --agent
    #[arg(
        long,
        env = "RL_INSIGHT_SQL_JSON_BIG_INTEGERS",
        hide_env_values = true,
        value_enum,
        value_name = "AS",
        default_value_t
    )]
    pub(crate) json_big_integers: BigIntegers,

    /// How the session is set up
    #[command(flatten)]
    pub(crate) engine: EngineFlags,

    /// Read and write no file outside of this directory, whatever the SQL says
    #[arg(long, env = "RL_INSIGHT_SQL_ROOT", hide_env_values = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Refuse every statement that writes
    #[arg(long, env = "RL_INSIGHT_SQL_READ_ONLY", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) read_only: bool,

    /// Answer with exactly one JSON object on stdout, for programs; implies --read-only
    #[arg(long)]
    pub(crate) agent: bool,

    /// Let --agent write
    #[arg(long, conflicts_with = "read_only")]
    pub(crate) allow_write: bool,

    /// Go on after a statement that failed; the exit code is that of the first failure
    #[arg(long)]
    pub(crate) keep_going: bool,

    /// Exit code 4 when something was left out of a result
    #[arg(long)]
    pub(crate) fail_on_partial: bool,

    /// After each statement say how long it took and what it read
    #[arg(long, env = "RL_INSIGHT_SQL_TIMER", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) timer: bool,

    /// When to show progress
    #[arg(
        long,
        env = "RL_INSIGHT_SQL_PROGRESS",
        hide_env_values = true,
        value_enum,
        value_name = "WHEN",
        default_value_t
    )]
    pub(crate) progress: Progress,

    /// The same as --progress never
    #[arg(long, conflicts_with = "progress")]
    pub(crate) no_progress: bool,

    /// Do not use a pager
    #[arg(long, env = "RL_INSIGHT_SQL_NO_PAGER", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) no_pager: bool,

    /// Run this file when the prompt starts, instead of init.sql
    #[arg(long, value_name = "FILE")]
    pub(crate) init: Option<PathBuf>,

    /// Do not run init.sql, and do not read config.toml
    #[arg(long, conflicts_with = "init")]
    pub(crate) no_init: bool,

    /// What to do besides running SQL
    #[command(subcommand)]
    pub(crate) command: Option<Sub>,
}

/// How a session is set up.
#[derive(Debug, Clone, Args)]
pub(crate) struct EngineFlags {
    /// How many threads work on a query [default: the number of cores]
    #[arg(long, env = "RL_INSIGHT_SQL_THREADS", hide_env_values = true, value_name = "N", value_parser = parse_threads)]
    pub(crate) threads: Option<NonZeroUsize>,

    /// How much memory queries may use, for example 512m or 4g [default: no limit]
    #[arg(long, env = "RL_INSIGHT_SQL_MEMORY_LIMIT", hide_env_values = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) memory_limit: Option<usize>,

    /// Where queries put what does not fit into memory [default: the system's directory]
    #[arg(long, env = "RL_INSIGHT_SQL_TEMP_DIR", hide_env_values = true, value_name = "DIR")]
    pub(crate) temp_dir: Option<PathBuf>,

    /// How much queries may put there [default: 100g]
    #[arg(long, env = "RL_INSIGHT_SQL_DISK_LIMIT", hide_env_values = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) disk_limit: Option<usize>,

    /// How long a statement may take, in seconds [default: for ever]
    #[arg(long, env = "RL_INSIGHT_SQL_TIMEOUT", hide_env_values = true, value_name = "SECONDS")]
    pub(crate) timeout: Option<f64>,

    /// What the views over PATHs do with problems in the data: fail, or leave out and count
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    pub(crate) on_error: OnErrorFlag,

    /// Make a table function of each *.sql in this directory, in the form of the shipped ones (.source NAME
    /// shows them). May be given several times
    #[arg(long = "functions", value_name = "DIR")]
    pub(crate) functions: Vec<PathBuf>,

    /// A value for $NAME in the SQL: a number, true, false, or text ('...' for text that looks like a
    /// number). May be given several times
    #[arg(long = "param", value_name = "NAME=VALUE")]
    pub(crate) parameters: Vec<String>,

    /// When to use colours on stderr
    #[arg(
        long,
        env = "RL_INSIGHT_SQL_COLOR",
        hide_env_values = true,
        value_enum,
        value_name = "WHEN",
        default_value_t
    )]
    pub(crate) color: Colours,

    /// In which language help, remarks and errors are
    #[arg(
        long,
        env = "RL_INSIGHT_SQL_LANG",
        hide_env_values = true,
        value_enum,
        value_name = "LANG",
        default_value_t
    )]
    pub(crate) lang: Wanted,

    /// Print results, errors and warnings that a result is not complete; nothing else
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Say more: for every statement what it is going to do
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// What views do with problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum OnErrorFlag {
    /// A problem fails the query
    #[default]
    Strict,
    /// The bad piece is left out and counted
    Skip,
}

impl OnErrorFlag {
    /// As the argument of a table function.
    pub(crate) fn name(self) -> &'static str {
        match self {
            OnErrorFlag::Strict => "strict",
            OnErrorFlag::Skip => "skip",
        }
    }
}

/// A format, or the one that fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FormatFlag {
    /// The one that fits.
    Automatic,
    /// This one.
    Fixed(Format),
}

impl ValueEnum for FormatFlag {
    fn value_variants<'a>() -> &'a [Self] {
        const ALL: [FormatFlag; 11] = [
            FormatFlag::Automatic,
            FormatFlag::Fixed(Format::Table),
            FormatFlag::Fixed(Format::Csv),
            FormatFlag::Fixed(Format::Tsv),
            FormatFlag::Fixed(Format::Json),
            FormatFlag::Fixed(Format::Ndjson),
            FormatFlag::Fixed(Format::Markdown),
            FormatFlag::Fixed(Format::Line),
            FormatFlag::Fixed(Format::Html),
            FormatFlag::Fixed(Format::Arrow),
            FormatFlag::Fixed(Format::Parquet),
        ];
        &ALL
    }

    fn to_possible_value(&self) -> Option<clap::builder::PossibleValue> {
        match self {
            FormatFlag::Automatic => {
                Some(clap::builder::PossibleValue::new("automatic").help("The one that fits"))
            }
            FormatFlag::Fixed(format) => format.to_possible_value(),
        }
    }
}

/// What the program does besides running SQL.
#[derive(Debug, Subcommand)]
pub(crate) enum Sub {
    /// Run the assertions of a sqllogictest file on data
    Check(CheckFlags),
    /// Draw a picture of data: on the terminal, or as an HTML file that needs no network
    Plot(PlotFlags),
    /// Report about the memory of a run: peaks and outliers, who holds it, gaps, what is kept, problems
    Report(ReportFlags),
    /// Export a dump of msProbe as the database that TensorBoard's Trend Analyzer opens
    ExportTrend(ExportTrendFlags),
    /// Say what is installed, what the limits are, and what a path holds
    Doctor {
        /// Directories, files or globs to look at
        #[arg(value_name = "PATH")]
        paths: Vec<String>,
    },
    /// Print the completions for a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
    /// Print the manual page
    Man,
}

/// The command line of `check`.
#[derive(Debug, Args)]
pub(crate) struct CheckFlags {
    /// The file of assertions, in the format of sqllogictest
    #[arg(value_name = "SUITE")]
    pub(crate) suite: PathBuf,

    /// The data: views as at the prompt, and $run
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<String>,

    /// How the outcome is written
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) format: ReportFormat,

    /// Write the outcome to this file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Read and write no file outside of this directory
    #[arg(long, env = "RL_INSIGHT_SQL_ROOT", hide_env_values = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Do not read config.toml
    #[arg(long)]
    pub(crate) no_init: bool,

    /// How the session is set up
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// The command line of `plot`.
#[derive(Debug, Args)]
#[command(after_help = super::plot::help())]
pub(crate) struct PlotFlags {
    /// What kind of picture: flame, timeline, heatmap, trend or lifetimes
    #[arg(value_name = "KIND")]
    pub(crate) kind: String,

    /// What of the data, options, and the data itself: at_peak rank=3 run/
    #[arg(value_name = "WHAT|NAME=VALUE|PATH", required = true)]
    pub(crate) words: Vec<String>,

    /// Write the picture to this file: .html, or .txt for what a terminal shows [default: text on a terminal,
    /// else a page on stdout]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// Draw with characters, also where stdout is no terminal
    #[arg(long, conflicts_with = "output")]
    pub(crate) text: bool,

    /// Replace the file if it exists already
    #[arg(long)]
    pub(crate) force: bool,

    /// Read and write no file outside of this directory
    #[arg(long, env = "RL_INSIGHT_SQL_ROOT", hide_env_values = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Do not read config.toml
    #[arg(long)]
    pub(crate) no_init: bool,

    /// How the session is set up
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// The command line of `report`.
#[derive(Debug, Args)]
#[command(mut_arg("on_error", |arg| arg.default_value("skip")))]
pub(crate) struct ReportFlags {
    /// The run: a directory with profiles, at any depth
    #[arg(value_name = "PATH")]
    pub(crate) path: String,

    /// How the report is written [default: table on a terminal, by the name of the file with -o, else markdown]
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<FormatFlag>,

    /// Write the report to this file instead of stdout
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,

    /// How it is run
    #[command(flatten)]
    pub(crate) session: ShippedFlags,
}

/// The command line of `export-trend`.
#[derive(Debug, Args)]
pub(crate) struct ExportTrendFlags {
    /// The dump: a directory with step<N>/rank<R>/dump.json
    #[arg(value_name = "DUMP_DIR")]
    pub(crate) path: String,

    /// The database to write, NAME.trend.db; it is there as a whole or not at all
    #[arg(short = 'o', long, value_name = "FILE", required = true)]
    pub(crate) output: PathBuf,

    /// How it is run
    #[command(flatten)]
    pub(crate) session: ShippedFlags,
}

/// What the commands have in common that run a script of the product.
#[derive(Debug, Args)]
pub(crate) struct ShippedFlags {
    /// Replace the file if it exists already
    #[arg(long)]
    pub(crate) force: bool,

    /// Read and write no file outside of this directory
    #[arg(long, env = "RL_INSIGHT_SQL_ROOT", hide_env_values = true, value_name = "DIR")]
    pub(crate) root: Option<PathBuf>,

    /// Refuse every statement that writes
    #[arg(long, env = "RL_INSIGHT_SQL_READ_ONLY", hide_env_values = true, value_parser = BoolishValueParser::new())]
    pub(crate) read_only: bool,

    /// Exit code 4 when something was left out of a result
    #[arg(long)]
    pub(crate) fail_on_partial: bool,

    /// Do not read config.toml
    #[arg(long)]
    pub(crate) no_init: bool,

    /// How the session is set up
    #[command(flatten)]
    pub(crate) engine: EngineFlags,
}

/// How the outcome of `check` is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// The Test Anything Protocol, version 14
    Tap,
    /// JUnit's XML
    Junit,
}
