//! Scripts: where SQL comes from, and how it falls apart into statements.
//!
//! Statements end where the lexer of the SQL parser sees a semicolon, so quotes, comments and dollar
//! strings may hold one. Each statement is parsed when its turn comes: those before a syntax error
//! have already been run by then, as in other SQL shells.

use datafusion::config::{Dialect as DialectName, SqlParserOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::{Dialect, dialect_from_str};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer, TokenizerError};

use super::chain;
use super::parameters::Parameters;

/// SQL text and where it comes from.
#[derive(Debug, Clone)]
pub(crate) struct Script {
    name: Option<String>,
    text: String,
}

/// One statement of a script, not parsed yet.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Line of its first word, counted from 1.
    pub(crate) line: u64,
    tokens: Vec<TokenWithSpan>,
    /// What the lexer could not read, in the last piece of a script.
    broken: Option<TokenizerError>,
    /// The whole line, when it is a command of the prompt and no SQL.
    command: Option<String>,
}

impl Script {
    /// A script. The name is how error messages call it; `None` when there is only one it could be.
    pub(crate) fn new(name: Option<String>, text: impl Into<String>) -> Self {
        Self { name, text: text.into() }
    }

    /// The SQL.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Its statements, without empty ones. The dialect decides what is a quote or a comment.
    ///
    /// # Errors
    /// When the dialect is unknown.
    pub(crate) fn pieces(&self, options: &SqlParserOptions) -> Result<Vec<Piece>> {
        let dialect = dialect(options.dialect)?;
        let (tokens, broken) = tokens(&self.text, dialect.as_ref());
        let mut pieces = Vec::new();
        let mut piece = Piece::empty();
        let mut command_line = 0;
        for token in tokens {
            let (line, column) = (token.span.start.line, token.span.start.column);
            if line == command_line {
                continue;
            }
            match &token.token {
                Token::SemiColon => pieces.extend(piece.take()),
                Token::Whitespace(_) if piece.tokens.is_empty() => {}
                Token::Period | Token::Backslash if piece.tokens.is_empty() => {
                    match self.command(line, column) {
                        Some(command) => {
                            command_line = line;
                            pieces.push(Piece { line, command: Some(command), ..Piece::empty() });
                        }
                        None => piece.tokens.push(token),
                    }
                }
                _ => piece.tokens.push(token),
            }
        }
        if broken.as_ref().is_some_and(|e| e.location.line == command_line) {
            return Ok(pieces);
        }
        piece.broken = broken;
        pieces.extend(piece.take());
        Ok(pieces)
    }

    /// The line, when it begins at this column.
    fn command(&self, line: u64, column: u64) -> Option<String> {
        let line = self.text.lines().nth(usize::try_from(line.checked_sub(1)?).ok()?)?;
        let before = usize::try_from(column.checked_sub(1)?).ok()?;
        line.chars().take(before).all(char::is_whitespace).then(|| line.trim().to_owned())
    }

    /// How messages name the statement with this number (counted from 1) of `count`; may be empty.
    pub(crate) fn place(&self, number: usize, count: usize, line: u64) -> String {
        let statement = (count > 1).then(|| format!("statement {number} (line {line})"));
        let parts: Vec<&str> = [self.name.as_deref(), statement.as_deref()].into_iter().flatten().collect();
        parts.join(": ")
    }
}

impl Piece {
    fn empty() -> Self {
        Piece { line: 0, tokens: Vec::new(), broken: None, command: None }
    }

    /// Its part of the text of its script.
    pub(crate) fn cut(&self, text: &str) -> String {
        let (Some(first), Some(last)) = (self.tokens.first(), self.tokens.last()) else {
            return String::new();
        };
        let (begin, end) = (first.span.start, last.span.end);
        let mut part = String::new();
        for (number, line) in (1..).zip(text.split('\n')) {
            if number < begin.line || number > end.line {
                continue;
            }
            let skip = if number == begin.line { begin.column.saturating_sub(1) } else { 0 };
            let stop = if number == end.line { end.column.saturating_sub(1) } else { u64::MAX };
            let chars = (0..).zip(line.chars()).filter(|(at, _)| (skip..stop).contains(at));
            part.extend(chars.map(|(_, c)| c));
            if number < end.line {
                part.push('\n');
            }
        }
        part
    }

    /// The command of the prompt that stands in the place of a statement.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// What was collected, unless that is nothing; a new collection begins.
    fn take(&mut self) -> Option<Piece> {
        let tokens = std::mem::take(&mut self.tokens);
        let broken = self.broken.take();
        let line = match (tokens.first(), &broken) {
            (Some(first), _) => first.span.start.line,
            (None, Some(e)) => e.location.line,
            (None, None) => return None,
        };
        Some(Piece { line, tokens, broken, command: None })
    }

    /// Parses it. Places in error messages count from the beginning of the script.
    ///
    /// # Errors
    /// When it is not valid SQL.
    pub(crate) fn parse(mut self, options: &SqlParserOptions, parameters: &Parameters) -> Result<Statement> {
        if let Some(e) = self.broken {
            return Err(ParserError::from(e).into());
        }
        chain::check(&self.tokens)?;
        parameters.fill(&mut self.tokens)?;
        let dialect = dialect(options.dialect)?;
        let mut parser = DFParserBuilder::new(self.tokens)
            .with_dialect(dialect.as_ref())
            .with_recursion_limit(options.recursion_limit.get())
            .build()?;
        let mut statements = parser.parse_statements()?;
        match (statements.pop_front(), statements.is_empty()) {
            (Some(statement), true) => Ok(statement),
            // A piece holds no semicolon and is not empty, so the parser has complained before.
            _ => Err(DataFusionError::Internal("a statement was split in the wrong place".into())),
        }
    }
}

/// Whether text ends inside a quotation or a comment.
pub(crate) fn is_open(text: &str, options: &SqlParserOptions) -> bool {
    let Ok(dialect) = dialect(options.dialect) else { return false };
    tokens(text, dialect.as_ref()).1.is_some_and(|e| is_unfinished(&e))
}

fn is_unfinished(error: &TokenizerError) -> bool {
    error.message.starts_with("Unterminated") || error.message.contains("EOF")
}

/// Whether text that is being typed can be run: its last word is a semicolon, or there is no word.
///
/// Text that ends inside a quote or a comment is not complete. Text that is wrong in another way is:
/// nobody can repair it by typing more, and running it shows what is wrong.
pub(crate) fn is_complete(text: &str, options: &SqlParserOptions) -> bool {
    let Ok(dialect) = dialect(options.dialect) else { return true };
    let (tokens, broken) = tokens(text, dialect.as_ref());
    if let Some(e) = broken {
        return !is_unfinished(&e);
    }
    let last = tokens.iter().rev().find(|t| !matches!(t.token, Token::Whitespace(_)));
    last.is_none_or(|t| t.token == Token::SemiColon)
}

/// The tokens of a text; when it cannot be read to the end, those before that place and the reason.
fn tokens(text: &str, dialect: &dyn Dialect) -> (Vec<TokenWithSpan>, Option<TokenizerError>) {
    let mut tokens = Vec::new();
    let broken = Tokenizer::new(dialect, text).tokenize_with_location_into_buf(&mut tokens).err();
    (tokens, broken)
}

fn dialect(name: DialectName) -> Result<Box<dyn Dialect>> {
    dialect_from_str(name).ok_or_else(|| {
        DataFusionError::Configuration(format!("the SQL dialect {} is unknown", name.as_ref()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<Piece> {
        Script::new(None, text).pieces(&SqlParserOptions::default()).unwrap()
    }

    #[test]
    fn semicolons_in_quotes_comments_and_dollar_strings_do_not_end_a_statement() {
        let text = "select ';' as \";\" -- ; \n/* ; /* ; */ */;\n;\nselect $a$ ; $$ ; $a$;-- end ;";
        let found = pieces(text);
        assert_eq!(found.iter().map(|p| p.line).collect::<Vec<_>>(), [1, 4]);
        for piece in found {
            piece.parse(&SqlParserOptions::default(), &Parameters::default()).unwrap();
        }
    }

    #[test]
    fn what_precedes_an_open_quote_can_still_be_run() {
        let mut found = pieces("select 1;\n\nselect 'abc").into_iter();
        assert!(found.next().unwrap().parse(&SqlParserOptions::default(), &Parameters::default()).is_ok());
        let last = found.next().unwrap();
        assert_eq!(last.line, 3);
        let error = last.parse(&SqlParserOptions::default(), &Parameters::default()).unwrap_err().to_string();
        assert!(error.contains("Unterminated string literal at Line: 3, Column: 8"), "{error}");
    }

    #[test]
    fn a_statement_knows_its_part_of_the_text() {
        let text = "select 'a;' -- x\n; select\n 'é', \"b\"\n from t;\n.mode csv\nselect $$;$$";
        let parts: Vec<String> = pieces(text).iter().map(|piece| piece.cut(text).trim().to_owned()).collect();
        assert_eq!(parts, ["select 'a;' -- x", "select\n 'é', \"b\"\n from t", "", "select $$;$$"]);
    }

    #[test]
    fn commands_are_lines_of_their_own() {
        let found = pieces(".mode csv\nselect 1\n.5; \\d it's\n  \\d x;\nselect 2");
        let commands: Vec<Option<&str>> = found.iter().map(Piece::command).collect();
        assert_eq!(commands, [Some(".mode csv"), None, None]);
        let found = pieces(".read it's.sql");
        assert_eq!(found.iter().map(Piece::command).collect::<Vec<_>>(), [Some(".read it's.sql")]);
        let found = pieces("select 1;\n  \\d x;\nselect 2");
        assert_eq!(found.iter().map(Piece::command).collect::<Vec<_>>(), [None, Some("\\d x;"), None]);
    }

    #[test]
    fn scripts_without_words_have_no_statements() {
        for text in ["", " \n", ";;", "-- nothing", "/* nothing */ ;"] {
            assert!(pieces(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn errors_count_lines_from_the_beginning_of_the_script() {
        let piece = pieces("select 1;\nselect\n  )").pop().unwrap();
        let error =
            piece.parse(&SqlParserOptions::default(), &Parameters::default()).unwrap_err().to_string();
        assert!(error.contains("Line: 3"), "{error}");
    }

    #[test]
    fn input_is_complete_when_its_last_word_is_a_semicolon() {
        let complete = |text| is_complete(text, &SqlParserOptions::default());
        for text in ["", "select 1;", "select ';';", "select 1; -- done", "select 1;\n", "-- only a comment"]
        {
            assert!(complete(text), "{text}");
        }
        let open = [
            "select 1",
            "select ';",
            "select 1 -- ;",
            "/* ; ",
            "select $$ ;",
            "select \"a;",
            "select 1; select 2",
        ];
        for text in open {
            assert!(!complete(text), "{text}");
        }
    }
}
