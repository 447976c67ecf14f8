//! The leaf of every plan over our tables.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, OnceLock};

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics, internal_err, project_schema};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::execution_plan::{
    Boundedness, ChildrenPropertiesMode, EmissionType, EvaluationType, SchedulingType,
};
use datafusion::physical_plan::metrics::{
    BaselineMetrics, ExecutionPlanMetricsSet, MetricBuilder, MetricsSet,
};
use datafusion::physical_plan::projection::{ProjectionExec, ProjectionExpr};
use datafusion::physical_plan::statistics::StatisticsArgs;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, ReplaceChildrenOptions,
};

use crate::source::{Condition, DataError, Finding, Format, Unit};

use super::host::HostMaker;
use super::progress::{Progress, Told};
use super::stream::run_units;
use super::{OnError, Promise, Promises, keys};

/// What a scan reads. Apart from the format itself it is plain data.
#[derive(Debug, Clone)]
pub struct ScanSpec {
    /// The format of the units.
    pub(super) format: Arc<dyn Format>,
    /// The selected units, one run per partition.
    pub(super) runs: Arc<Vec<Vec<Unit>>>,
    /// How many units there were before some were pruned.
    pub(super) units_found: usize,
    /// What the listing found besides units.
    pub(super) layout_findings: Arc<Vec<Finding>>,
    /// Indices into the format's schema.
    pub(super) projection: Vec<usize>,
    /// The projected schema.
    pub(super) schema: SchemaRef,
    /// What must hold for a row, decided by the readers.
    pub(super) conditions: Vec<Condition>,
    /// At most so many rows are needed from each partition.
    pub(super) limit: Option<usize>,
    /// What happens to problems.
    pub(super) on_error: OnError,
    /// Threads that may work on one unit at a time.
    pub(super) threads_per_unit: usize,
    /// Units of one partition that may be read at a time.
    pub(super) readers: usize,
    /// How many threads the session wants to be used in all.
    threads: usize,
    /// What the scan may claim and do.
    pub(super) promises: Promises,
    /// What its readers tell about themselves.
    pub(super) told: Arc<Told>,
    /// The one answer that all partitions of a failing scan give.
    pub(super) survey: Arc<OnceLock<DataError>>,
}

impl ScanSpec {
    /// A scan over these runs of units (see [`super::partition_units`]) that keeps all columns.
    /// `target_partitions` is how many threads the session wants to be used in all.
    pub fn new(
        format: Arc<dyn Format>,
        runs: Vec<Vec<Unit>>,
        units_found: usize,
        layout_findings: Vec<Finding>,
        target_partitions: usize,
    ) -> Self {
        let schema = format.schema();
        Self {
            projection: (0..schema.fields().len()).collect(),
            schema,
            threads_per_unit: (target_partitions / runs.len().max(1)).max(1),
            readers: 1,
            threads: target_partitions,
            format,
            runs: Arc::new(runs),
            units_found,
            layout_findings: Arc::new(layout_findings),
            conditions: vec![],
            limit: None,
            on_error: OnError::Strict,
            promises: Promises::default(),
            told: Arc::default(),
            survey: Arc::default(),
        }
    }

    /// Keeps only these columns of the format's schema, in this order.
    ///
    /// # Errors
    /// When an index is out of range.
    pub fn with_projection(mut self, projection: Option<&Vec<usize>>) -> Result<Self> {
        if let Some(projection) = projection {
            self.schema = project_schema(&self.format.schema(), Some(projection))?;
            self.projection.clone_from(projection);
        }
        Ok(self)
    }

    /// Only rows for which all of these hold, see [`Format::condition_columns`].
    pub fn with_conditions(mut self, conditions: Vec<Condition>) -> Self {
        self.conditions = conditions;
        self
    }

    /// At most so many rows are needed.
    pub fn with_limit(mut self, limit: Option<usize>) -> Self {
        self.limit = limit;
        self
    }

    /// What happens to problems.
    pub fn with_on_error(mut self, on_error: OnError) -> Self {
        self.on_error = on_error;
        self
    }

    /// What the scan may claim and do.
    pub fn with_promises(mut self, promises: Promises) -> Self {
        self.promises = promises;
        self.share_threads(self.runs.len());
        self
    }

    /// So many units are read at a time.
    fn share_threads(&mut self, units: usize) {
        let split = self.promises.keeps(Promise::SplitUnits);
        self.threads_per_unit = if split { (self.threads / units.max(1)).max(1) } else { 1 };
    }

    /// One partition with all rows in the order of the units, read by as many threads as before.
    pub fn in_order(mut self) -> Self {
        let units: Vec<Unit> = self.runs.iter().flatten().cloned().collect();
        let ahead = if self.promises.keeps(Promise::ReadAhead) { self.threads } else { 1 };
        self.readers = ahead.clamp(1, units.len().max(1));
        self.share_threads(self.readers);
        self.runs = Arc::new(if units.is_empty() { vec![] } else { vec![units] });
        self
    }
}

/// Reads units of one format. Partition `i` yields the units of run `i`, in key order.
#[derive(Debug, Clone)]
pub struct UnitScanExec {
    spec: ScanSpec,
    properties: Arc<PlanProperties>,
    metrics: ExecutionPlanMetricsSet,
}

impl UnitScanExec {
    /// The plan of a scan.
    pub fn new(spec: ScanSpec) -> Self {
        let properties = Arc::new(Self::compute_properties(&spec));
        Self { spec, properties, metrics: ExecutionPlanMetricsSet::new() }
    }

    fn compute_properties(spec: &ScanSpec) -> PlanProperties {
        let keys = spec.format.key_columns();
        let mut equivalences = EquivalenceProperties::new(Arc::clone(&spec.schema));
        if spec.promises.keeps(Promise::Order) {
            // First, so that a key with one value does not stand in the way of an order by the others.
            let constants = keys::constants(keys, &spec.schema, &spec.runs);
            // It fails when two constants contradict each other, and each is another column.
            let _ = equivalences.add_constants(constants);
            equivalences.add_ordering(keys::ordering(keys, &spec.schema));
        }
        let partitioning = if spec.promises.keeps(Promise::Ranges) {
            keys::partitioning(keys, &spec.schema, &spec.runs)
        } else {
            Partitioning::UnknownPartitioning(spec.runs.len().max(1))
        };
        PlanProperties::new(equivalences, partitioning, EmissionType::Incremental, Boundedness::Bounded)
            // The receiving end of a tokio channel already takes part in cooperative scheduling.
            .with_scheduling_type(SchedulingType::Cooperative)
            .with_evaluation_type(EvaluationType::Eager)
    }

    /// The selected units, one run per partition.
    pub fn runs(&self) -> &[Vec<Unit>] {
        &self.spec.runs
    }

    /// The format that they are read as.
    pub fn format(&self) -> &Arc<dyn Format> {
        &self.spec.format
    }

    /// Whether columns may be taken away from it.
    pub(super) fn may_be_narrowed(&self) -> bool {
        self.spec.promises.keeps(Promise::ProjectionPushdown)
    }

    /// How far it is.
    pub fn progress(&self) -> Progress {
        let (begun, current) = self.spec.told.look();
        let units = || self.spec.runs.iter().flatten();
        Progress {
            units: units().count(),
            begun,
            files: units().map(|unit| unit.files.len()).sum(),
            bytes: units().map(Unit::bytes).sum(),
            current,
        }
    }

    /// The same scan with these of its columns, in this order.
    ///
    /// # Errors
    /// When an index is out of range.
    pub fn narrowed(&self, kept: &[usize]) -> Result<Self> {
        let column = |at: &usize| match self.spec.projection.get(*at) {
            Some(column) => Ok(*column),
            None => internal_err!("no column {at} in a scan of {}", self.spec.projection.len()),
        };
        let kept = kept.iter().map(column).collect::<Result<_>>()?;
        Ok(Self::new(self.spec.clone().with_projection(Some(&kept))?))
    }

    /// The same scan with one partition, in order, see [`ScanSpec::in_order`].
    pub fn in_order(&self) -> Self {
        Self::new(self.spec.clone().in_order())
    }
}

impl DisplayAs for UnitScanExec {
    fn fmt_as(&self, kind: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units: usize = self.spec.runs.iter().map(Vec::len).sum();
        let source = self.spec.format.name();
        match kind {
            DisplayFormatType::Default | DisplayFormatType::Verbose => {
                let names: Vec<&str> = self.spec.schema.fields().iter().map(|f| f.name().as_str()).collect();
                write!(f, "UnitScanExec: source={source}, units={units}/{}", self.spec.units_found)?;
                write!(f, ", partitions={}, projection=[{}]", self.spec.runs.len().max(1), names.join(", "))?;
                if !self.spec.conditions.is_empty() {
                    let schema = self.spec.format.schema();
                    let name = |at: usize| schema.fields().get(at).map_or("", |f| f.name().as_str());
                    let all: Vec<String> =
                        self.spec.conditions.iter().map(|c| c.describe(name(c.column)).to_string()).collect();
                    write!(f, ", conditions=[{}]", all.join(", "))?;
                }
                if let Some(limit) = self.spec.limit {
                    write!(f, ", fetch={limit}")?;
                }
                if self.spec.readers > 1 {
                    f.write_str(", in_order")?;
                }
                if self.spec.on_error == OnError::Skip {
                    f.write_str(", on_error=skip")?;
                }
                Ok(())
            }
            DisplayFormatType::TreeRender => {
                writeln!(f, "source={source}")?;
                writeln!(f, "units={units}/{}", self.spec.units_found)
            }
        }
    }
}

impl ExecutionPlan for UnitScanExec {
    fn name(&self) -> &str {
        "UnitScanExec"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if children.is_empty() { Ok(self) } else { internal_err!("UnitScanExec is a leaf") }
    }

    // Deprecated in DataFusion 55, and still a required method of the trait.
    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.replace_children(children, ReplaceChildrenOptions::new(ChildrenPropertiesMode::Recompute))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        if partition >= self.spec.runs.len().max(1) {
            return internal_err!("UnitScanExec has no partition {partition}");
        }
        let label = self.spec.format.name();
        let hosts = HostMaker::new(label, partition, self.spec.on_error, &context, &self.metrics);
        let spec = self.spec.clone();
        Ok(run_units(
            spec,
            partition,
            context.session_config().batch_size(),
            hosts,
            BaselineMetrics::new(&self.metrics, partition),
            MetricBuilder::new(&self.metrics).subset_time("read_time", partition),
        ))
    }

    fn metrics(&self) -> Option<MetricsSet> {
        Some(self.metrics.clone_inner())
    }

    fn fetch(&self) -> Option<usize> {
        self.spec.limit
    }

    fn with_fetch(&self, limit: Option<usize>) -> Option<Arc<dyn ExecutionPlan>> {
        if !self.spec.promises.keeps(Promise::LimitPushdown) {
            return None;
        }
        Some(Arc::new(Self::new(self.spec.clone().with_limit(limit))))
    }

    /// Columns that a projection above does not keep are not read.
    fn try_swapping_with_projection(
        &self,
        projection: &ProjectionExec,
    ) -> Result<Option<Arc<dyn ExecutionPlan>>> {
        if !self.may_be_narrowed() {
            return Ok(None);
        }
        let kept = |e: &ProjectionExpr| {
            let column = e.expr.downcast_ref::<Column>().filter(|c| c.name() == e.alias)?;
            Some(column.index())
        };
        let Some(kept) = projection.expr().iter().map(kept).collect::<Option<Vec<usize>>>() else {
            return Ok(None);
        };
        let distinct: BTreeSet<&usize> = kept.iter().collect();
        if distinct.len() < kept.len() {
            return Ok(None);
        }
        Ok(Some(Arc::new(self.narrowed(&kept)?)))
    }

    fn statistics_from_inputs(
        &self,
        _: &[Arc<Statistics>],
        args: &StatisticsArgs,
    ) -> Result<Arc<Statistics>> {
        let (keys, schema) = (self.spec.format.key_columns(), &self.spec.schema);
        if !self.spec.promises.keeps(Promise::Statistics) {
            return Ok(Arc::new(Statistics::new_unknown(schema)));
        }
        Ok(Arc::new(match args.partition() {
            None => keys::statistics(keys, schema, self.spec.runs.iter().flatten()),
            Some(at) => keys::statistics(keys, schema, self.spec.runs.get(at).into_iter().flatten()),
        }))
    }
}
