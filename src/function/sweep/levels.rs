//! `live_levels`: what is live, and what was stated of it, in equal buckets of time.

use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, AsArray, Float64Builder, Int64Array, ListBuilder, StructArray};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, DocSection, Documentation, Signature, Volatility,
};
use datafusion::scalar::ScalarValue;

use super::allocations::{Allocations, Change};
use super::{ALLOCATION, check_types, list};

const NAME: &str = "live_levels";
const CALL: &str =
    "live_levels(path, start_ns, release_ns, bytes, buckets, stated_at_start, stated_at_release, ...)";

/// `live_levels(path, start_ns, release_ns, bytes, buckets, stated_at_start, stated_at_release, ...)`:
/// the buckets with changes in them. NULL of no allocations.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct LiveLevels {
    signature: Signature,
}

impl LiveLevels {
    /// The function.
    pub fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl Default for LiveLevels {
    fn default() -> Self {
        Self::new()
    }
}

fn bucket() -> Fields {
    let numbers = ["from_ns", "width_ns", "next", "bucket", "changes", "high_bytes", "end_bytes"];
    let numbers = numbers.map(|name| Arc::new(Field::new(name, DataType::Int64, true)));
    let stated = ["stated_high", "stated_end"].map(|name| list(name, DataType::Float64));
    numbers.into_iter().chain(stated).collect()
}

fn answer() -> DataType {
    DataType::new_list(DataType::Struct(bucket()), true)
}

impl AggregateUDFImpl for LiveLevels {
    fn name(&self) -> &str {
        NAME
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        let mut taken = ALLOCATION.to_vec();
        taken.push(DataType::Int64);
        let pairs = types.len().saturating_sub(taken.len()).div_ceil(2);
        taken.extend(vec![DataType::Float64; 2 * pairs]);
        check_types(types, &taken, CALL)?;
        Ok(taken)
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(answer())
    }

    fn state_fields(&self, args: StateFieldsArgs) -> Result<Vec<FieldRef>> {
        let mut fields = vec![Arc::new(Field::new("buckets", DataType::Int64, true)) as FieldRef];
        fields.extend(Allocations::state_fields(stated_columns(args.input_fields.len())));
        Ok(fields)
    }

    fn accumulator(&self, args: AccumulatorArgs) -> Result<Box<dyn Accumulator>> {
        let stated = stated_columns(args.exprs.len());
        Ok(Box::new(Levels { buckets: None, allocations: Allocations::new(stated), stated }))
    }

    fn documentation(&self) -> Option<&Documentation> {
        static DOCUMENTATION: LazyLock<Documentation> = LazyLock::new(|| {
            let section = DocSection { include: true, label: "Sweeps", description: None };
            let what = "The time between the first and the last start or release, in equal buckets: a list of those \
                that something changes in, as structures. from_ns and width_ns: the first bucket; bucket (from 0) and \
                next, the bucket of the next structure; changes, starts and releases; high_bytes and end_bytes, the \
                most that is live in it and what is at its end; stated_high and stated_end, lists with the highest \
                and the last stated number of each pair. The level at the beginning of a bucket counts in it. What \
                is live is defined as for live_peak. Costs n log n and some 60 bytes of memory per allocation, and \
                16 more per pair.";
            Documentation::builder(section, what, CALL)
                .with_argument("path", "The recording that the allocation is in.")
                .with_argument("start_ns", "When it was made, ns.")
                .with_argument("release_ns", "When it was released, ns; NULL when it was not.")
                .with_argument("bytes", "Its size.")
                .with_argument("buckets", "How many buckets; the same in all rows.")
                .with_argument("stated_at_start", "A number that is stated after the allocation, or NULL.")
                .with_argument("stated_at_release", "The same number after its release, or NULL.")
                .build()
        });
        Some(&DOCUMENTATION)
    }
}

/// How many of so many arguments are stated numbers.
fn stated_columns(arguments: usize) -> usize {
    arguments.saturating_sub(ALLOCATION.len() + 1)
}

#[derive(Debug)]
struct Levels {
    buckets: Option<i64>,
    allocations: Allocations,
    /// How many columns of stated numbers: two per pair.
    stated: usize,
}

impl Levels {
    /// Takes the number of buckets from the first row that says it.
    fn learn_buckets(&mut self, column: &ArrayRef) -> Result<()> {
        if self.buckets.is_none() {
            self.buckets = column.as_primitive::<Int64Type>().iter().flatten().next();
        }
        match self.buckets {
            Some(buckets) if buckets < 1 => exec_err!("{NAME}: buckets is {buckets}, expected at least 1"),
            _ => Ok(()),
        }
    }
}

impl Accumulator for Levels {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let Some((allocation, [buckets, stated @ ..])) = values.split_at_checked(ALLOCATION.len()) else {
            return exec_err!("{NAME}: expected {CALL}");
        };
        self.learn_buckets(buckets)?;
        self.allocations.push(allocation, stated)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let mut state = vec![ScalarValue::Int64(self.buckets)];
        state.extend(self.allocations.state());
        Ok(state)
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [buckets, allocations @ ..] = states else { return exec_err!("{NAME}: a state without columns") };
        self.learn_buckets(buckets)?;
        self.allocations.merge(allocations)
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.allocations.size()
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        let (Some((first, last)), Some(buckets)) = (self.allocations.span(), self.buckets) else {
            return ScalarValue::try_new_null(&answer());
        };
        let Some(length) = last.checked_sub(first) else {
            return exec_err!("{NAME}: the time from {first} to {last} ns does not fit into 64 bits");
        };
        let ruler = Ruler { first, width: (length / buckets).saturating_add(1) };
        let mut filled = Filled::of_levels(&self.allocations, ruler, last)?;
        filled.count(&self.allocations);
        let pairs = (0..self.stated / 2).map(|pair| filled.stated(&self.allocations, pair));
        let pairs = pairs.collect::<Vec<_>>();
        filled.into_answer(buckets, &pairs)
    }
}

/// Equal buckets.
#[derive(Debug, Clone, Copy)]
struct Ruler {
    first: i64,
    width: i64,
}

impl Ruler {
    fn bucket(self, at: i64) -> i64 {
        (at - self.first) / self.width
    }
}

/// The buckets that something changes in, in order.
#[derive(Debug)]
struct Filled {
    ruler: Ruler,
    bucket: Vec<i64>,
    changes: Vec<i64>,
    high: Vec<i64>,
    end: Vec<i64>,
}

/// The highest and the last number of each filled bucket, carried on where it states none.
type Stated = Vec<(Option<f64>, Option<f64>)>;

impl Filled {
    fn of_levels(allocations: &Allocations, ruler: Ruler, last: i64) -> Result<Self> {
        let mut filled = Self { ruler, bucket: vec![], changes: vec![], high: vec![], end: vec![] };
        // Nothing is known of the time after the last change, so what is not released then stays.
        allocations.sweep(|change| {
            if change.at <= last {
                filled.level(change);
            }
        })?;
        Ok(filled)
    }

    fn level(&mut self, change: Change) {
        let bucket = self.ruler.bucket(change.at);
        if self.bucket.last() != Some(&bucket) {
            // Before its first change, the level is that of the bucket before.
            self.high.push(self.end.last().copied().unwrap_or(0));
            self.end.push(change.level);
            self.bucket.push(bucket);
        }
        if let (Some(high), Some(end)) = (self.high.last_mut(), self.end.last_mut()) {
            *high = change.level.max(*high);
            *end = change.level;
        }
    }

    /// Counts starts and releases, but not the ends of what is not released.
    fn count(&mut self, allocations: &Allocations) {
        let mut places = Places { ruler: self.ruler, bucket: &self.bucket, found: None };
        let mut changes = vec![0i64; self.bucket.len()];
        for at in allocations.times() {
            if let Some(count) = places.find(at).and_then(|place| changes.get_mut(place)) {
                *count += 1;
            }
        }
        self.changes = changes;
    }

    fn stated(&self, allocations: &Allocations, pair: usize) -> Stated {
        let mut places = Places { ruler: self.ruler, bucket: &self.bucket, found: None };
        // The highest, and the last with its time.
        let mut found: Vec<Option<(f64, i64, f64)>> = vec![None; self.bucket.len()];
        let numbers = allocations.stated(2 * pair, false).chain(allocations.stated(2 * pair + 1, true));
        for (at, number) in numbers {
            let Some(found) = places.find(at).and_then(|place| found.get_mut(place)) else { continue };
            *found = Some(match *found {
                None => (number, at, number),
                Some((high, time, last)) => {
                    let later = time.cmp(&at).then(last.total_cmp(&number)) == Ordering::Less;
                    let (time, last) = if later { (at, number) } else { (time, last) };
                    (larger(high, number), time, last)
                }
            });
        }
        let mut before = None;
        let carried = found.into_iter().map(|found| {
            let high = match (found.map(|(high, ..)| high), before) {
                (Some(high), Some(before)) => Some(larger(high, before)),
                (high, before) => high.or(before),
            };
            before = found.map(|(.., last)| last).or(before);
            (high, before)
        });
        carried.collect()
    }

    fn into_answer(self, buckets: i64, pairs: &[Stated]) -> Result<ScalarValue> {
        let count = self.bucket.len();
        let mut high = ListBuilder::new(Float64Builder::new());
        let mut end = ListBuilder::new(Float64Builder::new());
        for place in 0..count {
            for (most, last) in pairs.iter().filter_map(|pair| pair.get(place)) {
                high.values().append_option(*most);
                end.values().append_option(*last);
            }
            high.append(true);
            end.append(true);
        }
        let numbers = |numbers: Vec<i64>| Arc::new(Int64Array::from(numbers)) as ArrayRef;
        let columns = vec![
            numbers(vec![self.ruler.first; count]),
            numbers(vec![self.ruler.width; count]),
            numbers(self.bucket.iter().skip(1).copied().chain([buckets]).collect()),
            numbers(self.bucket),
            numbers(self.changes),
            numbers(self.high),
            numbers(self.end),
            Arc::new(high.finish()),
            Arc::new(end.finish()),
        ];
        let rows = StructArray::try_new(bucket(), columns, None)?;
        Ok(SingleRowListArrayBuilder::new(Arc::new(rows)).build_list_scalar())
    }
}

/// Finds the filled bucket of a time. Times come nearly in order, so most are where the one before was.
struct Places<'a> {
    ruler: Ruler,
    bucket: &'a [i64],
    /// The place that was found last, and its first and last time.
    found: Option<(usize, i64, i64)>,
}

impl Places<'_> {
    fn find(&mut self, at: i64) -> Option<usize> {
        if let Some((place, from, to)) = self.found
            && (from..=to).contains(&at)
        {
            return Some(place);
        }
        let bucket = self.ruler.bucket(at);
        let place = self.bucket.binary_search(&bucket).ok()?;
        let from = self.ruler.first.saturating_add(bucket.saturating_mul(self.ruler.width));
        self.found = Some((place, from, from.saturating_add(self.ruler.width - 1)));
        Some(place)
    }
}

fn larger(a: f64, b: f64) -> f64 {
    if a.total_cmp(&b) == Ordering::Less { b } else { a }
}
