//! `trend_step_pairs(path_a, path_b, align)`: which steps of two runs are compared with each other.
//!
//! The functions that compare dumps are queries; what they cannot ask is which steps there are, short
//! of reading all files. This tells it from the listing of the directories alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock};

use async_trait::async_trait;
use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::catalog::{MemTable, Session, TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::{DataFusionError, Result, plan_err};
use datafusion::logical_expr::{Expr, TableType};
use datafusion::physical_plan::ExecutionPlan;

use crate::format::msprobe_dump::{DumpTrend, TrendOptions};
use crate::source::{DataError, Finding, Format, KeyValue, Kind, expand_roots};

use super::arguments::texts;

/// Its name in SQL.
pub const STEP_PAIRS: &str = "trend_step_pairs";

/// How it is called.
pub const STEP_PAIRS_SIGNATURE: &str = "trend_step_pairs(path_a, path_b, 'step'|'order')";

/// What it is for.
pub const STEP_PAIRS_PURPOSE: &str =
    "steps of two msprobe dumps side by side, from their directories alone; trend_differences is built on it";

/// The table function.
#[derive(Debug, Default)]
pub struct StepPairsFunction;

impl StepPairsFunction {
    /// The paths of both runs in the arguments of a call.
    ///
    /// # Errors
    /// A plan error when the call is not `(path_a, path_b, 'step' or 'order')`.
    pub fn paths(arguments: &[Expr]) -> Result<[Vec<String>; 2]> {
        pairs_of(arguments).map(|pairs| pairs.paths)
    }
}

impl TableFunctionImpl for StepPairsFunction {
    fn call_with_args(&self, args: TableFunctionArgs<'_, '_>) -> Result<Arc<dyn TableProvider>> {
        Ok(Arc::new(pairs_of(args.exprs())?))
    }
}

/// The steps of two runs, side by side.
#[derive(Debug, Clone)]
struct StepPairs {
    paths: [Vec<String>; 2],
    /// The n-th step with the n-th, not those with the same number.
    by_order: bool,
}

fn pairs_of(arguments: &[Expr]) -> Result<StepPairs> {
    let text = |argument: &Expr| if let Expr::Literal(value, _) = argument { texts(value) } else { None };
    if let [a, b, align] = arguments
        && let (Some(a), Some(b), Some(align)) = (text(a), text(b), text(align))
        && let [align] = align.as_slice()
        && ["step", "order"].contains(&align.as_str())
    {
        return Ok(StepPairs { paths: [a, b], by_order: align == "order" });
    }
    plan_err!("{STEP_PAIRS}: expected {STEP_PAIRS}('path_a', 'path_b', 'step' or 'order')")
}

/// The steps of each role.
type Steps = BTreeMap<Option<String>, BTreeSet<i64>>;

/// A role and a step of each run, or of one of them.
type Pair = (Option<String>, Option<i64>, Option<i64>);

impl StepPairs {
    /// Lists both runs and puts their steps side by side.
    fn pairs(&self) -> Result<Vec<Pair>, DataError> {
        let [path_a, path_b] = &self.paths;
        let (a, b) = (steps(path_a)?, steps(path_b)?);
        let numbers = |steps: &Steps| steps.values().flatten().copied().collect::<BTreeSet<i64>>();
        let (all_a, all_b) = (numbers(&a), numbers(&b));
        if !self.by_order && all_a.is_disjoint(&all_b) && !all_a.is_empty() && !all_b.is_empty() {
            let message = format!(
                "it has {}, and {} has {}: no step is in both, so there is nothing to compare",
                listed(&all_a),
                path_b.join(", "),
                listed(&all_b)
            );
            let finding = Finding::problem(Kind::Missing, path_a.join(", "), message);
            let hint =
                "align => 'order' compares the first step of one with the first of the other, and so on";
            return Err(DataError::new("the comparison of two dumps", vec![finding], hint));
        }
        let roles: BTreeSet<&Option<String>> = a.keys().chain(b.keys()).collect();
        let none = BTreeSet::new();
        let mut pairs = Vec::new();
        for role in roles {
            let (a, b) = (a.get(role).unwrap_or(&none), b.get(role).unwrap_or(&none));
            if self.by_order {
                let (mut a, mut b) = (a.iter().copied(), b.iter().copied());
                loop {
                    match (a.next(), b.next()) {
                        (None, None) => break,
                        (a, b) => pairs.push((role.clone(), a, b)),
                    }
                }
            } else {
                let side = |set: &BTreeSet<i64>, step| set.get(step).copied();
                pairs.extend(a.union(b).map(|step| (role.clone(), side(a, step), side(b, step))));
            }
        }
        Ok(pairs)
    }
}

/// The steps of a run by their directories.
fn steps(paths: &[String]) -> Result<Steps, DataError> {
    let format = DumpTrend::new(TrendOptions::default().with_micro_step(false));
    let layout = format.discover(&expand_roots(format.name(), paths)?)?;
    let mut steps = Steps::new();
    for unit in layout.units {
        let mut keys = unit.keys.into_iter();
        if let (Some(role), Some(KeyValue::Int(step))) = (keys.next(), keys.next()) {
            let role = if let KeyValue::Text(role) = role { Some(role) } else { None };
            steps.entry(role).or_default().insert(step);
        }
    }
    Ok(steps)
}

/// The numbers of some steps in words.
fn listed(steps: &BTreeSet<i64>) -> String {
    const MOST: usize = 5;
    let first: Vec<String> = steps.iter().take(MOST).map(i64::to_string).collect();
    let more = if steps.len() > MOST { format!(" and {} more", steps.len() - MOST) } else { String::new() };
    format!("step{} {}{more}", if steps.len() == 1 { "" } else { "s" }, first.join(", "))
}

static SCHEMA: LazyLock<SchemaRef> = LazyLock::new(|| {
    let number = |name: &str, nullable| Field::new(name, DataType::Int64, nullable);
    Arc::new(Schema::new(vec![
        Field::new("role", DataType::Utf8View, true),
        number("pair", false),
        number("source_step_a", true),
        number("source_step_b", true),
    ]))
});

#[async_trait]
impl TableProvider for StepPairs {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&SCHEMA)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    async fn scan(
        &self,
        session: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let this = self.clone();
        let pairs = match tokio::runtime::Handle::try_current() {
            Ok(runtime) => {
                let listing = runtime.spawn_blocking(move || this.pairs());
                listing.await.map_err(|e| DataFusionError::ExecutionJoin(Box::new(e)))?
            }
            Err(_) => this.pairs(),
        };
        let pairs = pairs.map_err(|e| DataFusionError::External(Box::new(e)))?;
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(1..=pairs.len() as i64));
        let columns: Vec<ArrayRef> = vec![
            Arc::new(pairs.iter().map(|(role, _, _)| role.as_deref()).collect::<StringViewArray>()),
            numbers,
            Arc::new(pairs.iter().map(|(_, a, _)| *a).collect::<Int64Array>()),
            Arc::new(pairs.iter().map(|(_, _, b)| *b).collect::<Int64Array>()),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&SCHEMA), columns)?;
        let table = MemTable::try_new(Arc::clone(&SCHEMA), vec![vec![batch]])?;
        table.scan(session, projection, filters, limit).await
    }
}
