//! What was asked for: from words to a picture, its options and a file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::kinds::{OPTIONS, SUBJECTS, Subject, kinds};
use crate::shell::explain::closest;

/// A picture that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The kind.
    pub(crate) kind: &'static str,
    /// The word behind it.
    pub(crate) what: Option<String>,
    /// Names and values.
    pub(crate) options: BTreeMap<&'static str, String>,
    /// Words that are neither: paths, where these can be given.
    pub(crate) paths: Vec<String>,
    /// The file behind `>`, and whether it may be replaced.
    pub(crate) target: Option<Redirect>,
}

/// The file behind `>`, and whether it may be replaced.
type Redirect = (PathBuf, bool);

/// A word, and whether it was quoted from its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Word {
    text: String,
    quoted: bool,
}

impl Request {
    /// Reads what stands behind `.plot`.
    ///
    /// # Errors
    /// What is wrong, and what can be given.
    pub(crate) fn read(line: &str) -> Result<Self, String> {
        let (words, target) = words(line)?;
        let request = Self::of_words(words)?;
        if let Some(path) = request.paths.first() {
            let subjects = SUBJECTS.iter().filter(|s| s.kind == request.kind);
            let meant = closest(path, subjects.map(|s| s.what)).map(|m| format!("did you mean {m}? "));
            return Err(format!(
                "{} draws no {path}\nhint: {}.plot lists what can be drawn; the data is given as path=PATH, a file \
                 behind >",
                request.kind,
                meant.unwrap_or_default()
            ));
        }
        Ok(Self { target, ..request })
    }

    /// Reads the words of a command line, which may have paths among them.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub(crate) fn of_arguments(kind: &str, words: &[String]) -> Result<Self, String> {
        let words = std::iter::once(kind).chain(words.iter().map(String::as_str));
        let words = words.map(|w| Word { text: w.to_owned(), quoted: false });
        Self::of_words(words.collect())
    }

    fn of_words(words: Vec<Word>) -> Result<Self, String> {
        let mut words = words.into_iter();
        let first = words.next().map(|w| w.text).unwrap_or_default();
        let Some(kind) = kinds().into_iter().find(|kind| *kind == first) else {
            let meant = closest(&first, kinds().into_iter()).map(|m| format!("\nhint: did you mean {m}?"));
            return Err(format!(
                "{first} is no kind of picture, expected {}{}",
                kinds().join(", "),
                meant.unwrap_or_default()
            ));
        };
        let mut request = Self { kind, what: None, options: BTreeMap::new(), paths: vec![], target: None };
        for word in words {
            request.word(word)?;
        }
        Ok(request)
    }

    fn word(&mut self, word: Word) -> Result<(), String> {
        let is_what = SUBJECTS.iter().any(|s| s.kind == self.kind && s.what == word.text);
        if is_what && !word.quoted && self.what.is_none() {
            self.what = Some(word.text);
            return Ok(());
        }
        let option = word.text.split_once('=').filter(|(name, _)| {
            let plain = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            plain && !word.quoted && !std::path::Path::new(&word.text).exists()
        });
        let Some((name, value)) = option else {
            self.paths.push(word.text);
            return Ok(());
        };
        let Some((name, takes)) = OPTIONS.iter().find(|(known, _)| *known == name) else {
            let names = OPTIONS.iter().map(|(name, _)| *name);
            let meant = closest(name, names).map(|m| format!("\nhint: did you mean {m}?"));
            return Err(format!(
                "the option {name} is unknown; .plot lists all{}",
                meant.unwrap_or_default()
            ));
        };
        if value.is_empty() {
            return Err(format!("{name}= is empty, expected {takes}"));
        }
        if self.options.insert(name, value.to_owned()).is_some() {
            return Err(format!("{name}= is given twice"));
        }
        Ok(())
    }

    /// The picture among all there are; `has` says whether there is data for one.
    ///
    /// # Errors
    /// When there is none, or it cannot be drawn with these options.
    pub(crate) fn subject(&self, has: impl Fn(&Subject) -> bool) -> Result<&'static Subject, String> {
        let of_kind = || SUBJECTS.iter().filter(|s| s.kind == self.kind);
        let chosen_by_option =
            || of_kind().find(|s| s.required.is_some_and(|option| self.options.contains_key(option)));
        let subject = match &self.what {
            Some(what) => of_kind().find(|s| s.what == *what),
            None => chosen_by_option()
                .or_else(|| of_kind().find(|s| s.required.is_none() && has(s)))
                .or_else(|| of_kind().next()),
        };
        let subject = subject.ok_or_else(|| format!("{} has no such picture", self.kind))?;
        let called = format!("{} {}", subject.kind, subject.what);
        if let Some(option) = subject.required.filter(|option| !self.options.contains_key(option)) {
            let takes = OPTIONS.iter().find(|(name, _)| *name == option).map_or("", |(_, takes)| takes);
            let more = match option {
                "target" => "\nhint: SELECT DISTINCT target_name FROM trend lists them",
                "mark" => {
                    "\nhint: SELECT name, count(*) FROM memscope WHERE event = 'MSTX' GROUP BY name lists them"
                }
                _ => "",
            };
            return Err(format!("{called} needs {option}=: {takes}{more}"));
        }
        if let Some(option) = self.options.keys().find(|option| !subject.takes(option)) {
            let all: Vec<&str> = subject.all_options().collect();
            return Err(format!("{called} takes no {option}=, expected {}", all.join(", ")));
        }
        Ok(subject)
    }

    /// The value of an option.
    pub(crate) fn option(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(String::as_str)
    }

    /// A number above 0.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn number(&self, name: &str, default: u64) -> Result<u64, String> {
        let Some(text) = self.option(name) else { return Ok(default) };
        text.parse()
            .ok()
            .filter(|n| *n > 0)
            .ok_or_else(|| format!("{name}={text}: expected a number above 0"))
    }

    /// A number with a fraction, above 0.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn factor(&self, default: f64) -> Result<f64, String> {
        let Some(text) = self.option("factor") else { return Ok(default) };
        let number = text.parse().ok().filter(|n: &f64| n.is_finite() && *n > 0.0);
        number.ok_or_else(|| format!("factor={text}: expected a number above 0"))
    }

    /// One of some words.
    ///
    /// # Errors
    /// When it is none of them.
    pub(crate) fn choice(&self, name: &str, words: &[&'static str]) -> Result<Option<&'static str>, String> {
        let Some(text) = self.option(name) else { return Ok(None) };
        let known = words.iter().find(|word| **word == text);
        known.copied().map(Some).ok_or_else(|| {
            let meant = closest(text, words.iter().copied()).map(|m| format!("\nhint: did you mean {m}?"));
            format!("{name}={text}: expected one of {}{}", words.join(", "), meant.unwrap_or_default())
        })
    }
}

/// The words of a line, and the file behind `>`. Quotes keep words together.
fn words(line: &str) -> Result<(Vec<Word>, Option<Redirect>), String> {
    let (mut words, mut files) = (Vec::new(), None);
    let mut now: Option<Word> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '\'' | '"' => {
                let word = now.get_or_insert(Word { text: String::new(), quoted: true });
                loop {
                    match chars.next() {
                        Some(end) if end == c => break,
                        Some(inside) => word.text.push(inside),
                        None => return Err(format!("the quote {c} is never closed")),
                    }
                }
            }
            c if c.is_whitespace() || c == '>' => {
                files.as_mut().unwrap_or(&mut words).extend(now.take());
                if c == '>' && files.replace(Vec::new()).is_some() {
                    return Err("there are two >, and a picture goes to one file".to_owned());
                }
            }
            c => now.get_or_insert(Word { text: String::new(), quoted: false }).text.push(c),
        }
    }
    files.as_mut().unwrap_or(&mut words).extend(now);
    let Some(mut files) = files else { return Ok((words, None)) };
    let before = files.len();
    files.retain(|word| word.quoted || word.text != "--force");
    match files.as_slice() {
        [file] if !file.text.is_empty() => {
            Ok((words, Some((PathBuf::from(&file.text), files.len() < before))))
        }
        [] => Err("a file is missing behind >".to_owned()),
        _ => {
            Err("only the name of a file can stand behind >; put quotes around it if it has spaces"
                .to_owned())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_options_and_file_are_told_apart() {
        let r = Request::read("flame at_peak rank=3 role='a b' > peak.html").unwrap();
        assert_eq!(
            (r.kind, r.what.as_deref(), r.option("rank"), r.option("role")),
            ("flame", Some("at_peak"), Some("3"), Some("a b"))
        );
        assert_eq!(r.target, Some(("peak.html".into(), false)));
        let r = Request::read("trend target='a > b'>--force 'my file.html'").unwrap();
        assert_eq!(r.option("target"), Some("a > b"));
        assert_eq!(r.target, Some(("my file.html".into(), true)));
        assert_eq!(r.kind, "trend");
    }

    #[test]
    fn mistakes_are_explained() {
        for (line, text) in [
            ("flmae", "did you mean flame?"),
            ("", "expected flame, timeline"),
            ("flame at_paek", "did you mean at_peak?"),
            ("flame rnak=3", "did you mean rank?"),
            ("flame rank=", "expected 3 | 0,4 | 0..7"),
            ("flame rank=1 rank=2", "given twice"),
            ("flame >", "a file is missing"),
            ("flame > a b", "only the name"),
            ("flame > a > b", "two >"),
            ("flame role='x", "never closed"),
        ] {
            let error = Request::read(line).unwrap_err();
            assert!(error.contains(text), "{line}: {error}");
        }
    }

    #[test]
    fn options_choose_and_are_checked() {
        let subject = |line: &str| {
            Request::read(line)
                .unwrap()
                .subject(|s| s.source == super::super::kinds::Source::Memscope)
                .map(|s| s.what)
        };
        assert_eq!(subject("flame"), Ok("owners"));
        assert_eq!(subject("flame at=12.5"), Ok("at"));
        assert_eq!(subject("flame base=x"), Ok("diff"));
        assert_eq!(subject("timeline memory"), Ok("memory"));
        assert!(subject("flame at_peak at=1").unwrap_err().contains("flame at_peak takes no at="));
        assert!(subject("trend").unwrap_err().contains("needs target="));
        assert!(subject("flame diff").unwrap_err().contains("needs base="));
    }
}
