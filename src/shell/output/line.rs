//! line: one value per line, for rows that are too wide for a table.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::Printer;
use super::cell::Cells;
use super::table::visible;

/// Prints `name = value`, rows apart by an empty line.
pub(super) struct Line {
    names: Vec<String>,
    null: String,
    first: bool,
}

impl Line {
    /// Rows with these columns.
    pub(super) fn new(schema: &SchemaRef, null: &str) -> Self {
        let width = schema.fields().iter().map(|f| f.name().chars().count()).max().unwrap_or(0);
        let names = schema.fields().iter().map(|f| format!("{:>width$}", f.name())).collect();
        Self { names, null: null.to_owned(), first: true }
    }
}

impl Printer for Line {
    fn begin(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let cells = Cells::new(batch)?;
        for row in 0..batch.num_rows() {
            if !std::mem::take(&mut self.first) {
                out.push(b'\n');
            }
            let mut names = self.names.iter();
            cells.row(row, |cell| {
                let name = names.next().map_or("", String::as_str);
                let indent = format!("\n{}", " ".repeat(name.chars().count() + 3));
                let value = visible(cell.unwrap_or(&self.null)).replace('\n', &indent);
                out.extend_from_slice(format!("{name} = {value}\n").as_bytes());
            })?;
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn every_value_has_its_line_and_long_ones_are_indented() {
        let text = print(Line::new(&batch().schema(), "NULL"), &batch());
        assert!(text.starts_with("   id = 9223372036854775807\n   ms = 1779785515000.12\n"), "{text}");
        assert!(text.contains("stack = a.py(1): <module>;\n        b.py(2): f\n"), "{text}");
        assert!(text.contains("\n\n   id = NULL\n"), "{text}");
    }
}
