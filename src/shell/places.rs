//! Where the shell keeps things: history, start file and settings, in the directories of the XDG standard.

use std::env;
use std::path::PathBuf;

const NAME: &str = "rl-insight-sql";

/// `$XDG_STATE_HOME/rl-insight-sql/history`, by default below `~/.local/state`;
/// `RL_INSIGHT_SQL_HISTORY` names another file, and none when it is empty.
pub(crate) fn history_file() -> Option<PathBuf> {
    match env::var_os("RL_INSIGHT_SQL_HISTORY") {
        Some(path) => Some(PathBuf::from(path)).filter(|p| !p.as_os_str().is_empty()),
        None => Some(below("XDG_STATE_HOME", ".local/state")?.join("history")),
    }
}

/// `$XDG_CONFIG_HOME/rl-insight-sql/init.sql`, by default below `~/.config`.
pub(crate) fn init_file() -> Option<PathBuf> {
    Some(below("XDG_CONFIG_HOME", ".config")?.join("init.sql"))
}

/// `$XDG_CONFIG_HOME/rl-insight-sql/config.toml`, by default below `~/.config`.
pub(crate) fn config_file() -> Option<PathBuf> {
    Some(below("XDG_CONFIG_HOME", ".config")?.join("config.toml"))
}

fn below(variable: &str, default: &str) -> Option<PathBuf> {
    // The standard says that relative paths are to be ignored.
    let directory = |name| env::var_os(name).map(PathBuf::from).filter(|p| p.is_absolute());
    Some(directory(variable).or_else(|| Some(directory("HOME")?.join(default)))?.join(NAME))
}
