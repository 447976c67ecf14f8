//! table: aligned columns for people.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Printer;
use super::cell::Cells;

/// No column is cut to less than this; then whole columns are left out.
const NARROWEST: usize = 12;

/// Keeps the first rows, as text, and draws them when the result is complete.
pub(super) struct Table {
    names: Vec<String>,
    /// Which columns are numbers: they are aligned at their last digit, and never cut, because a number
    /// that is cut would be another number.
    numeric: Vec<bool>,
    /// One list of texts per column.
    columns: Vec<Vec<String>>,
    kept: usize,
    max_rows: Option<usize>,
    left_out: u64,
    width: Option<usize>,
    columns_left_out: usize,
    null: String,
    group_digits: bool,
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
            group_digits: false,
        }
    }

    /// With the digits of numbers in groups of three.
    pub(super) fn group_digits(mut self, group: bool) -> Self {
        self.group_digits = group;
        self
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

    /// How wide each column has to be for everything in it.
    fn widths(&self) -> Vec<usize> {
        let lines = |text: &str| text.lines().map(UnicodeWidthStr::width).max().unwrap_or(0);
        let widest = |(name, texts): (&String, &Vec<String>)| {
            texts.iter().map(|text| lines(text)).max().unwrap_or(0).max(lines(name))
        };
        self.names.iter().zip(&self.columns).map(widest).collect()
    }

    /// Draws one row, of as many lines as its longest cell has.
    fn row<'a>(&self, cells: impl Iterator<Item = &'a str>, widths: &[usize], out: &mut Vec<u8>) {
        let cells: Vec<Vec<&str>> = cells.map(|cell| cell.lines().collect()).collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for line in 0..height {
            for ((cell, width), numeric) in cells.iter().zip(widths).zip(&self.numeric) {
                let text = cell.get(line).copied().unwrap_or_default();
                let room = " ".repeat(width.saturating_sub(text.width()));
                let (before, after) = if *numeric { (room.as_str(), "") } else { ("", room.as_str()) };
                out.extend_from_slice(format!("| {before}{text}{after} ").as_bytes());
            }
            out.extend_from_slice(b"|\n");
        }
    }

    /// Cuts what was kept to the width.
    fn squeeze(&mut self, width: usize) {
        let mut widths = self.widths();
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
            self.numeric.remove(middle);
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
            self.numeric.insert(middle, false);
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
            let mut columns = self.columns.iter_mut().zip(&self.numeric);
            cells.row(row, |cell| {
                if let Some((column, numeric)) = columns.next() {
                    column.push(match cell {
                        Some(number) if *numeric && self.group_digits => grouped(number),
                        other => visible(other.unwrap_or(&self.null)),
                    });
                }
            })?;
        }
        Ok(())
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Result<(), ArrowError> {
        if let Some(width) = self.width {
            self.squeeze(width);
        }
        let widths = self.widths();
        let line: String = widths.iter().map(|width| format!("+{}", "-".repeat(width + 2))).collect();
        let line = format!("{line}+\n");
        out.extend_from_slice(line.as_bytes());
        self.row(self.names.iter().map(String::as_str), &widths, out);
        out.extend_from_slice(line.as_bytes());
        for at in 0..self.kept {
            let cells = self.columns.iter().map(|column| column.get(at).map_or("", String::as_str));
            self.row(cells, &widths, out);
        }
        out.extend_from_slice(line.as_bytes());
        self.columns.clear();
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

/// A number with its integer digits in groups of three: `-1,234.5`. In exponent form it stays as it is.
fn grouped(number: &str) -> String {
    let (sign, rest) = number.strip_prefix('-').map_or(("", number), |rest| ("-", rest));
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (digits, fraction) = rest.split_at(end);
    if fraction.contains(['e', 'E']) {
        return number.to_owned();
    }
    let mut text = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text + fraction
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

    #[test]
    fn numbers_are_aligned_at_their_last_digit_and_grouped_when_asked() {
        let text = print(Table::new(&batch().schema(), None).group_digits(true), &batch());
        assert!(text.contains("| 9,223,372,036,854,775,807 | 1,779,785,515,000.12 | a.py"), "{text}");
        assert!(text.contains("|                        -1 |                  NaN |       "), "{text}");
        for (number, shown) in
            [("1", "1"), ("-123", "-123"), ("-1234.5678", "-1,234.5678"), ("1e300", "1e300")]
        {
            assert_eq!(grouped(number), shown);
        }
    }
}
