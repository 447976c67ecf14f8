//! Twice the input costs twice the work, however odd the input is: many columns, keys, names, members,
//! directories or statements of a kind of which other files have few.
//!
//! Each input is so large that work which grows as its square would take minutes or hours. The system ends a
//! program that uses more seconds of processor time than some: unlike a clock, that is not moved by
//! whatever else the machine does.

use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::malformed::SAMPLES;
use crate::own_process::finish;
use crate::size::pick;

/// Seconds of processor time for each case; what is linear needs a few of them without optimisation.
fn seconds() -> u32 {
    pick(20, 60)
}

/// Writes the input with this many pieces below a directory.
type Make = fn(&Path, usize);

struct Growth {
    what: &'static str,
    /// How many pieces.
    n: usize,
    make: Make,
    /// `{dir}` is the directory.
    sql: &'static str,
}

const fn growth(what: &'static str, n: usize, sql: &'static str, make: Make) -> Growth {
    Growth { what, n, make, sql }
}

const OUTPUT: &str = "actor/host_1_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT";
const EVENTS: &str = "SELECT count(*), count(call_stack) FROM memory_events('{dir}', on_error => 'skip')";
const RECORDS: &str = "SELECT count(*) FROM memory_records('{dir}', on_error => 'skip')";
const TREND: &str = "SELECT count(*) FROM dump_trend('{dir}', micro_step => false, on_error => 'skip')";
const AUDIT: &str = "SELECT count(DISTINCT target_name) FROM dump_trend('{dir}', scope => 'all', micro_step => false, on_error => 'skip')";
const STEPS: &str = "SELECT count(*) FROM dump_trend('{dir}', on_error => 'skip')";
const MEMSCOPE: &str = "SELECT count(*) FROM memscope_events('{dir}', on_error => 'skip')";
const BLOCKS: &str = "SELECT count(*) FROM memscope_blocks('{dir}', on_error => 'skip')";

fn sample(title: &str, dir: &Path) -> (std::path::PathBuf, String) {
    let sample = SAMPLES.iter().find(|s| s.title == title).unwrap();
    (sample.write)(dir);
    let path = dir.join(sample.file);
    let text = fs::read_to_string(&path).unwrap();
    (path, text)
}

/// Pieces with numbers, each followed by a comma but for the last.
fn list(n: usize, piece: impl Fn(usize) -> String) -> String {
    let mut out = String::new();
    for i in 0..n {
        let comma = if i == 0 { "" } else { "," };
        write!(out, "{comma}{}", piece(i)).unwrap();
    }
    out
}

const TENSOR: &str = "{\"type\":\"torch.Tensor\",\"dtype\":\"torch.float32\",\"shape\":[2],\"Max\":1,\"Min\":1,\"Mean\":1,\"Norm\":1}";

/// A dump with these entries, and a construct.json with these.
fn dump(dir: &Path, entries: &str, construct: &str) {
    let rank = dir.join("step0/rank0");
    fs::create_dir_all(&rank).unwrap();
    fs::write(rank.join("dump.json"), format!("{{\"data\":{{{entries}}}}}")).unwrap();
    fs::write(rank.join("construct.json"), format!("{{{construct}}}")).unwrap();
}

/// A csv of msMemScope with these lines behind its header.
fn memscope(dir: &Path, n: usize, line: impl Fn(usize) -> String) {
    let (path, text) = sample("memscope_dump_<time>.csv", dir);
    let mut out = text.split_inclusive('\n').next().unwrap().to_owned();
    (0..n).for_each(|i| out += &line(i));
    fs::write(path, out).unwrap();
}

fn malloc(i: usize, event: &str, address: usize) -> String {
    format!(
        "{i},{event},PTA,N/A,{},7,7,0,0x{address:x},\"{{allocation_id:{i},addr:0x{address:x},size:512,total:4096,used:512}}\",,\n",
        1_790_000_000_000_000_000usize + i
    )
}

/// A trace with these events.
fn trace(dir: &Path, events: &str) {
    let (path, _) = sample("trace_view.json", dir);
    fs::write(path, format!("[{events}]")).unwrap();
}

fn op(name: &str, at: usize, more: &str) -> String {
    format!(
        "{{\"ph\":\"X\",\"name\":\"{name}\",\"pid\":1,\"tid\":2,\"ts\":\"{}.5\",\"dur\":5,\"cat\":\"cpu_op\",\
         \"args\":{{\"Call stack\":\"a.py(1): f;\\r\\nb.py(2): g\"{more}}}}}",
        1_736_405_443_000_000usize + at
    )
}

/// An operator_memory.csv of allocations with these names and times.
fn allocations(dir: &Path, n: usize, row: impl Fn(usize) -> (String, usize)) {
    let mut text = String::from("Name,Size(KB),Allocation Time(us),Duration(us),Device Type\n");
    for i in 0..n {
        let (name, at) = row(i);
        writeln!(text, "{name},1.5,{}.7,,NPU:0", 1_736_405_443_000_000usize + at).unwrap();
    }
    fs::write(dir.join(OUTPUT).join("operator_memory.csv"), text).unwrap();
}

/// Adds columns to the header and each row of a csv.
fn columns(title: &str, dir: &Path, name: impl Fn(usize) -> String, n: usize) {
    let (path, text) = sample(title, dir);
    let more = list(n, &name);
    let cells = list(n, |i| (i % 10).to_string());
    let mut lines = text.lines();
    let mut out = format!("{},{more}\n", lines.next().unwrap());
    for line in lines.filter(|line| line.len() > 40 || line.contains("after")) {
        // A call stack of two lines stays as it is: such rows are left out.
        writeln!(out, "{line},{cells}").unwrap();
    }
    fs::write(path, out).unwrap();
}

fn cases() -> Vec<Growth> {
    let wide = pick(150_000, 300_000);
    vec![
        growth("columns that nobody knows", wide, EVENTS, |dir, n| {
            columns("operator_memory.csv", dir, |i| format!("c{i}"), n);
        }),
        growth("columns with one name", wide, EVENTS, |dir, n| {
            columns("operator_memory.csv", dir, |_| "Name".to_owned(), n);
        }),
        growth("columns of records", wide, RECORDS, |dir, n| {
            columns("memory_record.csv", dir, |i| format!("c{i}"), n);
        }),
        growth("columns of allocator events", wide, MEMSCOPE, |dir, n| {
            columns("memscope_dump_<time>.csv", dir, |i| format!("c{i}"), n);
        }),
        growth(
            "columns of a Python trace",
            wide,
            "SELECT count(*) FROM memscope_python_trace('{dir}', on_error => 'skip')",
            |dir, n| {
                columns("python_trace_<time>.csv", dir, |i| format!("c{i}"), n);
            },
        ),
        growth(
            "columns of watched tensors",
            wide,
            "SELECT count(*) FROM memscope_watch('{dir}', on_error => 'skip')",
            |dir, n| {
                columns("watch_dump_data_check_sum_<time>.csv", dir, |i| format!("c{i}"), n);
            },
        ),
        growth("bad rows of allocations", wide, EVENTS, |dir, n| {
            let (path, text) = sample("operator_memory.csv", dir);
            fs::write(path, text + &"aten::x,much,now\n".repeat(n)).unwrap();
        }),
        growth("bad rows of allocator events", wide, MEMSCOPE, |dir, n| {
            memscope(dir, n, |i| format!("{i},MALLOC,PTA\n"))
        }),
        growth("arguments of one event", wide, EVENTS, |dir, n| {
            trace(dir, &op("aten::mm", 100, &format!(",{}", list(n, |i| format!("\"k{i}\":{i}")))));
        }),
        growth("call stacks of one event", wide, EVENTS, |dir, n| {
            trace(dir, &op("aten::mm", 100, &",\"Call stack\":\"c.py(1): h\"".repeat(n)));
        }),
        growth("events of one name", wide, EVENTS, |dir, n| {
            trace(dir, &list(n, |i| op("aten::mm", i, "")));
            allocations(dir, n, |i| ("aten::mm".into(), i));
        }),
        growth("events of one name and time", wide, EVENTS, |dir, n| {
            trace(dir, &list(n, |_| op("aten::mm", 7, "")));
            allocations(dir, n, |_| ("aten::mm".into(), 7));
        }),
        growth("events that go back in time", wide, EVENTS, |dir, n| {
            trace(dir, &list(n, |i| op("aten::mm", n - i, "")));
            allocations(dir, n, |i| ("aten::mm".into(), n - i));
        }),
        growth(
            "events inside of each other",
            wide,
            "SELECT count(call_stack) FROM memory_events('{dir}', match => 'inside', on_error => 'skip')",
            |dir, n| {
                trace(
                    dir,
                    &list(n, |i| {
                        op("aten::mm", i, "").replace("\"dur\":5", &format!("\"dur\":{}", 2 * (n - i)))
                    }),
                );
                allocations(dir, n, |i| ("aten::mm".into(), n + i));
            },
        ),
        growth("names of events", wide, EVENTS, |dir, n| {
            trace(dir, &list(n, |i| op(&format!("aten::op{i}"), i, "")));
            allocations(dir, n, |i| (format!("aten::op{i}"), n));
        }),
        growth("frames of one call stack", wide, EVENTS, |dir, n| {
            trace(dir, &op("aten::mm", 100, "").replace("a.py(1): f", &"a.py(1): f;\\r\\n".repeat(n)));
        }),
        growth("keys of profiler_metadata.json", wide, EVENTS, |dir, n| {
            let (path, _) = sample("profiler_metadata.json", dir);
            fs::write(path, format!("{{{},\"role\":\"a\"}}", list(n, |i| format!("\"k{i}\":{i}")))).unwrap();
        }),
        growth("parameters of a module", wide, TREND, |dir, n| {
            let list = list(n, |i| format!("\"w{i}\":{TENSOR}"));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"parameters\":{{{list}}}}}"), "");
        }),
        growth("parameters that come again", wide, TREND, |dir, n| {
            // The second value of each has another number of tensors than the first.
            let list = list(2 * n, |i| format!("\"w\\u0030{}\":{}", i % n, if i < n { "1" } else { TENSOR }));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"parameters\":{{{list}}}}}"), "");
        }),
        growth("gradients of a module", wide, TREND, |dir, n| {
            let list = list(n, |i| format!("\"w{i}\":[{TENSOR}]"));
            dump(dir, &format!("\"Module.a.parameters_grad\":{{{list}}}"), "");
        }),
        growth("inputs of a call", wide, TREND, |dir, n| {
            let list = list(n, |_| TENSOR.to_owned());
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"input_args\":[{list}]}}"), "");
        }),
        growth("members of an entry", wide, AUDIT, |dir, n| {
            let list = list(n, |i| format!("\"m{i}\":{TENSOR}"));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{{list}}}"), "");
        }),
        growth("members of a tensor", wide, AUDIT, |dir, n| {
            let list = list(n, |i| format!("\"m{i}\":{TENSOR}"));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"output\":[{{{list}}}]}}"), "");
        }),
        growth("tensors of one name", 1 << 17, AUDIT, |dir, n| {
            // `a.a.a` is `a` in `a` in `a`, and `a.a` in `a`, and so on.
            fn tree(depth: usize) -> String {
                if depth == 0 {
                    TENSOR.to_owned()
                } else {
                    format!("{{\"a\":{{\"b\":{0}}},\"a.b\":{0}}}", tree(depth - 1))
                }
            }
            let tree = tree(n.ilog2() as usize);
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"input_kwargs\":{tree}}}"), "");
        }),
        growth("lists below a long name", wide, AUDIT, |dir, n| {
            let (key, list) = ("k".repeat(n), list(n, |_| "[{}]".to_owned()));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"output\":[{TENSOR}],\"{key}\":[{list}]}}"), "");
        }),
        growth("tensors below a long name", wide / 10, AUDIT, |dir, n| {
            let (key, list) = ("k".repeat(n), list(n, |_| format!("[{TENSOR}]")));
            dump(dir, &format!("\"Module.a.A.forward.0\":{{\"output\":[{TENSOR}],\"{key}\":[{list}]}}"), "");
        }),
        growth("entries of one key", wide, TREND, |dir, n| {
            let entry = format!("\"Module.a.A.forward.0\":{{\"output\":[{TENSOR}]}}");
            dump(dir, &list(n, |_| entry.clone()), "");
        }),
        growth(
            "shapes",
            wide,
            "SELECT count(DISTINCT shape) FROM dump_trend('{dir}', micro_step => false)",
            |dir, n| {
                let tensor = |i: usize| TENSOR.replace("[2]", &format!("[{i}]"));
                dump(
                    dir,
                    &list(n, |i| format!("\"Module.a.A{i}.forward.0\":{{\"output\":[{}]}}", tensor(i))),
                    "",
                );
            },
        ),
        growth("micro-steps", wide, STEPS, |dir, n| {
            let entries = list(n, |i| format!("\"Module.a.A.forward.{i}\":{{\"output\":[{TENSOR}]}}"));
            dump(dir, &entries, &list(n, |i| format!("\"Module.a.A.forward.{i}\":null")));
        }),
        growth("modules in each other", wide, STEPS, |dir, n| {
            let entries = list(n, |i| format!("\"Module.a{i}.A.forward.0\":{{\"output\":[{TENSOR}]}}"));
            let parent =
                |i: usize| if i == 0 { "null".into() } else { format!("\"Module.a{}.A.forward.0\"", i - 1) };
            dump(dir, &entries, &list(n, |i| format!("\"Module.a{i}.A.forward.0\":{}", parent(i))));
        }),
        growth("modules of one parent", wide, STEPS, |dir, n| {
            let entries = list(n, |i| format!("\"Module.a{i}.A.forward.0\":{{\"output\":[{TENSOR}]}}"));
            let construct = list(n, |i| format!("\"Module.a{i}.A.forward.0\":\"Module.r.R.forward.0\""));
            dump(dir, &entries, &format!("\"Module.r.R.forward.0\":null,{construct}"));
        }),
        growth("parents that are not there", wide, STEPS, |dir, n| {
            let entries = list(n, |i| format!("\"Module.a{i}.A.forward.0\":{{\"output\":[{TENSOR}]}}"));
            dump(
                dir,
                &entries,
                &list(n, |i| format!("\"Module.a{i}.A.forward.0\":\"Module.x{i}.X.forward.0\"")),
            );
        }),
        growth(
            "names of a mapping",
            wide,
            "SELECT count(*) FROM dump_trend('{dir}', micro_step => false, mapping => '{dir}/m.json')",
            |dir, n| {
                dump(dir, &format!("\"Module.a.A.forward.0\":{{\"output\":[{TENSOR}]}}"), "");
                fs::write(dir.join("m.json"), format!("{{{}}}", list(n, |i| format!("\"name{i}\":\"b\""))))
                    .unwrap();
            },
        ),
        growth("blocks that are never freed", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| malloc(i, "MALLOC", 0x1000 + i))
        }),
        growth("blocks at one address", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| malloc(i, "MALLOC", 0x1000))
        }),
        growth("blocks freed in the order of their making", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| {
                if i < n / 2 {
                    malloc(i, "MALLOC", 0x1000 + i)
                } else {
                    malloc(i, "FREE", 0x1000 + i - n / 2)
                }
            });
        }),
        growth("blocks freed that nobody made", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| malloc(i, "FREE", 0x1000 + i))
        }),
        growth("events of one time and number", wide, MEMSCOPE, |dir, n| {
            memscope(dir, n, |i| malloc(7, "MALLOC", 0x1000 + i));
        }),
        growth("threads", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| malloc(i, "MALLOC", 0x1000 + i).replace(",7,7,", &format!(",7,{i},")));
        }),
        growth(
            "steps",
            wide,
            "SELECT count(*) FROM memscope_steps('{dir}', on_error => 'skip')",
            |dir, n| {
                memscope(dir, n, |i| {
                    format!(
                        "{i},MSTX,Range_start,\"step start\",{},7,7,0,N/A,,,\n",
                        1_790_000_000_000_000_000usize + i
                    )
                });
            },
        ),
        growth("launches", wide, BLOCKS, |dir, n| {
            memscope(dir, n, |i| {
                format!(
                    "{i},OP_LAUNCH,ATEN_START,aten.op{i},{},7,7,0,N/A,,,\n",
                    1_790_000_000_000_000_000usize + i
                )
            });
        }),
        growth("attributes of an event", wide, MEMSCOPE, |dir, n| {
            let more = list(n, |i| format!("k{i}:{i}"));
            memscope(dir, 3, |i| {
                malloc(i, "MALLOC", 0x1000).replace("used:512", &format!("used:512,{more}"))
            });
        }),
        growth(
            "settings of msMemScope",
            wide,
            "SELECT count(*) FROM memscope_config('{dir}', on_error => 'skip')",
            |dir, n| {
                let (path, _) = sample("config.json of msMemScope", dir);
                fs::write(path, format!("{{{}}}", list(n, |i| format!("\"k{i}\":{i}")))).unwrap();
            },
        ),
        growth(
            "empty directories",
            pick(20_000, 1_000_000),
            "SELECT count(*) FROM diagnostics('{dir}')",
            |dir, n| {
                for i in 0..n {
                    fs::create_dir_all(dir.join(format!("{}/{i}", i % 100))).unwrap();
                }
            },
        ),
        growth(
            "names of ranks",
            pick(10_000, 100_000),
            "SELECT count(*) FROM diagnostics('{dir}')",
            |dir, n| {
                (0..n).for_each(|i| {
                    fs::create_dir_all(dir.join(format!("r/host_{i}_20260101120000000_ascend_pt"))).unwrap()
                });
            },
        ),
        growth(
            "ranks of a dump that is not there",
            pick(10_000, 100_000),
            "SELECT count(*) FROM diagnostics('{dir}')",
            |dir, n| {
                (0..n).for_each(|i| {
                    fs::create_dir_all(dir.join(format!("step{}/rank{}", i / 100, i % 100))).unwrap()
                });
            },
        ),
        growth(
            "ranks of a dump named by a glob",
            pick(4_000, 40_000),
            "SELECT count(*) FROM dump_trend('{dir}/step*/rank*', micro_step => false)",
            |dir, n| {
                for i in 0..n {
                    let rank = dir.join(format!("step{}/rank{}", i / 20, i % 20));
                    fs::create_dir_all(&rank).unwrap();
                    fs::write(rank.join("dump.json"), "{\"data\":{}}").unwrap();
                }
            },
        ),
        growth(
            "processes of msMemScope",
            pick(10_000, 100_000),
            "SELECT count(*) FROM diagnostics('{dir}')",
            |dir, n| {
                (0..n).for_each(|i| {
                    fs::create_dir_all(dir.join(format!("msmemscope_{i}_20261001080000_ascend/device_0")))
                        .unwrap()
                });
            },
        ),
    ]
}

#[test]
fn work_grows_no_faster_than_the_input() {
    let only = std::env::var("RELIABILITY_ONLY").unwrap_or_default();
    let mut slow = vec![];
    for case in cases().into_iter().filter(|case| case.what.contains(&only)) {
        let dir = tempfile::tempdir().unwrap();
        (case.make)(dir.path(), case.n);
        let sql = case.sql.replace("{dir}", &dir.path().display().to_string());
        let mut command = Command::new("sh");
        let script = format!("ulimit -t {}; \"$0\" \"$@\"; code=$?; times >&2; exit $code", seconds());
        command.args(["-c", &script, env!("CARGO_BIN_EXE_rl-insight-sql"), "--format", "csv", "-c", &sql]);
        command.env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let done = finish(command, Duration::from_secs(1800));
        let said = String::from_utf8_lossy(&done.stderr);
        let times = said.trim().lines().last().unwrap_or_default().to_owned();
        let answer = String::from_utf8_lossy(&done.stdout).lines().last().unwrap_or_default().to_owned();
        println!("{}, {}: {times}: {answer}", case.what, case.n);
        // Files that are refused for their header, nothing but bad rows, and directories without data.
        let none = [
            "columns of",
            "bad rows",
            "blocks freed that nobody",
            "launches",
            "names of ranks",
            "ranks of a dump",
        ];
        let nothing = ["empty directories", "ranks of a dump that", "processes"];
        let starts = |all: &[&str]| all.iter().any(|what| case.what.starts_with(what));
        let read = done.status.success() && (!answer.starts_with('0') || starts(&none));
        let refused = done.status.code() == Some(3) && starts(&nothing);
        if !read && !refused {
            let first = said.lines().next().unwrap_or_default();
            slow.push(format!("{}: {}, {answer}: {first}", case.what, done.status));
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
}
