//! Levels over time: one series per rank or pool, several measures each.

use serde::Serialize;

use super::amount::{Unit, amount};
use super::embed::{Number, embedded};
use super::page::{Data, Picture};
use super::terminal::{Screen, squeezed, worse};

/// Series over time, each in equal buckets.
#[derive(Debug, Default)]
pub struct Timeline {
    /// What the series are; the first measure is the one that ranks and sparks are drawn by.
    pub series: Vec<Series>,
    /// What their values count.
    pub unit: Option<Unit>,
}

/// One rank, or one pool.
#[derive(Debug, Clone, Default)]
pub struct Series {
    /// Its name.
    pub label: String,
    /// What selects it in a command, such as `role=actor rank=3`.
    pub selects: String,
    /// Its first moment, ns since the epoch.
    pub from_ns: i64,
    /// The moment after its last one.
    pub to_ns: i64,
    /// What was measured, all with the same number of buckets.
    pub measures: Vec<Measure>,
    /// Moments with a name: ns since the epoch.
    pub marks: Vec<(i64, String)>,
}

/// One level over time.
#[derive(Debug, Clone)]
pub struct Measure {
    /// What it is, such as `allocated`.
    pub name: String,
    /// The highest value in each bucket.
    pub values: Vec<Option<f64>>,
}

/// With fewer buckets a line says nothing any more; then whole series are left out.
const FEWEST: usize = 16;

#[derive(Serialize)]
struct Encoded<'a> {
    unit: Unit,
    series: Vec<EncodedSeries<'a>>,
}

#[derive(Serialize)]
struct EncodedSeries<'a> {
    label: &'a str,
    selects: &'a str,
    /// As text: a number of JavaScript is exact up to 2^53 only.
    from_ns: String,
    span_ns: i64,
    names: Vec<&'a str>,
    values: Vec<Vec<Number>>,
    marks: Vec<(i64, &'a str)>,
}

impl Series {
    /// The highest value of the first measure.
    pub fn peak(&self) -> Option<f64> {
        let first = self.measures.first()?;
        first.values.iter().copied().fold(None, worse)
    }

    fn buckets(&self) -> usize {
        self.measures.iter().map(|m| m.values.len()).max().unwrap_or(0)
    }

    /// With neighbours merged so many times, each time two into one that has the higher value.
    fn encoded(&self, merges: u32) -> EncodedSeries<'_> {
        let width = 1_usize.checked_shl(merges).unwrap_or(usize::MAX);
        let merged = |m: &Measure| -> Vec<Number> {
            m.values.chunks(width).map(|c| Number(c.iter().copied().fold(None, worse))).collect()
        };
        EncodedSeries {
            label: &self.label,
            selects: &self.selects,
            from_ns: self.from_ns.to_string(),
            span_ns: self.to_ns.saturating_sub(self.from_ns),
            names: self.measures.iter().map(|m| m.name.as_str()).collect(),
            values: self.measures.iter().map(merged).collect(),
            marks: self
                .marks
                .iter()
                .map(|(at, name)| (at.saturating_sub(self.from_ns), name.as_str()))
                .collect(),
        }
    }
}

impl Timeline {
    /// The series with the highest peaks, so many of them, in their own order.
    fn highest(&self, count: usize) -> Vec<&Series> {
        let mut order: Vec<usize> = (0..self.series.len()).collect();
        let peak = |at: &usize| self.series.get(*at).and_then(Series::peak).unwrap_or(f64::NEG_INFINITY);
        order.sort_by(|a, b| peak(b).total_cmp(&peak(a)).then(a.cmp(b)));
        order.truncate(count);
        order.sort_unstable();
        order.into_iter().filter_map(|at| self.series.get(at)).collect()
    }

    /// How often neighbours can be merged without changing the borders of the buckets.
    fn merges(&self) -> u32 {
        let buckets = self.series.iter().map(Series::buckets).filter(|b| *b > 0);
        let halves = |b: usize| b.trailing_zeros().min((b / FEWEST).max(1).ilog2());
        buckets.map(halves).min().unwrap_or(0)
    }
}

impl Picture for Timeline {
    fn script(&self) -> &'static str {
        include_str!("page/timeline.js")
    }

    fn data(&self, level: u32) -> Option<Data> {
        let merges = level.min(self.merges());
        let shown = self.series.len().checked_shr(level - merges).filter(|n| *n > 0)?;
        let series = self.highest(shown);
        let mut cuts = Vec::new();
        if merges > 0 {
            let before = self.series.iter().map(Series::buckets).max().unwrap_or(0);
            cuts.push(format!(
                "{} of {before} buckets are drawn, each with its highest value",
                before >> merges
            ));
        }
        if shown < self.series.len() {
            cuts.push(format!(
                "{shown} of {} series are drawn, those with the highest peaks",
                self.series.len()
            ));
        }
        let cut = (!cuts.is_empty()).then(|| format!("To keep the file small, {}.", cuts.join("; ")));
        let series = series.into_iter().map(|s| s.encoded(merges)).collect();
        Some(Data { json: embedded(&Encoded { unit: self.unit.unwrap_or(Unit::None), series }), cut })
    }

    fn text(&self, screen: &Screen) -> String {
        let unit = self.unit.unwrap_or(Unit::None);
        let series = self.highest(screen.lines.max(1));
        let names = series.iter().map(|s| unicode_width::UnicodeWidthStr::width(s.label.as_str())).max();
        let name = names.unwrap_or(0).min(screen.width / 3);
        let high = series.iter().filter_map(|s| s.peak()).fold(0.0, f64::max);
        let room = screen.width.saturating_sub(name + 14).max(8);
        let mut out = String::new();
        for one in &series {
            let Some(first) = one.measures.first() else { continue };
            let peak = one.peak().map_or_else(String::new, |p| amount(p, unit));
            let spark = screen.spark(&squeezed(&first.values, room), 0.0, high);
            out.push_str(&screen.line(&format!("{} {peak:>10} {spark}", screen.padded(&one.label, name))));
        }
        let measure = series.first().and_then(|s| s.measures.first()).map_or("", |m| m.name.as_str());
        let shown = match self.series.len() {
            all if all > series.len() => {
                format!("; {} of {all} series, those with the highest peaks", series.len())
            }
            _ => String::new(),
        };
        out.push_str(
            &screen.line(&format!("(peak and course of {measure}, from 0 to {}{shown})", amount(high, unit))),
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{Caption, Page};
    use super::*;

    fn timeline(series: usize, buckets: usize) -> Timeline {
        let one = |n: usize| Series {
            label: format!("actor rank {n}"),
            from_ns: 1_755_143_611_835_442_100,
            to_ns: 1_755_143_611_935_442_100,
            measures: vec![Measure {
                name: "allocated".into(),
                values: (0..buckets).map(|b| Some((n * 1000 + b * 37 % 101) as f64 + 0.125)).collect(),
            }],
            marks: vec![(1_755_143_611_835_442_101, "step 1".into())],
            ..Series::default()
        };
        Timeline { series: (0..series).map(one).collect(), unit: Some(Unit::Megabytes) }
    }

    #[test]
    fn the_highest_value_survives_every_level() {
        let picture = timeline(20, 512);
        let highest = picture.series.iter().filter_map(Series::peak).fold(0.0, f64::max);
        let mut levels = 0;
        for level in 0.. {
            let Some(data) = picture.data(level) else { break };
            let json: serde_json::Value = serde_json::from_str(&data.json).unwrap();
            let all =
                json["series"].as_array().unwrap().iter().flat_map(|s| s["values"][0].as_array().unwrap());
            let drawn = all.map(|v| v.as_f64().unwrap()).fold(0.0, f64::max);
            assert_eq!(drawn, highest, "level {level}");
            assert_eq!(data.cut.is_some(), level > 0);
            levels += 1;
        }
        assert_eq!(levels, 5 + 5, "halved from 512 to 16 buckets, then from 20 series to 1");
    }

    #[test]
    fn time_is_exact() {
        let data = timeline(1, 4).data(0).unwrap();
        assert!(
            data.json.contains("\"from_ns\":\"1755143611835442100\",\"span_ns\":100000000"),
            "{}",
            data.json
        );
        assert!(data.json.contains("\"marks\":[[1,\"step 1\"]]"), "{}", data.json);
    }

    #[test]
    fn thousands_of_ranks_fit_into_a_page() {
        let picture = timeline(4096, 256);
        let caption = Caption::default();
        let html = Page { picture: &picture, caption: &caption }.html(super::super::PAGE_LIMIT).unwrap();
        assert!(html.len() <= super::super::PAGE_LIMIT && html.contains("To keep the file small"));
    }

    #[test]
    fn lines_fit_the_terminal() {
        for width in [40, 80, 200] {
            let text = timeline(50, 400).text(&Screen { width, lines: 10, ascii: false });
            assert!(text.lines().all(|l| unicode_width::UnicodeWidthStr::width(l) <= width), "{text}");
            assert_eq!(text.lines().count(), 11);
            assert!(text.contains("rank 49") && !text.contains("rank 1 "), "{text}");
        }
    }
}
