//! Heat maps: one value per rank and step.

use rl_insight_sql::plot::{Caption, Cell, Heatmap, Unit, amount};

use super::Drawn;
use super::call::{Call, quoted};
use super::flame::Seen;
use super::kinds::Source;
use super::rows::Rows;
use super::trend;
use crate::shell::failure::Failure;

/// How far from the median of its role a rank is marked.
const FACTOR: f64 = 1.2;

/// So many windows have a column even when nothing is in them.
const MOST_WINDOWS: usize = 1000;

/// The query.
///
/// # Errors
/// When an option cannot be understood.
pub(super) fn queries(call: &Call<'_>) -> Result<Vec<String>, String> {
    if call.subject.source == Source::Trend {
        return trend::queries(call);
    }
    let (path, arguments) = (call.path(), call.arguments()?);
    let factor = call.request.factor(FACTOR)?;
    let every = call.request.option("every").unwrap_or("auto");
    let number = every.parse().is_ok_and(|ms: f64| ms.is_finite() && ms > 0.0);
    if !number && !["step", "auto"].contains(&every) {
        return Err(format!("every={every}: expected step, auto, or a number of milliseconds"));
    }
    let window = if number { every.to_owned() } else { quoted(every) };
    // The median is that of all ranks of the role, also when only some are drawn.
    let role = call.filter_by(|option| option == "role", &[])?;
    let ranks = call.filter_by(|option| option != "role", &[])?;
    Ok(vec![format!(
        "SELECT role, rank_id, window_no, high_mb, vs_median, vs_median > {factor} OR vs_median < 1.0 / {factor} AS outlier \
         FROM (SELECT role, rank_id, window_no, high_mb, \
         high_mb / nullif(median(high_mb) OVER (PARTITION BY role, window_no), 0) AS vs_median \
         FROM memory_growth({path}, window => {window}{arguments}){role}){ranks} ORDER BY role, rank_id, window_no"
    )])
}

/// The picture.
///
/// # Errors
/// When a column is missing, which would be a mistake in here.
pub(super) fn drawn(call: &Call<'_>, rows: &[Rows]) -> Result<Drawn, Failure> {
    let Some(rows) = rows.first() else { return Err(Failure::Query("no query".into())) };
    let mut facts = call.facts();
    let (map, title, mut notes) = if call.subject.source == Source::Trend {
        let map = statistics(rows)?;
        let stat = trend::statistic(call.request).map_err(Failure::Query)?;
        facts.push(("target".to_owned(), call.request.option("target").unwrap_or_default().to_owned()));
        facts.push(("statistic".to_owned(), stat.to_owned()));
        let factor = call.request.factor(trend::FACTOR).map_err(Failure::Query)?;
        (map, format!("{stat} by rank and step"), vec![trend::rule(factor)])
    } else {
        let map = peaks(rows)?;
        let factor = call.request.factor(FACTOR).map_err(Failure::Query)?;
        let note = format!(
            "Each cell is the highest level in one window of time (total_allocated_mb, see memory_growth): a step where \
             the data has one profile per step, else a tenth of the recording. Framed cells are outliers: more than \
             {factor} times the median of the ranks of the role in the same window, or less than 1 / {factor} of it."
        );
        (map, "Peak by rank and step".to_owned(), vec![note])
    };
    let (height, width) = map.size();
    facts.push(("shown".to_owned(), format!("{height} rows, {width} columns, {} marked", map.marked())));
    if let Some((low, high)) = map.range() {
        let unit = map.unit();
        facts.push(("range".to_owned(), format!("{} to {}", amount(low, unit), amount(high, unit))));
    }
    if map.shared() > 0 {
        notes.push(format!(
            "{} values share a cell with another one; the cell has NaN if there is one, else an infinity, else the value \
             furthest from 0.",
            map.shared()
        ));
    }
    let caption = Caption { title, facts, notes, queries: vec![] };
    Ok(Drawn { picture: Box::new(map), caption })
}

fn peaks(rows: &Rows) -> Result<Heatmap, Failure> {
    let mut map = Heatmap::new(("rank", "window"), Unit::Megabytes);
    let (roles, ranks, windows) = (rows.texts("role")?, rows.ints("rank_id")?, rows.ints("window_no")?);
    let (high, compared, outlier) =
        (rows.floats("high_mb")?, rows.floats("vs_median")?, rows.flags("outlier")?);
    // Windows in which no rank has a level are a gap, and no shorter axis.
    let last = windows.iter().flatten().max().unwrap_or(0);
    (1..=last).take(MOST_WINDOWS).for_each(|window| map.column(window));
    let mut seen = Seen::default();
    for ((((role, rank), window), (value, compared)), marked) in
        roles.iter().zip(&ranks).zip(&windows).zip(high.iter().zip(&compared)).zip(outlier)
    {
        let row = map.row(&seen.rank(role, rank));
        map.set(row, window.unwrap_or(0), Cell { value, compared, marked });
    }
    Ok(map)
}

fn statistics(rows: &Rows) -> Result<Heatmap, Failure> {
    let mut map = Heatmap::new(("rank", "step"), Unit::None);
    let labels = trend::labels(rows)?;
    let (steps, values, outside) = (rows.ints("step")?, rows.floats("value")?, rows.flags("outside")?);
    for (((label, step), value), marked) in labels.iter().zip(&steps).zip(&values).zip(outside) {
        let row = map.row(label);
        map.set(row, step.unwrap_or(0), Cell { value, compared: None, marked });
    }
    Ok(map)
}
