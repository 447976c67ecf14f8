//! One statistic over steps, with the band that it usually stays in.

use serde::Serialize;

use super::amount::{Unit, amount};
use super::embed::{Number, embedded};
use super::page::{Data, Picture};
use super::terminal::{Screen, squeezed, worse};

/// Lines over steps, one per rank.
#[derive(Debug, Default)]
pub struct Trend {
    /// What is drawn, such as `norm`.
    pub statistic: String,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One rank.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Its name.
    pub label: String,
    /// The middle of the band, its lower and its upper end; `None` when there is none.
    pub band: [Option<f64>; 3],
    /// The values, in the order of steps.
    pub points: Vec<Point>,
}

/// One value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// The step.
    pub step: i64,
    /// The value; `None` when there is none.
    pub value: Option<f64>,
    /// Whether it is outside of the band.
    pub outside: bool,
}

#[derive(Serialize)]
struct Encoded<'a> {
    unit: Unit,
    statistic: &'a str,
    lines: Vec<EncodedLine<'a>>,
}

#[derive(Serialize)]
struct EncodedLine<'a> {
    label: &'a str,
    band: [Number; 3],
    steps: Vec<i64>,
    values: Vec<Number>,
    /// Numbers of the points, from 0, that are outside of the band.
    outside: Vec<usize>,
}

impl Line {
    fn outside(&self) -> usize {
        self.points.iter().filter(|p| p.outside).count()
    }

    fn encoded(&self) -> EncodedLine<'_> {
        EncodedLine {
            label: &self.label,
            band: self.band.map(Number),
            steps: self.points.iter().map(|p| p.step).collect(),
            values: self.points.iter().map(|p| Number(p.value)).collect(),
            outside: self.points.iter().enumerate().filter(|(_, p)| p.outside).map(|(at, _)| at).collect(),
        }
    }
}

impl Trend {
    /// How many points are outside of their band.
    pub fn outside(&self) -> usize {
        self.lines.iter().map(Line::outside).sum()
    }

    /// So many lines: those with most points outside of the band, in their own order.
    fn chosen(&self, count: usize) -> Vec<&Line> {
        let mut order: Vec<(usize, &Line)> = self.lines.iter().enumerate().collect();
        order.sort_by(|(x, a), (y, b)| b.outside().cmp(&a.outside()).then(x.cmp(y)));
        order.truncate(count);
        order.sort_by_key(|(at, _)| *at);
        order.into_iter().map(|(_, line)| line).collect()
    }
}

impl Picture for Trend {
    fn script(&self) -> &'static str {
        include_str!("page/trend.js")
    }

    fn data(&self, level: u32) -> Option<Data> {
        let count = self.lines.len().checked_shr(level).filter(|n| *n > 0)?;
        let lines = self.chosen(count).into_iter().map(Line::encoded).collect();
        let cut = (count < self.lines.len()).then(|| {
            format!(
                "To keep the file small, {count} of {} lines are drawn, those with most points outside of their band.",
                self.lines.len()
            )
        });
        let encoded = Encoded { unit: Unit::None, statistic: &self.statistic, lines };
        Some(Data { json: embedded(&encoded), cut })
    }

    fn text(&self, screen: &Screen) -> String {
        let lines = self.chosen(screen.lines.max(1));
        let widths = lines.iter().map(|l| unicode_width::UnicodeWidthStr::width(l.label.as_str()));
        let name = widths.max().unwrap_or(0).min(screen.width / 3);
        let room = screen.width.saturating_sub(name + 26).max(8);
        let finite = || lines.iter().flat_map(|l| &l.points).filter_map(|p| Number(p.value).finite());
        let low = finite().reduce(f64::min).unwrap_or(0.0);
        let high = finite().reduce(f64::max).unwrap_or(0.0);
        let mut out = String::new();
        for line in &lines {
            let values: Vec<Option<f64>> = line.points.iter().map(|p| p.value).collect();
            let last =
                values.iter().copied().fold(None, worse).map_or_else(String::new, |v| amount(v, Unit::None));
            let outside = match line.outside() {
                0 => String::new(),
                n => format!("{n} outside"),
            };
            let spark = screen.spark(&squeezed(&values, room), low, high);
            out.push_str(
                &screen
                    .line(&format!("{} {last:>10} {outside:>12} {spark}", screen.padded(&line.label, name))),
            );
        }
        let shown = match self.lines.len() {
            all if all > lines.len() => format!("; {} of {all} lines", lines.len()),
            _ => String::new(),
        };
        let [low, high] = [low, high].map(|v| amount(v, Unit::None));
        out.push_str(
            &screen.line(&format!(
                "(highest {} and its course, from {} to {}{shown})",
                self.statistic, low, high
            )),
        );
        if lines.iter().flat_map(|l| &l.points).any(|p| p.value.is_some_and(|v| !v.is_finite())) {
            out.push_str(&screen.line("(N is NaN, ^ and v are infinities)"));
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trend() -> Trend {
        let line = |n: i64| Line {
            label: format!("rank {n}"),
            band: [Some(2.0), Some(1.0), Some(3.0)],
            points: (0..6)
                .map(|step| {
                    let odd = n == 1 && step == 4;
                    Point { step, value: Some(if odd { f64::NAN } else { 2.0 }), outside: odd }
                })
                .collect(),
        };
        Trend { statistic: "norm".into(), lines: vec![line(0), line(1)] }
    }

    #[test]
    fn points_outside_of_the_band_are_marked_and_kept_longest() {
        let json = trend().data(0).unwrap().json;
        assert!(json.contains(r#""values":[2,2,2,2,"NaN",2],"outside":[4]"#), "{json}");
        assert_eq!(trend().outside(), 1);
        let less = trend().data(1).unwrap();
        assert!(less.json.contains("rank 1") && !less.json.contains("rank 0") && less.cut.is_some());
        let text = trend().text(&Screen { width: 70, lines: 5, ascii: false });
        assert!(text.contains("1 outside") && text.contains('N'), "{text}");
    }
}
