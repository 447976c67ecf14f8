//! `config.toml`: flags that somebody always wants, by their names.
//!
//! ```toml
//! memory_limit = "16g"
//! timer = true
//! ```
//!
//! Every flag that an environment variable can give can be given there, and comes last: the command line
//! wins over the environment, and that over the file.

use std::io;
use std::path::{Path, PathBuf};

use clap::{ArgAction, Command};
use toml::de::{DeTable, DeValue};

use super::explain::closest;
use super::failure::Failure;

/// What the file says.
#[derive(Debug, Default)]
pub(crate) struct Config {
    file: PathBuf,
    entries: Vec<Entry>,
}

#[derive(Debug, PartialEq, Eq)]
struct Entry {
    /// The flag, as clap knows it.
    id: String,
    value: String,
    /// Where it stands, from 1.
    line: usize,
}

impl Config {
    /// Reads the file, for the flags of a command. One that is not there says nothing.
    ///
    /// # Errors
    /// [`Failure::Usage`], naming the line, when it is no TOML, names something that is no setting, or gives
    /// it a value that the flag would not take.
    pub(crate) fn read(file: &Path, command: &Command) -> Result<Self, Failure> {
        match std::fs::read_to_string(file) {
            Ok(text) => Self::parse(file, &text, command),
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                Ok(Self::default())
            }
            // The home of another user, as after `sudo -u`: nobody can tell whether it is there.
            Err(_) if std::fs::symlink_metadata(file).is_err() => Ok(Self::default()),
            Err(e) => Err(Failure::Usage(format!(
                "{}: cannot be read: {e}\nhint: --no-init runs without it",
                file.display()
            ))),
        }
    }

    fn parse(file: &Path, text: &str, command: &Command) -> Result<Self, Failure> {
        let line_of = |at: usize| text.bytes().take(at).filter(|b| *b == b'\n').count() + 1;
        let fail = |line: usize, what: String| {
            Failure::Usage(format!("{}: line {line}: {what}", file.display()))
                .hinted("--no-init runs without this file")
        };
        let table = DeTable::parse(text).map_err(|e| {
            let line = line_of(e.span().map_or(0, |span| span.start));
            fail(line, e.message().to_owned())
        })?;
        let mut entries = Vec::new();
        for (key, value) in table.get_ref() {
            let line = line_of(key.span().start);
            let name = key.get_ref().replace('-', "_");
            let mut known = command.get_arguments().filter(|arg| arg.get_env().is_some());
            let Some(flag) = known.find(|arg| setting_name(arg) == name) else {
                return Err(fail(line, unknown(&name, command)));
            };
            let value = match value.get_ref() {
                DeValue::String(text) => text.to_string(),
                DeValue::Integer(number) => number.to_string(),
                DeValue::Float(number) => number.to_string(),
                DeValue::Boolean(value) => value.to_string(),
                other => {
                    let found = other.type_str();
                    return Err(fail(line, format!("{name} is of type {found}, expected one value")));
                }
            };
            let switch = matches!(flag.get_action(), ArgAction::SetTrue);
            if switch && !matches!(value.as_str(), "true" | "false") {
                return Err(fail(line, format!("{name} is {value}, expected true or false")));
            }
            if !switch {
                let long = flag.get_long().unwrap_or_default();
                let arguments = ["rl-insight-sql".to_owned(), format!("--{long}={value}")];
                command.clone().try_get_matches_from(arguments).map_err(|e| {
                    let text = e.to_string();
                    let first = text.split("\n\n").next().unwrap_or_default();
                    fail(line, first.strip_prefix("error: ").unwrap_or(first).to_owned())
                })?;
            }
            entries.push(Entry { id: flag.get_id().to_string(), value, line });
        }
        Ok(Self { file: file.to_path_buf(), entries })
    }

    /// The same command line with these values in the place of its defaults.
    pub(crate) fn apply(&self, mut command: Command) -> Command {
        let below: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
        for Entry { id, value, .. } in &self.entries {
            let has = |command: &Command| command.get_arguments().any(|arg| arg.get_id() == id.as_str());
            if has(&command) {
                command = command.mut_arg(id, |arg| arg.default_value(value.clone()));
            }
            for name in &below {
                command = command.mut_subcommand(name, |sub| {
                    if has(&sub) { sub.mut_arg(id, |arg| arg.default_value(value.clone())) } else { sub }
                });
            }
        }
        command
    }

    /// Where a flag is set, for people.
    pub(crate) fn place(&self, id: &str) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.id == id)?;
        Some(format!("{}, line {}", self.file.display(), entry.line))
    }
}

/// The name of a flag in the file and in `.settings`.
pub(crate) fn setting_name(flag: &clap::Arg) -> String {
    flag.get_long().unwrap_or_default().replace('-', "_")
}

fn unknown(name: &str, command: &Command) -> String {
    let names: Vec<String> =
        command.get_arguments().filter(|arg| arg.get_env().is_some()).map(setting_name).collect();
    let meant = closest(name, names.iter().map(String::as_str));
    let meant = meant.map(|meant| format!("did you mean {meant}? ")).unwrap_or_default();
    format!("{name} is no setting\nhint: {meant}the settings are {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::flags::Flags;
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        let read = Config::parse(Path::new("c.toml"), text, &Flags::command());
        read.map_err(|f| f.text().unwrap_or_default().to_owned())
    }

    #[test]
    fn values_become_defaults_also_of_check() {
        let config =
            parse("# mine\nmemory_limit = \"2g\"\nthreads=3\ntimeout = 1.5\ntimer = true\n").unwrap();
        let command = config.apply(Flags::command());
        let of = |args: &[&str]| command.clone().try_get_matches_from(args).unwrap();
        let matches = of(&["x"]);
        assert_eq!(matches.get_one::<usize>("memory_limit"), Some(&(2 << 30)));
        assert_eq!(matches.get_one::<f64>("timeout"), Some(&1.5));
        assert!(matches.get_flag("timer"));
        let matches = of(&["x", "--memory-limit", "1g"]);
        assert_eq!(matches.get_one::<usize>("memory_limit"), Some(&(1 << 30)));
        let matches = of(&["x", "check", "a", "b"]);
        let (_, sub) = matches.subcommand().unwrap();
        assert_eq!(sub.get_one::<std::num::NonZeroUsize>("threads").unwrap().get(), 3);
        assert_eq!(config.place("threads").unwrap(), "c.toml, line 3");
        assert_eq!(config.place("temp_dir"), None);
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let text = parse("\nmemroy_limit = 1").unwrap_err();
        assert!(text.starts_with("c.toml: line 2: memroy_limit is no setting"), "{text}");
        assert!(text.contains("did you mean memory_limit? the settings are"), "{text}");
        assert!(parse("timer = 3").unwrap_err().contains("line 1: timer is 3, expected true or false"));
        assert!(parse("memory_limit = \"much\"").unwrap_err().contains("line 1: invalid value 'much'"));
        assert!(parse("threads = [1]").unwrap_err().contains("threads is of type array, expected one value"));
        assert!(parse("x = ").unwrap_err().contains("c.toml: line 1: "));
        assert!(parse("").unwrap().entries.is_empty());
    }
}
