//! table: aligned columns for people.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch, RecordBatchOptions, StringArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::pretty::pretty_format_batches_with_schema;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Printer;
use super::cell::Cells;

/// No column is cut to less than this; then whole columns are left out.
const NARROWEST: usize = 12;

/// Keeps the first rows, as text, and draws them when the result is complete.
pub(super) struct Table {
    names: Vec<String>,
    /// Which columns are numbers: a number that is cut would be another number.
    numeric: Vec<bool>,
    /// One list of texts per column.
    columns: Vec<Vec<String>>,
    kept: usize,
    max_rows: Option<usize>,
    left_out: u64,
    width: Option<usize>,
    columns_left_out: usize,
    null: String,
}

impl Table {
    /// A table with these columns that shows up to `max_rows`.
    pub(super) fn new(schema: &SchemaRef, max_rows: Option<usize>) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|f| visible(f.name())).collect();
        let columns = vec![Vec::new(); names.len()];
        let numeric = schema.fields().iter().map(|f| f.data_type().is_numeric()).collect();
        let null = "NULL".to_owned();
        Self {
            names,
            numeric,
            columns,
            kept: 0,
            max_rows,
            left_out: 0,
            width: None,
            columns_left_out: 0,
            null,
        }
    }

    /// A table that is not wider than this, if there is a limit: long texts are cut, and when that is
    /// not enough, columns in the middle are left out.
    pub(super) fn fit(mut self, width: Option<usize>) -> Self {
        self.width = width;
        self
    }

    /// With another text for NULL.
    pub(super) fn null(mut self, null: &str) -> Self {
        null.clone_into(&mut self.null);
        self
    }

    /// Cuts what was kept to the width.
    fn squeeze(&mut self, width: usize) {
        let widest =
            |texts: &[String]| texts.iter().flat_map(|t| t.lines()).map(UnicodeWidthStr::width).max();
        let mut widths: Vec<usize> = self
            .names
            .iter()
            .zip(&self.columns)
            .map(|(name, texts)| name.width().max(widest(texts).unwrap_or(0)))
            .collect();
        let total = |widths: &[usize]| widths.iter().map(|w| w + 3).sum::<usize>() + 1;
        if total(&widths) <= width {
            return;
        }
        // The widest columns give way first, down to one width for all of them.
        let mut cap = widths.iter().copied().max().unwrap_or(0);
        let capped = |cap: usize| {
            let width = |(w, numeric): (&usize, &bool)| if *numeric { *w } else { (*w).min(cap) };
            widths.iter().zip(&self.numeric).map(width).collect::<Vec<_>>()
        };
        while cap > NARROWEST && total(&capped(cap)) > width {
            cap -= 1;
        }
        widths = capped(cap);
        while total(&widths) > width && widths.len() > 2 {
            // Room for a column that says that something is missing.
            if self.columns_left_out > 0 && total(&widths) + 4 <= width {
                break;
            }
            let middle = widths.len() / 2;
            widths.remove(middle);
            self.names.remove(middle);
            self.columns.remove(middle);
            self.columns_left_out += 1;
        }
        for (text, w) in self.names.iter_mut().zip(&widths) {
            cut(text, *w);
        }
        for (texts, w) in self.columns.iter_mut().zip(&widths) {
            for text in texts {
                cut(text, *w);
            }
        }
        if self.columns_left_out > 0 {
            let middle = widths.len().div_ceil(2);
            self.names.insert(middle, "…".to_owned());
            self.columns.insert(middle, vec!["…".to_owned(); self.kept]);
        }
    }
}

impl Printer for Table {
    fn begin(&mut self, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        Ok(())
    }

    fn rows(&mut self, batch: &RecordBatch, _out: &mut Vec<u8>) -> Result<(), ArrowError> {
        let room = self.max_rows.map_or(usize::MAX, |max| max.saturating_sub(self.kept));
        let shown = batch.num_rows().min(room);
        self.left_out += (batch.num_rows() - shown) as u64;
        self.kept += shown;
        let batch = batch.slice(0, shown);
        let cells = Cells::new(&batch)?;
        for row in 0..shown {
            let mut columns = self.columns.iter_mut();
            cells.row(row, |cell| {
                if let Some(column) = columns.next() {
                    column.push(visible(cell.unwrap_or(&self.null)));
                }
            })?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        if let Some(width) = self.width {
            self.squeeze(width);
        }
        let fields: Vec<Field> = self.names.iter().map(|n| Field::new(n, DataType::Utf8, false)).collect();
        let schema = Arc::new(Schema::new(fields));
        let columns = std::mem::take(&mut self.columns).into_iter();
        let columns = columns.map(|c| Arc::new(StringArray::from(c)) as ArrayRef).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(self.kept));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), columns, &options)?;
        out.extend_from_slice(pretty_format_batches_with_schema(schema, &[batch])?.to_string().as_bytes());
        out.push(b'\n');
        Ok(())
    }

    fn left_out(&self) -> u64 {
        self.left_out
    }

    fn columns_left_out(&self) -> usize {
        self.columns_left_out
    }
}

/// Makes a text fit, on one line when it has to be cut.
fn cut(text: &mut String, width: usize) {
    if text.lines().all(|line| line.width() <= width) {
        return;
    }
    let mut room = width.saturating_sub(1);
    let mut short = String::new();
    for c in text.chars().map(|c| if c == '\n' { ' ' } else { c }) {
        let w = c.width().unwrap_or(0);
        if w > room {
            break;
        }
        room -= w;
        short.push(c);
    }
    short.push('…');
    *text = short;
}

/// The text with control characters spelled out: data must not move the cursor or colour the
/// terminal. Line ends stay, a cell may have several lines.
pub(super) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => shown.push('\n'),
            c if c.is_control() => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::super::testing::{batch, print};
    use super::*;

    #[test]
    fn control_characters_are_spelled_out_and_lines_kept() {
        let text = print(Table::new(&batch().schema(), None), &batch());
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 8, "{text}");
        assert!(lines[3].contains("a.py(1): <module>; ") && lines[3].contains(r#"x|y\t"z\"#), "{text}");
        assert!(lines[4].contains("b.py(2): f"), "{text}");
        assert_eq!(visible("\u{1b}[31m\r"), "\\u{1b}[31m\\r");
    }

    #[test]
    fn a_table_fits_the_width() {
        for width in [38, 40, 60] {
            let text = print(Table::new(&batch().schema(), None).fit(Some(width)), &batch());
            assert!(text.lines().all(|line| line.width() <= width), "{width}\n{text}");
            assert!(text.contains('…') && text.contains("9223372036854775807"), "{text}");
        }
    }

    #[test]
    fn rows_beyond_the_limit_are_counted() {
        let mut table = Table::new(&batch().schema(), Some(4));
        let mut out = Vec::new();
        table.rows(&batch(), &mut out).unwrap();
        table.rows(&batch(), &mut out).unwrap();
        table.end(&mut out).unwrap();
        assert_eq!((table.kept, table.left_out()), (4, 2));
    }
}
