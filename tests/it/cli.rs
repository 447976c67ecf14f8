//! The command line: exit codes, exact output, and what happens when things break.
//!
//! The SQL needs no input data, so that these tests say nothing about formats.

use std::io::Read;
use std::process::Stdio;

use crate::support::{collect, finish, program, run, run_with_stdin};

/// One command line and what it must do.
struct Case {
    args: &'static [&'static str],
    code: i32,
    stdout: &'static str,
    /// What stderr must hold; empty: stderr must be empty.
    stderr: &'static str,
}

const fn case(args: &'static [&'static str], code: i32, stdout: &'static str, stderr: &'static str) -> Case {
    Case { args, code, stdout, stderr }
}

fn check(cases: &[Case]) {
    for Case { args, code, stdout, stderr } in cases {
        let done = run(args);
        assert_eq!(done.code, Some(*code), "{args:?}: {done:?}");
        assert_eq!(done.stdout, *stdout, "{args:?}: {done:?}");
        if stderr.is_empty() {
            assert_eq!(done.stderr, "", "{args:?}");
        } else {
            assert!(done.stderr.contains(stderr), "{args:?}: {:?} is not in {:?}", stderr, done.stderr);
        }
        let bytes = done.stdout.bytes().chain(done.stderr.bytes());
        assert_eq!(bytes.filter(|b| *b == 0x1b).count(), 0, "{args:?}");
    }
}

const MIXED: &str = "select 1 a, 1.5 b, cast(null as int) c, 'x' d";
const TWO: &str = "values (1, 'a'), (2, 'b')";
const NOTHING: &str = "select 1 as a, 'x' as b where false";

#[test]
fn every_format_has_its_exact_form() {
    check(&[
        case(&["-c", MIXED], 0, "a,b,c,d\n1,1.5,,x\n", ""),
        case(&["--format", "csv", "-c", MIXED], 0, "a,b,c,d\n1,1.5,,x\n", ""),
        case(&["--format", "tsv", "-c", MIXED], 0, "a\tb\tc\td\n1\t1.5\t\\N\tx\n", ""),
        case(&["--format", "json", "-c", MIXED], 0, "[{\"a\":1,\"b\":1.5,\"c\":null,\"d\":\"x\"}]\n", ""),
        case(
            &["--format=ndjson", "-c", TWO],
            0,
            "{\"column1\":1,\"column2\":\"a\"}\n{\"column1\":2,\"column2\":\"b\"}\n",
            "",
        ),
        case(
            &["--format", "markdown", "-c", "select 1 as n, 'a|b' as t"],
            0,
            "| n | t |\n|---:|---|\n| 1 | a\\|b |\n",
            "",
        ),
        case(
            &["--format", "table", "-c", MIXED],
            0,
            "+---+-----+------+---+\n| a |   b |    c | d |\n+---+-----+------+---+\n| 1 | 1.5 | NULL | x |\n+---+-----+------+---+\n",
            "(1 row)",
        ),
    ]);
}

#[test]
fn results_without_rows_keep_their_form() {
    check(&[
        case(&["-c", NOTHING], 0, "a,b\n", ""),
        case(&["--format", "tsv", "-c", NOTHING], 0, "a\tb\n", ""),
        case(&["--format", "json", "-c", NOTHING], 0, "[]\n", ""),
        case(&["--format", "ndjson", "-c", NOTHING], 0, "", ""),
        case(&["--format", "markdown", "-c", NOTHING], 0, "| a | b |\n|---:|---|\n", ""),
        case(
            &["--format", "table", "-c", NOTHING],
            0,
            "+---+---+\n| a | b |\n+---+---+\n+---+---+\n",
            "(0 rows)",
        ),
    ]);
}

#[test]
fn awkward_texts_and_numbers_arrive_unchanged() {
    check(&[
        case(&["-c", "select 'a;\r\nb, \"c\"' as s"], 0, "s\n\"a;\r\nb, \"\"c\"\"\"\n", ""),
        case(&["-c", "values ('', null, 'x')"], 0, "column1,column2,column3\n\"\",,x\n", ""),
        case(&["--format", "tsv", "-c", "select 'a\tb\n\\' as s"], 0, "s\na\\tb\\n\\\\\n", ""),
        case(
            &["-c", "select 1779785515000.12 as v, 0.1::double + 0.2::double as w"],
            0,
            "v,w\n1779785515000.12,0.30000000000000004\n",
            "",
        ),
        case(
            &["--format", "json", "-c", "select 1779785515000.12 as v"],
            0,
            "[{\"v\":1779785515000.12}]\n",
            "",
        ),
        case(
            &[
                "--format",
                "json",
                "-c",
                "select 'NaN'::double n, 'inf'::double i, 9223372036854775807 as big",
            ],
            0,
            "[{\"n\":\"NaN\",\"i\":\"Infinity\",\"big\":9223372036854775807}]\n",
            "",
        ),
        case(&["-c", "select 'NaN'::double n, '-inf'::double i"], 0, "n,i\nNaN,-inf\n", ""),
        case(
            &[
                "--format",
                "json",
                "-c",
                "select arrow_cast('x', 'Dictionary(Int32, Utf8)') d, arrow_cast('y', 'Utf8View') v",
            ],
            0,
            "[{\"d\":\"x\",\"v\":\"y\"}]\n",
            "",
        ),
        case(
            &["-c", "select arrow_cast('x', 'Dictionary(Int32, Utf8)') d, arrow_cast('y', 'Utf8View') v"],
            0,
            "d,v\nx,y\n",
            "",
        ),
    ]);
}

#[test]
fn columns_with_one_name_are_not_lost() {
    let sql = "with x as (select 1 as a), y as (select 2 as a) select x.a, y.a from x, y";
    assert_eq!(run(&["--format", "json", "-c", sql]).stdout, "[{\"a\":1,\"a_2\":2}]\n");
    assert_eq!(run(&["-c", sql]).stdout, "a,a\n1,2\n");
}

#[test]
fn scripts_run_in_the_order_of_the_command_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("q.sql");
    std::fs::write(&file, "\u{feff}-- a comment; with a semicolon\nselect 2 as b;\r\n").unwrap();
    let file = file.to_str().unwrap();
    let done = run(&["-c", "select 1 as a", "-f", file, "-c", "select 3 as c; select ';' as d;"]);
    assert_eq!(
        (done.code, done.stdout.as_str(), done.stderr.as_str()),
        (Some(0), "a\n1\nb\n2\nc\n3\nd\n;\n", "")
    );
}

#[test]
fn results_follow_one_another_and_definitions_print_nothing() {
    check(&[
        case(&["--format", "json", "-c", "select 1 a; select 2 a;"], 0, "[{\"a\":1}]\n[{\"a\":2}]\n", ""),
        case(
            &[
                "-c",
                "create view v as select 1 as a",
                "-c",
                "set datafusion.execution.batch_size = 3; select * from v",
            ],
            0,
            "a\n1\n",
            "",
        ),
        case(&["-c", "create table t as values (1), (2)", "-c", "select count(*) n from t"], 0, "n\n2\n", ""),
        case(&["-c", "create table t (a int); insert into t values (1), (2)"], 0, "", "2 rows written"),
        case(&["--quiet", "-c", "create table t (a int); insert into t values (1)"], 0, "", ""),
        case(&["-c", ""], 0, "", ""),
        case(&["-c", " ; -- nothing"], 0, "", ""),
    ]);
}

#[test]
fn the_first_error_ends_everything_and_is_named() {
    const THREE: &str = "select 1 as a;\n\nselect nope;\nselect 3 as c";
    check(&[
        case(&["-c", THREE], 1, "a\n1\n", "error: statement 2 (line 3): No field named nope"),
        case(&["-c", "select 1 as a;\nselect from from;"], 1, "a\n1\n", "error: statement 2 (line 2): "),
        case(&["-c", "select 1 as a; select 'x"], 1, "a\n1\n", "Unterminated string literal"),
        case(
            &["-c", "select 1 as a", "-c", "select nope", "-c", "select 3"],
            1,
            "a\n1\n",
            "error: -c number 2: No field",
        ),
        case(&["-c", "select 1 as a where 1 / 0 = 1"], 1, "", "error: division by zero\n"),
        case(&["-c", "select * from nope"], 1, "", "error: table 'nope' not found"),
        case(&["-c", "select cast('x' as int)"], 1, "", "error: "),
    ]);
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("q.sql");
    std::fs::write(&file, THREE).unwrap();
    let done = run(&["-f", file.to_str().unwrap()]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), "a\n1\n"));
    assert!(done.stderr.contains("q.sql: statement 2 (line 3): No field"), "{}", done.stderr);
}

#[test]
fn errors_are_free_of_the_engine_s_prefixes() {
    let wrong = [
        "select nope",
        "select 1/0",
        "selec",
        "select * from t",
        "select sum('a')",
        "select cast('x' as int)",
        "explain select",
    ];
    for sql in wrong {
        let done = run(&["-c", sql]);
        assert_eq!(done.code, Some(1), "{sql}");
        assert!(done.stderr.starts_with("error: "), "{sql}: {}", done.stderr);
        for prefix in [
            "External error",
            "Execution error",
            "Error during planning",
            "Schema error",
            "SQL error",
            "caused by",
            "backtrace",
            "Arrow error",
            "Optimizer rule",
        ] {
            assert!(!done.stderr.contains(prefix), "{sql}: {}", done.stderr);
        }
    }
}

#[test]
fn a_json_result_that_breaks_off_does_not_look_complete() {
    let sql = "select 10 / (value - 20000) as v from generate_series(1, 20000)";
    let done = run(&["--threads", "1", "--format", "json", "-c", sql, "-c", "select 2"]);
    assert_eq!(done.code, Some(1), "{}", done.stderr);
    assert!(done.stdout.starts_with("[{\"v\":"), "nothing was streamed");
    assert!(done.stdout.ends_with("}\n") && !done.stdout.contains(']'), "the array was closed");
}

#[test]
fn wrong_usage_is_exit_code_2() {
    check(&[
        case(&["--nope"], 2, "", "error: unexpected argument '--nope'"),
        case(&["surplus", "-c", "select 1"], 2, "", "error: the path: surplus: no such file or directory"),
        case(&["--format", "xml", "-c", "select 1"], 2, "", "invalid value 'xml'"),
        case(&["--threads", "0", "-c", "select 1"], 2, "", "--threads"),
        case(
            &["--memory-limit", "much", "-c", "select 1"],
            2,
            "",
            "expected a size above 0 such as 512m or 4g",
        ),
        case(&["-f", "-", "-f", "-"], 2, "", "error: -f - can be given only once"),
        case(&["-c"], 2, "", "a value is required"),
        // Nothing is run before all scripts have been read.
        case(
            &["-c", "select 1", "-f", "/does/not/exist.sql"],
            2,
            "",
            "error: /does/not/exist.sql: cannot be read",
        ),
        case(&["-f", "/"], 2, "", "error: /: cannot be read"),
    ]);
    assert_eq!(run(&["-f", "/does/not/exist.sql"]).stderr.lines().count(), 1);
    let done = run_with_stdin(&[], b"select '\xff'");
    assert_eq!(done.code, Some(2));
    assert_eq!(
        done.stderr,
        "error: standard input: not UTF-8 text: byte 8 is invalid; save the file as UTF-8\n"
    );
}

#[test]
fn sql_can_come_from_stdin() {
    let forms: [(&[&str], &str, &str); 5] = [
        (&[], "select 1 as a", "a\n1\n"),
        (&["-f", "-"], "select 1 as a;\nselect 2 as b;\n", "a\n1\nb\n2\n"),
        (&["-c", "select 0 as z", "-f", "-"], "select 1 as a", "z\n0\na\n1\n"),
        // With -c, stdin is not read.
        (&["-c", "select 0 as z"], "", "z\n0\n"),
        (&[], "", ""),
    ];
    for (args, stdin, stdout) in forms {
        let done = run_with_stdin(args, stdin.as_bytes());
        assert_eq!(
            (done.code, done.stdout.as_str(), done.stderr.as_str()),
            (Some(0), stdout, ""),
            "{args:?}"
        );
    }
    let done = run_with_stdin(&[], b"select 1 as a;\nselect nope;");
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.starts_with("error: statement 2 (line 2): "), "{}", done.stderr);
}

#[test]
fn tables_show_the_first_rows_and_say_how_many_there_are() {
    let sql = "select value from generate_series(1, 1000) order by value";
    let done = run(&["--format", "table", "-c", sql]);
    assert_eq!(done.stdout.lines().count(), 44);
    assert_eq!(done.stderr, "(1000 rows, 40 shown; --max-rows 0 shows all)\n");
    let done = run(&["--quiet", "--format", "table", "--max-rows", "3", "-c", sql]);
    assert_eq!(done.stdout.lines().count(), 7);
    assert_eq!(done.stderr, "(1000 rows, 3 shown; --max-rows 0 shows all)\n");
    let done = run(&["--quiet", "--format", "table", "--max-rows", "0", "-c", sql]);
    assert_eq!((done.stdout.lines().count(), done.stderr.as_str()), (1004, ""));
}

#[test]
fn no_other_format_leaves_out_a_row() {
    let sql = "select value as v from generate_series(1, 100000)";
    for (format, lines) in
        [("csv", 100_001), ("tsv", 100_001), ("ndjson", 100_000), ("markdown", 100_002), ("json", 1)]
    {
        let done = run(&["--max-rows", "1", "--format", format, "-c", sql]);
        assert_eq!(done.code, Some(0), "{format}");
        assert_eq!(done.stdout.lines().count(), lines, "{format}");
        if format == "json" {
            assert_eq!(done.stdout.matches("{\"v\":").count(), 100_000);
        }
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    for format in ["csv", "tsv", "json", "ndjson", "markdown"] {
        let sql = "select value from generate_series(1, 100000000000)";
        let mut child = program(&["--format", format, "-c", sql, "-c", "select 2"]).spawn().unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let done = finish(child);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{format}");
    }
    for args in [&["--help"][..], &["--version"], &["--format", "table", "-q", "-c", "select 1"]] {
        let mut child = program(args).spawn().unwrap();
        drop(child.stdout.take());
        let done = finish(child);
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{args:?}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let done = collect(program(&["-c", "select 1"]).stdout(Stdio::from(full)).output().unwrap());
    assert_eq!(done.code, Some(1));
    assert!(done.stderr.starts_with("error: the result cannot be written to stdout: "), "{}", done.stderr);
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_script_with_130() {
    let sql = "select 1 as a; select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b where a.value + b.value = -1";
    let mut child = program(&["-c", sql]).spawn().unwrap();
    // The first result says that the second statement is next.
    let mut first = [0; 4];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    std::thread::sleep(std::time::Duration::from_millis(300));
    let kill = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let done = finish(child);
    assert_eq!((done.code, done.stderr.as_str()), (Some(130), "interrupted\n"));
}

#[cfg(unix)]
#[test]
fn sigterm_leaves_nothing_half_written() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("x.db");
    let sql = format!(
        "copy (select a.value from generate_series(1, 1000000) a, generate_series(1, 1000000) b) to '{}' stored as sqlite",
        target.display()
    );
    let files = || std::fs::read_dir(dir.path()).unwrap().count();
    let child = program(&["-c", &sql]).spawn().unwrap();
    // The file beside the target says that the export is under way.
    let begun = std::time::Instant::now();
    while files() == 0 && begun.elapsed() < std::time::Duration::from_secs(60) {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert_eq!(files(), 1);
    let kill = std::process::Command::new("kill").args(["-TERM", &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let done = finish(child);
    assert_eq!((done.code, done.stderr.as_str(), files()), (Some(143), "ended by SIGTERM\n", 0));
}

#[test]
fn the_environment_changes_nothing() {
    let sql =
        "select 1.5 as a, now() > '2020-01-01' as b, arrow_cast(0, 'Timestamp(Second, Some(\"UTC\"))') as t";
    let bare = run(&["-c", sql]);
    assert_eq!((bare.code, bare.stdout.as_str()), (Some(0), "a,b,t\n1.5,true,1970-01-01T00:00:00Z\n"));
    let mut odd = program(&["-c", sql]);
    odd.envs([
        ("LANG", "de_DE.UTF-8"),
        ("LC_ALL", "de_DE.UTF-8"),
        ("TZ", "Asia/Shanghai"),
        ("CLICOLOR_FORCE", "1"),
        ("TERM", "xterm-256color"),
        ("COLUMNS", "20"),
        ("RUST_BACKTRACE", "1"),
        ("DATAFUSION_EXECUTION_BATCH_SIZE", "1"),
        ("DATAFUSION_SQL_PARSER_DIALECT", "mysql"),
    ]);
    assert_eq!(collect(odd.output().unwrap()).stdout, bare.stdout);
}

#[test]
fn help_is_plain_and_names_the_exit_codes() {
    for args in [["--help"], ["-h"]] {
        let mut command = program(&args);
        command.envs([("CLICOLOR_FORCE", "1"), ("TERM", "xterm-256color")]);
        let done = collect(command.output().unwrap());
        assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
        assert!(!done.stdout.contains('\u{1b}'));
        for word in ["Exit codes:", "130", "Examples:", "--max-rows", "ndjson"] {
            assert!(done.stdout.contains(word), "{word}: {}", done.stdout);
        }
    }
    let version = run(&["--version"]);
    assert_eq!(version.stdout, concat!("rl-insight-sql ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn threads_and_memory_are_limited() {
    let sql = "select value from information_schema.df_settings where name = 'datafusion.execution.target_partitions'";
    assert_eq!(run(&["--threads", "3", "-c", sql]).stdout, "value\n3\n");
    let sql = "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b on a.value = b.value";
    let done = run(&["--memory-limit", "1m", "--threads", "1", "-c", sql]);
    assert_eq!(done.code, Some(5), "{done:?}");
    assert!(done.stderr.contains("hint: --memory-limit"), "{}", done.stderr);
    assert_eq!(run(&["--memory-limit", "1g", "-c", "select 1 as a"]).stdout, "a\n1\n");
}

#[test]
fn copy_writes_a_file_and_prints_no_result() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.csv");
    let sql = format!("copy (values (1), (2)) to '{}' stored as csv", target.display());
    let done = run(&["-c", &sql]);
    assert_eq!((done.code, done.stdout.as_str(), done.stderr.as_str()), (Some(0), "", "2 rows written\n"));
    assert_eq!(std::fs::read_to_string(target).unwrap(), "column1\n1\n2\n");
}
