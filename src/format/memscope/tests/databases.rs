//! Databases: how they are read, what may differ in them, what damage does.

use crate::format::memscope::database::DUMP_COLUMNS;

use super::*;

/// The table has its old name, and its columns stand in another order with one of their own among them.
#[test]
fn a_table_of_the_old_name_and_columns_in_another_order_are_read() {
    let dir = tempfile::tempdir().unwrap();
    let original = case(
        "train_leak_db/memscopeDumpResults/msmemscope_41001_20261001080000_ascend/device_0/dump/\
         memscope_dump_20261001080000.db",
    );
    let path = write(&dir, "leaks_dump_20261001080000.db", fs::read(&original).unwrap());
    let mut columns: Vec<String> = DUMP_COLUMNS.iter().map(|c| format!("\"{c}\"")).collect();
    columns.reverse();
    columns.insert(3, "'of a later version' AS \"News\"".into());
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(&format!(
        "CREATE TABLE leaks_dump AS SELECT {} FROM memscope_dump ORDER BY rowid; DROP TABLE memscope_dump",
        columns.join(", ")
    ))
    .unwrap();
    drop(db);
    for format in [&MemscopeEvents as &dyn Format, &MemscopeBlocks] {
        let fields = format.schema();
        let names: Vec<&str> = fields
            .fields()
            .iter()
            .map(|f| f.name().as_str())
            .filter(|n| !["file", "run_dir", "run_pid", "source_path"].contains(n))
            .collect();
        let (rows, notes) = read(format, &[&path], &names);
        assert_eq!(notes.problems(), 0);
        assert_eq!(rows, read(format, &[&original], &names).0);
        assert!(rows.len() > 80);
    }
}

#[test]
fn a_database_is_read_the_same_by_one_thread_and_by_several() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memscope_dump_1.db");
    let columns: Vec<String> = DUMP_COLUMNS.iter().map(|c| format!("\"{c}\"")).collect();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(&format!("CREATE TABLE memscope_dump ({})", columns.join(","))).unwrap();
    let series = |rows: u32, rowid: &str| {
        format!(
            "WITH RECURSIVE n(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM n WHERE n < {rows})
             INSERT INTO memscope_dump (rowid, \"ID\", \"Event\", \"Event Type\", \"Timestamp(ns)\", \"Attr\")
             SELECT {rowid}, n, 'FREE', 'PTA', 1790000000000000000 + n, '{{\"size\":\"' || n || '\"}}' FROM n"
        )
    };
    let rows = |threads| {
        let unit = &units(&MemscopeEvents, &[&path])[0];
        let mut request = ReadRequest::new(projection(&MemscopeEvents, &["id", "size", "row_no"]));
        request.threads = threads;
        let mut reader = MemscopeEvents.open(unit, &request, Arc::new(Notes::default())).unwrap();
        drain(reader.as_mut(), request.batch_rows)
    };
    // Without gaps, with small ones, with numbers below zero and up to the largest there is.
    for rowid in [
        "n + 1",
        "n * 3 - 30000",
        "9223372036854775807 - 20000 + n",
        "CASE n % 9000 WHEN 0 THEN n * n ELSE n END",
    ] {
        db.execute_batch(&format!("DELETE FROM memscope_dump; {}", series(20_000, rowid))).unwrap();
        let want = rows(1);
        assert_eq!(want.len(), 20_001, "{rowid}");
        for threads in [2, 5] {
            assert_eq!(rows(threads), want, "{rowid}, {threads} threads");
        }
    }
}

#[test]
fn a_page_of_a_database_that_is_linked_to_again_ends_the_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memscope_dump_1.db");
    let columns: Vec<String> = DUMP_COLUMNS.iter().map(|c| format!("\"{c}\"")).collect();
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(&format!(
        "PRAGMA page_size = 512; CREATE TABLE memscope_dump ({});
         WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 100)
         INSERT INTO memscope_dump (\"ID\", \"Event\", \"Event Type\", \"Timestamp(ns)\")
         SELECT n, 'FREE', 'PTA', 1790000000000000000 FROM n",
        columns.join(",")
    ))
    .unwrap();
    drop(db);
    let ids = || {
        let (rows, notes) = read(&MemscopeEvents, &[&path], &["id"]);
        (rows.len(), notes.findings().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(ids(), (100, vec![]));
    link_again(&path, "memscope_dump");
    let (rows, findings) = ids();
    assert!(rows < 100, "{rows}");
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert!(findings[0].contains("rows are out of order at rowid 1;"), "{findings:?}");
}

/// Damages a table with pages of 512 bytes: the second link of its root becomes the first one again.
fn link_again(path: &Path, table: &str) {
    let db = rusqlite::Connection::open(path).unwrap();
    let root: i64 = db
        .query_row("SELECT rootpage FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0))
        .unwrap();
    drop(db);
    let mut bytes = fs::read(path).unwrap();
    let root = (root as usize - 1) * 512;
    // The root of a table that links to other pages.
    assert_eq!(bytes[root], 5);
    let cell = |n: usize| {
        root + usize::from(u16::from_be_bytes([bytes[root + 12 + 2 * n], bytes[root + 13 + 2 * n]]))
    };
    let (first, second) = (cell(0), cell(1));
    bytes.copy_within(first..first + 4, second);
    fs::write(path, bytes).unwrap();
}

const TRACE_COLUMNS: &str = "\"FuncInfo\", \"StartTime(ns)\", \"EndTime(ns)\", \"Thread Id\", \"Process Id\"";

/// However many rows are read at a time.
#[test]
fn traces_in_pages_that_come_again_end() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memscope_dump_1.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(&format!(
        "PRAGMA page_size = 512; CREATE TABLE python_trace_1 ({TRACE_COLUMNS});
         WITH RECURSIVE n(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM n WHERE n < 100)
         INSERT INTO python_trace_1 SELECT 'f' || n, n, n, 1, 1 FROM n"
    ))
    .unwrap();
    drop(db);
    let calls = |batch_rows| {
        let unit = &units(&MemscopePythonTrace, &[&path])[0];
        let mut request = ReadRequest::new(projection(&MemscopePythonTrace, &["func"]));
        request.batch_rows = batch_rows;
        let notes = Arc::new(Notes::default());
        let mut reader = MemscopePythonTrace.open(unit, &request, Arc::clone(&notes) as _).unwrap();
        let mut rows = 0;
        while let Some(batch) = reader.next_batch().unwrap() {
            rows += batch.num_rows();
            assert!(rows <= 100, "rows come again and again, {batch_rows} at a time");
        }
        (rows, notes.findings().iter().map(ToString::to_string).collect::<Vec<_>>())
    };
    assert_eq!(calls(7), (100, vec![]));
    link_again(&path, "python_trace_1");
    for batch_rows in [5, 7, 8192] {
        let (_, findings) = calls(batch_rows);
        assert!(findings.len() == 1 && findings[0].contains("rows are out of order"), "{findings:?}");
    }
}

#[test]
fn traces_have_the_rows_of_tables_and_a_note_on_views() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("memscope_dump_1.db");
    let db = rusqlite::Connection::open(&path).unwrap();
    db.execute_batch(&format!(
        "CREATE TABLE python_trace_7 ({TRACE_COLUMNS});
         INSERT INTO python_trace_7 (rowid, \"FuncInfo\")
             VALUES (-9223372036854775808, 'first'), (9223372036854775807, 'last');
         CREATE TABLE other ({TRACE_COLUMNS}); INSERT INTO other (\"FuncInfo\") VALUES ('of another table');
         CREATE VIEW python_trace_8 AS SELECT * FROM other;
         CREATE VIEW all_calls AS SELECT * FROM other;"
    ))
    .unwrap();
    drop(db);
    let (rows, notes) = read(&MemscopePythonTrace, &[&path], &["func"]);
    assert_eq!((rows, notes.problems()), (vec!["first".to_owned(), "last".into()], 0));
    let said: Vec<String> = notes.findings().iter().map(ToString::to_string).collect();
    let expected = "python_trace_8: this is a view, no table: the rows that it shows are not read";
    assert!(said.len() == 1 && said[0].contains(expected), "{said:?}");
}

#[test]
fn damaged_databases_never_panic() {
    let mut state = 5u64;
    let mut random = |n: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % n
    };
    let whole = fs::read(case("insight_db/memscope_dump_20261001080000.db")).unwrap();
    let dir = tempfile::tempdir().unwrap();
    for round in 0..40 {
        let mut bytes = whole.clone();
        if round % 2 == 0 {
            bytes.truncate(random(bytes.len()));
        }
        for _ in 0..random(40).min(bytes.len()) {
            let at = random(bytes.len());
            bytes[at] = random(256) as u8;
        }
        let path = write(&dir, "memscope_dump_1.db", &bytes);
        for format in [&MemscopeEvents as &dyn Format, &MemscopeBlocks, &MemscopePythonTrace, &MemscopeFiles]
        {
            read(format, &[&path], &[]);
        }
    }
}

#[test]
fn a_csv_hides_the_database_of_the_same_name() {
    let dir = tempfile::tempdir().unwrap();
    let run = "msmemscope_7_20261001080000_ascend/device_0/dump";
    let record = "1,OP_LAUNCH,ATEN_END,a,1790000000000000001,1,1,0,N/A,,,\n";
    write(&dir, &format!("{run}/memscope_dump_5.csv"), format!("{HEADER}{record}"));
    write(&dir, &format!("{run}/memscope_dump_5.db"), "whatever");
    let found = units(&MemscopeEvents, &[dir.path()]);
    assert_eq!((found.len(), found[0].files.len(), found[0].findings.len()), (1, 1, 1));
    assert_eq!(read(&MemscopeEvents, &[dir.path()], &["id"]).0, ["1"]);
}
