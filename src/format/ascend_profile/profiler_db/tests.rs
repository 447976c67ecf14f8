use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rusqlite::Connection;
use tempfile::TempDir;

use crate::format::ascend_profile::ops::NO_STACK;
use crate::source::{Place, file_name};

use super::*;

/// A host that takes everything, unless told otherwise, and remembers it.
#[derive(Default)]
struct Listener {
    strict: bool,
    limit: Option<usize>,
    stop: bool,
    findings: Mutex<Vec<Finding>>,
    counts: Mutex<Vec<(Counter, u64)>>,
    reserved: AtomicUsize,
}

impl Host for Listener {
    fn stopped(&self) -> bool {
        self.stop
    }
    fn reserve(&self, bytes: usize) -> Result<(), ReadError> {
        assert_eq!(bytes % Budget::STEP, 0);
        let all = self.reserved.fetch_add(bytes, Ordering::Relaxed) + bytes;
        match self.limit {
            Some(limit) if all > limit => Err(ReadError::Memory("no memory left".into())),
            _ => Ok(()),
        }
    }
    fn count(&self, counter: Counter, n: u64) {
        self.counts.lock().unwrap().push((counter, n));
    }
    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        let refused = self.strict && finding.is_problem();
        self.findings.lock().unwrap().push(finding);
        if refused { Err(ReadError::Refused) } else { Ok(()) }
    }
}

impl Listener {
    /// Degree, kind and place of each finding.
    fn told(&self) -> Vec<(Degree, Kind, String)> {
        let place = |p: &Place| if let Place::Key(k) = p { k.clone() } else { String::new() };
        self.findings.lock().unwrap().iter().map(|f| (f.degree, f.kind, place(&f.place))).collect()
    }
    fn messages(&self) -> String {
        self.findings.lock().unwrap().iter().map(|f| format!("{f}\n")).collect()
    }
    fn counted(&self, counter: Counter) -> u64 {
        self.counts.lock().unwrap().iter().filter(|(c, _)| *c == counter).map(|(_, n)| n).sum()
    }
}

/// The tables as the profiler makes them.
const TABLES: &str = "
    CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY,value TEXT);
    CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,
        activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER,
        allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER,
        releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
    CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER,
        totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
    CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER, name INTEGER,
        sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER, inputShapes INTEGER,
        callchainId INTEGER, type INTEGER);
    CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
    INSERT INTO STRING_IDS VALUES (1,'aten::mm'),(2,' aten::mul '),(3,'Graph_7'),(4,'a.py(1): f'),
        (5,'b.py(2): g'),(6,'main.py(9): <module>'),(7,'Enqueue@mm'),(8,'Dequeue@mm'),(9,'PTA');";

/// One allocation of 512 bytes at `time`, by the op `name`.
fn allocation(name: i64, time: &str) -> String {
    format!(
        "INSERT INTO OP_MEMORY VALUES ({name},512,{time},NULL,NULL,NULL,NULL,1048576,2097152,1048576,\
         NULL,NULL,NULL,77,0);"
    )
}

fn api(name: i64, start: i64, end: i64, chain: &str, kind: i64, connection: &str) -> String {
    format!(
        "INSERT INTO PYTORCH_API VALUES ('{start}','{end}',{},{connection},{name},-1,0,NULL,NULL,{chain},{kind});",
        (7i64 << 32) | 9
    )
}

struct Made {
    dir: TempDir,
    path: PathBuf,
}

/// A database made by these statements.
fn make(sql: &str) -> Made {
    make_named("ascend_pytorch_profiler_0.db", sql)
}

fn make_named(name: &str, sql: &str) -> Made {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    let conn = Connection::open(&path).unwrap();
    conn.execute_batch(sql).unwrap();
    conn.close().unwrap();
    Made { dir, path }
}

/// The usual tables and then these statements.
fn usual(sql: &str) -> Made {
    make(&format!("{TABLES}{sql}"))
}

fn open(path: &Path, host: &Listener) -> ProfilerDb {
    ProfilerDb::open(path, host).unwrap().unwrap_or_else(|| panic!("not opened: {}", host.messages()))
}

/// Name, row number and start of every allocation, read `max` at a time.
fn allocations(path: &Path, max: usize, host: &Listener) -> Vec<(String, i64, Option<i64>)> {
    let mut db = open(path, host);
    let mut rows = Vec::new();
    while db
        .next_allocations(max, host, &mut |a| rows.push((a.name.to_owned(), a.row_no, a.start_ns)))
        .unwrap()
    {}
    rows
}

fn stack(log: &OpLog, op: usize) -> Option<&str> {
    log.stacks.get(log.ops[op].stack)
}

#[test]
fn the_handed_case_gives_its_rows_and_stacks() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(
        "tests/data/memory/51_db_export_only/tree/actor_update/node0_4242_20260526085155123_ascend_pt\
         /ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
    );
    if !path.exists() {
        eprintln!("skipped: {} is absent", path.display());
        return;
    }
    let host = Listener { strict: true, ..Listener::default() };
    let mut db = open(&path, &host);
    assert_eq!((db.rank(), db.role()), (Some(0), None));
    let log = db.op_log(Detail::Stacks, &host).unwrap();
    assert_eq!(log.ops.len(), 1);
    assert_eq!(
        stack(&log, 0),
        Some(
            "torch/nn/modules/linear.py(125): forward;\r\nverl/workers/actor/dp_actor.py(310): update_policy;\r\nmain.py(9): <module>"
        )
    );
    let mut rows = Vec::new();
    db.next_allocations(10, &host, &mut |a| {
        rows.push((
            a.name.to_owned(),
            a.size_kb,
            a.start_ms,
            a.duration_ms,
            a.totals_mb,
            a.released,
            a.device_type.to_owned(),
        ));
    })
    .unwrap();
    let totals = [Some(100.5), Some(2048.0), Some(100.5)];
    assert_eq!(
        rows,
        [
            ("aten::mm".into(), 64.5, Some(1779785515000.12), 0.9, totals, true, "NPU:0".into()),
            ("aten::mul".into(), 8.0, Some(1779785515000.21), 0.0, totals, false, "NPU:0".into()),
        ]
    );
    assert_eq!(host.told(), []);
    assert_eq!(host.counted(Counter::FilesOpened), 1);
    assert_eq!(host.counted(Counter::BytesRead), fs::metadata(&path).unwrap().len());
    assert_eq!(host.counted(Counter::RowsRead), 2);
}

#[test]
fn rows_mean_what_they_mean_in_the_text_export() {
    let made = usual(
        "INSERT INTO OP_MEMORY VALUES
            (2,1024,1000500,2000500,1900500,1000000,900000,1,2,3,4,5,6,77,1),
            (3,66048,1000500,1017880,NULL,17380,NULL,1048576,2097152,NULL,5,6,NULL,NULL,1),
            (3,66048,1000500,1000500,NULL,0,NULL,1048576,2097152,NULL,5,6,NULL,NULL,1),
            (4294967295,-512,NULL,2000500,NULL,NULL,NULL,NULL,NULL,NULL,7,8,9,NULL,NULL),
            (NULL,512,1000500,NULL,NULL,NULL,NULL,1,2,3,NULL,NULL,NULL,77,NULL);",
    );
    let host = Listener { strict: true, ..Listener::default() };
    let mut db = open(&made.path, &host);
    let mut rows = Vec::new();
    let more = db
        .next_allocations(10, &host, &mut |a| {
            rows.push((
                (a.name.to_owned(), a.device_type.to_owned()),
                (a.size_kb, a.start_ms, a.duration_ms, a.active_duration_ms),
                (a.start_ns, a.release_ns, a.active_release_ns, a.released, a.stream_ptr),
                a.release_totals_mb[0].map(|mb| mb * 1048576.0),
            ));
        })
        .unwrap();
    assert!(!more && rows.len() == 5);
    let text = |name: &str, device: &str| (name.to_owned(), device.to_owned());
    let ns = Some(1_000_500);
    assert_eq!(
        rows,
        [
            (
                text("aten::mul", "NPU:1"),
                (1.0, Some(1.0005), 1.0, Some(0.9)),
                (ns, Some(2_000_500), Some(1_900_500), true, Some(77)),
                Some(4.0)
            ),
            (
                text("cann::Graph_7", "NPU:1"),
                (64.5, Some(1.0005), 0.01738, None),
                (ns, Some(1_017_880), None, true, None),
                Some(5.0)
            ),
            (
                text("cann::Graph_7", "NPU:1"),
                (64.5, Some(1.0005), 0.0, None),
                (ns, None, None, false, None),
                Some(5.0)
            ),
            (text("", ""), (-0.5, None, 0.0, None), (None, Some(2_000_500), None, true, None), Some(7.0)),
            (text("", ""), (0.5, Some(1.0005), 0.0, None), (ns, None, None, false, Some(77)), None),
        ]
    );
    assert_eq!(host.told(), [(Degree::Note, Kind::BadRow, "OP_MEMORY rowid 4".into())]);
}

#[test]
fn blocks_of_any_size_give_the_same_rows_also_with_gaps() {
    let inserts: String = (0..100).map(|i| allocation(1, &(1000 + i).to_string())).collect();
    let made = usual(&format!(
        "{inserts} DELETE FROM OP_MEMORY WHERE rowid % 3 = 0; UPDATE OP_MEMORY SET rowid = -5 WHERE rowid = 98;
         UPDATE OP_MEMORY SET rowid = 9223372036854775807 WHERE rowid = 50;"
    ));
    let whole = allocations(&made.path, 1000, &Listener::default());
    assert_eq!(whole.len(), 67);
    assert_eq!(whole[0], ("aten::mm".into(), 1, Some(1097)));
    assert_eq!(whole[66], ("aten::mm".into(), 67, Some(1049)));
    for max in [1, 2, 7, 66, 67, 68] {
        assert_eq!(allocations(&made.path, max, &Listener::default()), whole, "{max}");
    }
}

#[test]
fn tables_without_row_numbers_are_read_too() {
    for declaration in [
        "(a INTEGER PRIMARY KEY, name INTEGER, size INTEGER, allocationTime INTEGER) WITHOUT ROWID",
        "(rowid TEXT DEFAULT 'x', _rowid_ TEXT, a INTEGER, name INTEGER, size INTEGER, allocationTime INTEGER)",
        "(rowid TEXT, _rowid_ TEXT, oid TEXT, a INTEGER, name INTEGER, size INTEGER, allocationTime INTEGER)",
        "(a INTEGER PRIMARY KEY, name INTEGER, size INTEGER, allocationTime INTEGER)",
    ] {
        let made = usual(&format!(
            "DROP TABLE OP_MEMORY; CREATE TABLE OP_MEMORY {declaration};
             CREATE INDEX i ON OP_MEMORY (allocationTime, size, name);
             INSERT INTO OP_MEMORY (a, name, size, allocationTime) VALUES (1,1,512,30),(2,1,512,20),(3,1,512,10);"
        ));
        let host = Listener::default();
        let rows = allocations(&made.path, 2, &host);
        let times: Vec<_> = rows.iter().map(|(name, no, start)| (name.as_str(), *no, *start)).collect();
        // An index that holds all columns must not decide the order.
        assert_eq!(
            times,
            [("aten::mm", 1, Some(30)), ("aten::mm", 2, Some(20)), ("aten::mm", 3, Some(10))],
            "{declaration}"
        );
        // Nothing tells a graph engine's rows in such a table.
        assert_eq!(host.told(), [(Degree::Note, Kind::Columns, "OP_MEMORY".into())]);
        assert_eq!(host.counted(Counter::RowsRead), 3);
    }
}

#[test]
fn a_wrong_row_is_reported_and_left_out_alone() {
    let made = usual(&format!(
        "{} {} {} {} {} {} {}
         UPDATE OP_MEMORY SET size = 'eight' WHERE rowid = 2;
         UPDATE OP_MEMORY SET streamPtr = x'00' WHERE rowid = 3;
         UPDATE OP_MEMORY SET name = 99 WHERE rowid = 4;
         UPDATE OP_MEMORY SET size = NULL WHERE rowid = 6;",
        allocation(1, "10"),
        allocation(1, "20"),
        allocation(1, "30"),
        allocation(1, "40"),
        allocation(1, "NULL"),
        allocation(1, "60"),
        allocation(1, "1.5"),
    ));
    let host = Listener::default();
    assert_eq!(allocations(&made.path, 2, &host), [("aten::mm".into(), 1, Some(10))]);
    let bad = |kind, rowid| (Degree::Problem, kind, format!("OP_MEMORY rowid {rowid}"));
    assert_eq!(
        host.told(),
        [
            bad(Kind::BadValue, 2),
            bad(Kind::BadValue, 3),
            bad(Kind::BadValue, 4),
            bad(Kind::BadRow, 5),
            bad(Kind::BadValue, 6),
            bad(Kind::BadValue, 7),
        ]
    );
    assert!(host.messages().contains("size is the text 'eight', expected a number"), "{}", host.messages());
    assert_eq!((host.counted(Counter::RowsRead), host.counted(Counter::RowsLeftOut)), (7, 6));

    let host = Listener { strict: true, ..Listener::default() };
    let mut db = open(&made.path, &host);
    let mut rows = 0;
    assert!(matches!(db.next_allocations(10, &host, &mut |_| rows += 1), Err(ReadError::Refused)));
    assert_eq!((rows, host.told().len()), (1, 1));
}

#[test]
fn levels_come_from_memory_record() {
    let made = usual(
        "INSERT INTO MEMORY_RECORD VALUES (9,1500,1048576,2097152,NULL,77,3),(9,NULL,1,1,1,1,1),(9,'2500',NULL,NULL,NULL,NULL,NULL);",
    );
    let host = Listener::default();
    let mut db = open(&made.path, &host);
    let mut rows = Vec::new();
    let more = db.next_records(10, &host, &mut |r| {
        rows.push((
            r.component.to_owned(),
            r.time_ns,
            r.time_ms,
            r.totals_mb,
            r.stream_ptr,
            r.device_type.to_owned(),
            r.row_no,
        ));
    });
    assert!(!more.unwrap());
    assert_eq!(
        rows,
        [
            ("PTA".into(), 1500, 0.0015, [Some(1.0), Some(2.0), None], Some(77), "NPU:3".into(), 1),
            ("PTA".into(), 2500, 0.0025, [None; 3], None, String::new(), 3),
        ]
    );
    assert_eq!(host.told(), [(Degree::Problem, Kind::BadValue, "MEMORY_RECORD rowid 2".into())]);
    assert!(!db.next_records(10, &host, &mut |_| panic!("a row after the end")).unwrap());
}

#[test]
fn stacks_are_built_from_chains_in_order_of_depth() {
    let made = usual(&format!(
        "INSERT INTO PYTORCH_CALLCHAINS VALUES (0,6,1),(0,4,0),(1,4,0),(1,6,1),(2,5,0),(5,99,0),(5,6,1);
         {} {} {} {} {} {}",
        api(1, 10, 20, "0", 50001, "NULL"),
        api(2, 5, 7, "1", 50001, "NULL"),
        api(1, 30, 40, "NULL", 50001, "NULL"),
        api(1, 30, 40, "2", 50003, "NULL"),
        api(1, 50, 60, "5", 50001, "NULL"),
        api(1, 70, 80, "6", 50001, "NULL"),
    ));
    let host = Listener::default();
    let db = open(&made.path, &host);
    let log = db.op_log(Detail::Stacks, &host).unwrap();
    let ops: Vec<_> = log.ops.iter().map(|o| (o.start_ns, o.end_ns, log.names.get(o.name))).collect();
    // In the order of the table, and names as they are.
    assert_eq!(ops, [(10, 20, Some("aten::mm")), (5, 7, Some(" aten::mul "))]);
    assert_eq!(stack(&log, 0), Some("a.py(1): f;\r\nmain.py(9): <module>"));
    assert_eq!(log.ops[0].stack, log.ops[1].stack);
    let problems = [
        (Degree::Problem, Kind::BadValue, "PYTORCH_CALLCHAINS id 5".to_owned()),
        (Degree::Problem, Kind::BadEvent, "PYTORCH_API rowid 6".to_owned()),
    ];
    assert_eq!(host.told(), problems);
    assert_eq!(host.counted(Counter::EventsRead), 6);

    let log = db.op_log(Detail::Owners, &Listener::default()).unwrap();
    let stacks: Vec<_> = log.ops.iter().map(|o| o.stack == NO_STACK).collect();
    assert_eq!(stacks, [false, false, true, true, true]);
    assert!(log.ops.iter().all(|o| o.thread == 0));
}

#[test]
fn scattered_chains_give_the_same_stacks() {
    let made = usual(&format!(
        "INSERT INTO PYTORCH_CALLCHAINS VALUES (0,6,1),(1,5,0),('x',1,1),(0,4,0),(1,6,'?'),(2,4,0),(2,6,1);
         {} {} {}",
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 30, 40, "1", 50001, "NULL"),
        api(1, 50, 60, "2", 50001, "NULL"),
    ));
    let host = Listener::default();
    let log = open(&made.path, &host).op_log(Detail::Stacks, &host).unwrap();
    assert_eq!(log.ops.len(), 2);
    assert_eq!(stack(&log, 0), Some("a.py(1): f;\r\nmain.py(9): <module>"));
    assert_eq!(stack(&log, 1), stack(&log, 0));
    let bad = |rowid| (Degree::Problem, Kind::BadValue, format!("PYTORCH_CALLCHAINS rowid {rowid}"));
    assert_eq!(host.told(), [bad(3), bad(5)]);
}

#[test]
fn queue_slices_are_joined_by_their_connections() {
    let rows = format!(
        "{} {} {} {}",
        api(7, 10, 11, "NULL", 60002, "100"),
        api(8, 20, 25, "NULL", 60002, "101"),
        api(8, 30, 35, "NULL", 60002, "102"),
        api(1, 10, 20, "NULL", 60001, "100"),
    );
    let kinds = "CREATE TABLE ENUM_API_TYPE (id INTEGER PRIMARY KEY, name TEXT);
                 INSERT INTO ENUM_API_TYPE VALUES (60001,'op'),(60002,'queue');";
    let slices = |sql: &str| {
        let made = usual(&format!("{kinds} {rows} {sql}"));
        let host = Listener { strict: true, ..Listener::default() };
        let log = open(&made.path, &host).op_log(Detail::Owners, &host).unwrap();
        assert_eq!(log.ops.len(), 1);
        assert_eq!(host.told(), [(Degree::Note, Kind::Empty, String::new())]);
        let sides = [&log.enqueues, &log.dequeues];
        sides.map(|s| s.iter().map(|q| (q.start_ns, q.end_ns, q.correlation)).collect::<Vec<_>>())
    };
    // Ids of their own when there is no table of connections.
    assert_eq!(slices(""), [vec![(10, 11, 0)], vec![(20, 25, 1), (30, 35, 2)]]);
    let connections = "CREATE TABLE CONNECTION_IDS (id INTEGER, connectionId INTEGER);
        INSERT INTO CONNECTION_IDS VALUES (100,5),(101,5),(9,9),(100,6);";
    assert_eq!(slices(connections), [vec![(10, 11, 0), (10, 11, 1)], vec![(20, 25, 0), (30, 35, 2)]]);
    // Another process counts for itself.
    let other =
        format!("{connections} UPDATE PYTORCH_API SET globalTid = {} WHERE rowid = 2;", (8i64 << 32) | 9);
    assert_eq!(slices(&other), [vec![(10, 11, 0), (10, 11, 1)], vec![(20, 25, 2), (30, 35, 3)]]);
}

#[test]
fn bad_ops_are_left_out() {
    let made = usual(&format!(
        "INSERT INTO PYTORCH_CALLCHAINS VALUES (0,4,0); {} {} {} {} {} {}
         UPDATE PYTORCH_API SET startNs = 'N/A' WHERE rowid = 1;
         UPDATE PYTORCH_API SET endNs = NULL WHERE rowid = 2;
         UPDATE PYTORCH_API SET endNs = '1' WHERE rowid = 3;
         UPDATE PYTORCH_API SET name = 99 WHERE rowid = 4;
         UPDATE PYTORCH_API SET startNs = 'N/A', type = 50004 WHERE rowid = 5;",
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 10, 20, "0", 50001, "NULL"),
        api(1, 1779785515000100001, 1779785515000100002, "0", 50001, "NULL"),
    ));
    let host = Listener::default();
    let log = open(&made.path, &host).op_log(Detail::Owners, &host).unwrap();
    assert_eq!(log.ops.iter().map(|o| o.start_ns).collect::<Vec<_>>(), [1779785515000100001]);
    let bad = |rowid| (Degree::Problem, Kind::BadEvent, format!("PYTORCH_API rowid {rowid}"));
    assert_eq!(host.told(), [bad(1), bad(2), bad(3), bad(4)]);
}

#[test]
fn without_types_the_names_tell_ops_from_slices() {
    let made = usual(&format!(
        "{} {} ALTER TABLE PYTORCH_API DROP COLUMN type; DROP TABLE PYTORCH_CALLCHAINS;",
        api(1, 10, 20, "NULL", 0, "NULL"),
        api(7, 10, 20, "NULL", 0, "4"),
    ));
    let host = Listener { strict: true, ..Listener::default() };
    let log = open(&made.path, &host).op_log(Detail::Owners, &host).unwrap();
    assert_eq!((log.ops.len(), log.enqueues.len()), (1, 1));
    let notes = host.told();
    assert_eq!(notes[0], (Degree::Note, Kind::Columns, "PYTORCH_API".into()));
    assert_eq!(notes[1], (Degree::Note, Kind::Missing, "PYTORCH_CALLCHAINS".into()));
    assert!(host.messages().contains("no cpu_op with a call stack in ascend_pytorch_profiler_0.db"));
}

#[test]
fn missing_tables_are_named() {
    let problem = |kind, table: &str| (Degree::Problem, kind, table.to_owned());
    for (table, ops, rows) in
        [("PYTORCH_API", 1, 0), ("STRING_IDS", 1, 1), ("OP_MEMORY", 0, 1), ("MEMORY_RECORD", 0, 0)]
    {
        let made = usual(&format!("{} DROP TABLE {table};", allocation(1, "10")));
        let host = Listener::default();
        let mut db = open(&made.path, &host);
        db.op_log(Detail::Stacks, &host).unwrap();
        let problems =
            |h: &Listener| h.told().into_iter().filter(|t| t.0 == Degree::Problem).collect::<Vec<_>>();
        assert_eq!(problems(&host), vec![problem(Kind::Missing, table); ops], "{table}");
        let host = Listener::default();
        let mut n = 0;
        assert!(!db.next_allocations(5, &host, &mut |_| n += 1).unwrap());
        assert!(!db.next_allocations(5, &host, &mut |_| n += 1).unwrap());
        assert_eq!(n, usize::from(table != "OP_MEMORY"));
        assert_eq!(problems(&host), vec![problem(Kind::Missing, table); rows], "{table}");
    }
    let made = usual(
        "DROP TABLE OP_MEMORY; CREATE VIEW OP_MEMORY AS SELECT 1 AS name, 2 AS size, 3 AS allocationTime;",
    );
    let host = Listener::default();
    assert_eq!(allocations(&made.path, 5, &host), []);
    assert_eq!(host.told(), [problem(Kind::BadStructure, "OP_MEMORY")]);
    let made = usual("ALTER TABLE OP_MEMORY DROP COLUMN size;");
    let host = Listener::default();
    assert_eq!(allocations(&made.path, 5, &host), []);
    assert_eq!(host.told(), [problem(Kind::Columns, "OP_MEMORY")]);
    let made =
        usual("DROP TABLE OP_MEMORY; CREATE VIRTUAL TABLE OP_MEMORY USING fts5(name, size, allocationTime);");
    let host = Listener::default();
    assert_eq!(allocations(&made.path, 5, &host), []);
    assert_eq!(host.told(), [problem(Kind::BadStructure, "OP_MEMORY")]);
}

#[test]
fn a_generated_column_is_not_run() {
    let made = usual(
        "DROP TABLE OP_MEMORY;
         CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER,
            streamPtr INTEGER GENERATED ALWAYS AS (length(zeroblob(900000000))));
         INSERT INTO OP_MEMORY VALUES (1,512,10);",
    );
    let host = Listener::default();
    let mut db = open(&made.path, &host);
    let mut streams = Vec::new();
    db.next_allocations(5, &host, &mut |a| streams.push(a.stream_ptr)).unwrap();
    assert_eq!(streams, [None]);
}

#[test]
fn strings_without_a_key_are_loaded() {
    let made = usual(&format!(
        "{} {} DROP TABLE STRING_IDS; CREATE TABLE STRING_IDS (id INTEGER, value TEXT);
         INSERT INTO STRING_IDS VALUES (2,'two'),(1,CAST(x'61FF62' AS TEXT)),(2,'zwei'),(2,'two'),(NULL,'x');",
        allocation(1, "10"),
        allocation(2, "20"),
    ));
    let host = Listener::default();
    let names: Vec<_> = allocations(&made.path, 5, &host).into_iter().map(|r| r.0).collect();
    assert_eq!(names, ["a\u{FFFD}b", "two"]);
    assert_eq!(
        host.told(),
        [
            (Degree::Note, Kind::Encoding, "STRING_IDS id 1".into()),
            (Degree::Problem, Kind::BadValue, "STRING_IDS id 2".into())
        ]
    );
}

#[test]
fn rank_and_role() {
    let facts = |sql: &str| {
        let made = make(sql);
        let db = open(&made.path, &Listener::default());
        (db.rank(), db.role())
    };
    let map = "CREATE TABLE RANK_DEVICE_MAP (rankId INTEGER, deviceId INTEGER);";
    let meta = "CREATE TABLE META_DATA (name TEXT, value TEXT);";
    assert_eq!(facts("CREATE TABLE x (y)"), (None, None));
    assert_eq!(facts(&format!("{map} INSERT INTO RANK_DEVICE_MAP VALUES (3,0),(3,1),(-1,2);")).0, Some(3));
    assert_eq!(facts(&format!("{map} INSERT INTO RANK_DEVICE_MAP VALUES (3,0),(4,1);")).0, None);
    assert_eq!(facts(&format!("{map} INSERT INTO RANK_DEVICE_MAP VALUES (-1,0),('x',1);")).0, None);
    for (value, role) in [
        ("'\"actor\"'", Some("actor")),
        ("'7'", Some("7")),
        ("7", Some("7")),
        ("'true'", Some("true")),
        ("'actor'", Some("actor")),
        ("'[\"a\"]'", None),
        ("'\"\"'", None),
        ("'null'", None),
        ("NULL", None),
    ] {
        let got = facts(&format!(
            "{meta} INSERT INTO META_DATA VALUES ('SCHEMA_VERSION','1.0.0'),('role',{value});"
        ));
        assert_eq!(got.1.as_deref(), role, "{value}");
    }
}

#[test]
fn what_is_no_database_is_a_problem() {
    let made = usual(&allocation(1, "10"));
    let whole = fs::read(&made.path).unwrap();
    let cases: [(&[u8], Kind, &str); 5] = [
        (b"", Kind::Empty, "zero bytes"),
        (b"Name,Size(KB)\r\n", Kind::BadStructure, "not a SQLite database"),
        (&whole[..60], Kind::BadStructure, "cut off"),
        (&whole[..4096], Kind::BadStructure, "cut off"),
        (&whole[..whole.len() - 1], Kind::BadStructure, "cut off"),
    ];
    for (bytes, kind, text) in cases {
        let path = made.dir.path().join("broken.db");
        fs::write(&path, bytes).unwrap();
        let host = Listener::default();
        assert!(ProfilerDb::open(&path, &host).unwrap().is_none());
        assert_eq!(host.told(), [(Degree::Problem, kind, String::new())]);
        assert!(host.messages().contains(text), "{}", host.messages());
        let host = Listener { strict: true, ..Listener::default() };
        assert!(matches!(ProfilerDb::open(&path, &host), Err(ReadError::Refused)));
    }
    for (path, kind) in
        [(made.dir.path().join("none.db"), Kind::Missing), (made.dir.path().to_owned(), Kind::Unreadable)]
    {
        let host = Listener::default();
        assert!(ProfilerDb::open(&path, &host).unwrap().is_none());
        assert_eq!(host.told(), [(Degree::Problem, kind, String::new())]);
    }
}

#[test]
fn nothing_is_created_and_a_journal_is_mentioned() {
    let made = make_named("a b%41?#&=栈.db", &format!("{TABLES}{}", allocation(1, "10")));
    let writer = Connection::open(&made.path).unwrap();
    writer.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0;").unwrap();
    writer.execute_batch(&allocation(1, "20")).unwrap();
    let copy = made.dir.path().join("copy");
    fs::create_dir(&copy).unwrap();
    let names = |dir: &Path| {
        let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        names
    };
    for suffix in ["", "-wal"] {
        let name = format!("{}{suffix}", file_name(&made.path));
        fs::copy(made.dir.path().join(&name), copy.join(&name)).unwrap();
    }
    let path = copy.join(file_name(&made.path));
    let before = (names(&copy), fs::read(&path).unwrap());
    let host = Listener::default();
    assert_eq!(allocations(&path, 5, &host).len(), 1);
    assert_eq!(host.told(), [(Degree::Problem, Kind::Unused, String::new())]);
    assert!(host.messages().contains("the newest rows are still in a b%41?#&=栈.db-wal"));
    assert_eq!((names(&copy), fs::read(&path).unwrap()), before);

    fs::write(
        copy.join(format!("{}-journal", file_name(&path))),
        [0xd9, 0xd5, 5, 0xf9, 0x20, 0xa1, 0x63, 0xd7, 0],
    )
    .unwrap();
    let host = Listener::default();
    assert_eq!(allocations(&path, 5, &host).len(), 1);
    assert_eq!(host.told()[1], (Degree::Problem, Kind::BadStructure, String::new()));
}

#[test]
fn utf16_databases_are_read() {
    let made = make(&format!("PRAGMA encoding = 'UTF-16le'; {TABLES} {}", allocation(1, "10")));
    assert_eq!(allocations(&made.path, 5, &Listener::default()), [("aten::mm".into(), 1, Some(10))]);
}

#[test]
fn reading_stops_when_asked_and_when_memory_is_used_up() {
    let rows: String =
        (0..5000).map(|i| format!("({},'{}'),", i + 100, "x".repeat(40) + &i.to_string())).collect();
    let made = usual(&format!(
        "INSERT INTO STRING_IDS VALUES {};
         INSERT INTO OP_MEMORY (name, size, allocationTime) SELECT id, 512, 10 FROM STRING_IDS;",
        rows.trim_end_matches(',')
    ));
    let host = Listener { stop: true, ..Listener::default() };
    let mut db = open(&made.path, &host);
    assert!(matches!(db.next_allocations(9000, &host, &mut |_| ()), Err(ReadError::Stopped)));
    let host = Listener { limit: Some(128 << 10), ..Listener::default() };
    let mut db = open(&made.path, &host);
    assert!(matches!(db.next_allocations(9000, &host, &mut |_| ()), Err(ReadError::Memory(_))));
    let host = Listener::default();
    assert_eq!(allocations(&made.path, 9000, &host).len(), 5009);
    assert!(host.reserved.load(Ordering::Relaxed) > 200_000);
}

#[test]
fn damaged_files_never_panic_and_never_hang() {
    let rows: String = (0..60)
        .map(|i| {
            allocation(1 + i % 2, &(1000 + i).to_string()) + &api(1, i, i + 5, &i.to_string(), 50001, "7")
        })
        .collect();
    let chains: String =
        (0..60).map(|i| format!("INSERT INTO PYTORCH_CALLCHAINS VALUES ({i},4,0),({i},6,1);")).collect();
    let made = usual(&format!("PRAGMA page_size = 512; VACUUM; {rows} {chains}"));
    let whole = fs::read(&made.path).unwrap();
    let path = made.dir.path().join("damaged.db");
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut reported = 0;
    for round in 0..300 {
        let mut bytes = whole.clone();
        for _ in 0..1 + round % 8 {
            let at = random(bytes.len() - 100) + 100;
            bytes[at] = random(256) as u8;
        }
        fs::write(&path, &bytes).unwrap();
        let host = Listener::default();
        if let Some(mut db) = ProfilerDb::open(&path, &host).unwrap() {
            let _ = (db.rank(), db.role());
            let log = db.op_log(Detail::Owners, &host).unwrap();
            assert!(log.ops.len() <= 5000);
            let mut rows = 0;
            while db.next_allocations(7, &host, &mut |_| rows += 1).unwrap() {}
            assert!(rows <= 5000);
            while db.next_records(7, &host, &mut |_| ()).unwrap() {}
        }
        reported += usize::from(!host.told().is_empty());
    }
    assert!(reported > 50, "{reported}");
}
