//! What can be wrong with a SQLite database.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::bytes;

/// Damages a database in place.
pub(super) struct Damage {
    pub(super) what: &'static str,
    pub(super) legal: bool,
    pub(super) make: Box<Make>,
}

/// Changes the file; what it gives back stays open while the file is read.
type Make = dyn Fn(&Path) -> Option<Connection>;

/// All of them, for a database with this table and these columns in it. What `make` returns stays open
/// while the file is read.
pub(super) fn damages(table: &'static str, string: &'static str, number: &'static str) -> Vec<Damage> {
    let text = |what: &'static str, change: fn(Vec<u8>) -> Vec<u8>| Damage {
        what,
        legal: false,
        make: Box::new(move |path| {
            fs::write(path, change(fs::read(path).unwrap())).unwrap();
            None
        }),
    };
    let sql = |what: &'static str, legal: bool, sql: String| Damage {
        what,
        legal,
        make: Box::new(move |path| {
            let db = Connection::open(path).unwrap();
            db.execute_batch(&sql).unwrap_or_else(|e| panic!("{what}: {e}"));
            db.close().unwrap();
            None
        }),
    };
    let set = |what: &'static str, column: &str, value: &str| {
        sql(what, false, format!("UPDATE \"{table}\" SET \"{column}\" = {value} WHERE rowid = 2"))
    };
    vec![
        text("zero bytes", |_| vec![]),
        text("its first 100 bytes", |good| good[..100].to_vec()),
        text("cut in the middle", |good| good[..good.len() / 2].to_vec()),
        text("the last page is missing", |good| good[..good.len() - 4096].to_vec()),
        text("a text file", |_| b"these are no bytes of a database\n".repeat(100)),
        text("a gzip file", |good| {
            let zip = bytes::damages().into_iter().find(|d| d.what == "a gzip file").unwrap();
            zip.of(&good)
        }),
        text("NUL bytes only", |good| vec![0; good.len()]),
        text("another first byte", |good| [b"s", &good[1..]].concat()),
        text("the second page is overwritten", |mut good| {
            good[4096..8192].fill(0xFF);
            good
        }),
        text("all pages but the first are NUL bytes", |mut good| {
            good[4096..].fill(0);
            good
        }),
        text("NUL bytes behind the end", |good| [good, vec![0; 8192]].concat()),
        text("a count of cells that is too large", |mut good| {
            // In the header of each page of a table's rows.
            for page in good.chunks_mut(4096).skip(1).filter(|page| page[0] == 13) {
                page[3] = 0x7F;
            }
            good
        }),
        sql("no tables", true, drop_all()),
        sql("no rows", true, format!("DELETE FROM \"{table}\"")),
        sql("the table is missing", false, format!("DROP TABLE \"{table}\"")),
        sql(
            "the table is a view",
            false,
            format!(
                "ALTER TABLE \"{table}\" RENAME TO hidden; CREATE VIEW \"{table}\" AS SELECT * FROM hidden"
            ),
        ),
        sql(
            "a view without end",
            false,
            format!(
                "DROP TABLE \"{table}\"; CREATE VIEW \"{table}\" AS WITH RECURSIVE a(x) AS \
                 (SELECT 1 UNION ALL SELECT x + 1 FROM a) SELECT * FROM a"
            ),
        ),
        sql("a column is missing", false, format!("ALTER TABLE \"{table}\" DROP COLUMN \"{number}\"")),
        sql(
            "a column is called otherwise",
            false,
            format!("ALTER TABLE \"{table}\" RENAME COLUMN \"{number}\" TO other"),
        ),
        sql("a column more", false, format!("ALTER TABLE \"{table}\" ADD COLUMN more TEXT")),
        sql(
            "a column that is computed",
            false,
            format!(
                "ALTER TABLE \"{table}\" ADD COLUMN more AS (abs(\"{number}\") + length(zeroblob(1000000)))"
            ),
        ),
        sql(
            "triggers",
            false,
            format!(
                "CREATE TRIGGER t AFTER UPDATE ON \"{table}\" BEGIN DELETE FROM \"{table}\"; END; \
                 CREATE TRIGGER u AFTER INSERT ON \"{table}\" BEGIN SELECT load_extension('evil'); END"
            ),
        ),
        sql("page size 512", false, "PRAGMA page_size = 512; VACUUM".to_owned()),
        sql("WAL mode, closed well", false, "PRAGMA journal_mode = WAL".to_owned()),
        set("a text for a number", number, "'many'"),
        set("a number in a text", number, "'1234'"),
        set("NULL for a number", number, "NULL"),
        set("a blob for a number", number, "x'0102'"),
        set("a fraction for a number", number, "1.5"),
        set("1e400", number, "9e999"),
        set("a number of 30 digits", number, "173640544300020050000000000000"),
        set("a negative number", number, "-5"),
        set("NULL for a text", string, "NULL"),
        set("a blob for a text", string, "x'ff00fe'"),
        set("a text that is no UTF-8", string, "CAST(x'61fffe62' AS TEXT)"),
        set("a NUL byte in a text", string, "CAST(x'610062' AS TEXT)"),
        Damage {
            what: "newer rows in the write-ahead log",
            legal: false,
            make: Box::new(move |path| {
                let db = Connection::open(path).unwrap();
                db.execute_batch(&format!(
                    "PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; \
                     INSERT INTO \"{table}\" SELECT * FROM \"{table}\" WHERE rowid = 1"
                ))
                .unwrap();
                Some(db)
            }),
        },
        Damage {
            what: "locked by a writer",
            legal: false,
            make: Box::new(move |path| {
                let db = Connection::open(path).unwrap();
                db.execute_batch(&format!(
                    "BEGIN EXCLUSIVE; INSERT INTO \"{table}\" SELECT * FROM \"{table}\" WHERE rowid = 1"
                ))
                .unwrap();
                Some(db)
            }),
        },
        Damage {
            what: "a write was interrupted",
            legal: false,
            make: Box::new(|path| {
                let mut journal = path.as_os_str().to_owned();
                journal.push("-journal");
                let hot = [0xd9u8, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];
                fs::write(journal, hot.repeat(128)).unwrap();
                None
            }),
        },
    ]
}

/// Empties a database of all tables.
fn drop_all() -> String {
    [
        "STRING_IDS",
        "OP_MEMORY",
        "MEMORY_RECORD",
        "PYTORCH_API",
        "PYTORCH_CALLCHAINS",
        "memscope_dump",
        "python_trace_7",
    ]
    .iter()
    .map(|table| format!("DROP TABLE IF EXISTS {table};"))
    .collect()
}
