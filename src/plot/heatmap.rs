//! Heat maps: one value per row and column, such as rank and step.

use std::collections::BTreeMap;

use serde::Serialize;

use super::amount::{Unit, amount};
use super::embed::{Number, embedded};
use super::page::{Data, Picture};
use super::terminal::{Screen, squeezed, worse};

/// Values by row and column.
#[derive(Debug, Default)]
pub struct Heatmap {
    axes: (String, String),
    unit: Option<Unit>,
    rows: Vec<String>,
    columns: BTreeMap<i64, ()>,
    cells: BTreeMap<(usize, i64), Cell>,
    shared: usize,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cell {
    /// The value; `None` when the data has a row for it and no value.
    pub value: Option<f64>,
    /// How it compares with what it is judged by, if there is such a figure.
    pub compared: Option<f64>,
    /// Whether a rule that the caption names marks it.
    pub marked: bool,
}

#[derive(Serialize)]
struct Encoded<'a> {
    unit: Unit,
    axes: [&'a str; 2],
    rows: Vec<&'a str>,
    columns: Vec<i64>,
    /// Row by row: a number, `NaN`, `Infinity`, `-Infinity`; `null` for no value; 0 followed by nothing
    /// is never used for a missing cell, which is `""`.
    cells: Vec<Vec<Entry>>,
    compared: Vec<Vec<Number>>,
    /// Row and column, by their numbers from 0.
    marked: Vec<(usize, usize)>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Entry {
    Missing(&'static str),
    Value(Number),
}

impl Heatmap {
    /// An empty map; `axes` say what a row is, and what a column is.
    pub fn new(axes: (&str, &str), unit: Unit) -> Self {
        let axes = (axes.0.to_owned(), axes.1.to_owned());
        Self { axes, unit: Some(unit), ..Self::default() }
    }

    /// What the values count.
    pub fn unit(&self) -> Unit {
        self.unit.unwrap_or(Unit::None)
    }

    /// The number of a row, which is added when it is new. Rows are drawn in the order in which they come.
    pub fn row(&mut self, label: &str) -> usize {
        if let Some(at) = self.rows.iter().rposition(|row| row == label) {
            return at;
        }
        self.rows.push(label.to_owned());
        self.rows.len() - 1
    }

    /// Makes room for a column, whether anything is in it or not.
    pub fn column(&mut self, column: i64) {
        self.columns.insert(column, ());
    }

    /// Sets a cell. Of several values for one cell the one that matters more is kept: NaN, an infinity,
    /// the one furthest from 0.
    pub fn set(&mut self, row: usize, column: i64, cell: Cell) {
        self.columns.insert(column, ());
        let size = |v: Option<f64>| v.map(f64::abs);
        match self.cells.get_mut(&(row, column)) {
            None => drop(self.cells.insert((row, column), cell)),
            Some(old) => {
                self.shared += 1;
                let marked = old.marked || cell.marked;
                let later = size(old.value) != size(cell.value)
                    && worse(size(old.value), size(cell.value)).map(f64::to_bits)
                        == size(cell.value).map(f64::to_bits);
                if later {
                    *old = cell;
                }
                old.marked = marked;
            }
        }
    }

    /// How many rows and columns it has.
    pub fn size(&self) -> (usize, usize) {
        (self.rows.len(), self.columns.len())
    }

    /// How many values are not drawn, because another one has the same cell.
    pub fn shared(&self) -> usize {
        self.shared
    }

    /// How many cells are marked.
    pub fn marked(&self) -> usize {
        self.cells.values().filter(|cell| cell.marked).count()
    }

    /// Lowest and highest value that is finite.
    pub fn range(&self) -> Option<(f64, f64)> {
        let finite = self.cells.values().filter_map(|c| Number(c.value).finite());
        finite.fold(None, |range, v| {
            let (low, high) = range.unwrap_or((v, v));
            Some((f64::min(low, v), f64::max(high, v)))
        })
    }

    /// The rows that matter most, so many of them: with marks, then with values that are not finite, then
    /// with the largest value.
    fn chosen(&self, count: usize) -> Vec<usize> {
        if count >= self.rows.len() {
            return (0..self.rows.len()).collect();
        }
        let mut weights = vec![(0, 0, f64::NEG_INFINITY); self.rows.len()];
        for ((row, _), cell) in &self.cells {
            let Some((marks, odd, high)) = weights.get_mut(*row) else { continue };
            *marks += usize::from(cell.marked);
            *odd += usize::from(cell.value.is_some_and(|v| !v.is_finite()));
            *high = high.max(Number(cell.value).finite().map_or(f64::NEG_INFINITY, f64::abs));
        }
        let mut order: Vec<(usize, (usize, usize, f64))> = weights.into_iter().enumerate().collect();
        order.sort_by(|(x, a), (y, b)| (b.0, b.1).cmp(&(a.0, a.1)).then(b.2.total_cmp(&a.2)).then(x.cmp(y)));
        let mut chosen: Vec<usize> = order.into_iter().map(|(row, _)| row).take(count).collect();
        chosen.sort_unstable();
        chosen
    }

    fn values(&self, row: usize) -> impl Iterator<Item = Option<&Cell>> {
        self.columns.keys().map(move |column| self.cells.get(&(row, *column)))
    }
}

impl Picture for Heatmap {
    fn script(&self) -> &'static str {
        include_str!("page/heatmap.js")
    }

    fn data(&self, level: u32) -> Option<Data> {
        let count = self.rows.len().checked_shr(level).filter(|n| *n > 0)?;
        let rows = self.chosen(count);
        let entry =
            |cell: Option<&Cell>| cell.map_or(Entry::Missing(""), |cell| Entry::Value(Number(cell.value)));
        let compares = self.cells.values().any(|c| c.compared.is_some());
        let compared = |row: &usize| -> Vec<Number> {
            self.values(*row).map(|cell| Number(cell.and_then(|c| c.compared))).collect()
        };
        let mut marked = Vec::new();
        for (y, row) in rows.iter().enumerate() {
            let marks = self.values(*row).enumerate().filter(|(_, cell)| cell.is_some_and(|c| c.marked));
            marked.extend(marks.map(|(x, _)| (y, x)));
        }
        let encoded = Encoded {
            unit: self.unit(),
            axes: [&self.axes.0, &self.axes.1],
            rows: rows.iter().filter_map(|row| self.rows.get(*row)).map(String::as_str).collect(),
            columns: self.columns.keys().copied().collect(),
            cells: rows.iter().map(|row| self.values(*row).map(entry).collect()).collect(),
            compared: if compares { rows.iter().map(compared).collect() } else { vec![] },
            marked,
        };
        let cut = (count < self.rows.len()).then(|| {
            format!(
                "To keep the file small, {count} of {} rows are drawn: those with marks, then those with values that are \
                 not finite, then those with the largest values.",
                self.rows.len()
            )
        });
        Some(Data { json: embedded(&encoded), cut })
    }

    fn text(&self, screen: &Screen) -> String {
        let unit = self.unit();
        let (low, high) = self.range().unwrap_or((0.0, 0.0));
        let rows = self.chosen(screen.lines.max(1));
        let widths = self.rows.iter().map(|r| unicode_width::UnicodeWidthStr::width(r.as_str()));
        let name = widths.max().unwrap_or(0).min(screen.width / 3);
        let room = screen.width.saturating_sub(name + 12).max(4);
        let each = (room / self.columns.len().max(1)).clamp(1, 3);
        let mut out = String::new();
        for row in &rows {
            let label = self.rows.get(*row).map_or("", String::as_str);
            let values: Vec<Option<f64>> = self.values(*row).map(|cell| cell.and_then(|c| c.value)).collect();
            let most = values.iter().copied().fold(None, worse).map_or_else(String::new, |v| amount(v, unit));
            let cells: String = squeezed(&values, room)
                .into_iter()
                .flat_map(|v| std::iter::repeat_n(screen.shade(v, low, high), each))
                .collect();
            let mark = if self.values(*row).any(|c| c.is_some_and(|c| c.marked)) { '!' } else { ' ' };
            out.push_str(&screen.line(&format!("{}{mark}{most:>10} {cells}", screen.padded(label, name))));
        }
        let shown = match self.rows.len() {
            all if all > rows.len() => format!("; {} of {all} rows", rows.len()),
            _ => String::new(),
        };
        let [low, high] = [low, high].map(|v| amount(v, unit));
        out.push_str(
            &screen.line(&format!("({} by {}, from {} to {}{shown})", self.axes.0, self.axes.1, low, high)),
        );
        let odd = |cell: &Cell| cell.marked || cell.value.is_some_and(|v| !v.is_finite());
        if self.cells.values().any(odd) {
            out.push_str(&screen.line("(N is NaN, ^ and v are infinities, ! is a row with marked cells)"));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(value: Option<f64>) -> Cell {
        Cell { value, compared: None, marked: false }
    }

    fn heatmap() -> Heatmap {
        let mut map = Heatmap::new(("rank", "step"), Unit::None);
        let values =
            [Some(1.0), Some(f64::NAN), Some(f64::INFINITY), Some(f64::NEG_INFINITY), None, Some(-2.5)];
        for (step, value) in (0..).zip(values) {
            let row = map.row("rank 0");
            map.set(row, step, cell(value));
        }
        let row = map.row("rank 1");
        map.set(row, 2, Cell { marked: true, compared: Some(1.5), ..cell(Some(9.0)) });
        map
    }

    #[test]
    fn what_is_no_number_is_told_apart() {
        let json = heatmap().data(0).unwrap().json;
        assert!(
            json.contains(r#"[[1,"NaN","Infinity","-Infinity",null,-2.5],["","",9,"","",""]]"#),
            "{json}"
        );
        assert!(
            json.contains(r#""marked":[[1,2]]"#) && json.contains(r#""columns":[0,1,2,3,4,5]"#),
            "{json}"
        );
        assert_eq!(heatmap().range(), Some((-2.5, 9.0)));
    }

    #[test]
    fn of_several_values_the_worst_is_kept_and_counted() {
        let mut map = heatmap();
        for (value, kept) in
            [(Some(-3.0), -3.0), (Some(2.0), -3.0), (None, -3.0), (Some(f64::INFINITY), f64::INFINITY)]
        {
            map.set(0, 0, cell(value));
            assert_eq!(map.cells[&(0, 0)].value, Some(kept));
        }
        map.set(0, 0, cell(Some(f64::NAN)));
        map.set(0, 0, cell(Some(1.0)));
        assert!(map.cells[&(0, 0)].value.unwrap().is_nan());
        assert_eq!(map.shared(), 6);
    }

    #[test]
    fn marked_rows_are_left_out_last() {
        let data = heatmap().data(1).unwrap();
        assert!(data.json.contains(r#""rows":["rank 1"]"#) && data.cut.unwrap().contains("1 of 2 rows"));
        assert!(heatmap().data(2).is_none());
    }

    #[test]
    fn a_terminal_shows_each_kind_of_value() {
        let text = heatmap().text(&Screen { width: 60, lines: 9, ascii: true });
        let first = text.lines().next().unwrap();
        assert!(first.contains("NNN^^^vvv   "), "{text}");
        assert!(text.lines().nth(1).unwrap().starts_with("rank 1!"), "{text}");
    }
}
