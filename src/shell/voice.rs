//! What is said besides results: on stderr, or kept for the one object of `--agent`.

use std::borrow::Cow;
use std::fmt::Display;
use std::io;
use std::sync::{Arc, Mutex};

use anstream::{AutoStream, ColorChoice};
use clap::ValueEnum;

use super::failure::{Failure, tell};
use super::language::Language;
use super::screen;

/// When colours are used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Colours {
    /// On a terminal, unless NO_COLOR is set or TERM is dumb
    #[default]
    Auto,
    /// Always
    Always,
    /// Never
    Never,
}

impl Colours {
    /// Whether what goes to stderr is coloured.
    pub(crate) fn on_stderr(self) -> bool {
        match self {
            Colours::Always => true,
            Colours::Never => false,
            Colours::Auto => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
        }
    }
}

/// Says things. Clones say them in the same place.
#[derive(Debug, Clone, Default)]
pub(crate) struct Voice {
    quiet: bool,
    colour: bool,
    language: Language,
    kept: Option<Arc<Mutex<Vec<String>>>>,
}

impl Voice {
    /// A voice on stderr. A quiet one leaves out remarks, but neither errors nor what is missing.
    pub(crate) fn new(quiet: bool, colours: Colours, language: Language) -> Self {
        Self { quiet, colour: colours.on_stderr(), language, kept: None }
    }

    /// A voice that says nothing and keeps it, for programs: in English.
    pub(crate) fn keeping() -> Self {
        Self { quiet: false, colour: false, language: Language::English, kept: Some(Arc::default()) }
    }

    /// Whether remarks are left out.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Whether what is said is coloured.
    pub(crate) fn is_coloured(&self) -> bool {
        self.colour
    }

    /// Whether nothing is said, only kept.
    pub(crate) fn keeps(&self) -> bool {
        self.kept.is_some()
    }

    /// Says something that nobody may miss.
    pub(crate) fn tell(&self, line: impl Display) {
        match &self.kept {
            Some(kept) => {
                if let Ok(mut kept) = kept.lock() {
                    kept.push(line.to_string());
                }
            }
            None => tell(screen::wrapped_for_stderr(&self.language.say(&line.to_string()))),
        }
    }

    /// A text as it will be said.
    pub(crate) fn words<'a>(&self, text: &'a str) -> Cow<'a, str> {
        self.language.say(text)
    }

    /// Says something that is only nice to know.
    pub(crate) fn remark(&self, line: impl Display) {
        if !self.quiet {
            self.tell(line);
        }
    }

    /// Says what went wrong. Not kept: a failure is an answer of its own.
    pub(crate) fn failure(&self, failure: &Failure) {
        if let (None, Some(text)) = (&self.kept, failure.said(self.language, self.colour)) {
            tell(text);
        }
    }

    /// What was kept since the last call.
    pub(crate) fn take(&self) -> Vec<String> {
        let kept = self.kept.as_ref().and_then(|kept| kept.lock().ok());
        kept.map(|mut kept| std::mem::take(&mut *kept)).unwrap_or_default()
    }
}
