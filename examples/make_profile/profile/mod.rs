//! An invented job, written as the directory tree that the Ascend PyTorch profiler would leave.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

mod allocator;
mod random;
mod stacks;
mod tables;
mod trace_view;
mod workload;

use workload::Run;

/// What is to be made.
pub(crate) struct Job {
    /// Roles, in the order in which they run.
    pub(crate) roles: Vec<String>,
    /// Ranks of each role.
    pub(crate) ranks: u32,
    /// Layers of the model.
    pub(crate) layers: u32,
    /// Seed of everything that is drawn by lot.
    pub(crate) seed: u64,
    /// How long the profiler was on.
    pub(crate) length: Length,
}

/// How long the profiler was on.
pub(crate) enum Length {
    /// For this many steps.
    Steps(u32),
    /// Until the trace of each rank has at least this many bytes.
    TraceBytes(u64),
}

/// The process that was profiled: one role on one rank.
pub(crate) struct Process<'a> {
    pub(crate) role: &'a str,
    pub(crate) rank: u32,
    pub(crate) layers: u32,
    pub(crate) seed: u64,
    /// Start of the window, in nanoseconds since 1970.
    pub(crate) start: i64,
}

impl Process<'_> {
    pub(crate) fn generates(&self) -> bool {
        self.role.contains("rollout") || self.role.contains("generate")
    }

    /// The operating system's number of the process; its main thread has the same.
    pub(crate) fn pid(&self) -> u32 {
        20_480 + self.rank
    }

    /// How the trace and the tables call the device.
    pub(crate) fn device(&self) -> u32 {
        self.rank % 8
    }
}

/// 2026-05-26 08:51:55 UTC, when the first role starts. The second one starts 20 seconds later.
const DAY: i64 = 1_779_753_600;
const FIRST: i64 = 1_779_785_515;
const BETWEEN_ROLES: i64 = 20;

/// Writes the whole tree; the directory must not exist.
///
/// # Errors
/// The I/O error of the system.
pub(crate) fn write_tree(job: &Job, out: &Path) -> io::Result<()> {
    fs::create_dir(out)?;
    for (role, at) in job.roles.iter().zip(0..) {
        for rank in 0..job.ranks {
            // Ranks are never quite in step: 137 microseconds apart here.
            let start =
                (FIRST + at * BETWEEN_ROLES) * 1_000_000_000 + 123_000_000 + i64::from(rank) * 137_000;
            let process = Process { role, rank, layers: job.layers, seed: job.seed, start };
            let name = format!("node0_{}_20260526{}_ascend_pt", process.pid(), time_of_day(start));
            write_profile(&process, job, &out.join(role).join(name))?;
        }
    }
    Ok(())
}

/// `085155123` for 08:51:55.123.
fn time_of_day(ns: i64) -> String {
    let ms = ns / 1_000_000 - DAY * 1000;
    let (s, ms) = (ms / 1000, ms % 1000);
    format!("{:02}{:02}{:02}{ms:03}", s / 3600, s / 60 % 60, s % 60)
}

fn write_profile(process: &Process<'_>, job: &Job, directory: &Path) -> io::Result<()> {
    let output = directory.join("ASCEND_PROFILER_OUTPUT");
    fs::create_dir_all(&output)?;
    let steps = match job.length {
        Length::Steps(n) => n,
        Length::TraceBytes(bytes) => trace_view::steps_for(process, bytes)?,
    };
    write_file(&output.join("trace_view.json"), |out| trace_view::write(process, steps, out))?;

    let mut run = Run::new(process);
    let allocations = (0..steps).flat_map(|_| run.next_step().allocations).collect();
    let end = run.now();
    let memory = allocator::replay(allocations);
    write_file(&output.join("operator_memory.csv"), |out| tables::operator_memory(process, &memory, out))?;
    write_file(&output.join("memory_record.csv"), |out| tables::memory_record(process, &memory, out))?;

    fs::write(directory.join(format!("profiler_info_{}.json", process.rank)), profiler_info(process, end))?;
    fs::write(directory.join("profiler_metadata.json"), profiler_metadata(process, job.ranks))
}

fn write_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::create_new(path)?);
    write(&mut out)?;
    out.flush()
}

/// The profiler indents this file by four.
fn profiler_info(process: &Process<'_>, end: i64) -> String {
    format!(
        r#"{{
    "config": {{
        "common_config": {{
            "activities": [
                "ProfilerActivity.CPU",
                "ProfilerActivity.NPU"
            ],
            "record_shapes": true,
            "profile_memory": true,
            "with_stack": true
        }},
        "experimental_config": {{
            "_profiler_level": "Level1",
            "_export_type": [
                "text"
            ]
        }}
    }},
    "start_info": {{
        "syscnt_enable": true,
        "freq": 100.0,
        "start_cnt": 16894211928475
    }},
    "end_info": {{
        "collectionTimeEnd": {end}
    }},
    "torch_npu_version": "2.9.0",
    "cann_version": "8.5.0",
    "rank_id": "{}"
}}"#,
        process.rank
    )
}

/// And this one is a line.
fn profiler_metadata(process: &Process<'_>, ranks: u32) -> String {
    let (rank, role) = (process.rank, serde_json::Value::from(process.role));
    let ranks: Vec<u32> = (0..ranks).collect();
    let environment = r#"{"PYTORCH_NPU_ALLOC_CONF": "expandable_segments:True", "TASK_QUEUE_ENABLE": "1"}"#;
    let group =
        format!(r#"{{"group_name": "default_group", "group_rank": {rank}, "global_ranks": {ranks:?}}}"#);
    format!(
        r#"{{"ENV_VARIABLES": {environment}, "parallel_group_info": {{"group_name_0": {group}}}, "role": {role}}}"#
    )
}
