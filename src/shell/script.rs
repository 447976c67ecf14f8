//! Scripts: where SQL comes from, and how it falls apart into statements.
//!
//! Statements end where the lexer of the SQL parser sees a semicolon, so quotes, comments and dollar
//! strings may hold one. Each statement is parsed when its turn comes: those before a syntax error
//! have already been run by then, as in other SQL shells.

use std::ops::Range;

use datafusion::config::{Dialect as DialectName, SqlParserOptions};
use datafusion::error::{DataFusionError, Result};
use datafusion::sql::parser::{DFParserBuilder, Statement};
use datafusion::sql::sqlparser::dialect::{Dialect, dialect_from_str};
use datafusion::sql::sqlparser::parser::ParserError;
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, TokenizerError};

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
    /// Where it stands in the script, in bytes; nothing for a command.
    place: Range<usize>,
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
        let mut offsets = Offsets::new(&self.text);
        for token in tokens {
            let line = token.span.start.line;
            if line == command_line {
                continue;
            }
            match &token.token {
                Token::SemiColon => pieces.extend(piece.take(&mut offsets)),
                Token::Whitespace(_) if piece.tokens.is_empty() => {}
                Token::Period | Token::Backslash if piece.tokens.is_empty() => {
                    match self.command(offsets.of(token.span.start)) {
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
        pieces.extend(piece.take(&mut offsets));
        Ok(pieces)
    }

    /// The line, when its first word is at this byte.
    fn command(&self, at: usize) -> Option<String> {
        let (before, rest) = self.text.split_at_checked(at)?;
        let first = before.chars().rev().take_while(|c| *c != '\n').all(char::is_whitespace);
        first.then(|| rest.split('\n').next().unwrap_or_default().trim().to_owned())
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
        Piece { line: 0, tokens: Vec::new(), broken: None, command: None, place: 0..0 }
    }

    /// Its part of the text of its script.
    pub(crate) fn cut<'t>(&self, text: &'t str) -> &'t str {
        text.get(self.place.clone()).unwrap_or_default()
    }

    /// The command of the prompt that stands in the place of a statement.
    pub(crate) fn command(&self) -> Option<&str> {
        self.command.as_deref()
    }

    /// What was collected, unless that is nothing; a new collection begins.
    fn take(&mut self, offsets: &mut Offsets<'_>) -> Option<Piece> {
        let tokens = std::mem::take(&mut self.tokens);
        let broken = self.broken.take();
        let line = match (tokens.first(), &broken) {
            (Some(first), _) => first.span.start.line,
            (None, Some(e)) => e.location.line,
            (None, None) => return None,
        };
        let place = match (tokens.first(), tokens.last()) {
            (Some(first), Some(last)) => offsets.of(first.span.start)..offsets.of(last.span.end),
            _ => 0..0,
        };
        Some(Piece { line, tokens, broken, command: None, place })
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

/// Finds bytes by line and column, of places that follow each other: the text is passed once.
struct Offsets<'t> {
    rest: std::str::Chars<'t>,
    length: usize,
    line: u64,
    column: u64,
}

impl<'t> Offsets<'t> {
    fn new(text: &'t str) -> Self {
        Self { rest: text.chars(), length: text.len(), line: 1, column: 1 }
    }

    /// The byte at this place, or the end of its line when that is shorter.
    fn of(&mut self, place: Location) -> usize {
        loop {
            let here = self.length - self.rest.as_str().len();
            let there = (self.line, self.column) >= (place.line, place.column);
            let mut ahead = self.rest.clone();
            match ahead.next() {
                Some('\n') if self.line < place.line => (self.line, self.column) = (self.line + 1, 1),
                Some(c) if !there && c != '\n' => self.column += 1,
                _ => return here,
            }
            self.rest = ahead;
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
    fn each_of_many_statements_and_commands_is_found_at_once() {
        // With a look at the whole script for each it would take minutes.
        let many = 40_000;
        let text = ".mode csv\nselect 'é', 1\n;  select 2;\n".repeat(many);
        let found = pieces(&text);
        assert_eq!(found.len(), 3 * many);
        let last: Vec<(u64, &str)> =
            found.iter().skip(3 * many - 3).map(|p| (p.line, p.cut(&text))).collect();
        let line = 3 * many as u64;
        assert_eq!(last, [(line - 2, ""), (line - 1, "select 'é', 1\n"), (line, "select 2")]);
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
