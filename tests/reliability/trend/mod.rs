//! Exports of random dumps against the specification as a program of its own: `spec_model.py` in
//! `../shared` (or where RLI_SHARED says), run by `python3` (or the program in RLI_PYTHON).
//!
//! Where these are absent the test says so; `tests/it/trend_export.rs` compares stored cases with the
//! reference's own answers in any case.

mod dump;

use std::env;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use rl_insight_sql::session;

use crate::size;

/// Reads lines `data directory`, TAB, `our database`, TAB, `micro-steps`; prints what differs, and a count.
const SCRIPT: &str = r#"
import os, sys
sys.path.insert(0, sys.argv[1])
import canon, spec_model
checked = rows = 0
for line in sys.stdin:
    data, ours, micro = line.rstrip("\n").split("\t")
    theirs = ours + ".model"
    try:
        made = spec_model.build(data, theirs, micro == "true")
    except spec_model.SpecError as e:
        made = None
        if os.path.exists(ours):
            print("different:", data, "the model refuses it:", e)
    if made is None:
        if os.path.exists(theirs): os.remove(theirs)
        continue
    if not os.path.exists(ours):
        print("different:", data, micro, "there is no database of ours")
        continue
    a, b = list(canon.canonical_lines(theirs)), list(canon.canonical_lines(ours))
    checked += 1
    rows += len(a)
    if a != b:
        at = next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))
        print("different:", data, micro, "line", at, "model", a[at:at+1], "ours", b[at:at+1])
print("checked", checked, rows)
"#;

#[test]
fn random_dumps_are_exported_as_the_model_of_the_specification_does() {
    let python = env::var_os("RLI_PYTHON").unwrap_or_else(|| "python3".into());
    let shared = env::var_os("RLI_SHARED")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared"), PathBuf::from);
    let tools = shared.join("tools/trend");
    let there = Command::new(&python).args(["-c", "pass"]).status().is_ok_and(|s| s.success());
    if !there || !tools.join("spec_model.py").is_file() {
        println!("left out: it needs python3 and ../shared/tools/trend/spec_model.py");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let contexts = [(1, 8192), (3, 7)].map(|(partitions, batch)| {
        let config = session::config().with_target_partitions(partitions).with_batch_size(batch);
        session::context(config).unwrap()
    });
    let scratch = tempfile::tempdir().unwrap();
    let mut lines = String::new();
    let trees = size::pick(60, 3_000);
    for seed in 0..trees {
        let data = scratch.path().join(format!("{seed}"));
        dump::write(seed, &data);
        let (micro, context) = (seed % 3 != 0, &contexts[seed as usize % 2]);
        let ours = scratch.path().join(format!("{seed}.trend.db"));
        let sql = format!(
            "COPY (SELECT * FROM dump_trend('{}', micro_step => {micro})) TO '{}' STORED AS TREND_DB",
            data.display(),
            ours.display()
        );
        let done = runtime.block_on(async { context.sql(&sql).await?.collect().await });
        if let Err(e) = done {
            println!("dump {seed} is refused: {e}");
        }
        lines += &format!("{}\t{}\t{micro}\n", data.display(), ours.display());
    }
    let mut child = Command::new(&python)
        .args(["-c", SCRIPT])
        .arg(&tools)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success() && !text.contains("different"), "{text}");
    let checked = text.split_whitespace().nth(1).and_then(|n| n.parse::<u64>().ok());
    assert!(checked.is_some_and(|n| n * 2 > trees), "too few databases were compared: {text}");
    println!("{trees} dumps: {text}");
}
