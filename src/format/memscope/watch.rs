//! `memscope_watch`: check sums of watched tensors, before and after each operator.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use datafusion::arrow::array::RecordBatch;

use crate::source::{
    Counter, DataError, Finding, Format, Host, InputFile, KeyColumn, Kind, Layout, Place, ReadError,
    ReadRequest, Root, Unit, UnitReader,
};

use super::check_sum::CheckSum;
use super::columns::{RowColumns, UnitColumns};
use super::layout::{self, FileKind, WATCH_CSV, WATCH_IMAGE};
use super::lines::{Lines, check_text, split_right};
use super::number;
use super::rows::unreadable;
use super::schema::{KEY_COLUMNS, Wanted, Watch};

/// The format behind `memscope_watch`: a csv of check sums, or a directory of memory images whose
/// check sums are computed.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeWatch;

impl Format for MemscopeWatch {
    fn name(&self) -> &'static str {
        "memscope_watch"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Watch::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let what = "watch_dump_data_check_sum_*.csv and *_before.bin, *_after.bin";
        let (found, findings) =
            layout::find(self.name(), roots, &[FileKind::WatchCsv, FileKind::WatchImage], what)?;
        let mut layout = Layout { units: vec![], findings };
        let mut images: BTreeMap<PathBuf, Unit> = BTreeMap::new();
        for file in found {
            if file.kind == FileKind::WatchCsv {
                layout.units.push(file.unit());
                continue;
            }
            let dir = file.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
            let unit = images.entry(dir.to_path_buf()).or_insert_with(|| Unit {
                source_path: dir.display().to_string(),
                files: vec![],
                ..file.unit()
            });
            unit.files.push(file.unit_file());
        }
        layout.units.extend(images.into_values());
        Ok(layout)
    }

    fn known_problems(&self, unit: &Unit, _: &[usize]) -> Vec<Finding> {
        unit.problems().collect()
    }

    fn open(
        &self,
        unit: &Unit,
        request: &ReadRequest,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn UnitReader>, ReadError> {
        let csv = match unit.file(WATCH_CSV) {
            Some(file) => Lines::behind_header(HEADER, &file.path, host.as_ref())?,
            None => None,
        };
        let images = unit.parts(WATCH_IMAGE).map(|f| f.path.clone()).collect();
        let (unit, request) = (unit.clone(), request.clone());
        Ok(Box::new(WatchReader { unit, request, host, csv, images, row: 0 }))
    }
}

/// The first line of a csv.
const HEADER: &str = "Tensor info,Check data sum";

/// What the text about a check says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Info<'a> {
    device: &'a [u8],
    tid: i64,
    op: &'a [u8],
    call: i64,
    tensor: &'a [u8],
    index: i64,
    moment: &'static str,
}

impl<'a> Info<'a> {
    /// Reads `{device}_{thread}/{op}_{call}-{tensor}_{index}_{before|after}.bin`; images have `.` for `/`.
    fn parse(text: &'a [u8]) -> Option<Self> {
        let text = text.strip_suffix(b".bin")?;
        let (text, moment) = match (text.strip_suffix(b"_before"), text.strip_suffix(b"_after")) {
            (Some(text), _) => (text, "before"),
            (_, Some(text)) => (text, "after"),
            _ => return None,
        };
        let (text, index) = number_behind(text, b'_')?;
        // The operator may hold dashes, and so may the tensor: the last dash behind a number counts.
        let (head, call, tensor) = memchr::memrchr_iter(b'-', text).find_map(|at| {
            let (head, call) = number_behind(text.get(..at)?, b'_')?;
            Some((head, call, text.get(at + 1..)?))
        })?;
        let under = memchr::memchr(b'_', head)?;
        let (device, rest) = (head.get(..under)?, head.get(under + 1..)?);
        let (tid, rest) = number::leading(rest)?;
        let op = rest.strip_prefix(b"/").or_else(|| rest.strip_prefix(b"."))?;
        Some(Self { device, tid: tid.cast_signed(), op, call, tensor, index, moment })
    }
}

/// A number at the end of the text behind this separator, and what stands before both.
fn number_behind(text: &[u8], separator: u8) -> Option<(&[u8], i64)> {
    let at = memchr::memrchr(separator, text)?;
    let digits = text.get(at + 1..)?;
    let (value, rest) = number::leading(digits)?;
    if rest.is_empty() { Some((text.get(..at)?, value.cast_signed())) } else { None }
}

/// Reads one csv or one directory.
struct WatchReader {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    csv: Option<Lines>,
    images: VecDeque<PathBuf>,
    row: i64,
}

type Rows = RowColumns<Watch>;

/// Adds a check to the rows.
fn push(
    rows: &mut Rows,
    row: i64,
    info: &[u8],
    sum: Option<&[u8]>,
    bytes: Option<i64>,
    written: Option<i64>,
) {
    let parsed = Info::parse(info);
    rows.push(|column, builder| match column {
        Watch::Info => builder.text(Some(info)),
        Watch::Device => builder.text(parsed.map(|i| i.device)),
        Watch::Tid => builder.int(parsed.map(|i| i.tid)),
        Watch::Op => builder.text(parsed.map(|i| i.op)),
        Watch::CallNo => builder.int(parsed.map(|i| i.call)),
        Watch::Tensor => builder.text(parsed.map(|i| i.tensor)),
        Watch::OutIndex => builder.int(parsed.map(|i| i.index)),
        Watch::Moment => builder.text(parsed.map(|i| i.moment.as_bytes())),
        Watch::CheckSum => builder.text(sum),
        Watch::Bytes => builder.int(bytes),
        Watch::WrittenNs => builder.int(written),
        Watch::RowNo => builder.int(Some(row)),
        Watch::RunDir | Watch::RunPid | Watch::SourcePath => {}
    });
}

impl WatchReader {
    fn read_csv(&mut self, lines: &mut Lines, rows: &mut Rows) -> Result<bool, ReadError> {
        let path = self.unit.path().to_path_buf();
        while rows.rows() < self.request.batch_rows.max(1) {
            match lines.next() {
                Ok(None) => return Ok(false),
                Ok(Some((_, line))) if line.trim_ascii().is_empty() => {}
                Ok(Some((number, line))) => {
                    self.host.count(Counter::RowsRead, 1);
                    self.row = i64::try_from(number).unwrap_or(i64::MAX).saturating_sub(1);
                    let whole = |sum: &[u8]| sum.len() == 16 && sum.iter().all(u8::is_ascii_hexdigit);
                    match split_right::<1>(line) {
                        Some((info, [sum])) if whole(sum) => {
                            check_text(info, number, &path, self.host.as_ref())?;
                            push(rows, self.row, info, Some(sum), None, None);
                        }
                        _ => {
                            self.host.count(Counter::RowsLeftOut, 1);
                            let message = "the line is broken or cut off: expected the tensor and 16 hexadecimal digits";
                            let finding = Finding::problem(Kind::BadRow, &path, message);
                            self.host.report(finding.at(Place::Line(number)))?;
                        }
                    }
                }
                Err(e) => {
                    self.host.report(unreadable(&path, &e))?;
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// Reads images until there is a batch, or one image when check sums are computed: they are large.
    fn read_images(&mut self, rows: &mut Rows) -> Result<(), ReadError> {
        let wanted = Wanted::new(&self.request.projection);
        let sums = wanted.has(Watch::CheckSum.index());
        let opens = wanted.any([Watch::CheckSum, Watch::Bytes, Watch::WrittenNs].map(Watch::index));
        while rows.rows() < self.request.batch_rows.max(1)
            && let Some(path) = self.images.pop_front()
        {
            if self.host.stopped() {
                return Err(ReadError::Stopped);
            }
            self.row += 1;
            self.host.count(Counter::RowsRead, 1);
            let info = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !opens {
                push(rows, self.row, info.as_bytes(), None, None, None);
                continue;
            }
            match image(&path, sums, self.host.as_ref()) {
                Ok((bytes, written, sum)) => {
                    let sum = sum.map(CheckSum::text);
                    let sum = sum.as_deref().map(str::as_bytes);
                    push(rows, self.row, info.as_bytes(), sum, Some(bytes), written);
                }
                Err(ImageError::Io(e)) => {
                    self.host.count(Counter::RowsLeftOut, 1);
                    self.host.report(unreadable(&path, &e))?;
                }
                Err(ImageError::Host(e)) => return Err(e),
            }
        }
        Ok(())
    }
}

type Image = (i64, Option<i64>, Option<CheckSum>);

/// Why an image gives no row.
enum ImageError {
    /// The system says no.
    Io(io::Error),
    /// It has nothing to do with the file.
    Host(ReadError),
}

impl From<io::Error> for ImageError {
    fn from(error: io::Error) -> Self {
        ImageError::Io(error)
    }
}

/// Size, time of writing and check sum of a memory image.
fn image(path: &Path, sums: bool, host: &dyn Host) -> Result<Image, ImageError> {
    let file = InputFile::open(path)?;
    host.opened(&file).map_err(ImageError::Host)?;
    let written = path.metadata()?.modified().ok().and_then(|t| t.duration_since(UNIX_EPOCH).ok());
    let written = written.and_then(|t| i64::try_from(t.as_nanos()).ok());
    let bytes = i64::try_from(file.len()).unwrap_or(i64::MAX);
    if !sums {
        return Ok((bytes, written, None));
    }
    let (mut sum, mut at, mut buffer) = (CheckSum::new(), 0, vec![0; 256 << 10]);
    while !host.stopped() {
        let n = file.read_at(&mut buffer, at)?;
        if n == 0 {
            break;
        }
        at += n as u64;
        host.count(Counter::BytesRead, n as u64);
        sum.add(buffer.get(..n).unwrap_or_default());
    }
    Ok((bytes, written, Some(sum)))
}

impl UnitReader for WatchReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if self.host.stopped() {
            return Err(ReadError::Stopped);
        }
        let projection = &self.request.projection;
        let mut rows = Rows::new(projection, Watch::ALL, Watch::SPECS);
        if let Some(mut lines) = self.csv.take() {
            if self.read_csv(&mut lines, &mut rows)? {
                self.csv = Some(lines);
            }
        } else {
            self.read_images(&mut rows)?;
        }
        if rows.rows() == 0 {
            return Ok(None);
        }
        let schema = Arc::new(Watch::schema().project(&self.request.projection)?);
        rows.finish(&UnitColumns::new(&self.unit), &schema).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_spellings_of_a_check_are_read() {
        for separator in ["/", "."] {
            let text = format!("0_44001{separator}torch._ops.aten.mm-x.default_12-weight-1_0_3_before.bin");
            let info = Info::parse(text.as_bytes()).unwrap();
            assert_eq!((info.device, info.tid, info.call, info.index), (&b"0"[..], 44001, 12, 3));
            assert_eq!((info.op, info.tensor), (&b"torch._ops.aten.mm-x.default"[..], &b"weight-1_0"[..]));
            assert_eq!(info.moment, "before");
        }
        assert_eq!(Info::parse(b"0_1/op_1-w_0_during.bin"), None);
        assert_eq!(Info::parse(b"op"), None);
    }
}
