//! What somebody could put in the way on purpose: databases, archives, names and statements that are made to
//! do harm. Nothing of it does: it is read, refused or given up with an error, in bounded time and memory.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rusqlite::Connection;

use crate::malformed::{SAMPLES, Sample};

fn sample(title: &str) -> &'static Sample {
    SAMPLES.iter().find(|s| s.title == title).unwrap()
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
    command.args(arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs a program that has to end by itself.
fn end(mut command: Command) -> Output {
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    // What it writes must not fill a pipe that nobody reads.
    let (mut out, mut err) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
    let read = |from: &mut dyn std::io::Read| {
        let mut bytes = vec![];
        from.read_to_end(&mut bytes).unwrap();
        bytes
    };
    let (stdout, stderr) = std::thread::scope(|scope| {
        let (out, err) = (scope.spawn(move || read(&mut out)), scope.spawn(move || read(&mut err)));
        while child.try_wait().unwrap().is_none() {
            if start.elapsed() > Duration::from_secs(300) {
                child.kill().unwrap();
                panic!("the program does not end");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        (out.join().unwrap(), err.join().unwrap())
    });
    Output { status: child.wait().unwrap(), stdout, stderr }
}

/// It ended by itself, in a way that it has chosen.
fn ended_well(output: &Output, what: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code().is_some_and(|code| code < 100), "{what}: {:?}: {said}", output.status);
    assert!(!said.contains("panicked"), "{what}: {said}");
}

fn count(root: &Path, function: &str) -> Output {
    let sql = format!("SELECT count(*) FROM {function}('{}', on_error => 'skip')", root.display());
    end(program(&["--format", "csv", "-c", &sql]))
}

/// Changes the schema as nobody should: SQL texts that SQLite would not have taken.
fn rewrite_schema(db: &Connection, table: &str, sql: &str) {
    db.execute_batch("PRAGMA writable_schema = ON").unwrap();
    db.execute("UPDATE sqlite_schema SET sql = ?1 WHERE name = ?2", (sql, table)).unwrap();
}

#[test]
fn hostile_databases_are_harmless() {
    let evil = tempfile::tempdir().unwrap();
    let extension = evil.path().join("evil.so").display().to_string();
    for (title, table) in
        [("ascend_pytorch_profiler_<rank>.db", "OP_MEMORY"), ("memscope_dump_<time>.db", "memscope_dump")]
    {
        let sample = sample(title);
        let schema = |db: &Connection| -> String {
            db.query_row("SELECT sql FROM sqlite_schema WHERE name = ?1", [table], |row| row.get(0)).unwrap()
        };
        type Harm<'a> = (&'static str, Box<dyn Fn(&Path) + 'a>);
        let sql = |what: &'static str, text: String| -> Harm<'_> {
            (what, Box::new(move |path: &Path| Connection::open(path).unwrap().execute_batch(&text).unwrap()))
        };
        let bytes = |what: &'static str, change: fn(&mut Vec<u8>)| -> Harm<'_> {
            let change = move |path: &Path| {
                let mut file = fs::read(path).unwrap();
                change(&mut file);
                fs::write(path, file).unwrap();
            };
            (what, Box::new(change))
        };
        let with_column = |what: &'static str, column: String| -> Harm<'_> {
            let change = move |path: &Path| {
                let db = Connection::open(path).unwrap();
                let text = schema(&db).trim_end().trim_end_matches(')').to_owned() + ", " + &column + ")";
                rewrite_schema(&db, table, &text);
            };
            (what, Box::new(change))
        };
        let harms: Vec<Harm<'_>> = vec![
            sql(
                "a full-text table",
                format!("DROP TABLE {table}; CREATE VIRTUAL TABLE {table} USING fts5(name, size)"),
            ),
            sql(
                "a table without rowid",
                format!(
                    "DROP TABLE {table}; CREATE TABLE {table} (name TEXT PRIMARY KEY, size) WITHOUT ROWID"
                ),
            ),
            sql(
                "a column called rowid",
                format!("DROP TABLE {table}; CREATE TABLE {table} (rowid TEXT, name TEXT, size INTEGER)"),
            ),
            sql(
                "an index over an expression",
                format!("CREATE INDEX i ON {table} (abs(1 + length(hex(zeroblob(1000)))))"),
            ),
            with_column("a column that loads an extension", format!("c AS (load_extension('{extension}'))")),
            with_column("a column that needs a gigabyte", "c AS (zeroblob(1000000000)) STORED".into()),
            with_column("a check that reads a file", "CHECK (readfile('/etc/passwd') IS NULL)".into()),
            with_column("a default that is no expression", "c DEFAULT (SELECT * FROM".into()),
            (
                "a schema that is no SQL",
                Box::new(|path| rewrite_schema(&Connection::open(path).unwrap(), table, "CREATE \0 evil")),
            ),
            (
                "a table that is all other tables",
                Box::new(|path| {
                    let db = Connection::open(path).unwrap();
                    db.execute_batch("PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1")
                        .unwrap();
                }),
            ),
            bytes("a size of four billion pages", |file| file[28..32].fill(0xFF)),
            bytes("pages of one byte", |file| file[16..18].copy_from_slice(&[0, 1])),
            bytes("a page of which the parent is itself", |file| {
                // Turns each page of rows into an inner page that leads to itself.
                let pages = file.len() / 4096;
                for page in 1..pages {
                    let at = page * 4096;
                    if file[at] == 13 {
                        let number = u32::try_from(page + 1).unwrap().to_be_bytes();
                        file[at] = 5;
                        file[at + 3..at + 5].copy_from_slice(&[0, 0]);
                        file[at + 8..at + 12].copy_from_slice(&number);
                    }
                }
            }),
            bytes("a row of two gigabytes", |file| {
                for at in (4096..file.len()).step_by(4096).collect::<Vec<_>>() {
                    if file[at] == 13 {
                        let cell = at + usize::from(u16::from_be_bytes([file[at + 8], file[at + 9]]));
                        file[cell..cell + 5].copy_from_slice(&[0x87, 0xFF, 0xFF, 0xFF, 0x7F]);
                    }
                }
            }),
        ];
        for (what, harm) in harms {
            let dir = tempfile::tempdir().unwrap();
            (sample.write)(dir.path());
            let path = dir.path().join(sample.file);
            harm(&path);
            let before = fs::read(&path).unwrap();
            let start = Instant::now();
            let output = count(dir.path(), sample.function);
            ended_well(&output, &format!("{title}, {what}"));
            assert!(start.elapsed() < Duration::from_secs(300), "{title}, {what}: {:?}", start.elapsed());
            assert!(fs::read(&path).unwrap() == before, "{title}, {what}: the file was changed");
            let names = fs::read_dir(path.parent().unwrap()).unwrap().count();
            assert_eq!(names, 1, "{title}, {what}: files were made");
        }
    }
    assert_eq!(fs::read_dir(evil.path()).unwrap().count(), 0);
}

/// Forty replacements, each of which makes a name four times as long.
#[test]
fn a_mapping_that_makes_names_explode_is_told() {
    let dir = tempfile::tempdir().unwrap();
    (sample("mapping file").write)(dir.path());
    let dump = dir.path().join("step0/rank0/dump.json");
    let text = fs::read_to_string(&dump).unwrap().replace("block.norm", "q");
    fs::write(dump, text).unwrap();
    let pairs: Vec<String> =
        (1..41).map(|n| format!("\"{}\": \"{}\"", "q".repeat(n), "q".repeat(4 * n))).collect();
    fs::write(dir.path().join("mapping.json"), format!("{{{}}}", pairs.join(", "))).unwrap();
    let root = dir.path().display();
    let call = format!("dump_trend('{root}', micro_step => false, mapping => '{root}/mapping.json'");
    let strict = end(program(&["-c", &format!("SELECT count(*) FROM {call})")]));
    let said = String::from_utf8_lossy(&strict.stderr);
    assert_eq!(strict.status.code(), Some(3), "{said}");
    assert!(said.contains("Module.q.N.forward.0") && said.contains("more than 1 MB"), "{said}");
    let sql = format!("SELECT count(*) AS n FROM {call}, on_error => 'skip')");
    let skip = end(program(&["--format", "csv", "-c", &sql]));
    assert_eq!(String::from_utf8_lossy(&skip.stdout), "n\n4\n", "{}", String::from_utf8_lossy(&skip.stderr));
}

/// A gzip file of these bytes so often: each is a member of its own, so that making it takes no time.
fn bomb(path: &Path, front: &[u8], block: &[u8], times: usize, back: &[u8]) {
    let member = |bytes: &[u8]| {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(bytes).unwrap();
        gzip.finish().unwrap()
    };
    let mut file = File::create(path).unwrap();
    file.write_all(&member(front)).unwrap();
    let block = member(block);
    for _ in 0..times {
        file.write_all(&block).unwrap();
    }
    file.write_all(&member(back)).unwrap();
}

/// The largest resident size of the program for a statement, in megabytes; 0 where it cannot be told.
#[cfg(target_os = "linux")]
fn largest_size(child: &std::process::Child) -> u64 {
    let Ok(status) = fs::read_to_string(format!("/proc/{}/status", child.id())) else { return 0 };
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1)?.parse::<u64>().ok()).unwrap_or(0) / 1024
}

#[cfg(target_os = "linux")]
#[test]
fn archives_that_expand_are_streamed() {
    let sample = sample("trace_view.json");
    // Megabytes when unpacked; each is a few kilobytes as a file.
    let megabytes = if crate::size::long() { 4096 } else { 48 };
    let block = |with: &[u8]| with.repeat((1 << 20) / with.len());
    for (what, front, of, back) in [
        ("white space", &b"["[..], block(b" "), &b"]"[..]),
        ("events that do not matter", b"[{}", block(b",{}"), b"]"),
        ("one event without end", b"[{\"a\": \"", block(b"x"), b"\"}]"),
        ("brackets", b"", block(b"["), b""),
        ("what comes behind the array", b"[]", block(b" "), b"x"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        (sample.write)(dir.path());
        bomb(&dir.path().join(sample.file), front, &of, megabytes, back);
        let sql = format!(
            "SELECT count(call_stack) FROM memory_events('{}', on_error => 'skip')",
            dir.path().display()
        );
        let mut child = program(&["-c", &sql]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let (mut largest, start) = (0, Instant::now());
        let status = loop {
            largest = largest.max(largest_size(&child));
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(start.elapsed() < Duration::from_secs(1200), "{what}: no end");
            std::thread::sleep(Duration::from_millis(10));
        };
        assert!(status.code().is_some_and(|code| code < 100), "{what}: {status:?}");
        // An event may have 256 MB, and the buffer that holds it doubles.
        let bound = if what.contains("one event") || what == "brackets" { 1000 } else { 300 };
        assert!(largest < bound, "{what}: {largest} MB of memory for {megabytes} MB");
    }
}

#[cfg(unix)]
#[test]
fn an_archive_that_expands_can_be_given_up() {
    let sample = sample("trace_view.json");
    let dir = tempfile::tempdir().unwrap();
    (sample.write)(dir.path());
    // Long enough for any machine, and never read to its end.
    bomb(&dir.path().join(sample.file), b"[", &vec![b' '; 8 << 20], 8192, b"]");
    let sql = format!("SELECT count(call_stack) FROM memory_events('{}')", dir.path().display());
    let mut child = program(&["-c", &sql]).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(700));
    assert!(child.try_wait().unwrap().is_none(), "it ended early");
    let interrupted = Instant::now();
    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    while child.try_wait().unwrap().is_none() {
        assert!(interrupted.elapsed() < crate::size::patience(), "it does not stop");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn statements_of_any_depth_end_in_an_answer_or_an_error() {
    let dir = tempfile::tempdir().unwrap();
    let many = 50_000;
    let nested = |open: &str, inner: &str, close: &str, n: usize| {
        format!("SELECT {}{inner}{}", open.repeat(n), close.repeat(n))
    };
    let chain = |element: &str, link: &str, n: usize| vec![element; n].join(link);
    let longest = 1400;
    for (what, sql) in [
        ("brackets", nested("(", "1", ")", many)),
        ("lists", nested("[", "1", "]", many)),
        ("calls", nested("abs(", "1", ")", many)),
        ("signs", nested("- ", "1", "", many)),
        ("negations", nested("NOT ", "true", "", many)),
        ("cases", nested("CASE WHEN true THEN ", "1", " END", many)),
        (
            "subqueries",
            format!("SELECT * FROM {}SELECT 1{}", "(SELECT * FROM (".repeat(many), "))".repeat(many)),
        ),
        ("sums", format!("SELECT {}", chain("1", "+", many))),
        ("conditions", format!("SELECT {}", chain("true", " AND ", many))),
        ("unions", chain("SELECT 1", " UNION ALL ", many)),
        ("casts", format!("SELECT 1{}", "::BIGINT".repeat(many))),
        ("subscripts", format!("SELECT [1]{}", "[1]".repeat(many))),
        ("joins", format!("SELECT 1 FROM {}", chain("(VALUES (1))", " CROSS JOIN ", many))),
        // As deep as it may be.
        ("casts that fit", format!("SELECT 1{}", "::BIGINT".repeat(longest / 2))),
        ("conditions that fit", format!("SELECT {}", chain("true", " AND ", longest))),
        ("a list", format!("SELECT 1 IN ({})", chain("7", ",", many / 10))),
        ("strings that grow", "SELECT length(repeat('a', 3000000000))".to_owned()),
        ("an expression that explodes", format!("SELECT 'a' ~ '{}'", "(a{1000}){1000}")),
        ("the least number divided", "SELECT -9223372036854775808 / -1".to_owned()),
        (
            "the least number negated",
            "SELECT abs(-9223372036854775808), -9223372036854775808 % -1".to_owned(),
        ),
    ] {
        let script = dir.path().join("s.sql");
        fs::write(&script, sql).unwrap();
        let output = end(program(&["--memory-limit", "200m", "-f", &script.display().to_string()]));
        ended_well(&output, what);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.len() < 5000, "{what}: a message of {} bytes", said.len());
        assert!(!what.contains("fit") || output.status.success(), "{what}: {said}");
    }
}

#[cfg(unix)]
#[test]
fn names_of_any_kind_are_only_names() {
    use std::os::unix::ffi::OsStrExt;

    let names: [&[u8]; 7] = [
        b"it's \"quoted\"",
        b"two\nlines",
        b"-c",
        b"a[b]*?{c}",
        b"$HOME `id` ; rm -rf x",
        "\u{6808} \u{202e}left".as_bytes(),
        b"no \xFF\xFE utf-8",
    ];
    let first = |sample: &&Sample| SAMPLES.iter().find(|s| s.function == sample.function).map(|s| s.title);
    for sample in SAMPLES.iter().filter(|s| first(s) == Some(s.title)) {
        let dir = tempfile::tempdir().unwrap();
        (sample.write)(dir.path());
        let plain = count(dir.path(), sample.function);
        assert!(plain.status.success(), "{}", String::from_utf8_lossy(&plain.stderr));
        for name in names {
            // As a directory on the way, found from above.
            let dir = tempfile::tempdir().unwrap();
            (sample.write)(&dir.path().join(std::ffi::OsStr::from_bytes(name)));
            let output = count(dir.path(), sample.function);
            let what = format!("{}, {}", sample.title, name.escape_ascii());
            assert!(output.status.success(), "{what}: {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(output.stdout, plain.stdout, "{what}");
            assert_eq!(output.stderr, plain.stderr, "{what}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
}

#[cfg(unix)]
#[test]
fn exports_go_where_the_name_says_and_nowhere_else() {
    for name in
        ["it's \"quoted\".csv", "two\nlines.csv", "a[b]*?{c}.csv", "$HOME `id`;.csv", "-c.csv", "100%25.csv"]
    {
        let dir = tempfile::tempdir().unwrap();
        for stored in ["CSV", "SQLITE OPTIONS (table 't')"] {
            let target = dir.path().join(name).display().to_string().replace('\'', "''");
            let sql = format!("COPY (SELECT 1 AS a) TO '{target}' STORED AS {stored}");
            let output = end(program(&["--force", "-c", &sql]));
            ended_well(&output, name);
            let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
            let fine = names.is_empty() || (names.len() == 1 && names[0].to_string_lossy() == name);
            assert!(fine, "{stored}: {names:?}, {}", String::from_utf8_lossy(&output.stderr));
            assert_eq!(names.is_empty(), !output.status.success(), "{stored} {name}: {names:?}");
        }
    }
}
