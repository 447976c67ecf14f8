//! html: a table element, to be put into a page.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::Printer;
use super::cell::Cells;

/// Prints a `<table>`; NULL is an empty cell of class `null`.
pub(super) struct Html {
    names: Vec<String>,
}

impl Html {
    /// A table with these columns.
    pub(super) fn new(schema: &SchemaRef) -> Self {
        Self { names: schema.fields().iter().map(|f| f.name().clone()).collect() }
    }
}

impl Printer for Html {
    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        out.extend_from_slice(b"<table>\n<tr>");
        for name in &self.names {
            out.extend_from_slice(format!("<th>{}</th>", escaped(name)).as_bytes());
        }
        out.extend_from_slice(b"</tr>\n");
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let cells = Cells::new(batch)?;
        for row in 0..batch.num_rows() {
            out.extend_from_slice(b"<tr>");
            cells.row(row, |cell| match cell {
                None => out.extend_from_slice(b"<td class=\"null\"></td>"),
                Some(text) => out.extend_from_slice(format!("<td>{}</td>", escaped(text)).as_bytes()),
            })?;
            out.extend_from_slice(b"</tr>\n");
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        out.extend_from_slice(b"</table>\n");
        Ok(())
    }
}

/// Text that is no markup; also fit for XML, which knows no control characters.
pub(crate) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(c),
            // A line break, however it is written, is one: XML reads them all as the same.
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn data_is_no_markup() {
        let text = print(Html::new(&batch().schema()), &batch());
        assert!(text.starts_with("<table>\n<tr><th>id</th>") && text.ends_with("</table>\n"), "{text}");
        assert!(text.contains("&lt;module&gt;") && text.contains("<td class=\"null\"></td>"), "{text}");
    }
}
