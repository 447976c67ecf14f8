//! What the command line asks for, as ready-made objects: checked, and with all scripts read.

use std::io::{self, Read};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{ArgMatches, CommandFactory};

use super::confine::Root;
use super::failure::Failure;
use super::flags::{EngineFlags, Flags, FormatFlag, OnErrorFlag};
use super::output::{Format, JsonStyle, Look};
use super::parameters::Parameters;
use super::script::Script;
use super::voice::Voice;
use super::watch::Progress;

/// How a session is set up.
#[derive(Debug, Clone)]
pub(crate) struct Engine {
    /// How many threads work on a query.
    pub(crate) threads: NonZeroUsize,
    /// How much memory queries may use, in bytes; `None` for no limit.
    pub(crate) memory_limit: Option<usize>,
    /// Where queries put what does not fit into memory.
    pub(crate) temp_dir: Option<PathBuf>,
    /// How much they may put there, in bytes.
    pub(crate) disk_limit: Option<usize>,
    /// How long a statement may take.
    pub(crate) timeout: Option<Duration>,
    /// What views do with problems in the data.
    pub(crate) on_error: OnErrorFlag,
    /// Directories of files that become table functions.
    pub(crate) functions: Vec<PathBuf>,
    /// Values for `$name` in the SQL.
    pub(crate) parameters: Parameters,
    /// Who says things.
    pub(crate) voice: Voice,
    /// Whether each statement is announced.
    pub(crate) verbose: bool,
}

impl Engine {
    /// Reads the flags; `keeping` when what is said is to be kept.
    ///
    /// # Errors
    /// [`Failure::Usage`] when a value makes no sense.
    pub(crate) fn read(flags: EngineFlags, keeping: bool) -> Result<Self, Failure> {
        let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let timeout = match flags.timeout {
            None => None,
            Some(seconds) => match Duration::try_from_secs_f64(seconds) {
                Ok(time) if !time.is_zero() => Some(time),
                _ => return Err(Failure::Usage("--timeout: expected a number of seconds above 0".into())),
            },
        };
        if let Some(dir) = flags.temp_dir.as_ref().filter(|dir| !dir.is_dir()) {
            return Err(Failure::Usage(format!("--temp-dir {}: no such directory", dir.display())));
        }
        Ok(Self {
            threads: flags.threads.unwrap_or(cores),
            memory_limit: flags.memory_limit,
            temp_dir: flags.temp_dir,
            disk_limit: flags.disk_limit,
            timeout,
            on_error: flags.on_error,
            functions: flags.functions,
            parameters: Parameters::read(&flags.parameters)
                .map_err(Failure::Usage)?
                .on_error(flags.on_error.name()),
            voice: if keeping {
                Voice::keeping()
            } else {
                Voice::new(flags.quiet, flags.color, flags.lang.language())
            },
            verbose: flags.verbose,
        })
    }
}

/// How much `--agent` prints.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Caps {
    /// Rows at most.
    pub(crate) rows: usize,
    /// Bytes of rows at most.
    pub(crate) bytes: usize,
}

/// What a session is to do.
#[derive(Debug)]
pub(crate) struct Invocation {
    /// What to run, in this order. `None`: show a prompt.
    pub(crate) scripts: Option<Vec<Script>>,
    /// What to begin with.
    pub(crate) paths: Vec<String>,
    /// How the session is set up.
    pub(crate) engine: Engine,
    /// How results look.
    pub(crate) look: Look,
    /// The file that takes the results.
    pub(crate) output: Option<PathBuf>,
    /// Whether existing files may be replaced.
    pub(crate) force: bool,
    /// Where all files must be, if not anywhere.
    pub(crate) root: Option<Root>,
    /// Whether statements that write are refused.
    pub(crate) read_only: bool,
    /// Limits of the one JSON object, when that is asked for.
    pub(crate) agent: Option<Caps>,
    /// Whether later statements are run after a failure.
    pub(crate) keep_going: bool,
    /// Whether an incomplete result is a failure.
    pub(crate) fail_on_partial: bool,
    /// Whether the time of each statement is told.
    pub(crate) timer: bool,
    /// When progress is shown.
    pub(crate) progress: Progress,
    /// What runs when the prompt starts.
    pub(crate) init: Init,
}

/// What runs when the prompt starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Init {
    /// The user's start file, if there is one.
    Default,
    /// This file.
    File(PathBuf),
    /// Nothing.
    None,
}

/// What the surroundings of the program are like; asked once, so that the rest can be tested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Surroundings {
    /// Whether somebody types.
    pub(crate) stdin_is_terminal: bool,
    /// Whether somebody looks at the results.
    pub(crate) stdout_is_terminal: bool,
}

impl Invocation {
    /// Checks flags and reads the scripts that they name.
    ///
    /// # Errors
    /// [`Failure::Usage`], saying what is wrong.
    pub(crate) fn build(flags: Flags, matches: &ArgMatches, around: Surroundings) -> Result<Self, Failure> {
        let output = to_file(flags.output);
        if flags.agent && output.is_some() {
            return Err(Failure::Usage("--agent and -o do not go together: the answer is on stdout".into()));
        }
        if flags.allow_write && !flags.agent {
            return Err(Failure::Usage("--allow-write is only for --agent".into()));
        }
        if let Some(name) = flags.paths.first().filter(|path| is_subcommand(path)) {
            return Err(Failure::Usage(format!(
                "{name} is a subcommand, and comes before all flags\n\
                 hint: rl-insight-sql {name} --help; its report is no JSON object, so --agent does not go with it \
                 (check --format junit is for programs)"
            )));
        }
        let sources = in_order(flags.commands, flags.files, matches);
        let scripts = match (sources.is_empty(), around.stdin_is_terminal) {
            (true, true) if flags.agent => {
                return Err(Failure::Usage(
                    "--agent needs SQL: give -c, -f, or SQL on standard input".into(),
                ));
            }
            (true, true) => None,
            (true, false) => Some(vec![Script::new(None, read_stdin()?)]),
            (false, _) => Some(read_sources(sources)?),
        };
        let to_terminal = around.stdout_is_terminal && output.is_none();
        let fitting = match &output {
            Some(path) => Format::of_file(path).unwrap_or(Format::Csv),
            None if to_terminal => Format::Table,
            None => Format::Csv,
        };
        let format = match flags.format {
            None | Some(FormatFlag::Automatic) => {
                output.as_deref().map_or(Ok(()), named_for_results)?;
                fitting
            }
            Some(FormatFlag::Fixed(format)) => format,
        };
        if format.is_binary() && to_terminal {
            return Err(Failure::Usage(format!(
                "--format {} is not for a terminal; give -o FILE, or redirect stdout",
                format.name()
            )));
        }
        let agent =
            flags.agent.then(|| Caps { rows: flags.max_rows.unwrap_or(1000), bytes: flags.max_bytes });
        let max_rows = flags.max_rows.unwrap_or(40);
        let look = Look {
            format,
            max_rows: Some(max_rows).filter(|n| *n > 0),
            width: None,
            headers: !flags.no_headers,
            null: flags.null_value,
            group_digits: flags.group_digits,
            json: JsonStyle { nonfinite: flags.json_nonfinite, integers: flags.json_big_integers },
            pager: scripts.is_none() && to_terminal && !flags.no_pager,
            at_prompt: scripts.is_none(),
        };
        let init = match (flags.no_init, flags.init) {
            (true, _) => Init::None,
            (false, Some(path)) => Init::File(path),
            (false, None) => Init::Default,
        };
        Ok(Self {
            scripts,
            paths: flags.paths,
            engine: Engine::read(flags.engine, flags.agent)?,
            look,
            output,
            force: flags.force,
            root: flags.root.map(Root::new).transpose()?,
            read_only: flags.read_only || (flags.agent && !flags.allow_write),
            agent,
            keep_going: flags.keep_going && !flags.agent,
            fail_on_partial: flags.fail_on_partial,
            timer: flags.timer,
            progress: if flags.no_progress { Progress::Never } else { flags.progress },
            init,
        })
    }
}

/// The file that `-o` names; `-` is stdout, as `-f -` is standard input.
pub(crate) fn to_file(output: Option<PathBuf>) -> Option<PathBuf> {
    output.filter(|path| path != Path::new("-"))
}

/// Whether results may be in a file of this name: nobody should find rows of csv in a file called `x.db`.
///
/// # Errors
/// [`Failure::Usage`] when its ending stands for something that results are not written as.
pub(crate) fn named_for_results(path: &Path) -> Result<(), Failure> {
    let Some(instead) = Format::instead_of(path) else { return Ok(()) };
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let text = format!("{}: results are not written as .{ending}", path.display());
    Err(Failure::Usage(text).hinted(instead))
}

/// Whether a path is the name of a subcommand, and not of a file.
fn is_subcommand(path: &str) -> bool {
    Flags::command().get_subcommands().any(|sub| sub.get_name() == path) && !Path::new(path).exists()
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

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use clap::FromArgMatches;

    use super::*;

    fn read(args: &[&str]) -> Result<Invocation, String> {
        let args = std::iter::once("rl-insight-sql").chain(args.iter().copied()).map(OsString::from);
        let matches = Flags::command().try_get_matches_from(args).map_err(|e| e.to_string())?;
        let flags = Flags::from_arg_matches(&matches).map_err(|e| e.to_string())?;
        let around = Surroundings { stdin_is_terminal: true, stdout_is_terminal: true };
        Invocation::build(flags, &matches, around).map_err(|f| f.text().unwrap_or_default().to_owned())
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
        let i = read(&["-c", "one", "-f", file, "run", "-c", "-- three", "--file", file]).unwrap();
        let texts: Vec<_> = i.scripts.unwrap().iter().map(|s| s.text().to_owned()).collect();
        assert_eq!(
            (texts, i.paths),
            (vec!["one".into(), "two".into(), "-- three".into(), "two".into()], vec!["run".into()])
        );
    }

    #[test]
    fn a_terminal_without_scripts_means_a_prompt_and_tables() {
        let i = read(&[]).unwrap();
        assert!(i.scripts.is_none() && i.look.pager);
        assert_eq!((i.look.format, i.look.max_rows), (Format::Table, Some(40)));
        assert_eq!(read(&["--max-rows", "0"]).unwrap().look.max_rows, None);
    }

    #[test]
    fn the_name_of_the_file_chooses_the_format() {
        let format = |args: &[&str]| read(args).unwrap().look.format;
        assert_eq!(format(&["-o", "x.parquet", "-c", "select 1"]), Format::Parquet);
        assert_eq!(format(&["-o", "x.txt", "-c", "select 1"]), Format::Csv);
        assert_eq!(format(&["-o", "x.json", "--format", "tsv", "-c", "select 1"]), Format::Tsv);
        assert_eq!(format(&["-o", "x.db", "--format", "csv", "-c", "select 1"]), Format::Csv);
        for (name, instead) in [("x.trend.db", "STORED AS"), ("x.XLSX", ".csv"), ("x.csv.gz", "gzip")] {
            let refused = read(&["-o", name, "-c", "select 1"]).unwrap_err();
            assert!(
                refused.contains("results are not written as .") && refused.contains(instead),
                "{refused}"
            );
        }
        assert_eq!(read(&["-o", "-", "-c", "select 1"]).unwrap().output, None);
        assert!(read(&["--format", "arrow", "-c", "select 1"]).unwrap_err().contains("not for a terminal"));
    }

    #[test]
    fn agents_only_read_unless_they_are_allowed_to_write() {
        assert!(read(&["--agent", "-c", "select 1"]).unwrap().read_only);
        assert!(!read(&["--agent", "--allow-write", "-c", "select 1"]).unwrap().read_only);
        assert!(read(&["--allow-write", "-c", "select 1"]).is_err());
        assert!(read(&["--agent"]).is_err() && read(&["--agent", "-o", "x", "-c", "select 1"]).is_err());
    }
}
