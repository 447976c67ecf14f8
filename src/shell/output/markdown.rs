//! markdown: a table as GitHub and most other places show it.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::Printer;
use super::cell::Cells;
use super::table::steers;

/// Prints a table with one line per row, whatever the cells hold.
pub(super) struct Markdown {
    schema: SchemaRef,
}

impl Markdown {
    /// A table with these columns.
    pub(super) fn new(schema: &SchemaRef) -> Self {
        Self { schema: SchemaRef::clone(schema) }
    }
}

impl Printer for Markdown {
    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        for field in self.schema.fields() {
            cell(field.name(), out);
        }
        out.extend_from_slice(b"|\n");
        for field in self.schema.fields() {
            let rule: &[u8] = if field.data_type().is_numeric() { b"|---:" } else { b"|---" };
            out.extend_from_slice(rule);
        }
        out.extend_from_slice(b"|\n");
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let cells = Cells::new(batch)?;
        for row in 0..batch.num_rows() {
            cells.row(row, |text| cell(text.unwrap_or("NULL"), out))?;
            out.extend_from_slice(b"|\n");
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }
}

/// Writes a cell so that it shows what is in it: `<module>` is no HTML, `__init__` is not bold.
fn cell(text: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(b"| ");
    let mut before = ' ';
    let mut chars = text.chars().peekable();
    let mut utf8 = [0; 4];
    while let Some(c) = chars.next() {
        let after = chars.peek().copied().unwrap_or(' ');
        match c {
            '\r' if after == '\n' => {}
            '\n' | '\r' => out.extend_from_slice(b"<br>"),
            '<' => out.extend_from_slice(b"&lt;"),
            '&' => out.extend_from_slice(b"&amp;"),
            // Inside a word an underscore is only an underscore, and `rank_id` stays readable.
            '_' if before.is_alphanumeric() && after.is_alphanumeric() => out.push(b'_'),
            '|' | '\\' | '`' | '*' | '_' => out.extend_from_slice(&[b'\\', c as u8]),
            '\t' => out.push(b'\t'),
            c if steers(c) => out.extend_from_slice(format!("\\{}", c.escape_default()).as_bytes()),
            _ => out.extend_from_slice(c.encode_utf8(&mut utf8).as_bytes()),
        }
        before = c;
    }
    out.push(b' ');
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn every_row_is_one_line_and_shows_what_is_in_it() {
        let text = print(Markdown::new(&batch().schema()), &batch());
        let expected = "| id | ms | stack | kind |\n\
            |---:|---:|---|---|\n\
            | 9223372036854775807 | 1779785515000.12 | a.py(1): &lt;module>;<br>b.py(2): f | x\\|y\t\"z\\\\ |\n\
            | NULL | NULL | NULL | NULL |\n\
            | -1 | NaN |  | NULL |\n";
        assert_eq!(text, expected);
        let mut out = Vec::new();
        cell("__init__ rank_id", &mut out);
        assert_eq!(out, b"| \\_\\_init\\_\\_ rank_id ");
        out.clear();
        cell("\u{1b}[31m\u{0}\u{202e}", &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "| \\\\u{1b}[31m\\\\u{0}\\\\u{202e} ");
    }
}
