//! The language in which the shell speaks: help, remarks, hints, frequent errors.
//!
//! Inside of the program every text is English. It is put into other words where it leaves the program,
//! line by line, so that all words of a language stand together, next to the English ones. SQL, names,
//! data and what the engine says about rare mistakes stay as they are; so does `--agent`, which programs
//! read.
//!
//! | module | what it is |
//! |---|---|
//! | [`phrase`] | texts with holes, and how one is recognised |
//! | [`help`] | flags and commands in Chinese |
//! | [`messages`] | what is said besides results, in Chinese |
//! | [`usage`] | what clap says about a command line, in Chinese |

mod help;
mod messages;
mod phrase;
mod usage;

use std::borrow::Cow;
use std::env;
use std::ffi::{OsStr, OsString};

use clap::{Arg, ArgAction, Command, ValueEnum};

/// A language.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Language {
    /// English.
    #[default]
    English,
    /// Chinese, in simplified characters.
    Chinese,
}

/// Which language is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Wanted {
    /// That of the environment: Chinese when LC_ALL, LC_MESSAGES or LANG begins with zh, else English
    #[default]
    Auto,
    /// English
    En,
    /// Chinese
    Zh,
}

impl Wanted {
    /// The language of a session.
    pub(crate) fn language(self) -> Language {
        match self {
            Wanted::En => Language::English,
            Wanted::Zh => Language::Chinese,
            Wanted::Auto => {
                let set = |name| env::var_os(name).filter(|value| !value.is_empty());
                let locale = set("LC_ALL").or_else(|| set("LC_MESSAGES")).or_else(|| set("LANG"));
                let chinese = locale.is_some_and(|locale| locale.to_string_lossy().starts_with("zh"));
                if chinese { Language::Chinese } else { Language::English }
            }
        }
    }

    /// What a command line asks for, before it is known whether it makes sense: for help, and for what is said
    /// about its mistakes.
    pub(crate) fn early(args: &[OsString]) -> Self {
        let named = |text: &OsStr| Wanted::from_str(&text.to_string_lossy(), true).ok();
        let mut wanted = env::var_os("RL_INSIGHT_SQL_LANG").and_then(|value| named(&value));
        let mut words = args.iter().skip(1).take_while(|arg| *arg != "--").peekable();
        while let Some(word) = words.next() {
            if word == "--lang" {
                wanted = words.peek().and_then(|value| named(value)).or(wanted);
            } else if let Some(value) = word.to_str().and_then(|word| word.strip_prefix("--lang=")) {
                wanted = named(OsStr::new(value)).or(wanted);
            }
        }
        wanted.unwrap_or_default()
    }
}

impl Language {
    /// A text of the program in this language, as far as there are words for it.
    pub(crate) fn say(self, text: &str) -> Cow<'_, str> {
        match self {
            Language::English => Cow::Borrowed(text),
            Language::Chinese => {
                Cow::Owned(phrase::translated(text, &[help::TEXTS, messages::TEXTS, usage::TEXTS]))
            }
        }
    }

    /// What stands in front of an error, and what keeps them apart.
    pub(crate) fn error(self) -> (&'static str, &'static str) {
        match self {
            Language::English => ("error:", " "),
            Language::Chinese => ("错误：", ""),
        }
    }

    /// The command line with its help in this language.
    pub(crate) fn command(self, command: Command) -> Command {
        match self {
            Language::English => command,
            Language::Chinese => chinese(command),
        }
    }
}

fn chinese(command: Command) -> Command {
    let say = |text: &dyn ToString| Language::Chinese.say(&text.to_string()).into_owned();
    let about = command.get_about().map(|text| say(text));
    let after = command.get_after_help().map(|_| help::AFTER_HELP);
    let names: Vec<String> = command.get_subcommands().map(|sub| sub.get_name().to_owned()).collect();
    let help = Arg::new("help").short('h').long("help").action(ArgAction::Help).help("显示帮助");
    let mut command = command
        .mut_args(|arg| {
            let text = arg.get_help().map(|text| say(text));
            let heading = if arg.is_positional() { "参数" } else { "选项" };
            let arg = arg.help_heading(heading);
            match text {
                Some(text) => arg.help(text),
                None => arg,
            }
        })
        .disable_help_flag(true)
        .arg(help.help_heading("选项"))
        .subcommand_help_heading("子命令")
        .help_template("{about-with-newline}\n用法：{usage}\n\n{all-args}{after-help}");
    if command.get_version().is_some() {
        let version = Arg::new("version").short('V').long("version").action(ArgAction::Version);
        command = command.disable_version_flag(true).arg(version.help("显示版本").help_heading("选项"));
    }
    if let Some(about) = about {
        command = command.about(about);
    }
    if let Some(after) = after {
        command = command.after_help(after);
    }
    names.iter().fold(command, |command, name| command.mut_subcommand(name, chinese))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::super::commands::COMMANDS;
    use super::super::flags::{AFTER_HELP, Flags};
    use super::*;

    fn is_chinese(text: &str) -> bool {
        text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c))
    }

    /// All texts of help: of flags, subcommands and commands.
    fn texts(command: &Command) -> Vec<String> {
        let own = command.get_about().map(ToString::to_string);
        let flags = command.get_arguments().filter_map(|arg| arg.get_help()).map(ToString::to_string);
        own.into_iter().chain(flags).chain(command.get_subcommands().flat_map(texts)).collect()
    }

    #[test]
    fn all_of_the_help_is_there_in_chinese_and_nothing_else() {
        let mut all = texts(&Flags::command());
        all.extend(COMMANDS.iter().map(|command| command.help.to_owned()));
        for text in &all {
            assert!(help::TEXTS.iter().any(|(english, _)| english == text), "{text:?} has no translation");
        }
        for (english, chinese) in help::TEXTS {
            assert!(all.iter().any(|text| text == english), "{english:?} is not said any more");
            assert!(is_chinese(chinese), "{chinese:?}");
        }
        let shown = Language::Chinese.command(Flags::command()).render_long_help().to_string();
        assert!(
            shown.contains("用法：") && !shown.contains("Options:") && !shown.contains("Usage:"),
            "{shown}"
        );
        // What can be copied is the same in both, line for line.
        let lines = |text: &str, sign: &str| text.lines().filter(|l| l.trim().starts_with(sign)).count();
        for sign in ["rl-insight-sql ", "130 ", "csv ", "json "] {
            assert_eq!(lines(AFTER_HELP, sign), lines(help::AFTER_HELP, sign), "{sign}");
        }
    }

    #[test]
    fn messages_are_still_said_like_that() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut sources = String::new();
        for entry in walkdir::WalkDir::new(root) {
            let path = entry.unwrap().into_path();
            if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("language/messages.rs") {
                sources.push_str(&std::fs::read_to_string(path).unwrap());
            }
        }
        // Long texts go over several lines.
        let sources: Vec<&str> = sources.split("\\\n").map(str::trim_start).collect();
        let sources = sources.concat().replace("\\\"", "\"").replace("\\\\", "\\");
        for (english, chinese) in messages::TEXTS {
            assert!(is_chinese(chinese), "{chinese:?}");
            let apart = messages::OF_THE_ENGINE.contains(english) || messages::PARTS.contains(english);
            let english = english.replace("{n}", "{}").replace("{w}", "{}");
            let holes = |text: &str| text.matches("{}").count();
            assert_eq!(holes(&english), holes(chinese), "{english:?}");
            for part in english
                .split("{}")
                .map(|part| part.trim_matches([' ', ':', '(', ')', ',', ';']))
                .filter(|part| part.len() > 3 && !apart)
            {
                assert!(sources.contains(part), "{english:?}: {part:?} is not said any more");
            }
        }
    }

    #[test]
    fn a_line_is_put_into_other_words_and_its_names_are_kept() {
        let say = |text: &str| Language::Chinese.say(text).into_owned();
        assert_eq!(say("a/b.csv: exists already"), "a/b.csv：已经存在");
        assert_eq!(say("No field named nope"), "没有名为 nope 的列");
        assert_eq!(
            say(
                "statement 2 (line 3): No field named x\n  select x\n         ^\nhint: did you mean xx? the columns are xx, y"
            ),
            "第 2 条语句（第 3 行）：没有名为 x 的列\n  select x\n         ^\n提示：是不是想写 xx？可用的列：xx, y"
        );
        assert_eq!(
            say("(2 rows, 1 shown; --max-rows 0 shows all)"),
            "(2 行，显示 1 行；--max-rows 0 显示全部)"
        );
        assert_eq!(
            say("memory  memory_events: 2 ranks in 2 roles (a, b), 4 units, 638.4 KB, 1 with problems"),
            "memory  memory_events：2 个 rank，2 个角色 (a, b)，4 个单元，638.4 KB，1 个有问题"
        );
        assert_eq!(
            say("something that nobody has translated, 4 files"),
            "something that nobody has translated, 4 files"
        );
        assert_eq!(
            say("3.2 s, unit 2 of 8 (rank 1), 3 of 16 files, 1.5 MB of 30 MB, 4096 rows, peak memory 60 MB"),
            "3.2 秒，第 2 个单元，共 8 个 (rank 1)，3 / 16 个文件，1.5 MB（共 30 MB），4096 行，内存峰值 60 MB"
        );
        assert_eq!(say("note: 1 NaN was stored as NULL"), "注意：1 个 NaN 存为 NULL");
        assert_eq!(Language::English.say("(1 row)"), "(1 row)");
    }

    #[test]
    fn wrong_command_lines_are_answered_in_chinese() {
        let wrong: [&[&str]; 9] = [
            &["--bogus"],
            &["--thread", "1"],
            &["--threads"],
            &["--threads", "x"],
            &["--format", "xml"],
            &["--format", "jso"],
            &["--quiet", "--quiet"],
            &["check"],
            &["completions", "--bogus"],
        ];
        for args in wrong {
            let args = std::iter::once("rl-insight-sql").chain(args.iter().copied());
            let error = Flags::command().try_get_matches_from(args).unwrap_err().to_string();
            for line in error.lines().filter(|line| !line.trim().is_empty()) {
                // Arguments and calls are listed as they are written.
                let said = Language::Chinese.say(line);
                assert!(
                    is_chinese(&said) || line.trim().starts_with(['<', 'r']),
                    "{line:?} of {error:?}: {said:?}"
                );
            }
        }
    }

    #[test]
    fn the_last_word_about_the_language_counts() {
        let early = |args: &[&str]| Wanted::early(&args.iter().map(OsString::from).collect::<Vec<_>>());
        assert_eq!(early(&["x", "--lang", "zh", "--help"]), Wanted::Zh);
        assert_eq!(early(&["x", "--lang=en"]), Wanted::En);
        assert_eq!(early(&["x", "--", "--lang=zh"]), Wanted::Auto);
        assert_eq!(early(&["x", "--lang"]), Wanted::Auto);
    }
}
