//! csv and tsv: lines of fields.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;

use super::Printer;
use super::cell::Cells;

/// Prints lines of fields with a line of column names in front.
pub(super) struct Delimited {
    names: Vec<String>,
    delimiter: u8,
    headers: bool,
    null: Option<String>,
    field: fn(Option<&str>, &mut Vec<u8>),
}

impl Delimited {
    /// Commas and quotes. NULL is an empty field, so that the empty string has to be `""`.
    pub(super) fn csv(schema: &SchemaRef) -> Self {
        Self { names: names(schema), delimiter: b',', headers: true, null: None, field: quoted }
    }

    /// Tabs, and escapes instead of quotes: a line of the output is always a row. NULL is `\N`.
    pub(super) fn tsv(schema: &SchemaRef) -> Self {
        Self { names: names(schema), delimiter: b'\t', headers: true, null: None, field: escaped }
    }

    /// With the line of names, or without.
    pub(super) fn headers(mut self, headers: bool) -> Self {
        self.headers = headers;
        self
    }

    /// With another text for NULL.
    pub(super) fn null(mut self, null: Option<String>) -> Self {
        self.null = null;
        self
    }
}

impl Printer for Delimited {
    fn begin(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        if !self.headers {
            return Ok(());
        }
        for (i, name) in self.names.iter().enumerate() {
            if i > 0 {
                out.push(self.delimiter);
            }
            (self.field)(Some(name), out);
        }
        out.push(b'\n');
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let cells = Cells::new(batch)?;
        for row in 0..batch.num_rows() {
            let mut first = true;
            cells.row(row, |cell| {
                if !std::mem::take(&mut first) {
                    out.push(self.delimiter);
                }
                match (cell, &self.null) {
                    (None, Some(null)) => out.extend_from_slice(null.as_bytes()),
                    _ => (self.field)(cell, out),
                }
            })?;
            out.push(b'\n');
        }
        Ok(())
    }

    fn end(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }
}

fn names(schema: &SchemaRef) -> Vec<String> {
    schema.fields().iter().map(|f| f.name().clone()).collect()
}

fn quoted(cell: Option<&str>, out: &mut Vec<u8>) {
    let Some(text) = cell else { return };
    if !text.is_empty() && !text.bytes().any(|b| matches!(b, b',' | b'"' | b'\n' | b'\r')) {
        return out.extend_from_slice(text.as_bytes());
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}

fn escaped(cell: Option<&str>, out: &mut Vec<u8>) {
    let Some(text) = cell else { return out.extend_from_slice(b"\\N") };
    for byte in text.bytes() {
        match byte {
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\\' => out.extend_from_slice(b"\\\\"),
            _ => out.push(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn csv_quotes_what_would_break_it_and_tells_null_from_empty() {
        let text = print(Delimited::csv(&batch().schema()), &batch());
        let expected = "id,ms,stack,kind\n\
            9223372036854775807,1779785515000.12,\"a.py(1): <module>;\r\nb.py(2): f\",\"x|y\t\"\"z\\\"\n\
            ,,,\n\
            -1,NaN,\"\",\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn tsv_has_one_line_per_row() {
        let text = print(Delimited::tsv(&batch().schema()), &batch());
        let expected = "id\tms\tstack\tkind\n\
            9223372036854775807\t1779785515000.12\ta.py(1): <module>;\\r\\nb.py(2): f\tx|y\\t\"z\\\\\n\
            \\N\t\\N\t\\N\t\\N\n\
            -1\tNaN\t\t\\N\n";
        assert_eq!(text, expected);
    }
}
