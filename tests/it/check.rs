//! `check`: assertions about somebody's data.

use crate::discovery::copy_of_sample;
use crate::support::run;

const GOOD: &str = "# there are two ranks\nquery I\nSELECT count(DISTINCT rank_id) FROM memory\n----\n2\n\n\
    statement ok\nSELECT * FROM memory_peaks($run)\n\n\
    statement error No field\nSELECT nope FROM memory\n";
const BAD: &str = "\n# the peak stays below 1 MB\nquery I\nSELECT count(*) FROM memory WHERE total_allocated_mb > 1\n----\n0\n";
const WRONG: &str = "\nquery I\nSELECT nope FROM memory\n----\n0\n";

fn check(suite: &str, more: &[&str]) -> crate::support::Run {
    let dir = tempfile::tempdir().unwrap();
    let data = copy_of_sample();
    let file = dir.path().join("nightly.slt");
    std::fs::write(&file, suite).unwrap();
    let (file, data) = (file.to_str().unwrap(), data.path().to_str().unwrap());
    let mut args = vec!["check", file, data, "-q"];
    args.extend(more);
    run(&args)
}

#[test]
fn assertions_that_hold_are_exit_code_0() {
    let done = check(GOOD, &[]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""), "{done:?}");
    assert!(done.stdout.starts_with("ok      there are two ranks\n"), "{done:?}");
    assert!(done.stdout.ends_with("3 assertions, 3 ok\n"), "{done:?}");
}

#[test]
fn an_assertion_that_fails_is_exit_code_6() {
    let done = check(&format!("{GOOD}{BAD}{WRONG}"), &[]);
    assert_eq!(done.code, Some(6), "{done:?}");
    assert_eq!(done.stderr, "error: 5 assertions, 3 ok, 1 failed, 1 with wrong SQL\n");
    for part in [
        "FAILED  the peak stays below 1 MB\n",
        "nightly.slt:14\n",
        "-   0\n",
        "ERROR   SELECT nope FROM memory\n",
    ] {
        assert!(done.stdout.contains(part), "{part}: {}", done.stdout);
    }
}

#[test]
fn what_could_not_be_looked_at_is_no_failed_assertion() {
    assert_eq!(check(&format!("{GOOD}{WRONG}"), &[]).code, Some(1));
    let unreadable = "query I\nSELECT count(*) FROM memory_events('/does/not/exist')\n----\n1\n";
    assert_eq!(check(unreadable, &[]).code, Some(3));
    for (suite, message) in [
        ("", "holds no assertion"),
        ("onlyif mysql\nquery I\nSELECT 1\n----\n2\n", "no assertion was looked at"),
        ("halt\n\nstatement ok\nSELECT 1\n", "no assertion was looked at"),
        ("query I rowsort a b c\nSELECT 1\n", "nightly.slt:1"),
        ("system ok\ntouch x\n\nstatement ok\nSELECT 1\n", "system is not allowed here"),
    ] {
        let done = check(suite, &[]);
        assert!(done.code == Some(2) && done.stderr.contains(message), "{suite}: {done:?}");
    }
    let writes = "statement ok\nCOPY (SELECT 1) TO 'x.csv'\n";
    let done = check(writes, &[]);
    assert!(done.code == Some(1) && done.stdout.contains("read-only: COPY is refused"), "{done:?}");
}

#[test]
fn tap_and_junit_say_the_same() {
    let suite = format!("{GOOD}{BAD}");
    let tap = check(&suite, &["--format", "tap"]);
    assert_eq!(tap.code, Some(6));
    assert!(tap.stdout.starts_with("TAP version 14\n1..4\nok 1 - there are two ranks\n"), "{}", tap.stdout);
    assert!(tap.stdout.contains("not ok 4 - the peak stays below 1 MB\n  ---\n"), "{}", tap.stdout);
    let dir = tempfile::tempdir().unwrap();
    let report = dir.path().join("report.xml");
    let junit = check(&suite, &["--format", "junit", "-o", report.to_str().unwrap()]);
    assert_eq!((junit.code, junit.stdout.as_str()), (Some(6), ""));
    let xml = std::fs::read_to_string(report).unwrap();
    assert!(xml.contains("tests=\"4\" failures=\"1\" errors=\"0\""), "{xml}");
    assert!(xml.contains("total_allocated_mb &gt; 1"), "{xml}");
    assert_eq!(xml.matches("<testcase ").count(), 4);
}

#[test]
fn all_counts_are_in_the_report_and_in_the_error() {
    let unreadable =
        "\n# elsewhere\nquery I\nSELECT count(*) FROM memory_events('/does/not/exist')\n----\n1\n";
    let done = check(&format!("{GOOD}{BAD}{WRONG}{unreadable}"), &[]);
    let counts = "6 assertions, 3 ok, 1 failed, 1 with wrong SQL, 1 with unreadable data";
    assert!(done.stdout.ends_with(&format!("{counts}\n")), "{done:?}");
    assert_eq!((done.code, done.stderr), (Some(6), format!("error: {counts}\n")));
    assert!(done.stdout.contains("UNREADABLE DATA elsewhere\n"), "{}", done.stdout);
}

#[test]
fn a_kind_of_data_that_is_not_there_is_no_mistake_of_the_suite() {
    let done = check("query I\nSELECT count(*) FROM trend\n----\n0\n", &[]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stdout.contains("no dump.json of msProbe was found under "), "{}", done.stdout);
    assert!(done.stdout.contains(", so there is no view trend"), "{}", done.stdout);
}

#[test]
fn line_breaks_in_values_are_on_one_line_and_fit_for_xml() {
    let suite = "query T\nSELECT 'a.py(1): f;' || chr(13) || chr(10) || 'b.py(2): g' || chr(27)\n----\nx\n";
    let text = check(suite, &[]).stdout;
    assert!(text.contains("a.py(1): f;\\nb.py(2): g\\u{1b}"), "{text}");
    let xml = check(suite, &["--format", "junit"]).stdout;
    let strange = |c: char| (c.is_control() && c != '\n') || c == '\u{fffd}';
    assert!(xml.contains("a.py(1): f;\\nb.py(2): g") && !xml.contains(strange), "{xml}");
}
