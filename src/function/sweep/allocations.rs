//! The allocations of one group: collected, exchanged between threads, and put in order of time.

use std::sync::Arc;

use datafusion::arrow::array::{
    Array, ArrayRef, ArrowPrimitiveType, AsArray, Float64Array, Int32Array, Int64Array, ListArray,
    PrimitiveArray, StringArray,
};
use datafusion::arrow::datatypes::{DataType, FieldRef, Float64Type, Int32Type, Int64Type};
use datafusion::common::utils::SingleRowListArrayBuilder;
use datafusion::common::{Result, exec_datafusion_err, internal_datafusion_err};
use datafusion::scalar::ScalarValue;

use super::list;

/// Stands for a release that is not known: no clock of a profiler shows the year 1677.
const NOT_RELEASED: i64 = i64::MIN;

/// Stands for a number that is not stated: a NaN that no reader makes.
const NOT_STATED: u64 = 0x7ff8_0000_0000_0001;

/// Allocations as columns, and what was stated at their starts and releases.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    /// Their recordings, each once.
    paths: Vec<String>,
    /// Which of them.
    path: Vec<i32>,
    start: Vec<i64>,
    release: Vec<i64>,
    bytes: Vec<i64>,
    stated: Vec<Vec<f64>>,
}

/// What becomes of the level at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Change {
    /// When, ns.
    pub(super) at: i64,
    /// The level right after it, bytes.
    pub(super) level: i64,
}

impl Allocations {
    /// None yet, with room for so many columns of stated numbers.
    pub(super) fn new(stated: usize) -> Self {
        Self { stated: vec![vec![]; stated], ..Self::default() }
    }

    /// The columns in which they are handed to another thread.
    pub(super) fn state_fields(stated: usize) -> Vec<FieldRef> {
        let mut fields = vec![
            list("paths", DataType::Utf8),
            list("path", DataType::Int32),
            list("start", DataType::Int64),
            list("release", DataType::Int64),
            list("bytes", DataType::Int64),
        ];
        fields.extend((0..stated).map(|at| list(&format!("stated_{at}"), DataType::Float64)));
        fields
    }

    /// Takes rows: path, start, release and bytes, then the stated numbers. Rows without a start or a
    /// size are no allocations.
    pub(super) fn push(&mut self, columns: &[ArrayRef], stated: &[ArrayRef]) -> Result<()> {
        let [path, start, release, bytes] = columns else {
            return Err(internal_datafusion_err!("live_*: {} columns of an allocation", columns.len()));
        };
        let path = path.as_string_view();
        let [start, release, bytes] =
            [start, release, bytes].map(|column| column.as_primitive::<Int64Type>());
        let whole = start.null_count() + bytes.null_count() == 0;
        let there = |row: &usize| whole || (start.is_valid(*row) && bytes.is_valid(*row));
        let rows = start.len();
        let mut last: Option<(&str, i32)> = None;
        for row in (0..rows).filter(there) {
            let name = if path.is_valid(row) { path.value(row) } else { "" };
            let known = match last {
                Some((same, known)) if same == name => known,
                _ => self.intern(name)?,
            };
            last = Some((name, known));
            self.path.push(known);
            self.start.push(start.value(row));
            self.release.push(if release.is_valid(row) { release.value(row) } else { NOT_RELEASED });
            self.bytes.push(bytes.value(row));
        }
        for (all, column) in self.stated.iter_mut().zip(stated) {
            let column = column.as_primitive::<Float64Type>();
            all.extend((0..rows).filter(there).map(|row| match column.is_valid(row) {
                true if column.value(row).is_nan() => f64::NAN,
                true => column.value(row),
                false => f64::from_bits(NOT_STATED),
            }));
        }
        Ok(())
    }

    fn intern(&mut self, name: &str) -> Result<i32> {
        let known = self.paths.iter().rposition(|known| known == name).unwrap_or_else(|| {
            self.paths.push(name.to_owned());
            self.paths.len() - 1
        });
        i32::try_from(known)
            .map_err(|_| exec_datafusion_err!("live_*: more than 2^31 recordings of one group"))
    }

    /// Hands them over and has none afterwards.
    pub(super) fn state(&mut self) -> Vec<ScalarValue> {
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(self.paths.drain(..))),
            Arc::new(Int32Array::from(std::mem::take(&mut self.path))),
            Arc::new(Int64Array::from(std::mem::take(&mut self.start))),
            Arc::new(Int64Array::from(std::mem::take(&mut self.release))),
            Arc::new(Int64Array::from(std::mem::take(&mut self.bytes))),
        ];
        for column in &mut self.stated {
            columns.push(Arc::new(Float64Array::from(std::mem::take(column))));
        }
        columns.into_iter().map(|column| SingleRowListArrayBuilder::new(column).build_list_scalar()).collect()
    }

    /// Takes what others handed over.
    pub(super) fn merge(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [paths, path, start, release, bytes, stated @ ..] = states else {
            return Err(internal_datafusion_err!("live_*: {} columns of state", states.len()));
        };
        let paths = paths.as_list::<i32>();
        for group in 0..paths.len() {
            let names = paths.value(group);
            let names = names.as_string::<i32>().iter().flatten();
            let known = names.map(|name| self.intern(name)).collect::<Result<Vec<_>>>()?;
            let theirs = path.as_list::<i32>().value(group);
            self.path.extend(
                theirs
                    .as_primitive::<Int32Type>()
                    .values()
                    .iter()
                    .filter_map(|at| known.get(usize::try_from(*at).ok()?)),
            );
            extend::<Int64Type>(&mut self.start, start.as_list(), group);
            extend::<Int64Type>(&mut self.release, release.as_list(), group);
            extend::<Int64Type>(&mut self.bytes, bytes.as_list(), group);
            for (all, column) in self.stated.iter_mut().zip(stated) {
                extend::<Float64Type>(all, column.as_list(), group);
            }
        }
        Ok(())
    }

    /// How much memory they take, in bytes.
    pub(super) fn size(&self) -> usize {
        let names: usize = self.paths.iter().map(|path| size_of::<String>() + path.capacity()).sum();
        let times = self.start.capacity() + self.release.capacity() + self.bytes.capacity();
        let stated: usize = self.stated.iter().map(Vec::capacity).sum();
        size_of::<Self>() + names + 4 * self.path.capacity() + 8 * (times + stated)
    }

    /// The first and the last time that was recorded; `None` without any.
    pub(super) fn span(&self) -> Option<(i64, i64)> {
        let releases = self.release.iter().filter(|at| **at != NOT_RELEASED);
        let times = || self.start.iter().chain(releases.clone()).copied();
        Some((times().min()?, times().max()?))
    }

    /// The end of each allocation: its release, or the first ns after its recording.
    fn ends(&self) -> impl Iterator<Item = i64> {
        let mut of_paths = vec![i64::MIN; self.paths.len()];
        for ((path, start), release) in self.path.iter().zip(&self.start).zip(&self.release) {
            if let Some(end) = usize::try_from(*path).ok().and_then(|at| of_paths.get_mut(at)) {
                *end = (*end).max((*start).max(*release).saturating_add(1));
            }
        }
        let of_path = move |path: i32| usize::try_from(path).ok().and_then(|at| of_paths.get(at).copied());
        self.release.iter().zip(&self.path).map(move |(release, path)| match *release {
            NOT_RELEASED => of_path(*path).unwrap_or(i64::MAX),
            release => release,
        })
    }

    /// Which allocations are live at a time: their numbers, in the order in which they came.
    pub(super) fn live_at(&self, at: i64) -> impl Iterator<Item = usize> {
        let lives = self.start.iter().zip(self.ends()).enumerate();
        lives.filter(move |(_, (start, end))| **start <= at && at < *end).map(|(number, _)| number)
    }

    /// The times of all that was recorded: starts and releases.
    pub(super) fn times(&self) -> impl Iterator<Item = i64> {
        let releases = self.release.iter().filter(|at| **at != NOT_RELEASED);
        self.start.iter().chain(releases).copied()
    }

    /// What was stated in one column, with its time: that of the start or of the release.
    pub(super) fn stated(&self, column: usize, at_release: bool) -> impl Iterator<Item = (i64, f64)> {
        let times = if at_release { &self.release } else { &self.start };
        let numbers = self.stated.get(column).map(Vec::as_slice).unwrap_or_default();
        let known = |(at, number): &(i64, f64)| *at != NOT_RELEASED && number.to_bits() != NOT_STATED;
        times.iter().copied().zip(numbers.iter().copied()).filter(known)
    }

    /// The level after each change, in order of time. In one moment releases come first, so no level is
    /// told that was never reached.
    ///
    /// # Errors
    /// When a level does not fit into 64 bits.
    pub(super) fn sweep(&self, mut tell: impl FnMut(Change)) -> Result<()> {
        let room = self.start.len();
        let (mut starts, mut releases) = (Vec::with_capacity(room), Vec::with_capacity(room));
        for ((start, end), bytes) in self.start.iter().copied().zip(self.ends()).zip(&self.bytes) {
            // A clock that was set back releases before it allocates: such a block is never live.
            let bytes = if start < end { *bytes } else { 0 };
            starts.push((start, bytes));
            releases.push((end, bytes));
        }
        // They come nearly in order, which this sort uses.
        starts.sort_by_key(|(at, _)| *at);
        releases.sort_by_key(|(at, _)| *at);
        let (mut starts, mut releases) = (starts.into_iter().peekable(), releases.into_iter().peekable());
        let mut level = 0i64;
        let too_large = || exec_datafusion_err!("live_*: the level in bytes does not fit into 64 bits");
        loop {
            let release_is_next = match (starts.peek(), releases.peek()) {
                (None, None) => return Ok(()),
                (Some((start, _)), Some((release, _))) => release <= start,
                (start, _) => start.is_none(),
            };
            let next = if release_is_next { &mut releases } else { &mut starts };
            let Some((at, bytes)) = next.next() else { return Ok(()) };
            let changed = if release_is_next { level.checked_sub(bytes) } else { level.checked_add(bytes) };
            level = changed.ok_or_else(too_large)?;
            tell(Change { at, level });
        }
    }
}

fn extend<T: ArrowPrimitiveType>(all: &mut Vec<T::Native>, lists: &ListArray, group: usize) {
    if lists.is_valid(group) {
        let values = lists.value(group);
        let values: &PrimitiveArray<T> = values.as_primitive();
        all.extend_from_slice(values.values());
    }
}
