//! msMemScope: answers about invented runs against what was put into them, and what the listing says.

mod invented;

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::run;

/// Rows of a query as csv, without the header, sorted.
fn rows(sql: &str) -> Vec<String> {
    let done = run(&["--quiet", "--format", "csv", "-c", sql]);
    assert_eq!(done.code, Some(0), "{sql}\n{done:?}");
    let mut rows: Vec<String> = done.stdout.lines().skip(1).map(str::to_owned).collect();
    rows.sort();
    rows
}

fn sorted(rows: impl IntoIterator<Item = String>) -> Vec<String> {
    let mut rows: Vec<String> = rows.into_iter().collect();
    rows.sort();
    rows
}

#[test]
fn leaks_and_peaks_of_an_invented_run_are_found_to_the_byte() {
    let dir = tempfile::tempdir().unwrap();
    let truth = invented::write(dir.path(), 12);
    assert!(truth.leaks.len() > 10, "{truth:?}");
    let path = dir.path().display();
    let leaks =
        truth.leaks.iter().map(|(pid, step, address, bytes)| format!("{pid},{step},{address},{bytes}"));
    for compat in [false, true] {
        let sql = format!(
            "SELECT pid, step, address, bytes FROM memscope_step_leaks('{path}', compat => {compat})"
        );
        assert_eq!(rows(&sql), sorted(leaks.clone()));
    }
    let peaks = sorted(truth.peaks.iter().map(|(pid, peak)| format!("{pid},{peak}")));
    assert_eq!(rows(&format!("SELECT pid, peak_used FROM memscope_ranks('{path}')")), peaks);
    // What the owners hold at the peak adds up to it.
    let sql = format!("SELECT pid, sum(bytes) FROM memscope_owners_at_peak('{path}') GROUP BY pid");
    assert_eq!(rows(&sql), peaks);
}

/// Of a process that was killed, the blocks that were alive are not in its file; `used` still tells.
#[test]
fn leaks_of_a_killed_process_are_found_by_what_the_pool_states() {
    let dir = tempfile::tempdir().unwrap();
    let truth = invented::write(dir.path(), 12);
    let path = invented::dump(dir.path(), 501, 0);
    let text = fs::read_to_string(&path).unwrap();
    // Each record is one MALLOC and what follows it; those of blocks that the tool released itself go.
    let number = |record: &str| Some(record.split_once("allocation_id:")?.1.split(',').next()?.to_owned());
    let records: Vec<&str> = text.split_inclusive(",\n").collect();
    let alive: Vec<String> =
        records.iter().filter(|r| r.contains("shadow:true")).filter_map(|r| number(r)).collect();
    let kept: String =
        records.iter().filter(|r| number(r).is_none_or(|n| !alive.contains(&n))).copied().collect();
    assert!(kept.len() < text.len());
    fs::write(&path, kept).unwrap();
    let sql = format!(
        "SELECT sum(growth) FROM memscope_unaccounted('{}') WHERE step BETWEEN 2 AND 11",
        path.display()
    );
    let leaked: i64 = truth.leaks.iter().filter(|l| l.0 == 501).map(|l| l.3).sum();
    assert_eq!(rows(&sql), [leaked.to_string()]);
}

/// The same run as a database.
fn as_database(csv: &Path) -> PathBuf {
    let path = csv.with_extension("db");
    let db = rusqlite::Connection::open(&path).unwrap();
    let columns = invented::columns().iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", ");
    db.execute_batch(&format!("PRAGMA synchronous = OFF; BEGIN; CREATE TABLE memscope_dump ({columns})"))
        .unwrap();
    let insert = format!("INSERT INTO memscope_dump VALUES ({})", ["?"; 12].join(", "));
    let mut insert = db.prepare(&insert).unwrap();
    let text = fs::read_to_string(csv).unwrap();
    let (_, records) = text.split_once('\n').unwrap();
    for record in records.split_inclusive(",\n") {
        let (head, rest) = match record.split_once("\"{") {
            Some((head, rest)) => (head, rest),
            None => (record.trim_end_matches(",,,\n"), ""),
        };
        let (attributes, stack) = rest.split_once("}\",").unwrap_or_default();
        let json: Vec<String> = attributes
            .split_inclusive(|_| false)
            .flat_map(split_attributes)
            .map(|(key, value)| format!("\"{key}\":\"{value}\""))
            .collect();
        let mut cells: Vec<String> = head.trim_end_matches(',').splitn(9, ',').map(str::to_owned).collect();
        cells.extend([
            format!("{{{}}}", json.join(",")),
            stack.trim_end_matches(",\n").to_owned(),
            String::new(),
        ]);
        insert.execute(rusqlite::params_from_iter(cells)).unwrap();
    }
    drop(insert);
    db.execute_batch("COMMIT").unwrap();
    fs::remove_file(csv).unwrap();
    path
}

/// Keys and values; only a shape has a comma in it, and it comes last.
fn split_attributes(text: &str) -> Vec<(String, String)> {
    let (plain, shape) = match text.split_once(",shape:") {
        Some((plain, shape)) => (plain, Some(shape)),
        None => (text, None),
    };
    let pairs = plain.split(',').filter_map(|pair| pair.split_once(':'));
    let shape = shape.map(|s| ("shape", s));
    pairs.chain(shape).map(|(k, v)| (k.to_owned(), v.to_owned())).collect()
}

#[test]
fn every_function_says_the_same_of_a_csv_and_of_a_database() {
    let dir = tempfile::tempdir().unwrap();
    let (csv, db) = (dir.path().join("csv"), dir.path().join("db"));
    for dir in [&csv, &db] {
        invented::write(dir, 5);
    }
    for (pid, device) in [(501, 0), (502, 1)] {
        as_database(&invented::dump(&db, pid, device));
    }
    let functions = rl_insight_sql::library::Library::shipped().unwrap().functions();
    let mut calls: Vec<(String, String)> = vec![];
    for (table, file) in
        [("events", ", file"), ("blocks", ", file"), ("block_calls", ""), ("steps", ", file")]
    {
        let table = format!("memscope_{table}");
        calls.push((table.clone(), format!("SELECT * EXCLUDE (source_path{file}) FROM {table}('RUN')")));
    }
    calls.push((
        "memscope_compare".into(),
        "SELECT * EXCLUDE (source_path, base_path) FROM memscope_compare('RUN/msmemscope_501_20261001080000_ascend',
         'RUN/msmemscope_502_20261001080000_ascend')"
            .into(),
    ));
    for function in
        functions.iter().filter(|f| f.name().starts_with("memscope_") && f.name() != "memscope_watch_changes")
    {
        let inner = function.signature().split_once('(').unwrap().1.trim_end_matches(')');
        let required = inner.split(", ").take_while(|p| !p.contains("=>"));
        let arguments: Vec<&str> = required
            .map(|parameter| match parameter {
                "path" | "base" | "target" => "'RUN'",
                "mark" => "'m'",
                "at_ns" => "1790000000000500000",
                "from_ns" => "1790000000000200000",
                "to_ns" => "1790000000000700000",
                other => panic!("{}: what is a value for {other}?", function.name()),
            })
            .collect();
        let no_path = if ["memscope_compare_by_occurrence"].contains(&function.name()) {
            "*"
        } else {
            "* EXCLUDE (source_path)"
        };
        let file =
            if function.name() == "memscope_owners" { "* EXCLUDE (source_path, file)" } else { no_path };
        calls.push((
            function.name().to_owned(),
            format!("SELECT {file} FROM {}({})", function.name(), arguments.join(", ")),
        ));
    }
    let answers = |run_dir: &Path| -> Vec<String> {
        let run_dir = run_dir.display().to_string();
        let mut args = vec!["--quiet".to_owned(), "--format".into(), "ndjson".into()];
        for (name, sql) in &calls {
            args.extend(["-c".to_owned(), format!("SELECT '{name}' AS answer_of")]);
            args.extend(["-c".to_owned(), sql.replace("RUN", &run_dir)]);
        }
        let done = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(done.code, Some(0), "{}", done.stderr);
        done.stdout.split("{\"answer_of\":").skip(1).map(str::to_owned).collect()
    };
    let (of_csv, of_db) = (answers(&csv), answers(&db));
    assert_eq!((of_csv.len(), of_db.len()), (calls.len(), calls.len()));
    let mut answered = 0;
    for (((name, _), a), b) in calls.iter().zip(&of_csv).zip(&of_db) {
        let (a, b) = (sorted(a.lines().map(str::to_owned)), sorted(b.lines().map(str::to_owned)));
        answered += usize::from(a.len() > 1);
        assert_eq!(a, b, "{name}");
    }
    // Of running out of memory, of the driver and of growing pools this run knows nothing.
    assert!(answered >= 15, "{answered} of {}", calls.len());
}

#[test]
fn the_listing_counts_processes_and_the_view_holds_their_events() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/memscope/train_leak");
    let sql = "SELECT device, count(*) AS n FROM memscope GROUP BY device ORDER BY device";
    let done = run(&[root.to_str().unwrap(), "--format", "csv", "-c", sql]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert_eq!(done.stdout, "device,n\n0,606\n1,588\ncpu,2\n,6\n");
    let line = done.stderr.lines().find(|l| l.starts_with("memscope ")).unwrap_or_default();
    assert!(line.contains("memscope_events: 2 processes, 2 devices"), "{}", done.stderr);
}

/// The tool writes its files so that only their owner may read them.
#[cfg(unix)]
#[test]
fn a_file_of_another_user_is_said_to_be_one() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    let dir = tempfile::tempdir().unwrap();
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let (csv, db) = (dir.path().join("csv"), dir.path().join("db"));
    for dir in [&csv, &db] {
        invented::write(dir, 2);
    }
    let csv = invented::dump(&csv, 501, 0);
    let db = as_database(&invented::dump(&db, 501, 0));
    // Root reads everything, so it asks as somebody else; anybody else takes the right from itself.
    fs::set_permissions(&csv, fs::Permissions::from_mode(0o000)).unwrap();
    let root = fs::read(&csv).is_ok();
    for file in [&csv, &db] {
        fs::set_permissions(file, fs::Permissions::from_mode(if root { 0o600 } else { 0o000 })).unwrap();
    }
    let ask = |sql: &str| {
        let mut command = crate::support::program(&["--quiet", "-c", sql]);
        if root {
            command.uid(65_534).gid(65_534);
        }
        command.output().map(crate::support::collect)
    };
    if let Err(e) = ask("SELECT 1") {
        eprintln!("not tested: the program cannot be run as another user: {e}");
        return;
    }
    for (file, remedy) in [(&csv, "chmod them"), (&db, "chmod it")] {
        for table in ["memscope_events", "memscope_blocks"] {
            let done = ask(&format!("SELECT count(*) FROM {table}('{}')", file.display())).unwrap();
            assert_eq!((done.code, done.stdout.as_str()), (Some(3), ""), "{done:?}");
            let name = file.file_name().unwrap().to_str().unwrap();
            for part in [name, "Permission denied", remedy] {
                assert!(done.stderr.contains(part), "{part}: {}", done.stderr);
            }
        }
        // Of a whole run the rest is still read when that is asked for, and the file is named.
        let run_dir = file.ancestors().nth(4).unwrap().display();
        let sql = format!("SELECT DISTINCT pid FROM memscope_events('{run_dir}', on_error => 'skip')");
        let done = ask(&sql).unwrap();
        assert_eq!((done.code, done.stdout.as_str()), (Some(0), "pid\n502\n"), "{done:?}");
        let sql = format!("SELECT readable, remark FROM memscope_files('{}')", file.display());
        let done = ask(&sql).unwrap();
        assert!(done.stdout.contains("false,") && done.stdout.contains("Permission denied"), "{done:?}");
    }
}

#[test]
fn a_packed_file_beside_others_is_a_problem() {
    let sample = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/memscope/train_leak");
    for name in ["gz", "csv.GZ", "CSV", "csv.zst"] {
        let dir = tempfile::tempdir().unwrap();
        let mut packed = None;
        for entry in walkdir::WalkDir::new(sample) {
            let entry = entry.unwrap();
            let to = dir.path().join(entry.path().strip_prefix(sample).unwrap());
            if entry.file_type().is_dir() {
                fs::create_dir_all(to).unwrap();
                continue;
            }
            fs::copy(entry.path(), &to).unwrap();
            if packed.is_none() && entry.file_name().to_string_lossy().starts_with("memscope_dump_") {
                let plain = to.file_name().unwrap().to_string_lossy().into_owned();
                let new = if name == "gz" { to.with_extension("csv.gz") } else { to.with_extension(name) };
                fs::rename(&to, new).unwrap();
                packed = Some(plain);
            }
        }
        let plain = packed.unwrap();
        let path = dir.path().display();
        let strict = run(&["-q", "-c", &format!("SELECT count(*) FROM memscope_events('{path}')")]);
        assert_eq!(strict.code, Some(3), "{name}: {strict:?}");
        assert!(strict.stderr.contains(&format!("expected {plain}")), "{name}: {strict:?}");
        let told = rows(&format!("SELECT message FROM diagnostics('{path}') WHERE entry = 'problem'"));
        assert!(told.len() == 1 && told[0].contains(&plain), "{name}: {told:?}");
    }
}
