//! One statistic of one tensor over steps.

use rl_insight_sql::plot::{Caption, Line, Point, Trend};

use super::Drawn;
use super::call::{Call, quoted};
use super::request::Request;
use super::rows::Rows;
use crate::shell::amount::counted;
use crate::shell::failure::Failure;

/// How many usual distances from the median are outside of the band.
pub(super) const FACTOR: f64 = 5.0;

const STATISTICS: &[&str] = &["norm", "max", "min", "mean"];

/// The statistic that was asked for.
///
/// # Errors
/// When there is none of that name.
pub(super) fn statistic(request: &Request) -> Result<&'static str, String> {
    Ok(request.choice("stat", STATISTICS)?.unwrap_or("norm"))
}

/// The query.
///
/// # Errors
/// When an option cannot be understood.
pub(super) fn queries(call: &Call<'_>) -> Result<Vec<String>, String> {
    let (path, arguments, filter) = (call.path(), call.arguments()?, call.filter(&[])?);
    let (stat, factor) = (quoted(statistic(call.request)?), call.request.factor(FACTOR)?);
    let target = quoted(call.request.option("target").unwrap_or_default());
    Ok(vec![format!(
        "SELECT role, rank, metric_name, target_micro_step, step, value, median, low, high, outside FROM \
         trend_series({path}, {target}, statistic => {stat}, factor => {factor:?}{arguments}){filter} \
         ORDER BY role, rank, metric_name, target_micro_step, step, entry_no, tensor_no"
    )])
}

/// By which rule values are marked.
pub(super) fn rule(factor: f64) -> String {
    format!(
        "Marked values are outside of the usual band of their line: further from its median over all steps than {factor} \
         times the larger of 1.4826 * MAD and 1 % of the median, or not finite where other steps are. See trend_series."
    )
}

/// What each row is of: as much of role, rank, metric and call as tells the rows apart.
///
/// # Errors
/// When a column is missing, which would be a mistake in here.
pub(super) fn labels(rows: &Rows) -> Result<Vec<String>, Failure> {
    let (roles, ranks) = (rows.texts("role")?, rows.ints("rank")?);
    let (metrics, calls) = (rows.texts("metric_name")?, rows.ints("target_micro_step")?);
    let several_metrics = metrics.iter().any(|m| m != metrics.iter().next().flatten());
    let several_calls = calls.iter().any(|c| c != calls.iter().next().flatten());
    let mut labels = Vec::with_capacity(ranks.len());
    for ((role, rank), (metric, call)) in roles.iter().zip(&ranks).zip(metrics.iter().zip(&calls)) {
        let mut label = role.map_or_else(String::new, |role| format!("{role} "));
        label.push_str(&format!("rank {}", rank.unwrap_or(-1)));
        if several_metrics {
            label.push_str(&format!(" {}", metric.unwrap_or("no metric")));
        }
        if several_calls {
            label.push_str(&format!(" call {}", call.unwrap_or(0)));
        }
        labels.push(label);
    }
    Ok(labels)
}

/// The picture.
///
/// # Errors
/// As [`labels`].
pub(super) fn drawn(call: &Call<'_>, rows: &[Rows]) -> Result<Drawn, Failure> {
    let Some(rows) = rows.first() else { return Err(Failure::Query("no query".into())) };
    let stat = statistic(call.request).map_err(Failure::Query)?;
    let mut trend = Trend { statistic: stat.to_owned(), lines: vec![] };
    let (steps, values, outside) = (rows.ints("step")?, rows.floats("value")?, rows.flags("outside")?);
    let (median, low, high) = (rows.floats("median")?, rows.floats("low")?, rows.floats("high")?);
    for (((label, step), (value, outside)), (median, (low, high))) in labels(rows)?
        .into_iter()
        .zip(&steps)
        .zip(values.iter().zip(outside))
        .zip(median.iter().zip(low.iter().zip(&high)))
    {
        if trend.lines.last().is_none_or(|line| line.label != label) {
            trend.lines.push(Line { label, band: [median, low, high], points: vec![] });
        }
        if let Some(line) = trend.lines.last_mut() {
            line.points.push(Point { step: step.unwrap_or(0), value, outside });
        }
    }
    let mut facts = call.facts();
    let target = call.request.option("target").unwrap_or_default();
    facts.push(("target".to_owned(), target.to_owned()));
    let points: usize = trend.lines.iter().map(|l| l.points.len()).sum();
    facts.push((
        "shown".to_owned(),
        format!(
            "{}, {}, {} outside of the band",
            counted(trend.lines.len() as u64, "line"),
            counted(points as u64, "value"),
            trend.outside()
        ),
    ));
    let factor = call.request.factor(FACTOR).map_err(Failure::Query)?;
    let title = format!("{stat} over steps");
    let caption = Caption { title, facts, notes: vec![rule(factor)], queries: vec![] };
    Ok(Drawn { picture: Box::new(trend), caption })
}
