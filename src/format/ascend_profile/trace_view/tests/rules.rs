//! One test for each rule of the format.

use std::io::Write;

use super::*;
use crate::source::{Kind, Place};

#[test]
fn an_op_is_read_exactly() {
    let text = format!("[{}]", op("aten::mm", "1736405443863674.407"));
    let expected = SeenOp {
        name: "aten::mm".into(),
        start_ns: 1_736_405_443_863_674_407,
        end_ns: 1_736_405_443_863_675_907,
        stack: Some("a.py(1): f;\r\nb.py(2): aten::mm".into()),
        thread: 0,
    };
    let seen = read(&text);
    assert_eq!(seen.ops, [expected]);
    assert_eq!(seen.findings, []);
    assert_eq!(seen.events, 1);
}

#[test]
fn only_cpu_ops_with_a_stack_in_args_count() {
    let text = r#"[
        {"cat": "cpu_op", "name": "no args", "ts": 1},
        {"cat": "cpu_op", "name": "no stack", "ts": 1, "args": {"x": {"Call stack": "s"}}},
        {"cat": "cpu_op", "name": "beside args", "ts": 1, "Call stack": "s", "args": {}},
        {"cat": "cpu_op", "name": "args no object", "ts": 1, "args": [{"Call stack": "s"}]},
        {"cat": "cpu_op", "name": "other case", "ts": 1, "args": {"call stack": "s", "Call Stack": "s"}},
        {"cat": "CPU_OP", "name": "other cat", "ts": 1, "args": {"Call stack": "s"}},
        {"cat": "cpu_op ", "name": "other cat", "ts": 1, "args": {"Call stack": "s"}},
        {"name": "no cat", "ts": 1, "args": {"Call stack": "s"}},
        {"name": "cat no string", "cat": 1, "ts": 1, "args": {"Call stack": "s"}},
        {"args": {"Call stack": "s"}, "ts": 1, "cat": "cpu_op", "ph": "M"},
        {"cat": "cpu_op", "name": "empty", "ts": 1, "args": {"Call stack": ""}}]"#;
    let seen = read(text);
    let ops: Vec<_> = seen.ops.iter().map(|o| (o.name.as_str(), o.stack.as_deref())).collect();
    assert_eq!(ops, [("", Some("s")), ("empty", Some(""))]);
    assert_eq!(seen.findings, []);
    assert_eq!(seen.events, 11);
}

#[test]
fn times_may_be_strings_or_numbers() {
    let text = r#"[
        {"cat": "cpu_op", "ts": "12.345", "dur": "0.5", "args": {"Call stack": "s"}},
        {"cat": "cpu_op", "ts": 12.345, "dur": 1, "args": {"Call stack": "s"}},
        {"cat": "cpu_op", "ts": 1.2345e1, "args": {"Call stack": "s"}},
        {"cat": "cpu_op", "ts": "12.345\t", "dur": null, "args": {"Call stack": "s"}}]"#;
    let seen = read(text);
    let times: Vec<_> = seen.ops.iter().map(|o| (o.start_ns, o.end_ns)).collect();
    assert_eq!(times, [(12_345, 12_845), (12_345, 13_345), (12_345, 12_345), (12_345, 12_345)]);
    assert_eq!(seen.findings, []);
}

#[test]
fn keys_may_be_escaped_and_the_last_of_equal_ones_counts() {
    let text = r#"[{"\u0061rgs": {"Call\u0020stack": "x", "\u0043all stack": "s"}, "c\u0061t": "x", "cat": "cpu\u005fop",
        "\u0074s": 1, "t\u0073": 2, "name": "n", "n\u0061me": "m"},
        {"cat": "cpu_op", "ts": 1, "args": {"Call stack": "s"}, "args": {}},
        {"cat": "cpu_op", "ts": 1, "args": {"Call stack": "s"}, "args": 5},
        {"cat": "cpu_op", "ts": 1, "args": {"Call stack": "s"}, "cat": "other"}]"#;
    let seen = read(text);
    assert_eq!(seen.ops.len(), 1);
    assert_eq!(
        (seen.ops[0].name.as_str(), seen.ops[0].start_ns, seen.ops[0].stack.as_deref()),
        ("m", 2000, Some("s"))
    );
    assert_eq!(seen.findings, []);
}

#[test]
fn a_null_stack_is_none_and_told() {
    let text = r#"[{"cat": "cpu_op", "ts": 1, "args": {"Call stack": "s"}}, {"cat": "cpu_op", "ts": 2, "args": {"Call stack": null}}]"#;
    let seen = read(text);
    assert_eq!(seen.ops.len(), 1);
    assert!(seen.tells(Degree::Note, "null"));
    assert_eq!(seen.problem_count(), 0);
    let seen = owners(text);
    assert_eq!(seen.ops.iter().map(|o| o.stack.as_deref()).collect::<Vec<_>>(), [Some("s"), None]);
}

#[test]
fn owners_need_all_ops_threads_and_the_queue() {
    let text = r#"[
        {"cat": "cpu_op", "name": "a", "ts": 1, "pid": 1, "tid": 2},
        {"cat": "cpu_op", "name": "b", "ts": 2, "pid": "1", "tid": "2", "args": {}},
        {"cat": "cpu_op", "name": "c", "ts": 3, "pid": 1, "tid": 3, "args": {"Call stack": "s"}},
        {"cat": "cpu_op", "name": "d", "ts": 4, "tid": 2},
        {"cat": "enqueue", "name": "Enqueue@a", "ts": 5, "dur": 2, "pid": 1, "tid": 2, "args": {"correlation_id": 17}},
        {"cat": "enqueue", "name": "Enqueue@a", "ts": 5, "pid": 1, "tid": 2, "args": {"correlation_id": 18}},
        {"cat": "dequeue", "name": "Dequeue@a", "ts": 6, "pid": 1, "tid": 9, "args": {"correlation_id": "17"}},
        {"cat": "dequeue", "name": "Dequeue@a", "ts": 6, "pid": 1, "tid": 9, "args": {}},
        {"cat": "dequeue", "name": "Dequeue@a", "ts": 7, "pid": 2, "tid": 9, "args": {"correlation_id": 17}},
        {"cat": "dequeue", "name": "Dequeue@a", "ts": 6, "pid": 1, "tid": 9}]"#;
    let seen = owners(text);
    assert_eq!(seen.ops.iter().map(|o| o.thread).collect::<Vec<_>>(), [0, 0, 1, 2]);
    assert_eq!(seen.ops.iter().filter(|o| o.stack.is_some()).count(), 1);
    let slice = |start_ns, end_ns, thread, correlation| QueueSlice { start_ns, end_ns, thread, correlation };
    assert_eq!(seen.enqueues, [slice(5000, 7000, 0, 0), slice(5000, 5000, 0, 1)]);
    // The id of another process is another one.
    assert_eq!(seen.dequeues, [slice(6000, 6000, 3, 0), slice(7000, 7000, 4, 2)]);
    assert_eq!(seen.findings, []);
}

#[test]
fn the_object_form_is_read_whatever_stands_around() {
    let before =
        r#""schemaVersion": 1, "deviceProperties": [{"traceEvents": ["]}"]}], "x": NaN, "é\"": "\\","#;
    for (head, tail) in [
        ("", ""),
        (before, ""),
        ("", r#", "traceName": "a", "b": [1, {"c": -1e400}]"#),
        (before, ", \"z\": null "),
    ] {
        let text = format!(" {{{head} \"traceEvents\" : [{}, {}]{tail}}}\n", op("a", "1"), op("b", "2"));
        let seen = read(&text);
        assert_eq!(seen.ops.len(), 2, "{text}");
        assert_eq!(seen.problem_count(), 0, "{text}");
    }
}

#[test]
fn varieties_are_notes() {
    let two = format!("{}, {}", op("a", "1"), op("b", "2"));
    for (text, kind, note) in [
        (format!("\u{FEFF}[{two}]"), Kind::Encoding, "byte-order mark"),
        (format!("[{two}"), Kind::BadStructure, "without the `]`"),
        (format!("[{two},\n"), Kind::BadStructure, "without the `]`"),
        (format!("[{two} , ]"), Kind::BadStructure, "comma"),
        (format!("[{two}]").replace("f;", "\t;"), Kind::Encoding, "control"),
        (format!("[{two}]").replace("f;", "\\ud800;"), Kind::Encoding, "surrogate"),
    ] {
        let seen = read(&text);
        assert_eq!(seen.ops.len(), 2, "{text}");
        assert_eq!(seen.findings.len(), 1, "{text}");
        assert_eq!(seen.findings[0].kind, kind);
        assert!(seen.tells(Degree::Note, note), "{text}: {:?}", seen.findings);
    }
    let mut bytes = format!("[{two}]").into_bytes();
    let at = bytes.iter().position(|b| *b == b';').expect("has one");
    bytes[at - 1] = 0xFF;
    let seen = read_as(&bytes, Detail::Stacks);
    assert!(seen.tells(Degree::Note, "U+FFFD"));
    assert_eq!(seen.ops[0].stack.as_deref(), Some("a.py(1): \u{FFFD};\r\nb.py(2): a"));
    assert_eq!(seen.findings.len(), 1);
}

#[test]
fn words_of_python_are_tolerated() {
    let text = format!("[{}]", op("a", "1").replace("-1", "[NaN, -Infinity, Infinity]"));
    assert_eq!(read(&text).findings, []);
}

#[test]
fn a_trace_without_stacks_says_what_to_do() {
    for text in
        ["[]", " [ ] ", r#"[{"cat": "cpu_op", "name": "a", "ts": 1, "args": {}}]"#, "{\"traceEvents\": []}"]
    {
        let seen = read(text);
        // The object form is a note of its own.
        let notes = 1 + usize::from(text.starts_with('{'));
        assert_eq!(seen.findings.len(), notes, "{text}: {:?}", seen.findings);
        assert!(seen.tells(
            Degree::Note,
            "no cpu_op with a call stack in trace_view.json: record with with_stack=True"
        ));
    }
}

#[test]
fn files_that_are_no_trace_are_problems() {
    for (bytes, kind) in [
        (&b""[..], Kind::Empty),
        (b" \n\t ", Kind::Empty),
        (b"\xEF\xBB\xBF", Kind::Empty),
        (b"\xEF\xBB", Kind::BadStructure),
        (b"<html>", Kind::BadStructure),
        (b"\0\0\0\0", Kind::BadStructure),
        (b"null", Kind::BadStructure),
        (b"{}", Kind::BadStructure),
        (b"{\"a\": 1}", Kind::BadStructure),
        (b"{\"traceEvents\": null}", Kind::BadStructure),
        (b"\xFF\xFE[\0]\0", Kind::Encoding),
        (b"\xFE\xFF\0[\0]", Kind::Encoding),
        (b"[\0]\0", Kind::BadStructure),
    ] {
        let seen = read_as(bytes, Detail::Stacks);
        assert_eq!(seen.findings.len(), 1, "{bytes:?}: {:?}", seen.findings);
        assert!(seen.findings[0].is_problem());
        assert_eq!(seen.findings[0].kind, kind, "{bytes:?}: {:?}", seen.findings);
    }
    let host = TestHost::default();
    read_trace(Path::new("/no/such/trace_view.json"), Detail::Stacks, 2, &host).expect("lenient");
    assert_eq!(host.findings.lock().unwrap().findings()[0].kind, Kind::Missing);
    let host = TestHost { strict: true, ..TestHost::default() };
    let refused = read_trace(Path::new("/dev"), Detail::Stacks, 2, &host);
    assert!(matches!(refused, Err(ReadError::Refused)));
    assert_eq!(host.findings.lock().unwrap().findings()[0].kind, Kind::Unreadable);
}

/// A fault between two good ops leaves both, and is told with its place.
#[test]
fn bad_elements_are_left_out() {
    let stacked = |fields: &str| format!(r#"{{"cat": "cpu_op", {fields}, "args": {{"Call stack": "s"}}}}"#);
    for (bad, kind, message) in [
        ("null".into(), Kind::BadEvent, "found null"),
        ("-1.5".into(), Kind::BadEvent, "a number"),
        (r#""}, {\"""#.into(), Kind::BadEvent, "a string"),
        ("[{}]".into(), Kind::BadEvent, "an array"),
        ("{]".into(), Kind::BadEvent, "different brackets"),
        (stacked(r#""name": "x""#), Kind::BadEvent, "found nothing as `ts`"),
        (stacked(r#""ts": "N/A""#), Kind::BadEvent, "found the string \"N/A\" as `ts`"),
        (stacked(r#""ts": null"#), Kind::BadEvent, "found null as `ts`"),
        (stacked(r#""ts": NaN"#), Kind::BadEvent, "found NaN as `ts`"),
        (stacked(r#""ts": 1e400"#), Kind::BadEvent, "found 1e400 as `ts`"),
        (stacked(r#""ts": 1, "name": 5"#), Kind::BadEvent, "found 5 as `name`"),
        (stacked(r#""ts": 1, "name": null"#), Kind::BadEvent, "found null as `name`"),
        (stacked(r#""ts": 1, "name": "\q""#), Kind::BadEvent, "escape"),
        (stacked(r#""ts": 1 "name": "x""#), Kind::BadEvent, "not valid JSON"),
        (stacked(r#""ts": 1, "x": {[}]"#), Kind::BadEvent, "not valid JSON"),
        (stacked(r#""ts": 1, "x": [1}"#), Kind::BadEvent, "not valid JSON"),
        (stacked(r#""ts": 1, "x": nul"#), Kind::BadEvent, "not valid JSON"),
        (
            r#"{"cat": "cpu_op", "ts": 1, "args": {"Call stack": 5}}"#.into(),
            Kind::BadEvent,
            "found 5 as `Call stack`",
        ),
        ("x: y".into(), Kind::BadStructure, "no JSON"),
    ] {
        let text = format!("[{}, {bad}, {}]", op("a", "1"), op("b", "2"));
        let seen = read(&text);
        assert_eq!(seen.ops.iter().map(|o| o.name.as_str()).collect::<Vec<_>>(), ["a", "b"], "{bad}");
        let problem = seen.problems()[0];
        assert_eq!(problem.kind, kind, "{bad}: {problem:?}");
        assert!(problem.message.contains(message), "{bad}: {problem:?}");
        assert_eq!(problem.place, Place::Byte(op("a", "1").len() as u64 + 3), "{bad}: {problem:?}");
        let host = TestHost { strict: true, ..TestHost::default() };
        let sample = Sample::new();
        let refused = read_sized(&sample.write(text.as_bytes()), Detail::Stacks, 2, small(100, 50), &host);
        assert!(matches!(refused, Err(ReadError::Refused)), "{bad}");
    }
}

#[test]
fn a_bad_duration_keeps_the_op() {
    for bad in [r#""N/A""#, "true", "-1", "[]", r#""""#] {
        let text = format!(r#"[{{"cat": "cpu_op", "ts": 1, "dur": {bad}, "args": {{"Call stack": "s"}}}}]"#);
        let seen = read(&text);
        assert_eq!((seen.ops[0].start_ns, seen.ops[0].end_ns), (1000, 1000), "{bad}");
        assert!(seen.tells(Degree::Problem, "`dur`"), "{bad}");
    }
}

#[test]
fn an_owner_with_a_bad_stack_is_kept_without() {
    let seen =
        owners(r#"[{"cat": "cpu_op", "ts": 1, "args": {"Call stack": 5}}, {"cat": "cpu_op", "ts": "x"}]"#);
    assert_eq!(seen.ops.len(), 1);
    assert_eq!(seen.ops[0].stack, None);
    assert_eq!(seen.problem_count(), 2);
}

#[test]
fn faults_of_the_array_keep_what_is_readable() {
    let (a, b) = (op("a", "1"), op("b", "2"));
    for (text, ops, kind, message) in [
        (format!("[{a} {b}]"), 2, Kind::BadStructure, "expected a comma"),
        (format!("[{a},, {b}]"), 2, Kind::BadStructure, "found a comma"),
        (format!("[, {a}, {b}]"), 2, Kind::BadStructure, "found a comma"),
        (format!("[{a}, {b}] x"), 2, Kind::BadStructure, "behind the end"),
        (format!("[{a}, {b}][{a}]"), 2, Kind::BadStructure, "behind the end"),
        (format!("[{a}, {b}]\0"), 2, Kind::BadStructure, "behind the end"),
        (format!("[{a}}}, {b}]"), 1, Kind::BadStructure, "found `}`"),
        (format!("[{a}, {{{b}]"), 1, Kind::BadEvent, "different brackets"),
        (format!("[{a}, {{\"x\": {{{b}]"), 1, Kind::BadEvent, "the file ends inside an event"),
        (
            format!("{{\"traceEvents\": [{a}, {b}]"),
            2,
            Kind::BadStructure,
            "the file ends outside of the events",
        ),
        (format!("{{\"traceEvents\": [{a}, {b}"), 2, Kind::BadStructure, "the file ends, expected"),
        (format!("{{\"traceEvents\": [{a}, {b}]]"), 2, Kind::BadStructure, "something else outside"),
        (
            format!("{{\"traceEvents\": [{a}, {b}], \"traceEvents\": []}}"),
            2,
            Kind::BadStructure,
            "occurs again",
        ),
        (format!("{{\"traceEvents\": [{a}, {b}]}} 1"), 2, Kind::BadStructure, "behind the end"),
        (format!("[{a}, \\{b},  {{}}]"), 2, Kind::BadStructure, "no JSON"),
        (format!("[{a}, {b}\0\0\0\0"), 2, Kind::BadStructure, "no JSON"),
    ] {
        let seen = read(&text);
        assert_eq!(seen.ops.len(), ops, "{text}");
        assert_eq!(seen.problem_count(), 1, "{text}: {:?}", seen.findings);
        assert_eq!(seen.problems()[0].kind, kind, "{text}: {:?}", seen.findings);
        assert!(seen.tells(Degree::Problem, message), "{text}: {:?}", seen.findings);
    }
}

#[test]
fn every_truncation_is_told() {
    let (a, b) = (op("a", "1"), r#"{"name": "[}", "ph": "M", "args": {"x": [1, "\\"]}}"#);
    for text in [
        format!("[{a}, {b}, {a}]\n"),
        format!("\u{FEFF} [ {b},\n{a}\n] "),
        format!("{{\"x\": [true], \"traceEvents\": [{b}, {a}], \"y\": \"z\"}}"),
        "[]".to_owned(),
    ] {
        for cut in 0..text.trim_end().len() {
            let bytes = &text.as_bytes()[..cut];
            let sample = Sample::new();
            let seen = seen(&sample.write(bytes), Detail::Stacks, 1 + cut % 2, small(100, 50));
            let array = std::str::from_utf8(bytes).unwrap_or("x").trim_start_matches('\u{FEFF}').trim();
            let closed = format!("{}]", array.strip_suffix(',').unwrap_or(array));
            let complete = array != "[" && serde_json::from_str::<serde_json::Value>(&closed).is_ok();
            assert_eq!(seen.problem_count() == 0, complete, "{:?}: {:?}", array, seen.findings);
            if complete {
                assert!(seen.tells(Degree::Note, "without the `]`"), "{array}: {:?}", seen.findings);
            }
        }
    }
}

#[test]
fn a_cut_event_is_told_with_its_begin() {
    let a = op("a", "1");
    let seen = read(&format!("[{a}, {}", a.get(..a.len() - 3).expect("long")));
    assert_eq!(seen.ops.len(), 1);
    let at = a.len() + 3;
    assert!(seen.tells(Degree::Problem, &format!("the file ends inside an event that starts at byte {at}")));
    assert_eq!(seen.problems()[0].place, Place::Byte(at as u64));
}

#[test]
fn a_huge_event_is_left_out() {
    let big = format!(
        r#"{{"cat": "cpu_op", "ts": 1, "x": "{}", "args": {{"Call stack": "s"}}}}"#,
        "y".repeat(3000)
    );
    let text = format!("[{}, {big}, {}, {big}]", op("a", "1"), op("b", "2"));
    let sample = Sample::new();
    let path = sample.write(text.as_bytes());
    let whole = seen(&path, Detail::Stacks, 1, Sizes::default());
    assert_eq!((whole.ops.len(), whole.problem_count()), (4, 0));
    let limit = Sizes { event: 2000, ..Sizes::default() };
    let one = seen(&path, Detail::Stacks, 1, limit);
    assert_eq!((one.ops.len(), one.problem_count()), (2, 2));
    assert!(one.tells(Degree::Problem, "larger than 2000 bytes"));
    for (threads, buffer, chunk) in [(1, 64, 64), (1, 1000, 64), (2, 64, 1000), (3, 500, 100)] {
        assert_eq!(seen(&path, Detail::Stacks, threads, Sizes { event: 2000, ..small(buffer, chunk) }), one);
    }
}

#[test]
fn gzip_is_told_by_its_bytes() {
    let text = format!("[{}, {}]", op("a", "1"), op("b", "2"));
    let compress = |text: &str| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        out.write_all(text.as_bytes()).expect("in memory");
        out.finish().expect("in memory")
    };
    let (front, back) = text.split_at(100);
    let whole = compress(&text);
    for bytes in [whole.clone(), [compress(front), compress(back)].concat()] {
        let seen = read_as(&bytes, Detail::Stacks);
        assert_eq!((seen.ops.len(), seen.findings.len()), (2, 0), "{:?}", seen.findings);
    }
    for cut in 2..whole.len() {
        let sample = Sample::new();
        let seen = seen(&sample.write(&whole[..cut]), Detail::Stacks, 2, small(100, 50));
        assert_eq!(seen.problem_count(), 1, "{cut}: {:?}", seen.findings);
    }
    let seen = read_as(&compress(""), Detail::Stacks);
    assert_eq!(seen.problems()[0].kind, Kind::Empty);
}

#[test]
fn the_host_is_asked_told_and_obeyed() {
    let many: Vec<String> = (0..5000).map(|i| op(&format!("op{i}"), &i.to_string())).collect();
    let text = format!("[{}]", many.join(", "));
    let sample = Sample::new();
    let path = sample.write(text.as_bytes());
    for threads in [1, 2] {
        let host = TestHost::default();
        let log = read_sized(&path, Detail::Stacks, threads, small(5000, 50_000), &host).expect("good");
        assert_eq!(log.ops.len(), 5000);
        assert_eq!(host.events.load(Ordering::Relaxed), 5000);
        assert_eq!(host.files.load(Ordering::Relaxed), 1);
        if threads == 1 {
            assert_eq!(host.bytes.load(Ordering::Relaxed), text.len() as u64);
        }
        assert!(
            host.reserved.load(Ordering::Relaxed) >= (log.stacks.allocated() + 32 * log.ops.len()) as u64
        );
        let stopping = TestHost { patience: Some(20), ..TestHost::default() };
        let stopped = read_sized(&path, Detail::Stacks, threads, small(5000, 50_000), &stopping);
        assert!(matches!(stopped, Err(ReadError::Stopped)));
        assert!(stopping.asked.load(Ordering::Relaxed) < 40);
        let poor = TestHost { budget: Some(300_000), ..TestHost::default() };
        let refused = read_sized(&path, Detail::Stacks, threads, small(5000, 50_000), &poor);
        assert!(matches!(refused, Err(ReadError::Memory(_))));
    }
}

#[test]
fn odd_but_legal_input_is_no_trouble() {
    let deep = format!("{}{}", "[{\"a\":".repeat(2000), "null}".to_owned() + &"]}".repeat(1999) + "]");
    let long = "x".repeat(3 << 20);
    for value in [deep, format!("\"{long}\""), "1e400".into(), "\"\\u0000\"".into()] {
        let text = format!("[{}, {}]", op("a", "1").replace("-1", &value), op("b", "2"));
        let sample = Sample::new();
        let seen = seen(&sample.write(text.as_bytes()), Detail::Stacks, 2, Sizes::default());
        assert_eq!((seen.ops.len(), seen.findings.len()), (2, 0), "{:?}", seen.findings);
    }
}
