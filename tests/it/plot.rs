//! Pictures: their numbers are those of SQL, their files whole and harmless.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::discovery::copy_of_sample;
use crate::support::{Run, run};

const RUN: &str = "examples/data/run";
const SERIES: &str = "tests/data/trend/97_series/input";
const LEAK: &str = "tests/data/memscope/train_leak";

/// Draws into a file of this directory; the page.
fn page(scratch: &Path, data: &str, what: &str) -> String {
    let file = scratch.join("picture.html");
    let done = run(&["-q", data, "-c", &format!(".plot {what} > --force {}", file.display())]);
    assert_eq!((done.code, done.stderr.as_str(), done.stdout.as_str()), (Some(0), "", ""), "{what}");
    fs::read_to_string(file).unwrap()
}

fn between<'a>(text: &'a str, begin: &str, end: &str) -> Vec<&'a str> {
    text.split(begin).skip(1).filter_map(|rest| rest.split_once(end)).map(|(inner, _)| inner).collect()
}

/// What the script of a page draws.
fn data(page: &str) -> Value {
    let found = between(page, "<script type=\"application/json\" id=\"data\">", "</script>");
    assert_eq!(found.len(), 1);
    serde_json::from_str(found[0]).unwrap()
}

/// The queries that a page shows, as text.
fn queries(page: &str) -> Vec<String> {
    let plain = |text: &str| {
        let text =
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'");
        text.replace("&amp;", "&")
    };
    between(page, "<pre>", "</pre>").into_iter().map(plain).collect()
}

/// The rows of a query, as objects.
fn rows(sql: &str) -> Vec<Value> {
    let done = run(&["--format", "json", "-c", sql]);
    assert_eq!(done.code, Some(0), "{sql}: {}", done.stderr);
    serde_json::from_str(&done.stdout).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|n| n.as_f64().unwrap_or(f64::NAN)).collect()
}

#[test]
fn a_flame_holds_the_bytes_of_its_query() {
    let scratch = tempfile::tempdir().unwrap();
    for what in
        ["at_peak", "not_released", "allocated", "at=1779785535126.5", "window=1779785535123..1779785535126"]
    {
        let page = page(scratch.path(), RUN, &format!("flame {what}"));
        let json = data(&page);
        let rows = rows(&queries(&page)[0]);
        let sum = |of: &dyn Fn(&&Value) -> bool| -> f64 {
            rows.iter().filter(of).map(|r| r["kb"].as_f64().unwrap() * 1024.0).sum()
        };
        let (depth, bytes, name) = (numbers(&json["depth"]), numbers(&json["bytes"]), numbers(&json["name"]));
        assert_eq!(bytes[0], sum(&|_| true), "{what}");
        let mut ranks = 0;
        for at in (0..depth.len()).filter(|at| depth[*at] == 1.0) {
            let label = json["names"][name[at] as usize].as_str().unwrap();
            let of_rank =
                |r: &&Value| format!("{} rank {}", r["role"].as_str().unwrap(), r["rank_id"]) == label;
            assert_eq!(bytes[at], sum(&of_rank), "{what}, {label}");
            ranks += 1;
        }
        assert!(ranks > 0);
        // Every stack is there with its bytes: each node holds what its children and its own stacks hold.
        let leaves = (0..depth.len()).filter(|at| depth.get(at + 1).is_none_or(|next| *next <= depth[*at]));
        assert!(leaves.map(|at| bytes[at]).sum::<f64>() <= bytes[0]);
    }
}

#[test]
fn a_difference_has_both_sides() {
    let scratch = tempfile::tempdir().unwrap();
    let base = format!("{RUN}/rollout_generate");
    let page = page(scratch.path(), &format!("{RUN}/actor_update"), &format!("flame diff base={base}"));
    let (json, rows) = (data(&page), rows(&queries(&page)[0]));
    let sum = |key: &str| rows.iter().filter_map(|r| r[key].as_f64()).map(|kb| kb * 1024.0).sum::<f64>();
    assert_eq!(numbers(&json["before"])[0], sum("kb_a"));
    assert_eq!(numbers(&json["after"])[0], sum("kb_b"));
    assert!(sum("kb_a") > 0.0 && sum("kb_b") > 0.0);
}

#[test]
fn a_timeline_draws_every_value_and_the_true_maximum() {
    let scratch = tempfile::tempdir().unwrap();
    let page = page(scratch.path(), RUN, "timeline buckets=64");
    let (json, rows_drawn) = (data(&page), rows(&queries(&page)[0]));
    let series = json["series"].as_array().unwrap();
    assert_eq!(series.len(), 4);
    let measures = ["allocated_high_mb", "active_high_mb", "reserved_high_mb", "live_high_mb"];
    for (at, measure) in measures.into_iter().enumerate() {
        let drawn: Vec<f64> = series.iter().flat_map(|s| numbers(&s["values"][at])).collect();
        let asked: Vec<f64> = rows_drawn.iter().map(|r| r[measure].as_f64().unwrap()).collect();
        assert_eq!(drawn, asked, "{measure}");
    }
    let drawn = series.iter().flat_map(|s| numbers(&s["values"][0])).fold(0.0, f64::max);
    let sql = format!(
        "SELECT max(greatest(total_allocated_mb, release_total_allocated_mb)) AS mb FROM memory_events('{RUN}')"
    );
    assert_eq!(drawn, rows(&sql)[0]["mb"].as_f64().unwrap());
    let from = rows(&format!(
        "SELECT min(start_time_ns) AS ns FROM memory_events('{RUN}') WHERE role = 'actor_update'"
    ));
    let first = from[0]["ns"].to_string();
    assert!(series.iter().any(|s| s["from_ns"] == first.as_str()), "not exact");
}

#[test]
fn a_small_limit_leaves_out_and_says_so() {
    let scratch = tempfile::tempdir().unwrap();
    let whole = page(scratch.path(), RUN, "timeline");
    let small = page(scratch.path(), RUN, "timeline limit=30k");
    assert!(whole.len() > 60_000 && small.len() <= 30 << 10, "{} {}", whole.len(), small.len());
    assert!(small.contains("To keep the file small") && !whole.contains("To keep the file small"));
    let highest = |page: &str| {
        let json = data(page);
        let all = json["series"].as_array().unwrap().iter().flat_map(|s| numbers(&s["values"][0]));
        all.fold(0.0, f64::max)
    };
    assert_eq!(highest(&whole), highest(&small));
    let done = run(&["-q", RUN, "-c", ".plot timeline limit=1k > x.html"]);
    assert!(done.code == Some(1) && done.stderr.contains("hint: limit=20m allows more"), "{}", done.stderr);
    assert!(!Path::new("x.html").exists());
}

#[test]
fn what_is_no_number_is_drawn_as_what_it_is() {
    let scratch = tempfile::tempdir().unwrap();
    let target = "target=Module.m.l.Linear.output.0";
    let json = data(&page(scratch.path(), SERIES, &format!("heatmap {target}")));
    assert_eq!(json["rows"], serde_json::json!(["rank 0", "rank 1", "rank 2"]));
    assert_eq!(json["cells"][1], serde_json::json!([1, 1, "NaN", 1, "-Infinity", null]));
    assert_eq!(json["cells"][2], serde_json::json!([3, 3, 3, "Infinity", "", ""]));
    assert_eq!(json["marked"], serde_json::json!([[0, 4], [1, 2], [1, 4], [2, 3]]));
    let page = page(scratch.path(), SERIES, &format!("trend {target} rank=0"));
    let (json, rows) = (data(&page), rows(&queries(&page)[0]));
    assert_eq!(json["lines"].as_array().unwrap().len(), 1);
    let asked: Vec<f64> = rows.iter().map(|r| r["value"].as_f64().unwrap()).collect();
    assert_eq!(numbers(&json["lines"][0]["values"]), asked);
    assert_eq!(
        numbers(&json["lines"][0]["band"]),
        ["median", "low", "high"].map(|c| rows[0][c].as_f64().unwrap())
    );
    assert_eq!(json["lines"][0]["outside"], serde_json::json!([4]));
}

#[test]
fn the_heat_map_of_peaks_marks_the_outlier() {
    let scratch = tempfile::tempdir().unwrap();
    let page = page(scratch.path(), "tests/data/questions/C07", "heatmap every=step");
    let (json, rows) = (data(&page), rows(&queries(&page)[0]));
    let asked: Vec<f64> = rows.iter().map(|r| r["high_mb"].as_f64().unwrap()).collect();
    let drawn: Vec<f64> = json["cells"].as_array().unwrap().iter().flat_map(numbers).collect();
    assert_eq!(drawn, asked);
    assert_eq!(
        json["marked"].as_array().unwrap().len(),
        rows.iter().filter(|r| r["outlier"] == true).count()
    );
    assert!(
        json["rows"][json["marked"][0][0].as_u64().unwrap() as usize].as_str().unwrap().contains("rank 3")
    );
}

#[test]
fn memscope_has_pictures_of_its_own() {
    let scratch = tempfile::tempdir().unwrap();
    let flame = page(scratch.path(), LEAK, "flame");
    let sum: f64 = rows(&queries(&flame)[0]).iter().map(|r| r["bytes"].as_f64().unwrap()).sum();
    assert_eq!(numbers(&data(&flame)["bytes"])[0], sum);
    let timeline = page(scratch.path(), LEAK, "timeline");
    let json = data(&timeline);
    let highest = json["series"].as_array().unwrap().iter().flat_map(|s| numbers(&s["values"][0]));
    let sql = format!("SELECT max(pool_used) AS n FROM memscope_pool_timeline('{LEAK}')");
    assert_eq!(highest.fold(0.0, f64::max), rows(&sql)[0]["n"].as_f64().unwrap());
    assert!(timeline.contains("step 1 ends"));
    let lifetimes = page(scratch.path(), LEAK, "lifetimes device=0 pool=PTA blocks=50");
    let (json, asked) = (data(&lifetimes), rows(&queries(&lifetimes)[0]));
    let sizes: f64 = json["blocks"].as_array().unwrap().iter().map(|b| b[2].as_f64().unwrap()).sum();
    assert_eq!(sizes, asked.iter().map(|r| r["size"].as_f64().unwrap()).sum::<f64>());
    assert_eq!(json["blocks"].as_array().unwrap().len(), asked.len());
}

/// Every picture that needs nothing but its data, drawn twice, with one thread and with four.
#[test]
fn the_same_data_gives_the_same_bytes_and_needs_no_network() {
    let scratch = tempfile::tempdir().unwrap();
    let draw = |data: &str, what: &str, threads: &str| -> String {
        let file = scratch.path().join("same.html");
        let plot = format!(".plot {what} > --force {}", file.display());
        let done = run(&["-q", data, "--threads", threads, "-c", &plot]);
        assert_eq!(done.code, Some(0), "{what}: {}", done.stderr);
        fs::read_to_string(&file).unwrap()
    };
    let pictures = [
        (RUN, "flame"),
        (RUN, "flame not_released"),
        (RUN, "timeline"),
        (RUN, "heatmap"),
        (RUN, "lifetimes role=actor_update rank=1"),
        (SERIES, "trend target=Module.m.l.Linear.output.0"),
        (LEAK, "flame"),
        (LEAK, "timeline"),
    ];
    for (data, what) in pictures {
        let page = draw(data, what, "1");
        assert!(page == draw(data, what, "4"), "{what} differs");
        // The only address is the name of SVG, which nobody fetches.
        let rest = page.replace("http://www.w3.org/2000/svg", "");
        for outside in
            ["http:", "https:", "src=", "href=", "url(", "@import", "fetch(", "XMLHttp", "innerHTML", "eval("]
        {
            assert!(!rest.contains(outside), "{what}: {outside}");
        }
        assert!(page.contains("default-src 'none'") && page.contains("prefers-color-scheme: dark"));
        assert!(page.len() < 5 << 20);
    }
}

#[test]
fn names_from_the_data_are_never_markup() {
    let run_dir = copy_of_sample();
    let mut changed = 0;
    for entry in walkdir::WalkDir::new(run_dir.path()) {
        let entry = entry.unwrap();
        let name = entry.file_name().to_str().unwrap();
        if name == "operator_memory.csv" {
            let text = fs::read_to_string(entry.path()).unwrap();
            let hostile = "\"显存</script><script>alert(1)</script><!-- ' \u{1b}[2J\u{202e} \"\"x\"\"\"";
            fs::write(entry.path(), text.replace("aten::_log_softmax_backward_data", hostile)).unwrap();
            changed += usize::from(text.contains("aten::_log_softmax_backward_data"));
        }
        if name == "profiler_metadata.json" {
            let text = fs::read_to_string(entry.path()).unwrap();
            fs::write(entry.path(), text.replace("rollout_generate", "</title><b onclick=x>&amp;")).unwrap();
        }
    }
    assert!(changed > 0);
    let scratch = tempfile::tempdir().unwrap();
    for what in ["flame at_peak", "timeline", "heatmap", "lifetimes role=actor_update rank=0"] {
        let page = page(scratch.path(), run_dir.path().to_str().unwrap(), what);
        assert_eq!(page.matches("</script").count(), 2, "{what}");
        assert_eq!(page.matches("<script").count(), 2, "{what}");
        assert_eq!(page.matches("</title").count(), 1, "{what}");
        assert!(!page.contains("<b onclick") && !page.contains(['\u{1b}', '\u{202e}']), "{what}");
    }
    let json = data(&page(scratch.path(), run_dir.path().to_str().unwrap(), "flame at_peak"));
    let names = json["names"].as_array().unwrap();
    assert!(
        names.iter().any(|n| n.as_str().unwrap().starts_with("显存</script><script>alert(1)")),
        "{names:?}"
    );
    // Nor does it move the cursor of a terminal.
    let shown = run(&["-q", run_dir.path().to_str().unwrap(), "-c", ".plot flame at_peak"]).stdout;
    let drawing = shown.split("\n\nSELECT").next().unwrap();
    assert!(drawing.contains("显存") && !drawing.contains(['\u{1b}', '\u{202e}']), "{drawing}");
}

fn plot(data: &str, flags: &[&str], what: &str) -> Run {
    let command = format!(".plot {what}");
    run(&[&["-q", data], flags, &["-c", &command]].concat())
}

#[cfg(unix)]
#[test]
fn a_file_is_whole_or_absent_and_nothing_else_is_touched() {
    let run_dir = copy_of_sample();
    let data = run_dir.path().to_str().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("x.html");
    let to = format!("> {}", file.display());
    // A picture that fails leaves nothing, and what was there stays.
    fs::write(&file, "old").unwrap();
    let done = plot(data, &["--force"], &format!("flame rank=99 {to}"));
    assert!(done.code == Some(1) && done.stderr.contains("nothing to draw for rank 99"), "{}", done.stderr);
    let done = plot(data, &[], &format!("flame {to}"));
    assert!(done.stderr.contains("exists already\nhint: put --force in front"), "{}", done.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), "old");
    assert_eq!(plot(data, &["--force"], &format!("flame {to}")).code, Some(0));
    assert!(fs::read_to_string(&file).unwrap().ends_with("</html>\n"));
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    // Refused: read-only, outside of the root, input data even when forced and only named by an option.
    fs::remove_file(&file).unwrap();
    let done = plot(data, &["--read-only"], &format!("flame {to}"));
    assert!(done.code == Some(1) && done.stderr.contains("read-only: the picture"), "{}", done.stderr);
    let done = plot(data, &["--root", data], &format!("flame {to}"));
    assert!(done.code == Some(1) && done.stderr.contains("--root allows only"), "{}", done.stderr);
    let done = plot(data, &["--root", data], &format!("flame path={RUN}"));
    assert!(done.code == Some(1) && done.stderr.contains("--root allows only"), "{}", done.stderr);
    assert!(!file.exists());
    let profile = walkdir::WalkDir::new(run_dir.path()).into_iter().flatten();
    let csv = profile.map(|e| e.into_path()).find(|p| p.ends_with("operator_memory.csv")).unwrap();
    let page = csv.with_extension("html");
    std::os::unix::fs::symlink(&csv, &page).unwrap();
    let before = fs::read(&csv).unwrap();
    for flags in [&["--force"][..], &[]] {
        let named =
            run(&[flags, &["-q", "-c", &format!(".plot flame path={data} > --force {}", page.display())]]
                .concat());
        for done in [plot(data, flags, &format!("flame > --force {}", page.display())), named] {
            assert_eq!(fs::read(&csv).unwrap(), before, "{done:?}");
        }
    }
}

#[test]
fn the_sub_command_draws_and_explains() {
    let scratch = tempfile::tempdir().unwrap();
    let file = scratch.path().join("peak.html");
    let file = file.to_str().unwrap();
    let done = run(&["plot", "flame", RUN, "at_peak", "rank=1", "-o", file]);
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(
        done.stdout.is_empty()
            && done.stderr.contains("peak.html: ")
            && done.stderr.contains("2 ranks in 2 roles")
    );
    assert!(
        fs::read_to_string(file)
            .unwrap()
            .contains("memory_at_peak(&#39;examples/data/run&#39;) WHERE rank_id = 1")
    );
    let done = run(&["plot", "timeline", "-q", "--text", RUN]);
    assert!(done.code == Some(0) && done.stdout.contains("actor_update rank 0"), "{done:?}");
    // Redirected, it is the page.
    assert_eq!(
        run(&["plot", "flame", "-q", RUN, "rank=1", "at_peak"]).stdout,
        fs::read_to_string(file).unwrap()
    );
    for (args, code, text) in [
        (vec!["flame", RUN, "-o", file], 2, "exists already\nhint: give --force"),
        (vec!["flame", RUN, "-o", "x.png"], 2, "a picture is a page"),
        (vec!["flmae", RUN], 2, "did you mean flame?"),
        (vec!["flame"], 2, "required"),
        (vec!["flame", RUN, "rnak=1"], 2, "did you mean rank?"),
        (vec!["flame", RUN, "at=x"], 1, "expected milliseconds"),
        (vec!["flame", "/does/not/exist"], 2, "/does/not/exist"),
        (vec!["flame", SERIES], 1, "needs data of memory_events, and open is dump_trend"),
        (vec!["trend", SERIES], 2, "needs target="),
        (vec!["flame", "at_peak"], 2, "a PATH is missing: plot flame run/"),
    ] {
        let args: Vec<&str> = ["plot"].into_iter().chain(args).collect();
        let done = run(&args);
        assert!(done.code == Some(code) && done.stderr.contains(text), "{args:?}: {done:?}");
    }
    assert!(!Path::new("x.png").exists());
}

#[test]
fn the_page_of_the_pictures_lists_all_of_them() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/plots.md")).unwrap();
    let help = run(&["-c", ".plot"]).stderr;
    let (pictures, options) = help.split_once("Options:").unwrap();
    let mut count = 0;
    for line in pictures.lines().filter(|l| l.starts_with("  ")) {
        let call = line.trim().split("  ").next().unwrap();
        assert!(page.contains(&format!("`{call}`")), "{call} is not on the page");
        count += 1;
    }
    for line in options.lines().filter(|l| l.starts_with("  ")) {
        let option = line.split_whitespace().next().unwrap();
        assert!(page.contains(&format!("`{option}")), "{option} is not on the page");
        count += 1;
    }
    assert!(count > 30, "{help}");
}
