//! `live_peak`: when most is live, and how much.

use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int64Array, StringArray, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields};
use datafusion::common::Result;
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, DocSection, Documentation, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::allocations::Allocations;
use super::{ALLOCATION, check_types, list};

const CALL: &str = "live_peak(path, start_ns, release_ns, bytes)";

/// `live_peak(path, start_ns, release_ns, bytes)`: the first moment at which most is live, and the ends
/// of the recordings. NULL of no allocations.
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

fn recording() -> Fields {
    Fields::from(vec![Field::new("path", DataType::Utf8, true), Field::new("end_ns", DataType::Int64, true)])
}

fn answer() -> Fields {
    [
        Arc::new(Field::new("at_ns", DataType::Int64, true)),
        Arc::new(Field::new("bytes", DataType::Int64, true)),
        list("recordings", DataType::Struct(recording())),
    ]
    .into_iter()
    .collect()
}

impl AggregateUDFImpl for LivePeak {
    fn name(&self) -> &str {
        "live_peak"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        check_types(types, &ALLOCATION, CALL)?;
        Ok(ALLOCATION.to_vec())
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Struct(answer()))
    }

    fn state_fields(&self, _args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        Ok(Allocations::state_fields(0))
    }

    fn accumulator(&self, _args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(Peak(Allocations::new(0))))
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let section = DocSection { include: true, label: "Sweeps", description: None };
            let what = "The first moment at which most is live, as a structure: at_ns, bytes, and recordings, a list \
                of each path with its end_ns. An allocation is live from its start up to, but not at, its release; \
                without a release, up to end_ns, one ns after the last start or release of its path. Costs n log n \
                and some 60 bytes of memory per allocation.";
            Documentation::builder(section, what, CALL)
                .with_argument("path", "The recording that the allocation is in.")
                .with_argument("start_ns", "When it was made, ns.")
                .with_argument("release_ns", "When it was released, ns; NULL when it was not.")
                .with_argument("bytes", "Its size.")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}

#[derive(Debug)]
struct Peak(Allocations);

impl Accumulator for Peak {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        self.0.push(values, &[])
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        Ok(self.0.state())
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        self.0.merge(states)
    }

    fn size(&self) -> usize {
        self.0.size()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let mut highest = None;
        self.0.sweep(|change| {
            if highest.is_none_or(|(_, level)| change.level > level) {
                highest = Some((change.at, change.level));
            }
        })?;
        let Some((at, level)) = highest else {
            return ScalarValue::try_new_null(&DataType::Struct(answer()));
        };
        let mut ends = self.0.ends();
        ends.sort_unstable();
        let (paths, ends): (Vec<&str>, Vec<i64>) = ends.into_iter().unzip();
        let columns: Vec<ArrayRef> =
            vec![Arc::new(StringArray::from(paths)), Arc::new(Int64Array::from(ends))];
        let recordings = StructArray::try_new(recording(), columns, None)?;
        let columns: Vec<ArrayRef> = vec![
            Arc::new(Int64Array::from(vec![at])),
            Arc::new(Int64Array::from(vec![level])),
            Arc::new(SingleRowListArrayBuilder::new(Arc::new(recordings)).build_list_array()),
        ];
        Ok(ScalarValue::Struct(Arc::new(StructArray::try_new(answer(), columns, None)?)))
    }
}
