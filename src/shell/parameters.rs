//! Values for `$name` in scripts, given with `--param name=value`.

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Word};

/// Names and values. A parameter stands for one literal wherever SQL allows one, and for the target of a
/// COPY; it can never become an identifier or more than one token.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Parameters {
    values: Vec<(String, String)>,
    /// How many paths are open: `$run` is the one.
    paths: usize,
}

impl Parameters {
    /// Reads `name=value` pairs.
    ///
    /// # Errors
    /// What is wrong with a pair.
    pub(crate) fn read(pairs: &[String]) -> std::result::Result<Self, String> {
        let mut read: Vec<(String, String)> = Vec::new();
        for pair in pairs {
            let parts = pair.split_once('=').map(|(name, value)| (name.trim_start_matches('$'), value));
            let is_name = |name: &str| {
                name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_')
                    && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            };
            match parts {
                Some((name, value)) if is_name(name) => {
                    if read.iter().any(|(known, _)| known == name) {
                        return Err(format!("--param {name} is given twice"));
                    }
                    read.push((name.to_owned(), value.to_owned()));
                }
                _ => return Err(format!("--param {pair}: expected name=value")),
            }
        }
        Ok(Self { values: read, paths: 0 })
    }

    /// The same, with a value for `$on_error` unless it has one: what `--on-error` says.
    pub(crate) fn on_error(mut self, value: &str) -> Self {
        self.set("on_error", value, false);
        self
    }

    /// Paths were opened: one of them is `$run`, unless that was given on the command line.
    pub(crate) fn open(&mut self, paths: &[String], replace: bool) {
        self.paths = paths.len();
        if let [path] = paths {
            self.set("run", path, replace);
        }
    }

    /// Gives a text to a name. One that has a value keeps it, unless that is to be replaced.
    fn set(&mut self, name: &str, text: &str, replace: bool) {
        let value = format!("'{}'", text.replace('\'', "''"));
        match self.values.iter_mut().find(|(known, _)| known == name) {
            Some(there) if replace => there.1 = value,
            Some(_) => {}
            None => self.values.push((name.to_owned(), value)),
        }
    }

    /// Puts values in the place of `$name`.
    ///
    /// # Errors
    /// When one that is used has no value, unless the statement may have parameters of its own.
    pub(crate) fn fill(&self, tokens: &mut [TokenWithSpan]) -> Result<()> {
        let prepares = starts_with(tokens, Keyword::PREPARE);
        for token in tokens {
            let Token::Placeholder(placeholder) = &token.token else { continue };
            let name = placeholder.trim_start_matches('$');
            let Some((_, value)) = self.values.iter().find(|(known, _)| known == name) else {
                // Numbered ones are those of a PREPARE or a CREATE FUNCTION, and the engine says if not.
                if prepares || name.bytes().all(|b| b.is_ascii_digit()) {
                    continue;
                }
                let message = match (name, self.paths) {
                    ("run", 0) => "$run exists only with exactly one PATH, and none is open\n\
                        hint: give PATH on the command line, or .open PATH first"
                        .to_owned(),
                    ("run", paths) => format!(
                        "$run exists only with exactly one PATH; you gave {paths}\n\
                         hint: name the path: 'PATH' in the place of $run, or ['PATH', 'PATH'] for several"
                    ),
                    _ => format!("{placeholder} has no value; give it with --param {name}=VALUE"),
                };
                return Err(DataFusionError::Plan(message));
            };
            token.token = literal(value);
        }
        Ok(())
    }
}

/// Whether the first word of a statement is this one.
fn starts_with(tokens: &[TokenWithSpan], keyword: Keyword) -> bool {
    let mut words = tokens.iter().filter_map(|t| match &t.token {
        Token::Word(word) => Some(word.keyword),
        _ => None,
    });
    words.next() == Some(keyword)
}

/// A number, true, false or NULL as such, everything else as text; text in single quotes without them.
fn literal(value: &str) -> Token {
    let unquoted = value.strip_prefix('\'').and_then(|v| v.strip_suffix('\''));
    if let Some(text) = unquoted.filter(|_| value.len() > 1) {
        return Token::SingleQuotedString(text.replace("''", "'"));
    }
    // Rust also reads words such as `inf`. With its sign a number is one token still, and one literal.
    let number = value.parse::<f64>().is_ok_and(f64::is_finite)
        && value.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'.' | b'e' | b'E' | b'+' | b'-'));
    if number {
        return Token::Number(value.strip_prefix('+').unwrap_or(value).to_owned(), false);
    }
    let keyword = match value {
        "true" => Keyword::TRUE,
        "false" => Keyword::FALSE,
        "NULL" => Keyword::NULL,
        _ => return Token::SingleQuotedString(value.to_owned()),
    };
    Token::Word(Word { value: value.to_owned(), quote_style: None, keyword })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_literals() {
        let text = |s: &str| Token::SingleQuotedString(s.to_owned());
        assert_eq!(literal("run/"), text("run/"));
        assert_eq!(literal("it's; DROP TABLE x"), text("it's; DROP TABLE x"));
        assert_eq!(literal("'42'"), text("42"));
        assert_eq!(literal("'"), text("'"));
        for word in ["nan", "inf", "-inf", "1 2", "2026-05-26", "1e999", "-", "--1", "1-2", "e5", "0x10", ""]
        {
            assert_eq!(literal(word), text(word));
        }
        for (given, number) in [("1.5e3", "1.5e3"), ("-1", "-1"), ("+3", "3"), (".5", ".5"), ("1e-3", "1e-3")]
        {
            assert_eq!(literal(given), Token::Number(number.into(), false));
        }
        assert!(matches!(literal("true"), Token::Word(w) if w.keyword == Keyword::TRUE));
    }

    #[test]
    fn pairs_are_checked() {
        assert!(Parameters::read(&["a=1".into(), "b=x=y".into()]).is_ok());
        for bad in ["a", "=1", "1a=2", "a b=1"] {
            assert!(Parameters::read(&[bad.into()]).is_err(), "{bad}");
        }
        assert!(Parameters::read(&["a=1".into(), "a=2".into()]).is_err());
    }
}
