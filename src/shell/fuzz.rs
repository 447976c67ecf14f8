//! Scripts, commands and values made of others: whatever people type, it falls apart in the same way as the
//! SQL parser reads it.

#[path = "../../tests/reliability/fuzz/driver.rs"]
mod driver;
#[path = "../../tests/reliability/fuzz/mutate.rs"]
mod mutate;

use datafusion::config::SqlParserOptions;
use datafusion::sql::parser::DFParserBuilder;
use datafusion::sql::sqlparser::dialect::GenericDialect;

use driver::{Target, fuzz, hash};

use super::amount::parse_size;
use super::commands::is_command;
use super::parameters::Parameters;
use super::script::{Script, is_complete};

const WORDS: [&str; 24] = [
    "SELECT 1",
    ";",
    "'",
    "\"",
    "$$",
    "$a$",
    "--",
    "/*",
    "*/",
    "\n",
    "\\d",
    ".mode csv",
    "$name",
    "$1",
    "E'\\''",
    "x'00'",
    "U&'\\0041'",
    "EXPLAIN",
    "COPY (SELECT 1) TO '/x'",
    "CREATE TABLE a AS",
    "VALUES (1)",
    "`a`",
    "[1]",
    "#",
];

/// Number of statements, when the parser reads all of the text at once.
fn parsed(text: &str, options: &SqlParserOptions) -> Option<usize> {
    let mut parser = DFParserBuilder::new(text)
        .with_dialect(&GenericDialect {})
        .with_recursion_limit(options.recursion_limit.get())
        .build()
        .ok()?;
    parser.parse_statements().ok().map(|statements| statements.len())
}

#[test]
fn scripts() {
    let options = SqlParserOptions::default();
    let check = |input: &[u8]| {
        let Ok(text) = std::str::from_utf8(input) else { return 0 };
        is_complete(text, &options);
        is_command(text);
        let pieces = Script::new(None, text).pieces(&options).unwrap();
        let commands = pieces.iter().filter(|p| p.command().is_some()).count();
        let count = pieces.len();
        let parameters = Parameters::default();
        let mut failed = 0;
        for piece in pieces.into_iter().filter(|p| p.command().is_none()) {
            if let Err(e) = piece.parse(&options, &parameters) {
                assert!(!e.to_string().contains("Internal error"), "{e}");
                failed += 1;
            }
        }
        let whole = parsed(text, &options);
        if commands == 0 && !text.contains('$') {
            // Between two statements the parser wants a semicolon, as we do.
            assert_eq!(whole, (failed == 0).then_some(count), "{failed} of {count} statements fail");
        }
        hash((count.min(5), commands.min(3), failed.min(3), whole.is_some(), text.len().min(12)))
    };
    let seeds = [
        "select 1;\n.mode csv\nselect ';' -- ;\n; select $$ ; $$",
        "explain select $name; values ($1)",
        "\\d x\nselect \"a;b\"",
    ];
    let seeds = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    fuzz(&Target { name: "scripts", seeds, words: &WORDS, most: 1000, check: &check });
}

#[test]
fn values_of_the_command_line() {
    let options = SqlParserOptions::default();
    let check = |input: &[u8]| {
        let text = String::from_utf8_lossy(input).into_owned();
        let size = parse_size(&text);
        assert!(size.as_ref().is_ok_and(|bytes| *bytes > 0) || size.is_err());
        let Ok(parameters) = Parameters::read(std::slice::from_ref(&text)) else { return hash(size.is_ok()) };
        // Whatever the value is, it is one literal and nothing else.
        let name = text.split('=').next().unwrap_or_default().trim_start_matches('$').to_owned();
        let script = format!("SELECT ${name}, 7; SELECT ${name} FROM t WHERE a = ${name}");
        let pieces = Script::new(None, script).pieces(&options).unwrap();
        assert_eq!(pieces.len(), 2, "{name}");
        let mut shown = vec![];
        for piece in pieces {
            let statement = piece.parse(&options, &parameters).unwrap_or_else(|e| panic!("{text:?}: {e}"));
            shown.push(statement.to_string());
        }
        assert!(shown[0].ends_with(", 7"), "{shown:?}");
        assert!(shown[1].contains(" FROM t WHERE a = "), "{shown:?}");
        hash((size.is_ok(), text.len().min(12), text.contains('\'')))
    };
    let seeds = ["a=1", "name='x'", "$b=-1.5e3", "c=NULL", "d=it's", "e=true", "512m", "1.5 GiB"];
    let seeds = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    fuzz(&Target { name: "command_line_values", seeds, words: &WORDS, most: 200, check: &check });
}
