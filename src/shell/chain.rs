//! Statements that chain more operators than the engine can plan.
//!
//! The parser limits how deeply brackets nest, but `1 + 1 + 1 ...` is as deep a tree without any, and so are
//! UNION and `::`. The planner walks trees recursively, and without a limit a text of a few kilobytes would
//! end the process.

use datafusion::error::{DataFusionError, Result};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, TokenWithSpan};

/// The longest chain. The stack of the query threads, `STACK` in [`super::workers`], is made for it.
pub(super) const LONGEST_CHAIN: usize = 1500;

/// Refuses a statement with a longer chain.
///
/// # Errors
/// `Plan`, with the line where the chain became too long.
pub(super) fn check(tokens: &[TokenWithSpan]) -> Result<()> {
    // Links at each level of brackets; what stands in brackets hangs below what stands before them.
    let mut levels = vec![0usize];
    let mut links = 0usize;
    for token in tokens {
        match &token.token {
            Token::LParen | Token::LBracket | Token::LBrace => {
                // A subscript behind a subscript is a link, too.
                if token.token == Token::LBracket {
                    links += 1;
                    if let Some(level) = levels.last_mut() {
                        *level += 1;
                    }
                }
                levels.push(0);
            }
            Token::RParen | Token::RBracket | Token::RBrace => {
                let own = if levels.len() > 1 { levels.pop() } else { None };
                links -= own.unwrap_or_default();
            }
            // The elements of a list stand side by side.
            Token::Comma => links -= levels.last_mut().map(std::mem::take).unwrap_or_default(),
            other if is_link(other) => {
                links += 1;
                if let Some(level) = levels.last_mut() {
                    *level += 1;
                }
            }
            _ => {}
        }
        if links > LONGEST_CHAIN {
            return Err(DataFusionError::Plan(format!(
                "line {}: the statement chains more than {LONGEST_CHAIN} operators\n\
                 hint: IN (...), VALUES or a file can hold long lists",
                token.span.start.line
            )));
        }
    }
    Ok(())
}

/// Whether a word can make a tree one level deeper. Those that cannot are counted as well, where that is
/// simpler: there are few of them in a statement.
fn is_link(token: &Token) -> bool {
    match token {
        Token::Word(word) => {
            use Keyword::{FALSE, FROM, NULL, NoKeyword, SELECT, TRUE, VALUES, WHERE};
            !matches!(word.keyword, NoKeyword | FALSE | FROM | NULL | SELECT | TRUE | VALUES | WHERE)
        }
        Token::Whitespace(_)
        | Token::Number(..)
        | Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::Placeholder(_)
        | Token::Period
        | Token::SemiColon
        | Token::EOF => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use datafusion::config::SqlParserOptions;

    use super::super::parameters::Parameters;
    use super::super::script::Script;
    use super::*;

    fn parses(text: &str) -> bool {
        let options = SqlParserOptions::default();
        let piece = Script::new(None, text).pieces(&options).unwrap().pop().unwrap();
        piece.parse(&options, &Parameters::default()).is_ok()
    }

    #[test]
    fn chains_have_a_limit_and_lists_have_none() {
        let fits = LONGEST_CHAIN - 10;
        for (link, element) in [("+", "1"), (" AND ", "true"), (" UNION ALL ", "SELECT 1"), ("||", "'a'")] {
            let chain = |n: usize| {
                format!("SELECT {}", vec![element; n].join(link)).replace("SELECT SELECT", "SELECT")
            };
            assert!(parses(&chain(fits / 3)), "{link}");
            assert!(!parses(&chain(3 * LONGEST_CHAIN)), "{link}");
        }
        assert!(!parses(&format!("SELECT 1{}", "::BIGINT".repeat(2 * LONGEST_CHAIN))));
        assert!(!parses(&format!("SELECT a{} FROM t", "[1]".repeat(2 * LONGEST_CHAIN))));
        assert!(parses(&format!("SELECT 1 IN ({})", vec!["1 + 1"; 3 * LONGEST_CHAIN].join(", "))));
        assert!(parses(&format!("VALUES {}", vec!["(1, -1, NULL)"; 3 * LONGEST_CHAIN].join(", "))));
    }
}
