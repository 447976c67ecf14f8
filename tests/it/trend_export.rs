//! Every case below `tests/data/trend` is exported as the reference does it, and exports are whole or
//! absent.
//!
//! A case is a small dump with the text of the database that `msprobe data2db` (mindstudio-probe
//! 26.2.0) made of it: all six tables, joined by names and sorted, and the numbers of the targets.

use std::error::Error;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use datafusion::prelude::{SessionConfig, SessionContext};
use rl_insight_sql::session;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Where the reference crashes or finds nothing and we give the right rows: directories named
/// `step01`, and the layout of an RL framework.
const BETTER: [&str; 2] = ["33_step01", "34_verl_layout"];

#[tokio::test]
async fn every_case_is_exported_as_by_the_reference() {
    let (mut failures, mut checked) = (Vec::new(), 0);
    for (case, micro_step, expected) in cases() {
        checked += 1;
        if let Err(e) = check(&case, micro_step, &expected).await {
            failures.push(format!("{}, micro_step {micro_step}: {e}", case.display()));
        }
    }
    assert!(checked >= 50, "only {checked} cases");
    assert!(failures.is_empty(), "{} of {checked} cases\n{}", failures.len(), failures.join("\n"));
}

async fn check(case: &Path, micro_step: bool, expected: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut first: Option<Vec<u8>> = None;
    for (partitions, batch) in [(1, 8192), (2, 7), (5, 8192)] {
        let out = dir.path().join(format!("{partitions}.trend.db"));
        let done = export(case, micro_step, &out, partitions, batch).await;
        if !expected.contains("\"exception\": null") || !expected.contains("dump_data.trend.db") {
            if BETTER.iter().any(|name| case.ends_with(name)) {
                done?;
                continue;
            }
            if done.is_ok() || out.exists() || fs::read_dir(dir.path())?.count() > 0 {
                return Err("expected an error and no file".into());
            }
            continue;
        }
        done?;
        let bytes = fs::read(&out)?;
        match &first {
            None => first = Some(bytes),
            Some(first) if *first == bytes => {}
            Some(_) => return Err(format!("other bytes with {partitions} partitions").into()),
        }
        let text = canonical(&out)?;
        let wanted: Vec<&str> = expected
            .lines()
            .skip_while(|l| !l.starts_with("== database"))
            .skip(1)
            .filter(|l| !l.is_empty())
            .collect();
        let got: Vec<&str> = text.lines().collect();
        if let Some(at) = (0..wanted.len().max(got.len())).find(|&i| !same(wanted.get(i), got.get(i))) {
            return Err(format!("line {at}: expected {:?}, got {:?}", wanted.get(at), got.get(at)).into());
        }
    }
    Ok(())
}

/// Lines of JSON are the same when their values are; of the shortest texts for a number there can be two.
fn same(wanted: Option<&&str>, got: Option<&&str>) -> bool {
    let value = |line: Option<&&str>| line.and_then(|l| serde_json::from_str::<serde_json::Value>(l).ok());
    wanted == got || value(wanted).is_some_and(|w| value(got) == Some(w))
}

fn context(partitions: usize, batch: usize) -> SessionContext {
    let config: SessionConfig = session::config();
    session::context(config.with_target_partitions(partitions).with_batch_size(batch)).unwrap()
}

async fn export(case: &Path, micro_step: bool, out: &Path, partitions: usize, batch: usize) -> Result<()> {
    let mapping = case.join("mapping.json");
    let mapping =
        if mapping.exists() { format!(", mapping => '{}'", mapping.display()) } else { String::new() };
    let sql = format!(
        "COPY (SELECT * FROM dump_trend('{}', micro_step => {micro_step}{mapping})) TO '{}' STORED AS TREND_DB",
        case.join("input").display(),
        out.display(),
    );
    context(partitions, batch).sql(&sql).await?.collect().await?;
    Ok(())
}

/// Directories, whether micro-steps are counted, and what is expected.
fn cases() -> Vec<(PathBuf, bool, String)> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend");
    let mut found = Vec::new();
    for case in fs::read_dir(&data).unwrap().map(|e| e.unwrap().path()) {
        for micro_step in [true, false] {
            let file = case.join(format!("expected/26.2.0.micro_{micro_step}.txt"));
            let packed = PathBuf::from(format!("{}.gz", file.display()));
            let mut text = String::new();
            if file.exists() {
                text = fs::read_to_string(&file).unwrap();
            } else if packed.exists() {
                flate2::read::GzDecoder::new(File::open(&packed).unwrap()).read_to_string(&mut text).unwrap();
            } else {
                continue;
            }
            found.push((case.clone(), micro_step, text));
        }
    }
    found.sort();
    found
}

/// A heading, and the query for the lines below it.
const PARTS: [(&str, &str); 7] = [
    ("== schema", "SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name"),
    (
        "== monitoring_metrics [metric_id, metric_name]",
        "SELECT metric_id, metric_name FROM monitoring_metrics ORDER BY 1",
    ),
    (
        "== monitoring_targets [target_name, vpp_stage, micro_step]",
        "SELECT target_name, vpp_stage, micro_step FROM monitoring_targets ORDER BY 1, 2, 3",
    ),
    (
        "== trend_data [rank, step, metric, target_name, vpp_stage, micro_step, norm, max, min, mean]",
        "SELECT d.rank, d.step, m.metric_name, t.target_name, t.vpp_stage, t.micro_step, norm, max, min, mean \
         FROM trend_data d LEFT JOIN monitoring_metrics m USING (metric_id) \
         LEFT JOIN monitoring_targets t USING (target_id) ORDER BY 1, 2, 3, 4, 5, 6",
    ),
    (
        "== monitoring_tags [metric, category, tag_name]",
        "SELECT m.metric_name, g.category, g.tag_name FROM monitoring_tags g \
         LEFT JOIN monitoring_metrics m USING (metric_id) ORDER BY 1, 2, 3",
    ),
    (
        "== tag_target_mapping [metric, category, tag_name, target_name, vpp_stage, micro_step]",
        "SELECT m.metric_name, g.category, g.tag_name, t.target_name, t.vpp_stage, t.micro_step \
         FROM tag_target_mapping x LEFT JOIN monitoring_tags g USING (tag_id) \
         LEFT JOIN monitoring_metrics m USING (metric_id) \
         LEFT JOIN monitoring_targets t ON t.target_id = x.target_id ORDER BY 1, 2, 3, 4, 5, 6",
    ),
    (
        "== ids monitoring_targets [target_id, target_name, vpp_stage, micro_step] (deterministic)",
        "SELECT * FROM monitoring_targets ORDER BY target_id",
    ),
];

/// The text of a database, in the form of the expectations.
fn canonical(path: &Path) -> Result<String> {
    let db = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    assert_eq!(check, "ok");
    let mut text = String::new();
    for (heading, sql) in PARTS {
        text.push_str(&format!("{heading}\n{}", lines(&db, sql)?));
        if heading == "== schema" {
            text.push_str("== global_stats\n");
            let totals = db.query_row("SELECT * FROM global_stats", [], |row| {
                let member = |at: usize| {
                    Ok(format!("{}: {}", json_text(row.as_ref().column_name(at)?), json(row.get_ref(at)?)))
                };
                (0..7).map(member).collect::<rusqlite::Result<Vec<String>>>()
            })?;
            text.push_str(&format!("{{{}}}\n", totals.join(", ")));
        }
    }
    text.push_str("== ids sqlite_sequence [name, seq]\n");
    text.push_str(&lines(&db, "SELECT name, seq FROM sqlite_sequence ORDER BY 1")?);
    Ok(text)
}

fn lines(db: &Connection, sql: &str) -> Result<String> {
    let mut statement = db.prepare(sql)?;
    let width = statement.column_count();
    let mut rows = statement.query([])?;
    let mut text = String::new();
    while let Some(row) = rows.next()? {
        let cells =
            (0..width).map(|i| row.get_ref(i).map(json)).collect::<rusqlite::Result<Vec<String>>>()?;
        text.push_str(&format!("[{}]\n", cells.join(", ")));
    }
    Ok(text)
}

/// A value as JSON.
fn json(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => "null".into(),
        ValueRef::Integer(n) => n.to_string(),
        ValueRef::Real(x) => format!("{x:?}"),
        ValueRef::Text(text) => json_text(&String::from_utf8_lossy(text)),
        ValueRef::Blob(_) => "a blob".into(),
    }
}

fn json_text(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
    out
}

#[tokio::test]
async fn a_failing_rank_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.trend.db");
    fs::write(&out, "old").unwrap();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend/21_truncated_json");
    let error = export(&case, true, &out, 2, 8192).await.unwrap_err().to_string();
    for part in ["step 0", "rank 1", "rank1/dump.json", "byte 50"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[tokio::test]
async fn what_a_killed_export_left_is_removed_by_the_next_one() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.trend.db");
    let old = File::create(dir.path().join(".x.trend.db.99999999-0.staged")).unwrap();
    old.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    drop(old);
    // Somebody else's: it is locked, or has another name.
    let held = File::create(dir.path().join(".x.trend.db.99999998-0.staged")).unwrap();
    held.set_modified(std::time::SystemTime::now() - std::time::Duration::from_secs(60)).unwrap();
    held.lock().unwrap();
    fs::write(dir.path().join(".x.trend.db.backup.staged"), "mine").unwrap();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend/01_minimal_torch");
    export(&case, true, &out, 2, 8192).await.unwrap();
    let mut names: Vec<String> =
        fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    assert_eq!(names, [".x.trend.db.99999998-0.staged", ".x.trend.db.backup.staged", "x.trend.db"]);
}

#[tokio::test]
async fn only_what_can_be_replaced_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend/01_minimal_torch");
    let error = export(&case, true, dir.path(), 1, 8192).await.unwrap_err().to_string();
    assert!(error.contains("it is a directory"), "{error}");
    let error = export(&case, true, Path::new("/dev/null"), 1, 8192).await.unwrap_err().to_string();
    assert!(error.contains("it is not a regular file"), "{error}");
    // Brackets and stars are part of a name.
    let out = dir.path().join("zz[3]*?.trend.db");
    export(&case, true, &out, 1, 8192).await.unwrap();
    assert!(out.exists());
}

/// A full disk, as far as one can be had without rights: a limit on the size of files.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.trend.db");
    fs::write(&out, "old").unwrap();
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/trend/30_batch_boundary/input");
    let sql = format!(
        "COPY (SELECT * FROM dump_trend('{}', micro_step => false)) TO '{}' STORED AS TREND_DB",
        case.display(),
        out.display()
    );
    // In blocks of 512 bytes.
    let script = "ulimit -f 100; exec \"$0\" --force -c \"$1\"";
    let done = std::process::Command::new("sh")
        .args(["-c", script, env!("CARGO_BIN_EXE_rl-insight-sql"), &sql])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.code().is_some_and(|code| code != 0), "{:?} {said}", done.status);
    assert!(said.contains("x.trend.db"), "{said}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
