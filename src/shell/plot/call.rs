//! SQL for a picture: the data, the part of it that was chosen, and what is said about both.

use super::kinds::{Source, Subject};
use super::request::Request;

/// A picture that is about to be drawn.
#[derive(Debug)]
pub(crate) struct Call<'a> {
    /// What was asked for.
    pub(crate) request: &'a Request,
    /// The picture.
    pub(crate) subject: &'static Subject,
    /// The paths of the data.
    pub(crate) paths: &'a [String],
    /// How many pieces of data these hold, as far as that is known.
    pub(crate) units: usize,
    /// `strict` or `skip`.
    pub(crate) on_error: &'static str,
}

impl Call<'_> {
    /// The path argument of a table function.
    pub(crate) fn path(&self) -> String {
        list(self.paths)
    }

    /// Further arguments of a table function: what was given for `match`, and what to do with problems.
    pub(crate) fn arguments(&self) -> Result<String, String> {
        let mut arguments = String::new();
        if let Some(choice) = self.request.choice("match", &["nearest", "inside"])? {
            arguments.push_str(&format!(", match => {}", quoted(choice)));
        }
        if self.on_error != "strict" {
            arguments.push_str(&format!(", on_error => {}", quoted(self.on_error)));
        }
        Ok(arguments)
    }

    /// The condition that chooses a part of the data, behind `WHERE`, or nothing.
    ///
    /// # Errors
    /// When an option cannot be understood.
    pub(crate) fn filter(&self, and: &[String]) -> Result<String, String> {
        self.filter_by(|_| true, and)
    }

    /// The same with some of the options only.
    ///
    /// # Errors
    /// As [`filter`](Self::filter).
    pub(crate) fn filter_by(&self, takes: impl Fn(&str) -> bool, and: &[String]) -> Result<String, String> {
        let given = |name: &str| self.request.option(name).filter(|_| takes(name));
        let mut conditions: Vec<String> = and.to_vec();
        for (option, column) in
            [("role", "role"), ("metric", "metric_name"), ("device", "device"), ("pool", "pool")]
        {
            if let Some(value) = given(option) {
                conditions.push(format!("{column} = {}", quoted(value)));
            }
        }
        let rank = if self.subject.source == Source::Trend { "rank" } else { "rank_id" };
        for (option, column) in [("rank", rank), ("pid", "pid")] {
            if let Some(value) = given(option) {
                conditions.push(ranges(option, column, value)?);
            }
        }
        Ok(if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) })
    }

    /// What was chosen, in words; nothing when that is everything.
    pub(crate) fn chosen(&self) -> String {
        let names = ["role", "rank", "metric", "pid", "device", "pool"];
        let chosen: Vec<String> =
            names.iter().filter_map(|name| Some(format!("{name} {}", self.request.option(name)?))).collect();
        chosen.join(", ")
    }

    /// The name of the data.
    pub(crate) fn named(&self) -> String {
        self.paths.join(", ")
    }

    /// What the caption begins with.
    pub(crate) fn facts(&self) -> Vec<(String, String)> {
        vec![("data".to_owned(), self.named())]
    }

    /// What to say when the query gave no rows.
    pub(crate) fn nothing(&self, query: &str) -> String {
        let chosen = self.chosen();
        let which = if chosen.is_empty() { String::new() } else { format!(" for {chosen}") };
        let more = match self.request.option("target") {
            Some(target) => {
                format!("\nhint: SELECT DISTINCT target_name FROM trend lists what there is besides {target}")
            }
            None => String::new(),
        };
        format!(
            "{} {}: there is nothing to draw{which}\nhint: no rows are in {query}{more}",
            self.subject.kind, self.subject.what
        )
    }
}

/// A text of SQL.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// Paths as the argument of a table function.
pub(crate) fn list(paths: &[String]) -> String {
    match paths {
        [one] => quoted(one),
        many => format!("[{}]", many.iter().map(|p| quoted(p)).collect::<Vec<_>>().join(", ")),
    }
}

/// `3`, `0,4` or `0..7` as a condition.
fn ranges(option: &str, column: &str, text: &str) -> Result<String, String> {
    let wrong = || format!("{option}={text}: expected a number, several (0,4) or a range (0..7)");
    let number = |text: &str| text.trim().parse::<i64>().map_err(|_| wrong());
    let mut single = Vec::new();
    let mut parts = Vec::new();
    for part in text.split(',') {
        match part.split_once("..") {
            None => single.push(number(part)?.to_string()),
            Some((from, to)) => {
                let (from, to) = (number(from)?, number(to)?);
                if from > to {
                    return Err(wrong());
                }
                parts.push(format!("{column} BETWEEN {from} AND {to}"));
            }
        }
    }
    match single.as_slice() {
        [] => {}
        [one] => parts.push(format!("{column} = {one}")),
        many => parts.push(format!("{column} IN ({})", many.join(", "))),
    }
    Ok(if parts.len() > 1 { format!("({})", parts.join(" OR ")) } else { parts.concat() })
}

/// Milliseconds with any number of digits as exact nanoseconds.
///
/// # Errors
/// When the text is no such number.
pub(crate) fn nanoseconds(option: &str, text: &str) -> Result<i64, String> {
    let wrong =
        || format!("{option}={text}: expected milliseconds since the epoch, such as 1755143611835.4421");
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let digits = |t: &str| t.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !digits(whole) || !digits(fraction) {
        return Err(wrong());
    }
    let padded: String = fraction.chars().chain(std::iter::repeat('0')).take(6).collect();
    format!("{whole}{padded}").parse().map_err(|_| wrong())
}

/// A moment as people read it, in UTC: `2026-05-26 08:52:15.123`; nothing where the calendar ends.
pub(crate) fn moment(ns: i64) -> String {
    use datafusion::arrow::temporal_conversions::timestamp_ns_to_datetime;
    timestamp_ns_to_datetime(ns)
        .map(|t| t.format("%Y-%m-%d %H:%M:%S%.3f UTC").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_numbers_lists_and_ranges() {
        let of = |text| ranges("rank", "rank_id", text);
        assert_eq!(of("3").unwrap(), "rank_id = 3");
        assert_eq!(of("0,4").unwrap(), "rank_id IN (0, 4)");
        assert_eq!(of("0..7,12").unwrap(), "(rank_id BETWEEN 0 AND 7 OR rank_id = 12)");
        for bad in ["", "x", "1,", "7..0", "1..", "3 OR 1=1"] {
            assert!(of(bad).unwrap_err().contains("expected a number"), "{bad}");
        }
    }

    #[test]
    fn time_is_read_exactly() {
        assert_eq!(nanoseconds("at", "1755143611835.4421").unwrap(), 1_755_143_611_835_442_100);
        assert_eq!(nanoseconds("at", "12").unwrap(), 12_000_000);
        assert_eq!(nanoseconds("at", "0.0000019").unwrap(), 1);
        for bad in ["", ".", "1e3", "-1", "1.2.3", "99999999999999999999"] {
            assert!(nanoseconds("at", bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn moments_are_in_utc() {
        assert_eq!(moment(1_755_143_611_835_442_100), "2025-08-14 03:53:31.835 UTC");
    }
}
