//! `operator_memory.csv` and `memory_record.csv`, with CRLF and a TAB after times.

use std::io::{self, Write};

use super::Process;
use super::allocator::{Level, Memory, Row};
use super::trace_view::us;
use super::workload::Pool;

const OPERATOR_MEMORY: &str = "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),\
Duration(us),Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),\
Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),\
Release Total Active(MB),Stream Ptr,Device Type\r\n";

const MEMORY_RECORD: &str = "Component,Timestamp(us),Total Allocated(MB),Total Reserved(MB),\
Total Active(MB),Stream Ptr,Device Type\r\n";

const STREAM: u64 = 1_431_569_360;

/// One row per allocation: first those of the framework by time, then those of the graph engine in
/// the order in which they were released.
pub(crate) fn operator_memory(
    process: &Process<'_>,
    memory: &Memory,
    out: &mut impl Write,
) -> io::Result<()> {
    out.write_all(OPERATOR_MEMORY.as_bytes())?;
    let (torch, mut cann): (Vec<&Row>, Vec<&Row>) =
        memory.rows.iter().partition(|row| row.allocation.pool == Pool::Torch);
    cann.sort_by_key(|row| row.allocation.free.unwrap_or(row.allocation.at));
    for row in torch {
        let a = &row.allocation;
        let time = |at: Option<i64>| at.map(|at| us(at) + "\t").unwrap_or_default();
        let after = |at: Option<i64>| time(at.map(|at| at - a.at));
        write!(out, "{},{},{},", a.name, kib(a.bytes), time(Some(a.at)))?;
        write!(out, "{},{},{},{},", time(a.free), time(a.active_free), after(a.free), after(a.active_free))?;
        write!(out, "{},{},", levels(Some(row.made)), levels(row.released))?;
        write!(out, "{STREAM},NPU:{}\r\n", process.device())?;
    }
    for row in cann {
        let a = &row.allocation;
        // A block that was never released has its own allocation as release, and 0.0 as duration.
        let free = a.free.unwrap_or(a.at);
        let life = kilo(free - a.at);
        write!(out, "{},{},{}\t,{}\t,,{life},,", a.name, kib(a.bytes), us(a.at), us(free))?;
        let (made, released) = (row.made, row.released.unwrap_or(row.made));
        write!(out, "{},{},,", mib(made.allocated), mib(made.reserved))?;
        write!(out, "{},{},,", mib(released.allocated), mib(released.reserved))?;
        write!(out, ",NPU:{}\r\n", process.device())?;
    }
    Ok(())
}

/// The level of memory over time: the process as a whole, then each allocator and both together.
pub(crate) fn memory_record(process: &Process<'_>, memory: &Memory, out: &mut impl Write) -> io::Result<()> {
    let device = process.device();
    out.write_all(MEMORY_RECORD.as_bytes())?;
    for tick in 0..5 {
        let at = us(process.start + tick * 20_000_000);
        write!(out, "APP,{at}\t,,{},,,NPU:{device}\r\n", 9216.5 + tick as f64)?;
    }
    for change in &memory.changes {
        let (at, level) = (us(change.at), change.level);
        match change.pool {
            Pool::Torch => write!(out, "PTA,{at}\t,{},{STREAM},NPU:{device}\r\n", levels(Some(level)))?,
            Pool::Cann => {
                let (allocated, reserved) = (mib(level.allocated), mib(level.reserved));
                write!(out, "GE,{at}\t,{allocated},{reserved},,,NPU:{device}\r\n")?;
            }
        }
        write!(out, "PTA+GE,{at}\t,{},{STREAM},NPU:{device}\r\n", levels(Some(change.both)))?;
    }
    Ok(())
}

fn levels(level: Option<Level>) -> String {
    level.map_or_else(
        || ",,".to_owned(),
        |l| format!("{},{},{}", mib(l.allocated), mib(l.reserved), mib(l.active)),
    )
}

/// Numbers as Python writes them: `64.0`, `19071.576171875`.
fn kib(bytes: u64) -> String {
    format!("{:?}", bytes as f64 / 1024.0)
}

fn mib(bytes: u64) -> String {
    format!("{:?}", bytes as f64 / 1_048_576.0)
}

/// Nanoseconds as microseconds, as Python writes a float: `17.38`, `9.0`.
pub(crate) fn kilo(ns: i64) -> String {
    format!("{:?}", ns as f64 / 1000.0)
}
