//! The answer to a query in a form that can be compared.

use std::collections::BTreeMap;
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use datafusion::common::Result;
use datafusion::physical_plan::{ExecutionPlan, collect};
use datafusion::prelude::SessionContext;
use rl_insight_sql::scan::PROBLEMS_LEFT_OUT;

/// Rows by the place that they come from, sorted: without ORDER BY their order is open.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    /// Rows as text, by their `source_path` (the empty text where there is no such column).
    pub(crate) rows: BTreeMap<String, Vec<String>>,
    /// How many problems were left out, as the metrics of the plan say.
    pub(crate) left_out: usize,
}

impl Answer {
    /// How many rows there are.
    pub(crate) fn len(&self) -> usize {
        self.rows.values().map(Vec::len).sum()
    }
}

/// Asks a query.
pub(crate) async fn ask(context: &SessionContext, sql: &str) -> Result<Answer> {
    let plan = context.sql(sql).await?.create_physical_plan().await?;
    let batches = collect(Arc::clone(&plan), context.task_ctx()).await?;
    let mut answer = Answer { left_out: summed(&plan, PROBLEMS_LEFT_OUT), ..Answer::default() };
    for batch in &batches {
        add(&mut answer.rows, batch);
    }
    answer.rows.values_mut().for_each(|rows| rows.sort());
    Ok(answer)
}

fn add(rows: &mut BTreeMap<String, Vec<String>>, batch: &RecordBatch) {
    let options = FormatOptions::default().with_null("NULL");
    let columns: Vec<ArrayFormatter<'_>> =
        batch.columns().iter().map(|c| ArrayFormatter::try_new(c.as_ref(), &options).unwrap()).collect();
    let source = batch.schema().column_with_name("source_path").map(|(at, _)| at);
    for row in 0..batch.num_rows() {
        let place = source.map(|at| columns[at].value(row).to_string()).unwrap_or_default();
        let text: Vec<String> = columns.iter().map(|c| c.value(row).to_string()).collect();
        rows.entry(place).or_default().push(text.join("|"));
    }
    assert!(batch.columns().iter().all(|c| c.len() == batch.num_rows()));
}

/// The sum of one metric over a plan.
pub(crate) fn summed(plan: &Arc<dyn ExecutionPlan>, metric: &str) -> usize {
    let own = plan.metrics().and_then(|m| m.sum_by_name(metric)).map_or(0, |v| v.as_usize());
    own + plan.children().into_iter().map(|child| summed(child, metric)).sum::<usize>()
}
