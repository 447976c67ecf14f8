//! The tables over whole files: handed cases, hostile variants of them, and rules that hold for both.

mod conditions;
mod databases;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{Array, AsArray, BooleanArray, Float64Array, Int64Array, RecordBatch};
use datafusion::arrow::datatypes::DataType;
use tempfile::TempDir;

use crate::source::{
    Counter, Finding, FindingLog, Format, Host, ReadError, ReadRequest, Unit, UnitReader, expand_roots,
};

use super::blocks::BlockReader;
use super::events::EventReader;
use super::rows::UnitRows;
use super::*;

const HEADER: &str = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n";

/// A host that lets everything pass and remembers what was said.
#[derive(Debug, Default)]
pub(super) struct Notes {
    log: Mutex<FindingLog>,
    counts: Mutex<BTreeMap<&'static str, u64>>,
}

impl Host for Notes {
    fn stopped(&self) -> bool {
        false
    }

    fn reserve(&self, _: usize) -> Result<(), ReadError> {
        Ok(())
    }

    fn count(&self, counter: Counter, n: u64) {
        let name = match counter {
            Counter::RowsRead => "read",
            Counter::RowsLeftOut => "left out",
            _ => return,
        };
        *self.counts.lock().unwrap().entry(name).or_default() += n;
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        self.log.lock().unwrap().push(finding);
        Ok(())
    }
}

impl Notes {
    fn counted(&self, name: &str) -> u64 {
        self.counts.lock().unwrap().get(name).copied().unwrap_or(0)
    }

    fn findings(&self) -> Vec<Finding> {
        self.log.lock().unwrap().findings().to_vec()
    }

    fn problems(&self) -> u64 {
        self.findings().iter().filter(|f| f.is_problem()).map(|f| f.count).sum()
    }
}

fn case(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memscope").join(path)
}

fn cell(array: &dyn Array, row: usize) -> String {
    if array.is_null(row) {
        return "-".into();
    }
    let any = array.as_any();
    if let Some(ints) = any.downcast_ref::<Int64Array>() {
        ints.value(row).to_string()
    } else if let Some(floats) = any.downcast_ref::<Float64Array>() {
        floats.value(row).to_string()
    } else if let Some(bools) = any.downcast_ref::<BooleanArray>() {
        bools.value(row).to_string()
    } else {
        array.as_string_view().value(row).to_owned()
    }
}

fn rows_of(batch: &RecordBatch) -> Vec<String> {
    let row = |r| (0..batch.num_columns()).map(|c| cell(batch.column(c), r)).collect::<Vec<_>>().join("|");
    (0..batch.num_rows()).map(row).collect()
}

fn drain(reader: &mut dyn UnitReader, most: usize) -> Vec<String> {
    let mut out = vec![];
    while let Some(batch) = reader.next_batch().unwrap() {
        assert!(batch.num_rows() <= most && batch.num_rows() > 0);
        out.extend(rows_of(&batch));
    }
    out
}

fn units(format: &dyn Format, paths: &[&Path]) -> Vec<Unit> {
    let paths: Vec<String> = paths.iter().map(|p| p.display().to_string()).collect();
    let layout = format.discover(&expand_roots(format.name(), &paths).unwrap()).unwrap();
    assert!(layout.findings.is_empty());
    layout.units
}

fn projection(format: &dyn Format, columns: &[&str]) -> Vec<usize> {
    let schema = format.schema();
    match columns {
        [] => (0..schema.fields().len()).collect(),
        some => some.iter().map(|c| schema.index_of(c).unwrap()).collect(),
    }
}

/// Rows of these columns (all when none is named), and what was said.
fn read(format: &dyn Format, paths: &[&Path], columns: &[&str]) -> (Vec<String>, Notes) {
    let host = Arc::new(Notes::default());
    let mut out = vec![];
    let request = ReadRequest::new(projection(format, columns));
    for unit in units(format, paths) {
        let mut reader = format.open(&unit, &request, host.clone()).unwrap();
        out.extend(drain(reader.as_mut(), request.batch_rows));
    }
    (out, Arc::into_inner(host).unwrap())
}

fn write(dir: &TempDir, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    path
}

/// A dump with these records in a directory that goes away with the test.
fn dump(records: &str) -> (TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = write(&dir, "memscope_dump_1.csv", format!("{HEADER}{records}"));
    (dir, path)
}

#[test]
fn csv_and_database_give_the_same_rows() {
    let csv = case("train_leak/memscopeDumpResults/msmemscope_41001_20261001080000_ascend");
    let db = case("train_leak_db");
    let fields = MemscopeEvents.schema();
    let columns: Vec<&str> = fields
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .filter(|n| !["row_no", "file", "source_path"].contains(n))
        .collect();
    // The two runs differ in the events that recording them took.
    let ids =
        |rows: &[String]| rows.iter().map(|r| r.split('|').next().unwrap().to_owned()).collect::<Vec<_>>();
    let (a, b) = (read(&MemscopeEvents, &[&csv], &columns).0, read(&MemscopeEvents, &[&db], &columns).0);
    assert_eq!((a.len(), b.len()), (611, 611));
    assert_eq!(ids(&a), ids(&b));
    assert_eq!(a, b);
    let columns = [
        "allocation_id",
        "pool",
        "size",
        "malloc_id",
        "free_id",
        "freed_by",
        "owner",
        "py_stack_id",
        "accesses",
    ];
    assert_eq!(read(&MemscopeBlocks, &[&csv], &columns).0, read(&MemscopeBlocks, &[&db], &columns).0);
}

#[test]
fn chunks_threads_and_batches_do_not_change_rows() {
    let paths = [
        case("train_leak/memscopeDumpResults/msmemscope_41001_20261001080000_ascend"),
        case("edge/killed_before_exit.csv"),
        case("edge/quote_in_mark.csv"),
    ];
    for path in &paths {
        for (threads, chunk, batch) in
            [(1, 61, 8192), (1, 300, 8192), (3, 5000, 7), (2, 777, 100), (4, 1 << 20, 1)]
        {
            let host: Arc<dyn Host> = Arc::new(Notes::default());
            let unit = &units(&MemscopeEvents, &[path])[0];
            for columns in [&[][..], &["row_no", "pool", "file"]] {
                let mut request = ReadRequest::new(projection(&MemscopeEvents, columns));
                (request.threads, request.batch_rows) = (threads, batch);
                let rows = UnitRows::new(unit).with_chunk_bytes(chunk);
                let mut reader = EventReader::new(unit, &request, rows, host.clone()).unwrap();
                let got = drain(&mut reader, batch);
                assert_eq!(got, read(&MemscopeEvents, &[path], columns).0, "{threads} {chunk} {batch}");
            }
            let mut request = ReadRequest::new(projection(&MemscopeBlocks, &[]));
            (request.threads, request.batch_rows) = (threads, batch);
            let rows = UnitRows::new(unit).with_chunk_bytes(chunk);
            let mut reader = BlockReader::new(unit, &request, rows, host).unwrap();
            let mut got = drain(&mut reader, batch);
            let mut want = read(&MemscopeBlocks, &[path], &[]).0;
            // When a block leaves the reader depends on where chunks are cut.
            got.sort();
            want.sort();
            assert_eq!(got, want, "{threads} {chunk} {batch}");
        }
    }
}

#[test]
fn a_count_needs_no_column() {
    let path = case("train_leak");
    let host = Arc::new(Notes::default());
    let mut rows = 0;
    for unit in units(&MemscopeEvents, &[&path]) {
        let mut reader = MemscopeEvents.open(&unit, &ReadRequest::new(vec![]), host.clone()).unwrap();
        while let Some(batch) = reader.next_batch().unwrap() {
            rows += batch.num_rows();
        }
    }
    assert_eq!((rows, host.findings()), (1202, vec![]));
}

#[test]
fn events_without_a_device_are_read_once_for_each_process() {
    let dir = tempfile::tempdir().unwrap();
    let run = "out/msmemscope_7_20261001080000_ascend";
    let mark = |quotes: &str| format!("1,MSTX,Mark,{quotes}m{quotes},1790000000000000001,7,7,N/A,N/A,,,\n");
    let own =
        |id: u32, device: u32| format!("{id},MSTX,Mark,\"d\",1790000000000000002,7,7,{device},N/A,,,\n");
    write(
        &dir,
        &format!("{run}/device_2/dump/memscope_dump_5.csv"),
        format!("{HEADER}{}{}", own(3, 2), mark("\"\"")),
    );
    write(
        &dir,
        &format!("{run}/device_10/dump/memscope_dump_5.csv"),
        format!("{HEADER}{}{}", own(4, 10), mark("\"\"\"")),
    );
    write(&dir, &format!("{run}/device_cpu/dump/memscope_dump_6.csv"), format!("{HEADER}{}", mark("\"")));
    let (rows, notes) =
        read(&MemscopeEvents, &[dir.path()], &["id", "name", "device", "file", "run_dir", "run_pid"]);
    let rest = "msmemscope_7_20261001080000_ascend|7";
    assert_eq!(
        rows,
        [
            format!("3|d|2|device_2/dump/memscope_dump_5.csv|{rest}"),
            format!("1|m|-|device_2/dump/memscope_dump_5.csv|{rest}"),
            format!("4|d|10|device_10/dump/memscope_dump_5.csv|{rest}"),
        ]
    );
    assert_eq!(notes.findings().len(), 2);
    assert_eq!(notes.problems(), 0);
}

#[test]
fn a_pool_reaches_from_its_malloc_to_its_free() {
    let at = |id: u32, event: &str, attr: &str| {
        format!("{id},{event},PTA,N/A,179000000000000000{id},1,1,0,0x10,\"{{allocation_id:{attr}}}\",,\n")
    };
    let records = [
        at(1, "MALLOC", "1,size:8,owner:PTA_WORKSPACE@x"),
        at(2, "FREE", "1,size:8"),
        at(3, "MALLOC", "2,size:8,owner:PTA@x"),
        at(4, "FREE", "2,size:8,shadow:true"),
        at(5, "FREE", "3,size:9"),
    ];
    let (_dir, path) = dump(&records.concat());
    let unit = &units(&MemscopeEvents, &[&path])[0];
    for chunk in [1, 1 << 20] {
        let request = ReadRequest::new(projection(&MemscopeEvents, &["id", "pool", "shadow"]));
        let rows = UnitRows::new(unit).with_chunk_bytes(chunk);
        let mut reader = EventReader::new(unit, &request, rows, Arc::new(Notes::default())).unwrap();
        let want =
            ["1|PTA_WORKSPACE|false", "2|PTA_WORKSPACE|false", "3|PTA|false", "4|PTA|true", "5|PTA|false"];
        assert_eq!(drain(&mut reader, 9), want);
    }
    let columns = ["allocation_id", "pool", "size", "malloc_id", "free_id", "freed_by", "tool_free_id"];
    let (rows, _) = read(&MemscopeBlocks, &[&path], &columns);
    assert_eq!(rows, ["1|PTA_WORKSPACE|8|1|2|program|-", "2|PTA|8|3|-|tool|4", "3|PTA|9|-|5|program|-"]);
}

#[test]
fn blocks_of_msleaks_are_matched_by_address() {
    let at = |id: u32, event: &str, ptr: u32, size: i32| {
        format!(
            "{id},{event},PTA,N/A,179000000000000{id},1,1,host,{ptr},\"{{addr:{ptr},size:{size},owner:,MID:2}}\",,\n"
        )
    };
    // In the order in which a writer that buffers would leave them.
    let records = [
        at(5, "FREE", 7, -30),
        at(1, "MALLOC", 7, 10),
        at(3, "MALLOC", 7, 20),
        at(4, "MALLOC", 7, 30),
        at(2, "FREE", 7, -10),
    ];
    let (_dir, path) = dump(&records.concat());
    let (rows, notes) =
        read(&MemscopeBlocks, &[&path], &["malloc_id", "malloc_ts", "free_id", "size", "device", "freed_by"]);
    assert_eq!(
        rows,
        [
            "1|1790000000000001000|2|10|cpu|program",
            "3|1790000000000003000|-|20|cpu|none",
            "4|1790000000000004000|5|30|cpu|program"
        ]
    );
    assert_eq!(notes.problems(), 0);
    let (rows, _) =
        read(&MemscopeEvents, &[&path], &["id", "size", "owner", "module_id", "device", "device_id"]);
    assert_eq!(rows[0], "5|30|-|2|cpu|-");
}

#[test]
fn rows_far_behind_a_free_are_reported() {
    let at = |id: u32, event: &str, n: u32| {
        format!("{id},{event},PTA,N/A,1790000000000000001,1,1,0,0x1,\"{{allocation_id:{n},size:1}}\",,\n")
    };
    let filler = at(9, "MALLOC", 9).repeat(20_000);
    let text = format!("{}{}{filler}{}", at(1, "MALLOC", 1), at(2, "FREE", 1), at(3, "ACCESS", 1));
    let (_dir, path) = dump(&text);
    let (rows, notes) = read(&MemscopeBlocks, &[&path], &["allocation_id", "accesses"]);
    assert_eq!(rows, ["1|0", "9|0"]);
    assert_eq!(notes.problems(), 1);
}

#[test]
fn every_truncation_is_reported_and_costs_at_most_the_last_row() {
    let text = fs::read(case("edge/killed_before_exit.csv")).unwrap();
    let start = text.iter().take(5000).rposition(|b| *b == b'\n').unwrap();
    let whole = &text[..start + 1];
    let schema = MemscopeEvents.schema();
    let columns: Vec<&str> = schema
        .fields()
        .iter()
        .map(|f| f.name().as_str())
        .filter(|n| !["run_dir", "source_path"].contains(n))
        .collect();
    let all = {
        let (_dir, path) = dump("");
        fs::write(&path, whole).unwrap();
        read(&MemscopeEvents, &[&path], &columns).0
    };
    let dir = tempfile::tempdir().unwrap();
    let mut complete = 0;
    for end in HEADER.len()..whole.len() {
        let path = write(&dir, &format!("{}/memscope_dump_1.csv", end % 3), &whole[..end]);
        let (rows, notes) = read(&MemscopeEvents, &[&path], &columns);
        assert_eq!(rows.len() as u64 + notes.counted("left out"), notes.counted("read"), "{end}");
        let lost = rows.iter().zip(&all).take_while(|(a, b)| a == b).count();
        assert!(rows.len() - lost <= 1, "{end}");
        if notes.problems() == 0 {
            assert!(lost == rows.len() || !notes.findings().is_empty(), "{end}");
            complete += 1;
        }
    }
    // Only where nothing, the end of a line or the last stack is missing.
    assert!(complete <= 3 * all.len() + 1, "{complete}");
}

#[test]
fn damaged_files_never_panic_and_account_for_all_rows() {
    let mut state = 17u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let sources = ["edge/killed_before_exit.csv", "edge/documented_new_keys.csv", "edge/quote_in_mark.csv"];
    let texts: Vec<Vec<u8>> = sources.iter().map(|s| fs::read(case(s)).unwrap()).collect();
    let dir = tempfile::tempdir().unwrap();
    let pieces: [&[u8]; 12] = [
        b"\"",
        b",",
        b"\n",
        b"\r\n",
        b"{",
        b"}",
        b"\xff",
        b"\0",
        b"5,FREE,",
        b"}\",",
        b"99999999999999999999999",
        b"-",
    ];
    for round in 0..300 {
        let mut text = texts[round % texts.len()].clone();
        text.truncate(random(text.len()).clamp(200, 6000));
        for _ in 0..random(12) {
            let at = random(text.len());
            match random(3) {
                0 => text[at] = random(256) as u8,
                1 => drop(text.splice(at..(at + random(9)).min(text.len()), [])),
                _ => drop(text.splice(at..at, pieces[random(pieces.len())].iter().copied())),
            }
            if text.is_empty() {
                break;
            }
        }
        let path = write(&dir, "memscope_dump_1.csv", &text);
        let (rows, notes) = read(&MemscopeEvents, &[&path], &[]);
        assert_eq!(rows.len() as u64 + notes.counted("left out"), notes.counted("read"));
        let (count, other) = read(&MemscopeEvents, &[&path], &["id"]);
        assert_eq!((count.len(), other.problems()), (rows.len(), notes.problems()));
        let unit = &units(&MemscopeEvents, &[&path])[0];
        let request = ReadRequest::new(projection(&MemscopeEvents, &[]));
        let small = UnitRows::new(unit).with_chunk_bytes(1 + random(900) as u64);
        let mut reader = EventReader::new(unit, &request, small, Arc::new(Notes::default())).unwrap();
        let again = drain(&mut reader, 8192);
        let first = rows.iter().zip(&again).position(|(a, b)| a != b).unwrap_or(rows.len().min(again.len()));
        assert_eq!(rows.get(first), again.get(first), "{round}");
        for format in [&MemscopeBlocks as &dyn Format, &MemscopeSteps, &MemscopeFiles] {
            read(format, &[&path], &[]);
        }
        read(&MemscopeCompare::default(), &[&path, &path], &[]);
    }
}

#[test]
fn what_cannot_be_read_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let said = |path: &Path| {
        let (rows, notes) = read(&MemscopeEvents, &[path], &[]);
        (rows.len(), notes.findings().iter().map(|f| f.message.clone()).collect::<Vec<_>>().join("; "))
    };
    let other = write(&dir, "a/memscope_dump_1.csv", "a,b,c\n1,2,3\n");
    assert!(said(&other).1.starts_with("not a dump of msMemScope: the first line is \"a,b,c\""));
    let empty = write(&dir, "b/memscope_dump_1.csv", "");
    assert_eq!(said(&empty), (0, "the file is empty: no header and no rows".into()));
    let no_header =
        write(&dir, "c/memscope_dump_1.csv", "1,OP_LAUNCH,ATEN_END,a,1790000000000000001,1,1,0,N/A,,,\n");
    assert_eq!(said(&no_header).0, 1);
    let text = write(&dir, "d/memscope_dump_1.db", "ID,Event");
    assert!(said(&text).1.contains("does not start with 'SQLite format 3'"));
    let db = write(
        &dir,
        "e/memscope_dump_1.db",
        fs::read(case("insight_db/memscope_dump_20261001080000.db")).unwrap(),
    );
    fs::write(dir.path().join("e/memscope_dump_1.db-wal"), "frames").unwrap();
    let (rows, why) = said(&db);
    assert_eq!(rows, 609);
    assert!(why.starts_with("the newest rows are still in memscope_dump_1.db-wal"), "{why}");
    assert_eq!(fs::read_dir(dir.path().join("e")).unwrap().count(), 2, "nothing is left beside a database");
    let mark = b"1,MSTX,Mark,\"\xff\",1790000000000000001,1,1,0,N/A,,,\n";
    let bad_text = write(&dir, "f/memscope_dump_1.csv", [HEADER.as_bytes(), mark].concat());
    assert_eq!(said(&bad_text), (1, "characters that are not UTF-8 are replaced by U+FFFD".into()));
}

#[test]
fn runs_without_a_process_directory_are_told_apart_by_their_time() {
    let dir = tempfile::tempdir().unwrap();
    for (device, stamp) in [(0, 1), (1, 1), (0, 2)] {
        write(&dir, &format!("out/device_{device}/dump/memscope_dump_{stamp}.csv"), HEADER);
    }
    write(&dir, "loose/memscope_dump_1.csv", HEADER);
    write(&dir, "loose/memscope_dump_2.csv", HEADER);
    let mut found: Vec<usize> = units(&MemscopeEvents, &[dir.path()]).iter().map(|u| u.files.len()).collect();
    found.sort();
    assert_eq!(found, [1, 1, 1, 2]);
}

#[test]
fn steps_are_those_of_the_online_report() {
    let (rows, _) = read(
        &MemscopeSteps,
        &[&case("train_leak")],
        &["pid", "device", "id", "src", "kind", "step", "step_end"],
    );
    assert_eq!(
        rows[..6],
        [
            "41001|0|23|mstx|open|1|false",
            "41001|0|229|mstx|check|1|true",
            "41001|0|233|mstx|open|2|false",
            "41001|0|425|mstx|check|2|true",
            "41001|0|427|mstx|open|3|false",
            "41001|0|612|mstx|check|3|true"
        ]
    );
    assert_eq!(rows.len(), 12);
}

#[test]
fn comparisons_are_those_of_the_tool() {
    for (level, name) in [(Level::Op, "op"), (Level::Kernel, "kernel")] {
        let (base, target) = (case("compare/base"), case("compare/target"));
        let columns = ["event", "name", "device", "base_bytes", "target_bytes", "diff_bytes"];
        let (rows, _) = read(&MemscopeCompare::new(level), &[&base, &target], &columns);
        let want = fs::read_to_string(case(&format!("expected/memory_compare_{name}.csv"))).unwrap();
        let want: Vec<String> =
            want.lines().skip(2).map(|l| l.replace("N/A", "-").replace(',', "|")).collect();
        assert_eq!(rows, want, "{name}");
    }
    let (base, target) = (case("compare/base"), case("compare/target"));
    let (rows, _) = read(
        &MemscopeCompare::default(),
        &[&base, &target],
        &["name", "base_alloc", "target_alloc", "diff_alloc"],
    );
    let changed: Vec<&String> = rows.iter().filter(|r| !r.ends_with("|0")).collect();
    // What was planted: one operator more, and one that needs 1 MB more.
    assert_eq!(
        changed,
        [
            "torch._ops.aten.repeat.default|-|8388608|8388608",
            "torch._ops.aten.softmax.int|2097152|3145728|1048576"
        ]
    );
}

#[test]
fn memory_images_have_the_check_sums_of_their_bytes() {
    let dir = tempfile::tempdir().unwrap();
    write(&dir, "device_0/watch_dump/0_5.op_2-w_0_before.bin", "123456789");
    write(&dir, "device_0/watch_dump/0_5.op_2-w_0_after.bin", "");
    let (rows, _) =
        read(&MemscopeWatch, &[dir.path()], &["op", "call_no", "moment", "check_sum", "bytes", "row_no"]);
    assert_eq!(rows, ["op|2|after|0000000000000000|0|1", "op|2|before|b86883e6fa710a9f|9|2"]);
    let (rows, notes) = read(&MemscopeWatch, &[&case("watch")], &["check_sum", "written_ns", "row_no"]);
    assert_eq!((rows.len(), rows[27].as_str(), notes.findings().len()), (28, "846a8842c4c098a0|-|28", 0));
}

#[test]
fn small_tables_hold_what_their_files_say() {
    let (rows, _) = read(&MemscopeConfig, &[&case("serve_oom")], &["key", "value", "meaning"]);
    assert!(rows.contains(&"analysisType|11|leaks,decompose,oom".to_owned()));
    assert!(rows.contains(&"watchConfig.isWatched|false|-".to_owned()));
    let (rows, _) =
        read(&MemscopePythonTrace, &[&case("train_leak")], &["func", "start_ns", "end_ns", "row_no"]);
    assert_eq!(rows[0], "start: train.py(12): <module>|1790000000041000000|-|1");
    assert_eq!(rows[3].split('|').next(), Some("<built-in method mm of type object at 0x7f20, in thread 3>"));
    let (db, _) =
        read(&MemscopePythonTrace, &[&case("train_leak_db")], &["func", "start_ns", "end_ns", "row_no"]);
    assert_eq!(db, rows);
    let (rows, _) =
        read(&MemscopeFiles, &[&case("train_leak")], &["kind", "format", "device", "version", "readable"]);
    assert!(rows.contains(&"dump|csv|cpu|26.2|true".to_owned()));
    assert_eq!(rows.len(), 6);
}

#[test]
fn a_limit_reads_little() {
    let path = case("edge/killed_before_exit.csv");
    let unit = &units(&MemscopeEvents, &[&path])[0];
    let host = Arc::new(Notes::default());
    let mut request = ReadRequest::new(projection(&MemscopeEvents, &["id"]));
    (request.limit, request.batch_rows) = (Some(5), 5);
    let rows = UnitRows::new(unit).with_chunk_bytes(1000);
    let mut reader = EventReader::new(unit, &request, rows, host.clone()).unwrap();
    assert_eq!(reader.next_batch().unwrap().unwrap().num_rows(), 5);
    assert!(host.counted("read") < 20);
}
