//! OP_MEMORY and MEMORY_RECORD: allocations and levels, in the units of the tables that they become.

use crate::format::ascend_profile::allocations::Allocation;
use crate::format::ascend_profile::records::LevelRecord;
use crate::source::{Counter, Degree, Finding, Kind, ReadError};
use crate::text::decimal::nanos_to_micros;

use super::strings::Strings;
use super::table::{At, Cell, Column, Cursor, Table, optional, required};
use super::{Access, Fault};

const KB: f64 = 1024.0;
const MB: f64 = 1024.0 * 1024.0;

/// Rows of CANN's graph engine stand under this name in the text export.
const CANN: &str = "cann::";

/// The columns of OP_MEMORY: bytes and nanoseconds.
const ALLOCATION: [Column; 15] = [
    required("name"),
    required("size"),
    required("allocationTime"),
    optional("releaseTime"),
    optional("activeReleaseTime"),
    optional("duration"),
    optional("activeDuration"),
    optional("allocationTotalAllocated"),
    optional("allocationTotalReserved"),
    optional("allocationTotalActive"),
    optional("releaseTotalAllocated"),
    optional("releaseTotalReserved"),
    optional("releaseTotalActive"),
    optional("streamPtr"),
    optional("deviceId"),
];

/// The columns of MEMORY_RECORD.
const LEVEL: [Column; 7] = [
    required("component"),
    required("timestamp"),
    optional("totalAllocated"),
    optional("totalReserved"),
    optional("totalActive"),
    optional("streamPtr"),
    optional("deviceId"),
];

/// How far a table has been read.
#[derive(Debug, Default)]
pub(super) enum Progress<const N: usize> {
    /// Not looked for yet.
    #[default]
    NotBegun,
    /// Somewhere in it.
    Reading(Cursor<N>),
    /// At its end, or it cannot be read.
    Done,
}

/// Why a row is not handed out.
enum Skip {
    /// Something in it is wrong: to be reported and left out.
    Bad(Kind, String),
    /// Reading cannot go on.
    Fault(Fault),
}

impl From<String> for Skip {
    fn from(message: String) -> Self {
        Skip::Bad(Kind::BadValue, message)
    }
}

impl From<Fault> for Skip {
    fn from(fault: Fault) -> Self {
        Skip::Fault(fault)
    }
}

impl From<ReadError> for Skip {
    fn from(e: ReadError) -> Self {
        Skip::Fault(e.into())
    }
}

/// State that lasts from one block of allocations to the next.
#[derive(Debug, Default)]
pub(super) struct Allocations {
    progress: Progress<15>,
    device: Device,
}

impl Allocations {
    /// Whether there are no more rows.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done)
    }

    /// Hands out at most `max` allocations.
    pub(super) fn next(
        &mut self,
        db: &Access<'_>,
        strings: &mut Strings,
        max: usize,
        on_row: &mut dyn FnMut(&Allocation<'_>),
    ) -> Result<(), Fault> {
        let device = &mut self.device;
        let why = "no allocations were recorded, or profile_memory was off";
        let mut prefixed = String::new();
        self.progress.begin(db, strings, "OP_MEMORY", &ALLOCATION, why)?;
        self.progress.next(db, max, &mut |table, at, cells| {
            let row = RawAllocation::read(cells, table.present())?;
            let number = strings.number(db, row.name)?.ok_or_else(|| unknown("name", row.name))?;
            let mut name = strings.text(number).trim();
            if row.is_graph_engine && !name.starts_with(CANN) {
                prefixed.clear();
                prefixed.push_str(CANN);
                prefixed.push_str(name);
                name = &prefixed;
            }
            if row.start_ns.is_none() {
                let note = Finding::note(Kind::BadRow, db.path, "release-only row: no allocation time");
                db.host.report(note.at(table.place(at)))?;
            }
            on_row(&row.allocation(name, device.text(row.device), at.row_no));
            Ok(())
        })
    }
}

/// State that lasts from one block of levels to the next.
#[derive(Debug, Default)]
pub(super) struct Levels {
    progress: Progress<7>,
    device: Device,
}

impl Levels {
    /// Whether there are no more rows.
    pub(super) fn is_done(&self) -> bool {
        matches!(self.progress, Progress::Done)
    }

    /// Hands out at most `max` levels.
    pub(super) fn next(
        &mut self,
        db: &Access<'_>,
        strings: &mut Strings,
        max: usize,
        on_row: &mut dyn FnMut(&LevelRecord<'_>),
    ) -> Result<(), Fault> {
        let device = &mut self.device;
        let why = "the level of memory was not recorded, or profile_memory was off";
        self.progress.begin(db, strings, "MEMORY_RECORD", &LEVEL, why)?;
        self.progress.next(db, max, &mut |_, at, cells| {
            let [component, time, allocated, reserved, active, stream, device_id] = cells;
            let component = component.int("component")?;
            let number = strings.number(db, component)?.ok_or_else(|| unknown("component", component))?;
            let time_ns = time.int("timestamp")?.ok_or_else(|| null("timestamp"))?;
            on_row(&LevelRecord {
                component: strings.text(number).trim(),
                time_ns,
                time_ms: millis(time_ns),
                totals_mb: [
                    megabytes(&allocated, "totalAllocated")?,
                    megabytes(&reserved, "totalReserved")?,
                    megabytes(&active, "totalActive")?,
                ],
                stream_ptr: stream.int("streamPtr")?,
                device_type: device.text(device_id.int("deviceId")?),
                row_no: at.row_no,
            });
            Ok(())
        })
    }
}

/// Makes a row of a table into what it stands for, and hands it out.
type Convert<'f, const N: usize> = dyn FnMut(&Table<N>, At, [Cell; N]) -> Result<(), Skip> + 'f;

impl<const N: usize> Progress<N> {
    /// Looks for the table, the first time.
    fn begin(
        &mut self,
        db: &Access<'_>,
        strings: &mut Strings,
        name: &'static str,
        columns: &[Column; N],
        why: &str,
    ) -> Result<(), Fault> {
        if matches!(self, Progress::NotBegun) {
            // Whatever goes wrong on the way, it is not tried and reported again.
            *self = Progress::Done;
            if let Some(table) = Table::open(db, name, columns, Degree::Problem, why)? {
                strings.prepare(db)?;
                *self = Progress::Reading(Cursor::new(table));
            }
        }
        Ok(())
    }

    /// Hands out rows until `max` of them are good, or the end is reached.
    fn next(&mut self, db: &Access<'_>, max: usize, convert: &mut Convert<'_, N>) -> Result<(), Fault> {
        let (mut given, mut read, mut left_out) = (0, 0, 0);
        let mut outcome = Ok(());
        while let Progress::Reading(cursor) = self
            && given < max
        {
            let wanted = max - given;
            let taken = cursor.take(db, wanted, &mut |table, at, cells| {
                read += 1;
                match convert(table, at, cells) {
                    Ok(()) => given += 1,
                    Err(Skip::Bad(kind, message)) => {
                        left_out += 1;
                        db.host.report(Finding::problem(kind, db.path, message).at(table.place(at)))?;
                    }
                    Err(Skip::Fault(fault)) => {
                        left_out += 1;
                        return Err(fault);
                    }
                }
                Ok(())
            });
            if !matches!(taken, Ok(n) if n == wanted) {
                *self = Progress::Done;
            }
            outcome = taken.map(|_| ());
        }
        db.host.count(Counter::RowsRead, read);
        db.host.count(Counter::RowsLeftOut, left_out);
        outcome
    }
}

/// A row of OP_MEMORY, in its own units.
struct RawAllocation {
    name: Option<i64>,
    bytes: f64,
    start_ns: Option<i64>,
    release_ns: Option<i64>,
    active_release_ns: Option<i64>,
    duration_ns: Option<i64>,
    active_duration_ns: Option<i64>,
    totals_mb: [Option<f64>; 3],
    release_totals_mb: [Option<f64>; 3],
    stream_ptr: Option<i64>,
    device: Option<i64>,
    is_graph_engine: bool,
}

impl RawAllocation {
    fn read(cells: [Cell; 15], present: &[bool; 15]) -> Result<Self, Skip> {
        let [name, size, start, release, active_release, duration, active_duration, cells @ ..] = cells;
        let [allocated, reserved, active, r_allocated, r_reserved, r_active, stream, device] = cells;
        let [.., has_active, _, _, _, has_stream, _] = *present;
        let bytes = size.float("size")?.ok_or_else(|| null("size"))?;
        let start_ns = start.int("allocationTime")?;
        if start_ns.is_none() && bytes >= 0.0 {
            let message = "allocationTime is NULL, expected nanoseconds (only a release, with a negative size, has none)";
            return Err(Skip::Bad(Kind::BadRow, message.into()));
        }
        let stream_ptr = stream.int("streamPtr")?;
        let active_mb = megabytes(&active, "allocationTotalActive")?;
        // The graph engine knows neither streams nor active blocks. An old table without these
        // columns tells nothing about it.
        let is_graph_engine =
            has_active && has_stream && stream_ptr.is_none() && active_mb.is_none() && start_ns.is_some();
        Ok(Self {
            name: name.int("name")?,
            bytes,
            start_ns,
            release_ns: release.int("releaseTime")?,
            active_release_ns: active_release.int("activeReleaseTime")?,
            duration_ns: duration.int("duration")?,
            active_duration_ns: active_duration.int("activeDuration")?,
            totals_mb: [
                megabytes(&allocated, "allocationTotalAllocated")?,
                megabytes(&reserved, "allocationTotalReserved")?,
                active_mb,
            ],
            release_totals_mb: [
                megabytes(&r_allocated, "releaseTotalAllocated")?,
                megabytes(&r_reserved, "releaseTotalReserved")?,
                megabytes(&r_active, "releaseTotalActive")?,
            ],
            stream_ptr,
            device: device.int("deviceId")?,
            is_graph_engine,
        })
    }

    fn allocation<'a>(&self, name: &'a str, device_type: &'a str, row_no: i64) -> Allocation<'a> {
        // The graph engine writes a duration of 0, and the time of the allocation as that of the
        // release, for what it never released.
        let held = self.is_graph_engine && self.duration_ns == Some(0);
        let release_ns = self.release_ns.filter(|_| !held);
        Allocation {
            name,
            size_kb: self.bytes / KB,
            start_ns: self.start_ns,
            start_ms: self.start_ns.map(millis),
            duration_ms: self.duration_ns.map_or(0.0, millis),
            totals_mb: self.totals_mb,
            device_type,
            release_ns,
            active_release_ns: self.active_release_ns,
            released: release_ns.is_some(),
            active_duration_ms: self.active_duration_ns.map(millis),
            release_totals_mb: self.release_totals_mb,
            stream_ptr: self.stream_ptr,
            row_no,
        }
    }
}

/// The text of the last device: nearly always the same one.
#[derive(Debug, Default)]
struct Device {
    id: Option<i64>,
    text: String,
}

impl Device {
    /// `NPU:<id>` as in the text export, empty without an id.
    fn text(&mut self, id: Option<i64>) -> &str {
        if self.id != id {
            self.id = id;
            self.text = id.map_or(String::new(), |id| format!("NPU:{id}"));
        }
        &self.text
    }
}

/// Milliseconds as the reference gets them from the text export: a float of microseconds, divided.
fn millis(ns: i64) -> f64 {
    nanos_to_micros(ns) / 1000.0
}

fn megabytes(cell: &Cell, column: &str) -> Result<Option<f64>, Skip> {
    Ok(cell.float(column)?.map(|bytes| bytes / MB))
}

fn null(column: &str) -> String {
    format!("{column} is NULL, expected an integer")
}

fn unknown(column: &str, id: Option<i64>) -> String {
    format!("{column} is {}, expected an id of STRING_IDS", id.unwrap_or_default())
}
