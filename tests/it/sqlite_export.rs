//! `COPY ... STORED AS SQLITE`: what is in the file.

use std::fs;

use rl_insight_sql::session;
use rusqlite::Connection;
use rusqlite::types::Value;

#[tokio::test]
async fn every_type_arrives_as_itself() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("new/dir/x.db");
    let query = "SELECT arrow_cast(-7, 'Int8') AS small, 9223372036854775807 AS large, true AS yes, 0.1 AS real, \
         'NaN'::DOUBLE AS nan, 'Infinity'::DOUBLE AS inf, 'text' AS text, NULL AS nothing, \
         arrow_cast('d', 'Dictionary(Int32, Utf8)') AS word, TIMESTAMP '2026-01-02T03:04:05' AS at, \
         DATE '2026-01-02' AS day, arrow_cast('ab', 'Binary') AS bytes, \
         CAST(1.25 AS DECIMAL(10, 2)) AS money, 'it''s \"quoted\"' AS \"odd \"\"name\"\"\"";
    let sql = format!("COPY ({query}) TO '{}' STORED AS SQLITE OPTIONS (table 'my \"t\"')", out.display());
    let context = session::context(session::config()).unwrap();
    context.sql(&sql).await.unwrap().collect().await.unwrap();
    let db = Connection::open(&out).unwrap();
    let mut statement = db.prepare("SELECT * FROM \"my \"\"t\"\"\"").unwrap();
    assert_eq!(statement.column_names().last(), Some("odd \"name\""));
    let width = statement.column_count();
    let row: Vec<Value> = statement.query_row([], |row| (0..width).map(|i| row.get(i)).collect()).unwrap();
    let text = |s: &str| Value::Text(s.into());
    let expected = [
        Value::Integer(-7),
        Value::Integer(i64::MAX),
        Value::Integer(1),
        Value::Real(0.1),
        Value::Null,
        Value::Real(f64::INFINITY),
        text("text"),
        Value::Null,
        text("d"),
        text("2026-01-02T03:04:05"),
        text("2026-01-02"),
        Value::Blob(b"ab".to_vec()),
        text("1.25"),
        text("it's \"quoted\""),
    ];
    assert_eq!(row, expected);
}

#[tokio::test]
async fn a_failing_query_leaves_the_old_file() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("x.db");
    fs::write(&out, "old").unwrap();
    let context = session::context(session::config()).unwrap();
    let sql = format!(
        "COPY (SELECT 1 / (value - 5000) AS a FROM generate_series(1, 10000)) TO '{}' STORED AS SQLITE",
        out.display()
    );
    let error = context.sql(&sql).await.unwrap().collect().await.unwrap_err().to_string();
    assert!(error.contains("Divide by zero"), "{error}");
    assert_eq!(fs::read_to_string(&out).unwrap(), "old");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
