//! One small good example of every file that is read, and the query that reads it.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

/// Which damages a file can have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Text {
    /// JSON: with a string and a number in it that damages may replace, as they stand in the file.
    Json {
        /// A string, without its quotes.
        string: &'static str,
        /// A number, with quotes if it has any.
        number: &'static str,
    },
    /// CSV: the same, both are cells of the second row.
    Csv {
        /// A cell with a text.
        string: &'static str,
        /// A cell with a number.
        number: &'static str,
    },
    /// A SQLite database: its main table, and columns of it.
    Database {
        /// The table that holds the rows.
        table: &'static str,
        /// A column with a text, or the number of one.
        string: &'static str,
        /// A column with a number.
        number: &'static str,
    },
}

impl Text {
    /// Whether the file may do without the table of the sample.
    pub(crate) fn is_optional(self) -> bool {
        matches!(self, Text::Database { table, .. } if table.starts_with("python_trace"))
    }
}

/// A good example.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    /// How the file is called in the documentation.
    pub(crate) title: &'static str,
    /// The table function that reads it.
    pub(crate) function: &'static str,
    /// The file that is damaged, below the root.
    pub(crate) file: &'static str,
    /// The query; `{args}` stands for path and `on_error`.
    pub(crate) query: &'static str,
    /// More arguments; `{root}` stands for the root.
    pub(crate) arguments: &'static str,
    /// How many rows a single value of the file stands in.
    pub(crate) of_one_value: usize,
    /// What the file is.
    pub(crate) text: Text,
    /// Writes the tree.
    pub(crate) write: fn(&Path),
}

const PROFILE: &str = "actor/host_1_20260101120000000_ascend_pt";
const EVENTS: &str = "SELECT row_no, name, size_kb, start_time_ns, total_allocated_mb, device_type, role, rank_id, \
     call_stack FROM memory_events({args})";

/// All of them.
pub(crate) const SAMPLES: [Sample; 15] = [
    Sample {
        title: "trace_view.json",
        function: "memory_events",
        file: "actor/host_1_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT/trace_view.json",
        query: EVENTS,
        arguments: "",
        of_one_value: 1,
        text: Text::Json { string: "b.py(2): g", number: "\"1736405443000200.500\"" },
        write: profile,
    },
    Sample {
        title: "operator_memory.csv",
        function: "memory_events",
        file: "actor/host_1_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT/operator_memory.csv",
        query: EVENTS,
        arguments: "",
        of_one_value: 1,
        text: Text::Csv { string: "aten::add", number: "8.5" },
        write: profile,
    },
    Sample {
        title: "memory_record.csv",
        function: "memory_records",
        file: "actor/host_1_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT/memory_record.csv",
        query: "SELECT * EXCLUDE (source_path) FROM memory_records({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Csv { string: "PTA", number: "20.5" },
        write: profile,
    },
    Sample {
        title: "ascend_pytorch_profiler_<rank>.db",
        function: "memory_events",
        file: "actor/host_1_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT/ascend_pytorch_profiler_0.db",
        query: EVENTS,
        arguments: "",
        of_one_value: 1,
        text: Text::Database { table: "OP_MEMORY", string: "name", number: "size" },
        write: profile_with_database,
    },
    Sample {
        title: "profiler_info.json",
        function: "memory_events",
        file: "actor/host_1_20260101120000000_ascend_pt/profiler_info.json",
        query: EVENTS,
        arguments: "",
        of_one_value: 3,
        text: Text::Json { string: "2.9.0", number: "\"3\"" },
        write: profile_of_one_process,
    },
    Sample {
        title: "profiler_metadata.json",
        function: "memory_events",
        file: "actor/host_1_20260101120000000_ascend_pt/profiler_metadata.json",
        query: EVENTS,
        arguments: "",
        of_one_value: 3,
        text: Text::Json { string: "actor_update", number: "2" },
        write: profile,
    },
    Sample {
        title: "dump.json",
        function: "dump_trend",
        file: "step0/rank0/dump.json",
        query: TREND,
        arguments: "",
        of_one_value: 2,
        text: Text::Json { string: "torch.float32", number: "2.5" },
        write: dump,
    },
    Sample {
        title: "construct.json",
        function: "dump_trend",
        file: "step0/rank0/construct.json",
        query: TREND,
        arguments: "",
        of_one_value: 6,
        text: Text::Json { string: "Module.layer.L.forward.0", number: "null" },
        write: dump,
    },
    Sample {
        title: "mapping file",
        function: "dump_trend",
        file: "mapping.json",
        query: TREND,
        arguments: ", mapping => '{root}/mapping.json'",
        of_one_value: 6,
        text: Text::Json { string: "block", number: "\"NORM\"" },
        write: dump,
    },
    Sample {
        title: "memscope_dump_<time>.csv",
        function: "memscope_events",
        file: "msmemscope_7_20261001080000_ascend/device_0/dump/memscope_dump_20261001080000.csv",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_events({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Csv { string: "aten.mm", number: "1790000000000000200" },
        write: memscope,
    },
    Sample {
        title: "memscope_dump_<time>.db",
        function: "memscope_events",
        file: "msmemscope_7_20261001080000_ascend/device_0/dump/memscope_dump_20261001080000.db",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_events({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Database { table: "memscope_dump", string: "Name", number: "Timestamp(ns)" },
        write: memscope_database,
    },
    Sample {
        title: "python_trace_<time>.csv",
        function: "memscope_python_trace",
        file: "msmemscope_7_20261001080000_ascend/device_0/dump/python_trace_20261001080000.csv",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_python_trace({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Csv { string: "b.py(2): g", number: "1790000000000000200" },
        write: memscope,
    },
    Sample {
        title: "python_trace_<pid> in memscope_dump_<time>.db",
        function: "memscope_python_trace",
        file: "msmemscope_7_20261001080000_ascend/device_0/dump/memscope_dump_20261001080000.db",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_python_trace({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Database { table: "python_trace_7", string: "FuncInfo", number: "StartTime(ns)" },
        write: memscope_database_with_calls,
    },
    Sample {
        title: "watch_dump_data_check_sum_<time>.csv",
        function: "memscope_watch",
        file: "msmemscope_7_20261001080000_ascend/device_0/watch_dump/watch_dump_data_check_sum_20261001080000.csv",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_watch({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Csv { string: "0_7/aten.mm_1-weight0_0_after.bin", number: "8da09d68a0d88f2b" },
        write: memscope,
    },
    Sample {
        title: "config.json of msMemScope",
        function: "memscope_config",
        file: "msmemscope_7_20261001080000_ascend/config.json",
        query: "SELECT * EXCLUDE (source_path) FROM memscope_config({args})",
        arguments: "",
        of_one_value: 1,
        text: Text::Json { string: "/data/out", number: "7" },
        write: memscope,
    },
];

const TREND: &str = "SELECT step, rank, metric_name, target_name, vpp_stage, target_micro_step, norm, max, min, mean \
     FROM dump_trend({args})";

fn put(root: &Path, name: &str, text: &str) {
    let path = root.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// A profile in which each of three allocations has its op.
fn profile(root: &Path) {
    let event = |name: &str, at: &str, stack: &str| {
        format!(
            "{{\"ph\": \"X\", \"name\": \"{name}\", \"pid\": 1, \"tid\": 2, \"ts\": \"{at}\", \"dur\": 5.25, \"cat\": \
             \"cpu_op\", \"args\": {{\"Sequence number\": 3, \"Call stack\": \"{stack};\\r\\nmain.py(9): <module>\"}}}}"
        )
    };
    let events = [
        event("aten::mm", "1736405443000100.500", "a.py(1): f"),
        "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": 1, \"args\": {\"name\": \"Python\"}}"
            .to_owned(),
        event("aten::add", "1736405443000200.500", "b.py(2): g"),
        event("aten::mul", "1736405443000300.500", "c.py(3): h"),
    ];
    put(
        root,
        &format!("{PROFILE}/ASCEND_PROFILER_OUTPUT/trace_view.json"),
        &format!("[{}]\n", events.join(",\n")),
    );
    put(
        root,
        &format!("{PROFILE}/ASCEND_PROFILER_OUTPUT/operator_memory.csv"),
        "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),Active Duration(us),\
         Allocation Total Allocated(MB),Allocation Total Reserved(MB),Allocation Total Active(MB),Release Total \
         Allocated(MB),Release Total Reserved(MB),Release Total Active(MB),Stream Ptr,Device Type\n\
         aten::mm,7.5,1736405443000101.000\t,1736405443000151.000\t,,50.0,,10.5,100.0,10.5,,,,140000,NPU:0\n\
         aten::add,8.5,1736405443000201.000\t,1736405443000251.000\t,,50.0,,11.5,100.0,11.5,,,,140000,NPU:0\n\
         aten::mul,9.5,1736405443000301.000\t,1736405443000351.000\t,,50.0,,12.5,100.0,12.5,,,,140000,NPU:0\n",
    );
    put(
        root,
        &format!("{PROFILE}/ASCEND_PROFILER_OUTPUT/memory_record.csv"),
        "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),Total Active(MB),Stream Ptr,Device Type\n\
         PTA,1736405443000101.000\t,10.5,100.0,10.5,140000,NPU:0\n\
         PTA,1736405443000201.000\t,20.5,101.0,20.5,140000,NPU:0\n\
         PTA,1736405443000301.000\t,30.5,102.0,30.5,140000,NPU:0\n",
    );
    put(
        root,
        &format!("{PROFILE}/profiler_info_0.json"),
        "{\n    \"torch_npu_version\": \"2.9.0\",\n    \"rank_id\": \"0\"\n}\n",
    );
    put(
        root,
        &format!("{PROFILE}/profiler_metadata.json"),
        "{\n    \"parallel_group_info\": {\"size\": 2},\n    \"role\": \"actor_update\"\n}\n",
    );
}

fn profile_of_one_process(root: &Path) {
    profile(root);
    fs::remove_file(root.join(PROFILE).join("profiler_info_0.json")).unwrap();
    put(
        root,
        &format!("{PROFILE}/profiler_info.json"),
        "{\n    \"torch_npu_version\": \"2.9.0\",\n    \"rank_id\": \"3\"\n}\n",
    );
}

fn profile_with_database(root: &Path) {
    profile(root);
    let output = root.join(PROFILE).join("ASCEND_PROFILER_OUTPUT");
    for text in ["trace_view.json", "operator_memory.csv", "memory_record.csv"] {
        fs::remove_file(output.join(text)).unwrap();
    }
    let db = Connection::open(output.join("ascend_pytorch_profiler_0.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT);
         CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,
            activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER,
            allocationTotalAllocated INTEGER, allocationTotalReserved INTEGER, allocationTotalActive INTEGER,
            releaseTotalAllocated INTEGER, releaseTotalReserved INTEGER, releaseTotalActive INTEGER,
            streamPtr INTEGER, deviceId INTEGER);
         CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER,
            totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER);
         CREATE TABLE PYTORCH_API (startNs TEXT, endNs TEXT, globalTid INTEGER, connectionId INTEGER,
            name INTEGER, sequenceNumber INTEGER, fwdThreadId INTEGER, inputDtypes INTEGER,
            inputShapes INTEGER, callchainId INTEGER, type INTEGER);
         CREATE TABLE PYTORCH_CALLCHAINS (id INTEGER, stack INTEGER, stackDepth INTEGER);
         INSERT INTO STRING_IDS VALUES (1, 'aten::mm'), (2, 'aten::add'), (3, 'aten::mul'), (4, 'a.py(1): f'),
            (5, 'b.py(2): g'), (6, 'c.py(3): h'), (9, 'PTA');
         INSERT INTO OP_MEMORY VALUES
            (1, 7680, 1736405443000101000, 1736405443000151000, NULL, 50000, NULL, 1048576, 2097152, 1048576,
             NULL, NULL, NULL, 7, 0),
            (2, 8704, 1736405443000201000, 1736405443000251000, NULL, 50000, NULL, 2097152, 2097152, 1048576,
             NULL, NULL, NULL, 7, 0),
            (3, 9728, 1736405443000301000, 1736405443000351000, NULL, 50000, NULL, 3145728, 2097152, 1048576,
             NULL, NULL, NULL, 7, 0);
         INSERT INTO PYTORCH_API VALUES
            ('1736405443000100500', '1736405443000110500', 9, NULL, 1, -1, 0, NULL, NULL, 1, 50001),
            ('1736405443000200500', '1736405443000210500', 9, NULL, 2, -1, 0, NULL, NULL, 2, 50001),
            ('1736405443000300500', '1736405443000310500', 9, NULL, 3, -1, 0, NULL, NULL, 3, 50001);
         INSERT INTO PYTORCH_CALLCHAINS VALUES (1, 4, 0), (2, 5, 0), (3, 6, 0);",
    )
    .unwrap();
}

/// Three calls of modules, each with one input and one output.
fn dump(root: &Path) {
    let tensor = |max: &str| {
        format!(
            "{{\"type\": \"torch.Tensor\", \"dtype\": \"torch.float32\", \"shape\": [2, 3], \"Max\": {max}, \"Min\": \
             -1.0, \"Mean\": 0.25, \"Norm\": 3.5, \"requires_grad\": false}}"
        )
    };
    let entry = |key: &str, max: &str| {
        let tensor = tensor(max);
        format!("  \"{key}\": {{\"input_args\": [{tensor}], \"input_kwargs\": {{}}, \"output\": [{tensor}]}}")
    };
    let entries = [
        entry("Module.block.norm.N.forward.0", "1.5"),
        entry("Module.block.attention.A.forward.0", "2.5"),
        entry("Module.block.mlp.M.forward.0", "4.5"),
    ];
    put(
        root,
        "step0/rank0/dump.json",
        &format!(
            "{{\n \"task\": \"statistics\",\n \"level\": \"mix\",\n \"framework\": \"pytorch\",\n \"data\": {{\n{}\n }}\n}}\n",
            entries.join(",\n")
        ),
    );
    put(
        root,
        "step0/rank0/construct.json",
        "{\n \"Module.layer.L.forward.0\": null,\n \"Module.block.norm.N.forward.0\": \"Module.layer.L.forward.0\",\n \
         \"Module.block.attention.A.forward.0\": \"Module.layer.L.forward.0\",\n \
         \"Module.block.mlp.M.forward.0\": \"Module.layer.L.forward.0\"\n}\n",
    );
    put(root, "mapping.json", "{\n \"block\": \"layer\",\n \"norm\": \"NORM\"\n}\n");
}

fn memscope(root: &Path) {
    let process = "msmemscope_7_20261001080000_ascend";
    put(
        root,
        &format!("{process}/device_0/dump/memscope_dump_20261001080000.csv"),
        "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n\
         1,MALLOC,PTA,N/A,1790000000000000100,7,7,0,0x10,\"{allocation_id:1,addr:0x10,size:512,total:4096,used:512}\",\"a.py(1): f\nmain.py(9): <module>\n\",\n\
         2,OP_LAUNCH,ATEN_START,aten.mm,1790000000000000200,7,7,0,N/A,,,\n\
         3,FREE,PTA,N/A,1790000000000000300,7,7,0,0x10,\"{allocation_id:1,addr:0x10,size:512,total:4096,used:0}\",,\n",
    );
    put(
        root,
        &format!("{process}/device_0/dump/python_trace_20261001080000.csv"),
        "FuncInfo,StartTime(ns),EndTime(ns),Thread Id,Process Id\n\
         a.py(1): f,1790000000000000100,1790000000000000150,7,7\n\
         b.py(2): g,1790000000000000200,1790000000000000250,7,7\n\
         c.py(3): h,1790000000000000300,1790000000000000350,7,7\n",
    );
    put(
        root,
        &format!("{process}/device_0/watch_dump/watch_dump_data_check_sum_20261001080000.csv"),
        "Tensor info,Check data sum\n\
         0_7/aten.mm_1-weight0_0_before.bin,8da09d68a0d88f2a\n\
         0_7/aten.mm_1-weight0_0_after.bin,8da09d68a0d88f2b\n\
         0_7/aten.mm_2-weight0_0_before.bin,8da09d68a0d88f2c\n",
    );
    put(
        root,
        &format!("{process}/config.json"),
        "{\n    \"analysisType\": 7,\n    \"outputDir\": \"/data/out\",\n    \"watchConfig\": {\"end\": \"\"}\n}\n",
    );
}

fn memscope_database(root: &Path) {
    let dump = root.join("msmemscope_7_20261001080000_ascend/device_0/dump");
    fs::create_dir_all(&dump).unwrap();
    let db = Connection::open(dump.join("memscope_dump_20261001080000.db")).unwrap();
    db.execute_batch(
        "CREATE TABLE memscope_dump (\"ID\" INTEGER, \"Event\" TEXT, \"Event Type\" TEXT, \"Name\" TEXT,
            \"Timestamp(ns)\" INTEGER, \"Process Id\" INTEGER, \"Thread Id\" INTEGER, \"Device Id\" TEXT,
            \"Ptr\" TEXT, \"Attr\" TEXT, \"Call Stack(Python)\" TEXT, \"Call Stack(C)\" TEXT);
         INSERT INTO memscope_dump VALUES
            (1, 'MALLOC', 'PTA', 'N/A', 1790000000000000100, 7, 7, '0', '0x10',
             '{\"allocation_id\":\"1\",\"addr\":\"0x10\",\"size\":\"512\",\"total\":\"4096\",\"used\":\"512\"}', 'a.py(1): f', ''),
            (2, 'OP_LAUNCH', 'ATEN_START', 'aten.mm', 1790000000000000200, 7, 7, '0', 'N/A', '{}', '', ''),
            (3, 'FREE', 'PTA', 'N/A', 1790000000000000300, 7, 7, '0', '0x10',
             '{\"allocation_id\":\"1\",\"addr\":\"0x10\",\"size\":\"512\",\"total\":\"4096\",\"used\":\"0\"}', '', '');",
    )
    .unwrap();
}

fn memscope_database_with_calls(root: &Path) {
    memscope_database(root);
    let path = "msmemscope_7_20261001080000_ascend/device_0/dump/memscope_dump_20261001080000.db";
    let db = Connection::open(root.join(path)).unwrap();
    db.execute_batch(
        "CREATE TABLE python_trace_7 (\"FuncInfo\" TEXT, \"StartTime(ns)\" TEXT, \"EndTime(ns)\" TEXT,
            \"Thread Id\" INTEGER, \"Process Id\" INTEGER);
         INSERT INTO python_trace_7 VALUES
            ('a.py(1): f', '1790000000000000100', '1790000000000000150', 7, 7),
            ('b.py(2): g', '1790000000000000200', '1790000000000000250', 7, 7),
            ('c.py(3): h', '1790000000000000300', '1790000000000000350', 7, 7);",
    )
    .unwrap();
}
