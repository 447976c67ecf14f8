//! The format as a whole, on small trees.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::util::display::array_value_to_string;

use super::{DumpTrend, Scope, TrendOptions};
use crate::source::{
    Counter, Finding, Format, Host, KeyValue, Layout, ReadError, ReadRequest, Unit, expand_roots,
};

/// Collects findings; refuses problems unless told to skip them.
#[derive(Default)]
struct TestHost {
    skip: bool,
    findings: Mutex<Vec<Finding>>,
    opened: Mutex<u64>,
}

impl Host for TestHost {
    fn stopped(&self) -> bool {
        false
    }

    fn reserve(&self, _: usize) -> Result<(), ReadError> {
        Ok(())
    }

    fn count(&self, counter: Counter, n: u64) {
        if counter == Counter::FilesOpened {
            *self.opened.lock().expect("not poisoned") += n;
        }
    }

    fn report(&self, finding: Finding) -> Result<(), ReadError> {
        let refused = finding.is_problem() && !self.skip;
        self.findings.lock().expect("not poisoned").push(finding);
        if refused { Err(ReadError::Refused) } else { Ok(()) }
    }
}

fn tensor(max: &str) -> String {
    format!(
        r#"{{"type": "torch.Tensor", "dtype": "torch.float32", "shape": [
 2,
 3], "Max": {max}, "Min": null, "Mean": 0.5, "Norm": 1e300}}"#
    )
}

fn write(root: &Path, place: &str, data: &str, construct: &str) {
    let dir = root.join(place);
    fs::create_dir_all(&dir).expect("created");
    fs::write(dir.join("dump.json"), format!(r#"{{"task": "statistics", "data": {data}}}"#))
        .expect("written");
    fs::write(dir.join("construct.json"), construct).expect("written");
}

/// A forward call with one output.
fn call(key: &str, max: &str) -> String {
    format!(r#""{key}": {{"output": [{}]}}"#, tensor(max))
}

fn list(format: &DumpTrend, roots: &[&Path]) -> Layout {
    let roots: Vec<String> = roots.iter().map(|r| r.display().to_string()).collect();
    format.discover(&expand_roots("dump_trend", &roots).expect("exist")).expect("found")
}

fn read(
    format: &DumpTrend,
    unit: &Unit,
    columns: &[&str],
    host: &Arc<TestHost>,
) -> Result<Vec<String>, ReadError> {
    let schema = format.schema();
    let projection = columns.iter().map(|c| schema.index_of(c).expect("a column")).collect();
    let mut reader = format.open(unit, &ReadRequest::new(projection), Arc::clone(host) as Arc<dyn Host>)?;
    let mut rows = Vec::new();
    while let Some(batch) = reader.next_batch()? {
        rows.extend((0..batch.num_rows()).map(|row| text(&batch, row)));
    }
    Ok(rows)
}

fn text(batch: &RecordBatch, row: usize) -> String {
    let cell = |c: &Arc<dyn Array>| match c.is_null(row) {
        true => "NULL".to_owned(),
        false => array_value_to_string(c, row).expect("printable"),
    };
    batch.columns().iter().map(cell).collect::<Vec<_>>().join(" ")
}

fn whole_steps() -> DumpTrend {
    DumpTrend::new(TrendOptions::default().with_micro_step(false))
}

const ROOT: &str = r#"{"Module.m.A.forward.0": null}"#;

#[test]
fn statistics_are_not_clipped_and_missing_is_null() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = [("0", "NaN"), ("1", "Infinity"), ("2", "3e9"), ("3", "null")];
    let entries: Vec<String> =
        data.iter().map(|(n, max)| call(&format!("Module.m.A.forward.{n}"), max)).collect();
    write(dir.path(), "step3/rank1", &format!("{{{}}}", entries.join(",")), ROOT);
    let format = whole_steps();
    let layout = list(&format, &[dir.path()]);
    let columns =
        ["rank", "step", "target_name", "target_micro_step", "max", "min", "norm", "shape", "entry_no"];
    let rows = read(&format, &layout.units[0], &columns, &Arc::default()).expect("readable");
    assert_eq!(
        rows,
        [
            "1 3 Module.m.A.output.0 0 NaN NULL 1e300 [2, 3] 1",
            "1 3 Module.m.A.output.0 1 inf NULL 1e300 [2, 3] 2",
            "1 3 Module.m.A.output.0 2 3000000000.0 NULL 1e300 [2, 3] 3",
            "1 3 Module.m.A.output.0 3 NULL NULL 1e300 [2, 3] 4",
        ]
    );
}

#[test]
fn a_repeated_key_counts_with_its_last_value_at_its_first_place() {
    let dir = tempfile::tempdir().expect("a directory");
    let entries =
        [call("X.a.0.forward", "1"), call("X.b.0.forward", "2"), call("X.a.0.forward", "3")].join(",");
    let data = format!(r#"{{{}}}, "data": {{{entries}}}"#, call("X.c.0.forward", "9"));
    write(dir.path(), "step0/rank0", &data, "{}");
    let format = DumpTrend::default();
    let layout = list(&format, &[dir.path()]);
    let rows = read(&format, &layout.units[0], &["target_name", "max", "entry_no"], &Arc::default())
        .expect("readable");
    assert_eq!(rows, ["X.a.output.0 3.0 1", "X.b.output.0 2.0 2"]);
}

#[test]
fn global_steps_need_only_the_selected_rank_and_what_counts_earlier_steps() {
    let dir = tempfile::tempdir().expect("a directory");
    let two = r#"{"Module.m.A.forward.0": null, "Module.m.A.forward.1": null}"#;
    for (place, construct) in
        [("step0/rank0", ROOT), ("step0/rank1", two), ("step7/rank0", ROOT), ("step7/rank1", ROOT)]
    {
        write(dir.path(), place, &format!("{{{}}}", call("Module.m.A.forward.0", "1")), construct);
    }
    let format = DumpTrend::default();
    let layout = list(&format, &[dir.path()]);
    let place = |unit: &&Unit| unit.keys == [KeyValue::Null, KeyValue::Int(7), KeyValue::Int(0)];
    let unit = layout.units.iter().find(place).expect("listed");
    let host = Arc::new(TestHost::default());
    assert_eq!(read(&format, unit, &["step", "source_step"], &host).expect("readable"), ["2 7"]);
    // Its own two files, and construct.json of both ranks of the step before.
    assert_eq!(*host.opened.lock().expect("not poisoned"), 4);
    let host = Arc::new(TestHost::default());
    assert_eq!(read(&format, unit, &["local_micro_step"], &host).expect("readable"), ["0"]);
    assert_eq!(*host.opened.lock().expect("not poisoned"), 2);
    let extent = format.extent(&layout.units).expect("units");
    assert_eq!((extent.max_rank, extent.min_step, extent.max_step), (1, 0, 2));
}

#[test]
fn what_the_reference_leaves_out_is_shown_with_a_reason() {
    let dir = tempfile::tempdir().expect("a directory");
    let t = tensor("1");
    let data = format!(
        r#"{{"Module.m.A.forward.0": {{"input_args": [[{t}], {t}], "input_kwargs": {{"h": {t}}},
             "output": {{"loss": {{"type": "DTensor", "dtype": "x", "Max": 1}}}}}}, {}, {}}}"#,
        call("Tensor.to.0.forward", "1"),
        call("Module.n.forward_img.A.forward.0", "1")
    );
    write(dir.path(), "step0/rank0", &data, r#"{"Module.m.A.forward.0": null, "Tensor.to.0.forward": null}"#);
    let format = DumpTrend::new(TrendOptions::default().with_scope(Scope::All));
    let layout = list(&format, &[dir.path()]);
    let columns = ["target_name", "io_kind", "reference_skip"];
    let rows = read(&format, &layout.units[0], &columns, &Arc::default()).expect("readable");
    assert_eq!(
        rows,
        [
            "Module.m.A.input.0.0 input nested",
            "Module.m.A.input.1 input NULL",
            "Module.m.A.kwargs.h kwargs kwargs",
            "Module.m.A.output.loss output nested",
            "Tensor.to.output.0 output outside_modules",
            "Module.n.forward_img.A.output.0 output not_in_construct",
        ]
    );
    let host = Arc::new(TestHost::default());
    let rows = read(&DumpTrend::default(), &layout.units[0], &columns, &host).expect("readable");
    assert_eq!(rows, ["Module.m.A.input.1 input NULL"]);
    let notes: Vec<String> =
        host.findings.lock().expect("not poisoned").iter().map(ToString::to_string).collect();
    assert!(notes[0].contains("1 not listed in construct.json, 1 in no module"), "{notes:?}");
}

#[test]
fn a_broken_file_fails_or_keeps_what_stands_before_the_break() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "step0/rank0", &format!("{{{}, \"X.b", call("X.a.0.forward", "1")), "{}");
    let format = DumpTrend::default();
    let layout = list(&format, &[dir.path()]);
    let host = Arc::new(TestHost::default());
    assert!(matches!(read(&format, &layout.units[0], &["max"], &host), Err(ReadError::Refused)));
    let host = Arc::new(TestHost { skip: true, ..TestHost::default() });
    assert_eq!(read(&format, &layout.units[0], &["max"], &host).expect("skipped"), ["1.0"]);
    assert_eq!(host.findings.lock().expect("not poisoned").len(), 1);
}

#[test]
fn series_of_different_roots_have_different_roles() {
    let dir = tempfile::tempdir().expect("a directory");
    let data = format!("{{{}}}", call("X.a.0.forward", "1"));
    for place in [
        "rl/step_5/actor/rank_0/step0/rank0",
        "rl/step_5/actor/rank_1/step0/rank0",
        "rl/step_6/actor/rank_0/step0/rank0",
        "rl/critic/step0/rank0",
        "rl/critic/step1/rank0",
        "plain/step01/proc7",
        "plain/step1_0/rank2",
        "plain/step10/rank2",
        "plain/other/rank0",
    ] {
        write(dir.path(), place, &data, "{}");
    }
    let format = whole_steps();
    let places = |layout: &Layout| -> BTreeSet<String> {
        let text = |key: &KeyValue| match key {
            KeyValue::Text(t) => t.clone(),
            KeyValue::Int(n) => n.to_string(),
            KeyValue::Null => "NULL".to_owned(),
        };
        let place = |u: &Unit| format!("{} {} {}", text(&u.keys[0]), text(&u.keys[1]), text(&u.keys[3]));
        layout.units.iter().map(place).collect()
    };
    let (rl, plain) = (dir.path().join("rl"), dir.path().join("plain"));
    let of = |places: &[&str]| places.iter().map(|p| (*p).to_owned()).collect::<BTreeSet<_>>();
    let layout = list(&format, &[&rl]);
    assert_eq!(places(&layout), of(&["actor 5 0", "actor 5 1", "actor 6 0", "critic 0 0", "critic 1 0"]));
    let layout = list(&format, &[&plain]);
    assert_eq!(places(&layout), of(&["NULL 1 0", "NULL 10 2"]));
    assert_eq!(layout.findings.iter().filter(|f| f.is_problem()).count(), 1, "{:?}", layout.findings);
    let layout = list(&format, &[&rl.join("critic"), &plain]);
    assert_eq!(places(&layout), of(&["critic 0 0", "critic 1 0", "plain 1 0", "plain 10 2"]));
    let layout = list(&format, &[&rl.join("step_*/actor/rank_0")]);
    assert_eq!(places(&layout), of(&["actor 5 0", "actor 6 0"]));
    let layout = list(&format, &[&rl.join("critic/step1/rank0")]);
    assert_eq!(places(&layout), of(&["NULL 1 0"]));
    assert!(
        format
            .discover(
                &expand_roots("dump_trend", &[plain.join("other").display().to_string()]).expect("exists")
            )
            .is_err()
    );
}

/// A directory of that name is passed over, as in the reference.
#[cfg(unix)]
#[test]
fn what_is_called_dump_json_and_is_no_file_is_a_problem() {
    let dir = tempfile::tempdir().expect("a directory");
    write(dir.path(), "step0/rank0", "{}", "{}");
    fs::create_dir_all(dir.path().join("step0/rank1/dump.json")).expect("created");
    fs::create_dir_all(dir.path().join("step0/rank2")).expect("created");
    std::os::unix::fs::symlink("nowhere", dir.path().join("step0/rank2/dump.json")).expect("created");
    let roots = expand_roots("dump_trend", &[dir.path().display().to_string()]).expect("there");
    let layout = DumpTrend::new(TrendOptions::default()).discover(&roots).expect("one dump");
    assert_eq!(layout.units.len(), 1);
    assert_eq!(layout.findings.iter().filter(|f| f.is_problem()).count(), 1);
}
