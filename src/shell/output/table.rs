//! table: aligned columns for people.

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::arrow::error::ArrowError;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::Printer;
use super::cell::Cells;

/// No column is cut to less than this; then whole columns are left out.
const NARROWEST: usize = 12;

/// The column that says that others are missing, with its frame.
const MARK: usize = 4;

/// Columns that say what the rows are about: others are left out before them.
const WANTED: [&str; 3] = ["message", "file", "call_stack"];

/// So many digits behind the point are shown, of numbers below one from the first that is not zero.
const DECIMALS: usize = 6;

/// A number of so many characters is short enough.
const READABLE: usize = 10;

/// Keeps the first rows, as text, and draws them when the result is complete.
pub(super) struct Table {
    names: Vec<String>,
    /// Which columns are numbers: they are aligned at their last digit, and never cut, because a number
    /// that is cut would be another number.
    numeric: Vec<bool>,
    /// Which columns are floating-point numbers: they are rounded.
    floating: Vec<bool>,
    /// One list of texts per column.
    columns: Vec<Vec<String>>,
    kept: usize,
    max_rows: Option<usize>,
    left_out: u64,
    width: Option<usize>,
    columns_left_out: usize,
    /// Where those were that are left out.
    gap: usize,
    null: String,
    group_digits: bool,
}

impl Table {
    /// A table with these columns that shows up to `max_rows`.
    pub(super) fn new(schema: &SchemaRef, max_rows: Option<usize>) -> Self {
        let names: Vec<String> = schema.fields().iter().map(|f| visible(f.name())).collect();
        let columns = vec![Vec::new(); names.len()];
        let numeric = schema.fields().iter().map(|f| f.data_type().is_numeric()).collect();
        let floating = schema.fields().iter().map(|f| f.data_type().is_floating()).collect();
        let null = "NULL".to_owned();
        Self {
            names,
            numeric,
            floating,
            columns,
            kept: 0,
            max_rows,
            left_out: 0,
            width: None,
            columns_left_out: 0,
            gap: 0,
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

    /// How wide each column has to be at least: as its numbers are, or enough for the beginning of a text.
    fn least_widths(&self, full: &[usize]) -> Vec<usize> {
        let widest = |texts: &Vec<String>| texts.iter().map(|text| text.width()).max().unwrap_or(0);
        let least = |(((name, texts), numeric), full): (((&String, &Vec<String>), &bool), &usize)| {
            let numbers = if *numeric { widest(texts) } else { 0 };
            let narrowest = if WANTED.contains(&name.as_str()) { 2 * NARROWEST } else { NARROWEST };
            numbers.max((*full).min(narrowest))
        };
        self.names.iter().zip(&self.columns).zip(&self.numeric).zip(full).map(least).collect()
    }

    /// Cuts what was kept to the width: first columns are left out that do not fit even when they are narrow,
    /// then what is left of the width goes to those that need most.
    fn squeeze(&mut self, width: usize) {
        let mut full = self.widths();
        let frame = |widths: &[usize], mark: usize| widths.iter().map(|w| w + 3).sum::<usize>() + 1 + mark;
        if frame(&full, 0) <= width {
            return;
        }
        let mut widths = self.least_widths(&full);
        let mut mark = 0;
        while frame(&widths, mark) > width && widths.len() > 1 {
            let Some(at) = self.least_needed() else { break };
            widths.remove(at);
            full.remove(at);
            self.names.remove(at);
            self.numeric.remove(at);
            self.columns.remove(at);
            self.columns_left_out += 1;
            mark = MARK;
            self.gap = at;
        }
        // A single text on a very narrow screen.
        if let ([only], [false]) = (widths.as_mut_slice(), self.numeric.as_slice()) {
            *only = (*only).min(width.saturating_sub(4 + mark)).max(1);
        }
        widths = shared(&widths, &full, width.saturating_sub(frame(&[], mark)));
        for (text, w) in self.names.iter_mut().zip(&widths) {
            cut(text, *w);
        }
        for (texts, w) in self.columns.iter_mut().zip(&widths) {
            for text in texts {
                cut(text, *w);
            }
        }
        if self.columns_left_out > 0 {
            self.names.insert(self.gap, "…".to_owned());
            self.numeric.insert(self.gap, false);
            self.columns.insert(self.gap, vec!["…".to_owned(); self.kept]);
        }
    }

    /// The column that can be missed most easily: one in the middle, but not what the rows are about.
    fn least_needed(&self) -> Option<usize> {
        let middle = self.names.len() / 2;
        let distance = |at: &usize| (at.abs_diff(middle), std::cmp::Reverse(*at));
        let all = 0..self.names.len();
        let needed = |at: &usize| self.names.get(*at).is_some_and(|name| WANTED.contains(&name.as_str()));
        all.clone().filter(|at| !needed(at)).min_by_key(distance).or_else(|| all.min_by_key(distance))
    }
}

/// Widths between the least and the full ones that together are not more than `room`, frames included: the
/// columns that need most get what is left, up to one width for all of them.
fn shared(least: &[usize], full: &[usize], room: usize) -> Vec<usize> {
    let capped = |cap: usize| -> Vec<usize> {
        least.iter().zip(full).map(|(least, full)| (*full).min(cap).max(*least)).collect()
    };
    let total = |widths: &[usize]| widths.iter().map(|w| w + 3).sum::<usize>();
    let mut cap = full.iter().copied().max().unwrap_or(0);
    while cap > 0 && total(&capped(cap)) > room {
        cap -= 1;
    }
    let mut widths = capped(cap);
    // Less than a column for each is left.
    let mut rest = room.saturating_sub(total(&widths));
    for (width, full) in widths.iter_mut().zip(full) {
        if *width < *full && rest > 0 {
            *width += 1;
            rest -= 1;
        }
    }
    widths
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
            let mut columns = self.columns.iter_mut().zip(&self.numeric).zip(&self.floating);
            cells.row(row, |cell| {
                if let Some(((column, numeric), floating)) = columns.next() {
                    let short = cell.filter(|_| *floating).map(rounded);
                    column.push(match short.as_deref().or(cell) {
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

/// A number with so many decimals as people can read. One that is not shorter that way stays as it is.
fn rounded(number: &str) -> String {
    let value = match number.parse::<f64>() {
        Ok(value) if number.len() > READABLE => value,
        _ => return number.to_owned(),
    };
    let short = if value.abs() >= 0.001 && value.abs() < 1e15 {
        // Of 0.00123 the zeros behind the point are not counted.
        let zeros = (1..3).filter(|n| value.abs() < 0.1_f64.powi(*n)).count();
        let text = format!("{value:.*}", DECIMALS + zeros);
        match text.trim_end_matches('0') {
            whole if whole.ends_with('.') => format!("{whole}0"),
            other => other.to_owned(),
        }
    } else {
        let text = format!("{value:.*e}", DECIMALS - 1);
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        format!("{}e{exponent}", digits.trim_end_matches('0').trim_end_matches('.'))
    };
    if short.len() < number.len() { short } else { number.to_owned() }
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

/// The text with control characters spelled out: data must not move the cursor, colour the terminal, or
/// turn the text around it. Line ends stay, a cell may have several lines.
pub(crate) fn visible(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() == Some(&'\n') => {}
            '\n' => shown.push('\n'),
            c if steers(c) => shown.extend(c.escape_default()),
            c => shown.push(c),
        }
    }
    shown
}

/// Whether a character is an order to whatever shows it: a control character, or one that reverses the
/// direction of what comes after it.
pub(super) fn steers(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray};

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
        assert_eq!(visible("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
        assert_eq!(visible("שלום é 中文"), "שלום é 中文");
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
    fn floating_point_numbers_are_rounded_for_people() {
        for (number, shown) in [
            ("59.123456789012", "59.123457"),
            ("0.30000000000000004", "0.3"),
            ("-1779785515000.12", "-1779785515000.12"),
            ("0.0123456789", "0.0123457"),
            ("0.000012345678901", "1.23457e-5"),
            ("1e300", "1e300"),
            ("1.2345678901234567e300", "1.23457e300"),
            ("2.0000000001", "2.0"),
            ("2.0", "2.0"),
            ("NaN", "NaN"),
        ] {
            assert_eq!(rounded(number), shown, "{number}");
        }
    }

    fn texts(columns: &[(&str, &str)]) -> RecordBatch {
        let columns = columns.iter().map(|(name, text)| {
            let array: ArrayRef = match text.parse::<i64>() {
                Ok(number) => Arc::new(Int64Array::from(vec![number])),
                Err(_) => Arc::new(StringArray::from(vec![*text])),
            };
            (*name, array)
        });
        RecordBatch::try_from_iter(columns).unwrap()
    }

    #[test]
    fn what_is_left_of_the_width_goes_to_the_longest_text() {
        let stack = "train.py(12): <module>; trainer.py(340): fit; model.py(77): forward; ops.py(5): matmul";
        let batch = texts(&[
            ("role", "actor_update"),
            ("rank_id", "3"),
            ("operator", "aten::empty_strided"),
            ("size_kb", "1234567"),
            ("allocation_time_us", "1779785515000"),
            ("stream", "stream 12"),
            ("device", "NPU:3"),
            ("call_stack", stack),
        ]);
        for width in [60, 80, 100, 120, 160] {
            let mut table = Table::new(&batch.schema(), None).fit(Some(width));
            let mut out = Vec::new();
            table.rows(&batch, &mut out).unwrap();
            table.end(&mut out).unwrap();
            let text = String::from_utf8(out).unwrap();
            let widest = text.lines().map(UnicodeWidthStr::width).max().unwrap();
            assert!(widest <= width && widest > width - 3, "{width}: {widest}\n{text}");
            assert!(text.contains("call_stack") && text.contains("role"), "{text}");
        }
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
