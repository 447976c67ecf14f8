//! Inputs that are large enough to take time and memory, of any number of ranks. The files of the ranks
//! are links to those of the first, so that only reading costs.

use std::fmt::Write;
use std::fs;
use std::path::Path;

/// A kind of input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Input {
    /// Profiles with a table and a trace.
    Profile,
    /// Processes of msMemScope with a csv each.
    Memscope,
    /// Ranks of a dump with `dump.json` and `construct.json`.
    Dump,
}

/// Makes `ranks` units of `rows` rows each; `distinct` texts (stacks, names) are in each. Returns the size
/// of all in bytes.
pub(crate) fn make(dir: &Path, input: Input, ranks: usize, rows: usize, distinct: usize) -> u64 {
    let files = match input {
        Input::Profile => profile(rows, distinct),
        Input::Memscope => vec![("dump/memscope_dump_20261001080000.csv", memscope(rows, distinct))],
        Input::Dump => dump(rows, distinct),
    };
    let mut bytes = 0;
    let first = dir.join("first");
    for (name, content) in &files {
        let path = first.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }
    for rank in 0..ranks {
        let unit = match input {
            Input::Profile => {
                let unit = dir.join(format!("run/actor/host_{rank}_20260101120000000_ascend_pt"));
                fs::create_dir_all(&unit).unwrap();
                fs::write(unit.join(format!("profiler_info_{rank}.json")), "{}").unwrap();
                unit
            }
            Input::Memscope => {
                dir.join(format!("run/msmemscope_{}_20261001080000_ascend/device_0", 41_000 + rank))
            }
            Input::Dump => dir.join(format!("run/step0/rank{rank}")),
        };
        for (name, content) in &files {
            let path = unit.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::hard_link(first.join(name), path).unwrap();
            bytes += content.len() as u64;
        }
    }
    bytes
}

fn profile(rows: usize, distinct: usize) -> Vec<(&'static str, String)> {
    let mut csv = String::from(
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),\
         Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),\
         Release Total Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\r\n",
    );
    let mut trace = String::from("[");
    for i in 0..rows {
        let at = 1_779_785_515_000_000u64 + i as u64 * 10;
        let op = i % distinct.min(50);
        write!(
            csv,
            "aten::op{op},{}.5,{at}.120\t,{}.500\t,,2.380\t,,{i}.25,4096.0,1.5,,,,140000,NPU:0\r\n",
            i % 900,
            at + 2
        )
        .unwrap();
        let comma = if i == 0 { "" } else { ", " };
        write!(
            trace,
            "{comma}{{\"ph\": \"X\", \"name\": \"aten::op{op}\", \"pid\": 1, \"tid\": 2, \"ts\": \"{at}.000\", \"dur\": 5, \
             \"cat\": \"cpu_op\", \"args\": {{\"Sequence number\": {i}, \"Call stack\": \
             \"package/module/file_{}.py(7): forward;\\r\\npackage/trainer.py(12): step;\\r\\nmain.py(1): <module>\"}}}}",
            i % distinct
        )
        .unwrap();
    }
    trace.push(']');
    vec![
        ("ASCEND_PROFILER_OUTPUT/operator_memory.csv", csv),
        ("ASCEND_PROFILER_OUTPUT/trace_view.json", trace),
    ]
}

/// Blocks of which the first `distinct` are never freed, each with a call stack of its own.
fn memscope(rows: usize, distinct: usize) -> String {
    let mut csv = String::from(
        "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n",
    );
    for i in 0..rows {
        let (id, time, address) =
            (2 * i, 1_790_000_000_000_000_000u64 + i as u64 * 1000, 0x12c0_0000_0000u64 + i as u64 * 512);
        let stack = i % distinct;
        writeln!(
            csv,
            "{id},MALLOC,PTA,N/A,{time},41001,41001,0,0x{address:016x},\"{{allocation_id:{i},addr:0x{address:016x},size:512,\
             total:44040192,used:38273024,owner:PTA@ops}}\",\"package/module/file_{stack}.py(88): forward;package/trainer.py(12): step\","
        )
        .unwrap();
        if i >= distinct {
            writeln!(
                csv,
                "{},FREE,PTA,N/A,{},41001,41001,0,0x{address:016x},\"{{allocation_id:{i},addr:0x{address:016x},size:512,\
                 total:44040192,used:38273024}}\",,",
                id + 1,
                time + 500
            )
            .unwrap();
        }
    }
    csv
}

/// Calls of modules; all keys of a dump are distinct.
fn dump(rows: usize, _: usize) -> Vec<(&'static str, String)> {
    let mut dump =
        String::from("{\"task\": \"statistics\", \"level\": \"L0\", \"framework\": \"pytorch\", \"data\": {");
    let mut construct = String::from("{");
    for i in 0..rows {
        let comma = if i == 0 { "" } else { "," };
        let key = format!("Module.model.layers.{}.mlp.linear_{i}.Linear.forward.0", i % 64);
        write!(
            dump,
            "{comma}\"{key}\": {{\"input_args\": [{{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], \
             \"Max\": {i}.5, \"Min\": -1.0, \"Mean\": 0.25, \"Norm\": 2.5}}], \"input_kwargs\": {{}}, \"output\": \
             [{{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], \"Max\": 1.0, \"Min\": 0.0, \
             \"Mean\": 0.5, \"Norm\": {i}.0}}]}}"
        )
        .unwrap();
        write!(construct, "{comma}\"{key}\": null").unwrap();
    }
    dump.push_str("}}");
    construct.push('}');
    vec![("dump.json", dump), ("construct.json", construct)]
}
