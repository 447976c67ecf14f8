//! `COPY ... STORED AS TREND_DB`.

use std::any::Any;
use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::common::{Result, plan_err};
use datafusion::physical_plan::ExecutionPlan;

use crate::format::msprobe_dump::{DumpTrend, Extent};
use crate::scan::scanned;
use crate::source::{Format, Unit};

use super::super::arrange::{ascending, in_fixed_order, keep_columns, order_of};
use super::super::{Export, ExportOption, ExportPlan, ExportRequest, Remark, SinkError, Writer};
use super::database::TrendDatabase;
use super::rows::TrendRows;

/// Rows of a query that has no order of its own are written in this one.
const ORDER: [&str; 9] = [
    "source_step",
    "step",
    "rank",
    "entry_no",
    "tensor_no",
    "metric_name",
    "target_name",
    "vpp_stage",
    "target_micro_step",
];

/// Columns that decide which steps and ranks there are.
const PLACES: [&str; 6] = ["role", "rank", "step", "source_step", "local_micro_step", "source_path"];

/// Exports rows of `dump_trend` as the database that TensorBoard's Trend Analyzer opens.
#[derive(Debug)]
pub struct TrendExport;

impl Export for TrendExport {
    fn name(&self) -> &'static str {
        "TREND_DB"
    }

    fn purpose(&self) -> &'static str {
        "trend database (SQLite) with the content of msprobe data2db, for TensorBoard's Trend Analyzer"
    }

    fn options(&self) -> &'static [ExportOption] {
        &[ExportOption {
            name: "indexes",
            values: &["none", "client"],
            purpose: "client: two more indexes, for the queries of the Trend Analyzer that otherwise read the \
                      whole table; not in the reference's schema",
        }]
    }

    fn plan(&self, input: Arc<dyn ExecutionPlan>, request: ExportRequest) -> Result<ExportPlan> {
        if let Err(message) = TrendRows::new(&input.schema()) {
            return plan_err!("TREND_DB: {message}");
        }
        let (input, order) = in_fixed_order(input, request.order.clone())?;
        let offered = Offered::by(&input).map(Arc::new);
        let in_order = scanned(&input).is_some();
        let input = keep_columns(input, &TrendRows::COLUMNS, order.as_ref())?;
        let order = order_of(&input).or_else(|| if in_order { None } else { ascending(&input, &ORDER) });
        let (schema, target) = (input.schema(), request.target.clone());
        let indexes = request.option("indexes") == Some("client");
        let open = move || -> Result<Box<dyn Writer>, SinkError> {
            let offered = offered.clone();
            Ok(Box::new(TrendWriter::create(&target, &schema, indexes, offered)?))
        };
        Ok(ExportPlan { input, order, open: Arc::new(open) })
    }
}

/// The dumps whose steps and ranks a database offers: also those without rows, as in the reference.
struct Offered {
    format: Arc<dyn Format>,
    units: Vec<Unit>,
}

impl Offered {
    /// Nothing when the rows are not simply those of dumps; then the rows say what there is.
    fn by(plan: &Arc<dyn ExecutionPlan>) -> Option<Self> {
        let scanned = scanned(plan)?;
        let schema = plan.schema();
        let unchanged = |name: &str| {
            let origin = schema.index_of(name).ok().and_then(|at| scanned.columns.get(at)?.as_deref());
            origin == Some(name)
        };
        let by_place = scanned.filtered_by.iter().any(|c| c == "?" || PLACES.contains(&c.as_str()));
        if by_place || !unchanged("rank") || !unchanged("step") {
            return None;
        }
        let format = Arc::clone(scanned.scan.format());
        dump_trend(&format)?;
        Some(Self { format, units: scanned.scan.runs().iter().flatten().cloned().collect() })
    }

    fn extent(&self) -> Option<Extent> {
        dump_trend(&self.format)?.extent(&self.units)
    }
}

fn dump_trend(format: &Arc<dyn Format>) -> Option<&DumpTrend> {
    (format.as_ref() as &dyn Any).downcast_ref()
}

/// Writes one trend database.
struct TrendWriter {
    database: TrendDatabase,
    rows: TrendRows,
    indexes: bool,
    offered: Option<Arc<Offered>>,
}

impl TrendWriter {
    fn create(
        target: &Path,
        schema: &datafusion::arrow::datatypes::SchemaRef,
        indexes: bool,
        offered: Option<Arc<Offered>>,
    ) -> Result<Self, SinkError> {
        let rows = TrendRows::new(schema).map_err(|message| SinkError::rows(target, message))?;
        Ok(Self { database: TrendDatabase::create(target)?, rows, indexes, offered })
    }
}

impl Writer for TrendWriter {
    fn write(&mut self, batch: &RecordBatch) -> Result<(), SinkError> {
        self.rows.write(&mut self.database, batch)
    }

    fn finish(self: Box<Self>) -> Result<(u64, Vec<Remark>), SinkError> {
        let without_metric = self.rows.without_metric();
        let extent = self.offered.and_then(|o| o.extent());
        let summary = self.database.finish(extent, self.indexes)?;
        let remarks = vec![
            Remark { name: "values_clipped", count: summary.clipped },
            Remark { name: "values_infinite", count: summary.infinite },
            Remark { name: "values_nan", count: summary.nan },
            Remark { name: "rows_repeated", count: summary.repeated },
            Remark { name: "rows_without_metric", count: without_metric },
        ];
        Ok((summary.rows, remarks))
    }
}
