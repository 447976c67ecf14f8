//! `memscope_files`: what there is below a path, without reading it through.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int64Array, RecordBatch, StringViewArray};
use memchr::memmem;

use crate::source::{
    Counter, DataError, Finding, Format, Host, InputFile, KeyColumn, Layout, ReadError, ReadRequest, Root,
    Unit, UnitReader,
};

use super::columns::{UnitColumns, batch_of};
use super::layout::{self, DUMP_CSV, DUMP_DB, FileKind, TRACE_CSV, WATCH_CSV};
use super::peek::{self, Peek};
use super::record;
use super::schema::{Files, KEY_COLUMNS, Wanted};

/// The format behind `memscope_files`. A unit is a file.
#[derive(Debug, Clone, Copy, Default)]
pub struct MemscopeFiles;

const ALL_KINDS: [FileKind; 8] = [
    FileKind::DumpCsv,
    FileKind::DumpDb,
    FileKind::TraceCsv,
    FileKind::WatchCsv,
    FileKind::WatchImage,
    FileKind::CompareCsv,
    FileKind::Config,
    FileKind::Log,
];

impl Format for MemscopeFiles {
    fn name(&self) -> &'static str {
        "memscope_files"
    }

    fn schema(&self) -> datafusion::arrow::datatypes::SchemaRef {
        Files::schema()
    }

    fn key_columns(&self) -> &'static [KeyColumn] {
        &KEY_COLUMNS
    }

    fn discover(&self, roots: &[Root]) -> Result<Layout, DataError> {
        let (found, findings) = layout::find(self.name(), roots, &ALL_KINDS, "files of msMemScope")?;
        let units = found.iter().map(|f| {
            let mut unit = f.unit();
            // What only the listing knows, for the columns of the same names.
            unit.form = format!("{}|{}", f.device.as_deref().unwrap_or(""), f.started_at().unwrap_or(""));
            unit
        });
        Ok(Layout { units: units.collect(), findings })
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
        host.count(Counter::RowsRead, 1);
        Ok(Box::new(FileReader { unit: unit.clone(), request: request.clone(), host, done: false }))
    }
}

struct FileReader {
    unit: Unit,
    request: ReadRequest,
    host: Arc<dyn Host>,
    done: bool,
}

/// What the columns call a part, and its format.
fn names(part: &str) -> (&'static str, &'static str) {
    match part {
        DUMP_CSV => ("dump", "csv"),
        DUMP_DB => ("dump", "db"),
        TRACE_CSV => ("python_trace", "csv"),
        WATCH_CSV => ("watch", "csv"),
        layout::WATCH_IMAGE => ("watch_image", "bin"),
        layout::CONFIG => ("config", "json"),
        "compare_csv" => ("compare", "csv"),
        _ => ("log", "log"),
    }
}

/// The version of the tool, as far as the text of a dump gives it away. No file says it.
fn version(text: &[u8], name: &str) -> Option<&'static str> {
    let has = |needle: &str| memmem::find(text, needle.as_bytes()).is_some();
    if has("process_used:") || has("device_used:") {
        Some("26.2 or later")
    } else if has("shadow:true") || has(",OOM_DETAIL,") || has("@fsdp2@") || has("@fsdp1@") {
        Some("26.2")
    } else if has(",PTA_WORKSPACE,") || has("PTA@ops@aten") || has("PTA@model@") {
        Some("26.0 or 26.1")
    } else if name.starts_with("leaks_dump") || has("MID:") {
        Some("msLeaks 8.x")
    } else if has(",MALLOC,") && !has("allocation_id:") {
        Some("msLeaks before August 2025")
    } else if has("page_type:") || has(",SNAPSHOT,") {
        Some("26.0 or later")
    } else {
        None
    }
}

impl FileReader {
    fn batch(&self) -> Result<RecordBatch, ReadError> {
        let unit = UnitColumns::new(&self.unit);
        let file = self.unit.files.first();
        let part = file.map_or("", |f| f.part.as_str());
        let path = self.unit.files.first().map_or(self.unit.path(), |file| &file.path);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let wanted = Wanted::new(&self.request.projection);
        let peeked = wanted
            .any([Files::RowsEstimate, Files::Version, Files::Readable, Files::Remark].map(Files::index));
        let peek = if peeked { self.peek(part) } else { Peek::default() };
        let (device, started) = self.unit.form.split_once('|').unwrap_or(("", ""));
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let text = |value: Option<String>| -> ArrayRef { Arc::new(StringViewArray::from_iter([value])) };
        let int = |value: Option<i64>| -> ArrayRef { Arc::new(Int64Array::from(vec![value])) };
        let mut columns = vec![];
        for column in self.request.projection.iter().filter_map(|at| Files::ALL.get(*at)) {
            columns.push(match column {
                Files::Kind => text(given(names(part).0)),
                Files::Format => text(given(names(part).1)),
                Files::Device => text(given(device)),
                Files::Bytes => int(file.map(|f| i64::try_from(f.bytes).unwrap_or(i64::MAX))),
                Files::RowsEstimate => int(peek.rows),
                Files::Version => text(version(&peek.text, &name).map(str::to_owned)),
                Files::StartedAt => text(given(started)),
                Files::Readable => Arc::new(BooleanArray::from(vec![peek.readable])),
                Files::Remark => text(peek.remark.clone()),
                Files::RunDir => unit.run_dir(1)?,
                Files::RunPid => unit.run_pid(1),
                Files::SourcePath => unit.source_path(1)?,
            });
        }
        batch_of(&Arc::new(Files::schema().project(&self.request.projection)?), columns, 1)
    }

    fn peek(&self, part: &str) -> Peek {
        let path = self.unit.files.first().map_or(self.unit.path(), |file| &file.path);
        self.host.count(Counter::FilesOpened, 1);
        match part {
            DUMP_DB => peek::database(path, &self.unit.files),
            DUMP_CSV => peek::text(path, &self.unit.files, record::starts),
            TRACE_CSV | WATCH_CSV => peek::text(path, &self.unit.files, |line| !line.is_empty()),
            _ => match InputFile::open(path) {
                Ok(_) => Peek { readable: true, ..Peek::default() },
                Err(e) => Peek { remark: Some(e.to_string()), ..Peek::default() },
            },
        }
    }
}

impl UnitReader for FileReader {
    fn next_batch(&mut self) -> Result<Option<RecordBatch>, ReadError> {
        if std::mem::replace(&mut self.done, true) { Ok(None) } else { self.batch().map(Some) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_by_what_only_they_write() {
        for (text, name, want) in [
            ("1,MALLOC,HAL,{allocation_id:1,process_used:5}", "memscope_dump_1.csv", Some("26.2 or later")),
            ("1,FREE,HAL,{allocation_id:1,shadow:true}", "memscope_dump_1.csv", Some("26.2")),
            ("1,MALLOC,PTA_WORKSPACE,{allocation_id:1}", "memscope_dump_1.csv", Some("26.0 or 26.1")),
            ("1,MALLOC,HAL,{addr:1,size:2,MID:3}", "memscope_dump_1.csv", Some("msLeaks 8.x")),
            ("1,MALLOC,HAL,{addr:1,size:2}", "memscope_dump_1.csv", Some("msLeaks before August 2025")),
            ("1,MALLOC,HAL,{allocation_id:1,page_type:normal}", "memscope_dump_1.csv", Some("26.0 or later")),
            ("", "memscope_dump_1.csv", None),
        ] {
            assert_eq!(version(text.as_bytes(), name), want, "{text}");
        }
    }
}
