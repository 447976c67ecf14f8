//! The same question to DuckDB: an ASOF join over the csv and the trace. It needs `python3` (or the
//! program in RLI_PYTHON) with the package `duckdb`, and says so where that is absent.

use std::env;
use std::io::Write;
use std::process::{Command, Stdio};

use rl_insight_sql::session;

use super::profile;
use crate::random::Random;
use crate::size;

/// Reads one line per profile: its directory. Writes one line per row: number and stack as JSON.
const SCRIPT: &str = r#"
import sys, json, duckdb
for line in sys.stdin:
    out = line.rstrip("\n") + "/ASCEND_PROFILER_OUTPUT/"
    events = [e for e in json.load(open(out + "trace_view.json")) if e.get("cat") == "cpu_op" and "Call stack" in e["args"]]
    db = duckdb.connect()
    db.execute("CREATE TABLE ops(name VARCHAR, ts DECIMAL(20,3), stack VARCHAR)")
    for e in events:
        db.execute("INSERT INTO ops VALUES (?, CAST(? AS DECIMAL(20,3)), ?)", [e["name"], e["ts"], e["args"]["Call stack"]])
    db.execute(f"""CREATE TABLE rows AS SELECT row_number() OVER () AS n, coalesce("Name", '') AS name,
        CAST(trim("Allocation Time(us)", chr(9)) AS DECIMAL(20,3)) AS ts
        FROM read_csv('{out}operator_memory.csv', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"', auto_detect = false,
          columns = {{{', '.join("'" + c + "': 'VARCHAR'" for c in open(out + 'operator_memory.csv', newline='').readline().strip().split(','))}}})""")
    for n, stack in db.execute("SELECT r.n, o.stack FROM rows r ASOF LEFT JOIN ops o ON r.name = o.name AND r.ts >= o.ts ORDER BY r.n").fetchall():
        print(json.dumps([n, stack or ""]))
    print("end", flush=True)
"#;

#[test]
fn duckdb_finds_the_same_calls() {
    let python = env::var_os("RLI_PYTHON").unwrap_or_else(|| "python3".into());
    let there = Command::new(&python).args(["-c", "import duckdb"]).stderr(Stdio::null()).status();
    if !there.is_ok_and(|status| status.success()) {
        println!("left out: there is no python3 with duckdb; RLI_PYTHON names one");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let context = session::context(session::config()).unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let (mut directories, mut expected) = (String::new(), Vec::new());
    for seed in 0..size::pick(20, 1_000) {
        let root = scratch.path().join(seed.to_string());
        let mut profiles = profile::tree(1_000_000 + seed, &root);
        for profile in &mut profiles {
            // Of calls that begin at one time DuckDB takes any: there must not be two of a name.
            let mut random = Random::new(seed);
            let mut seen = std::collections::BTreeSet::new();
            profile.ops.retain(|op| seen.insert((op.name.clone(), op.start)));
            // It cannot tell "" from a missing name, and there are no negative rows in an ASOF join.
            profile.allocations.retain(|row| row.start.is_some() && !row.name.is_empty());
            profile.allocations.sort_by_cached_key(|_| random.next());
            profile::write(profile);
        }
        for profile in profiles.iter().filter(|p| !p.allocations.is_empty()) {
            directories += &format!("{}\n", profile.directory.display());
            let sql =
                format!("SELECT row_no, call_stack FROM memory_events('{}')", profile.directory.display());
            let mut rows = runtime.block_on(crate::logic::fetch(&context, &sql)).unwrap();
            rows.sort_by_key(|row| row[0].parse::<u64>().unwrap());
            expected.push(rows);
        }
    }
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let writer = std::thread::spawn(move || stdin.write_all(directories.as_bytes()));
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap().unwrap();
    assert!(output.status.success(), "python3 failed");
    let text = String::from_utf8(output.stdout).unwrap();
    let mut found = vec![Vec::new()];
    for line in text.lines() {
        if line == "end" {
            found.push(Vec::new());
            continue;
        }
        let (n, stack): (u64, String) = serde_json::from_str(line).unwrap();
        found.last_mut().unwrap().push(vec![n.to_string(), stack]);
    }
    found.pop();
    let rows: usize = found.iter().map(Vec::len).sum();
    assert!(rows > 100, "only {rows} rows came from DuckDB");
    assert_eq!(found, expected);
    println!("{} profiles, {rows} rows", found.len());
}
