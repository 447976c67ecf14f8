//! `live_peak`: when most is live, how much, and what.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, Int64Array, StructArray};
use datafusion::arrow::compute::{and, filter, is_not_null};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, internal_err, plan_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, DocSection, Documentation, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::allocations::Allocations;
use super::rows::Rows;
use super::{ALLOCATION, check_types, list};

const CALL: &str = "live_peak(path, start_ns, release_ns, bytes)";

/// `live_peak(path, start_ns, release_ns, bytes [, row])`: the first moment at which most is live, and the
/// rows that are live then. NULL of no allocations.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct LivePeak {
    signature: Signature,
}

impl LivePeak {
    /// The function.
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for LivePeak {
    fn default() -> Self {
        Self::new()
    }
}

/// What is answered when rows of this kind are given.
fn answer(row: Option<&DataType>) -> Fields {
    let numbers = ["at_ns", "bytes"].map(|name| Arc::new(Field::new(name, DataType::Int64, true)));
    numbers.into_iter().chain(row.map(|row| list("live", row.clone()))).collect()
}

impl AggregateUDFImpl for LivePeak {
    fn name(&self) -> &str {
        "live_peak"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let (allocation, row) = types.split_at(types.len().min(ALLOCATION.len()));
        check_types(allocation, &ALLOCATION, CALL)?;
        if row.len() > 1 {
            return plan_err!("expected {CALL} or one argument more, got {}", types.len());
        }
        Ok(ALLOCATION.into_iter().chain(row.iter().cloned()).collect())
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(answer(types.get(ALLOCATION.len()))))
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let row = args.input_fields.get(ALLOCATION.len());
        let rows = row.map(|row| list("rows", row.data_type().clone()));
        Ok(Allocations::state_fields(0).into_iter().chain(rows).collect())
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let row = args.expr_fields.get(ALLOCATION.len()).map(|row| row.data_type().clone());
        Ok(Box::new(Peak { allocations: Allocations::new(0), rows: row.map(Rows::new) }))
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let section = DocSection { include: true, label: "Sweeps", description: None };
            let what = "The first moment at which most is live, as a structure: at_ns, bytes and, when rows are given, \
                live, a list of those that are live then, in the order in which they came. An allocation is live from \
                its start up to, but not at, its release; without a release, to the last start or release of its \
                path. Costs n log n and some 60 bytes of memory per allocation, and what the rows take.";
            Documentation::builder(section, what, CALL)
                .with_argument("path", "The recording that the allocation is in.")
                .with_argument("start_ns", "When it was made, ns.")
                .with_argument("release_ns", "When it was released, ns; NULL when it was not.")
                .with_argument("bytes", "Its size.")
                .with_argument("row", "What is to be known of those that are live; need not be given.")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}

#[derive(Debug)]
struct Peak {
    allocations: Allocations,
    rows: Option<Rows>,
}

impl Accumulator for Peak {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some((allocation, row)) = values.split_at_checked(ALLOCATION.len()) else {
            return plan_err!("expected {CALL}");
        };
        if let (Some(rows), [row], [_, start, _, bytes]) = (&mut self.rows, row, allocation) {
            // Rows without a start or a size are no allocations.
            let there = start.null_count() + bytes.null_count() == 0;
            rows.push(if there {
                Arc::clone(row)
            } else {
                filter(row, &and(&is_not_null(start)?, &is_not_null(bytes)?)?)?
            });
        }
        self.allocations.push(allocation, &[])
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = self.allocations.state();
        if let Some(rows) = &mut self.rows {
            state.push(SingleRowListArrayBuilder::new(rows.take_all()?).build_list_scalar());
        }
        Ok(state)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let Some(rows) = &mut self.rows else { return self.allocations.merge(states) };
        let Some((theirs, allocations)) = states.split_last() else {
            return internal_err!("live_peak: a state without columns");
        };
        let theirs = theirs.as_list::<i32>();
        theirs.iter().flatten().for_each(|theirs| rows.push(theirs));
        self.allocations.merge(allocations)
    }

    fn size(&self) -> usize {
        self.allocations.size() + self.rows.as_ref().map_or(0, Rows::size)
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let row = self.rows.as_ref().map(Rows::kind);
        let mut highest = None;
        self.allocations.sweep(|change| {
            if highest.is_none_or(|(_, level)| change.level > level) {
                highest = Some((change.at, change.level));
            }
        })?;
        let Some((at, level)) = highest else {
            return ScalarValue::try_new_null(&DataType::Struct(answer(row)));
        };
        let mut columns: Vec<ArrayRef> =
            vec![Arc::new(Int64Array::from(vec![at])), Arc::new(Int64Array::from(vec![level]))];
        if let Some(rows) = &self.rows {
            let live = rows.pick(self.allocations.live_at(at))?;
            columns.push(Arc::new(SingleRowListArrayBuilder::new(live).build_list_array()));
        }
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(answer(row), columns, None)?)))
    }
}
