//! Invented runs of msMemScope whose leaks and peaks are known, because they were put there.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

const HEADER: &str = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,Call Stack(Python),Call Stack(C)\n";

/// The names of the columns, as a database has them.
pub(crate) fn columns() -> Vec<String> {
    HEADER.trim_end().split(',').map(str::to_owned).collect()
}

/// What is in a run.
#[derive(Debug, Default)]
pub(crate) struct Truth {
    /// Process, step, address and bytes of each block that is never released, in order.
    pub(crate) leaks: Vec<(i64, i64, String, i64)>,
    /// Process and the most bytes in use in its pool, in order.
    pub(crate) peaks: Vec<(i64, i64)>,
}

/// A block that is not released yet.
struct Held {
    number: u64,
    address: u64,
    bytes: u64,
    /// The rows of the block so far: the tool writes them when it is released.
    rows: Vec<String>,
    until: u64,
}

/// One process: its pool, its clock, what it has written.
struct Process {
    pid: i64,
    device: i64,
    id: u64,
    block: u64,
    used: u64,
    peak: u64,
    held: Vec<Held>,
    free: Vec<u64>,
    random: u64,
    out: Vec<String>,
}

impl Process {
    fn new(pid: i64, device: i64) -> Self {
        let random = 0x9E37_79B9_7F4A_7C15 ^ pid.unsigned_abs();
        let (held, free, out) = (vec![], vec![], vec![]);
        Self { pid, device, id: 0, block: 0, used: 0, peak: 0, held, free, random, out }
    }

    fn random(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    fn row(
        &mut self,
        event: &str,
        kind: &str,
        name: &str,
        pointer: &str,
        attributes: &str,
        stack: &str,
    ) -> String {
        self.id += 1;
        let (id, time) = (self.id, 1_790_000_000_000_000_000 + self.id * 1000);
        let attributes = if attributes.is_empty() { String::new() } else { format!("\"{{{attributes}}}\"") };
        let stack = if stack.is_empty() { String::new() } else { format!("\"{stack}\"") };
        let (pid, device) = (self.pid, self.device);
        format!("{id},{event},{kind},{name},{time},{pid},{pid},{device},{pointer},{attributes},{stack},\n")
    }

    fn tell(&mut self, event: &str, kind: &str, name: &str) {
        let row = self.row(event, kind, name, "N/A", "", "");
        self.out.push(row);
    }

    fn allocate(&mut self, owner: &str, until: u64) -> (u64, u64) {
        let bytes = (1 + self.random(64)) * 512;
        let address = self.free.pop().unwrap_or(0x12C0_4000_0000 + (self.block + 1) * 0x10_0000);
        self.block += 1;
        self.used += bytes;
        self.peak = self.peak.max(self.used);
        let (number, used) = (self.block, self.used);
        let attributes = format!(
            "allocation_id:{number},addr:{address:#018x},size:{bytes},total:{},used:{used},owner:{owner}",
            1 << 30
        );
        let stack = format!("{}.py({number}): f\nmain.py(1): <module>\n", owner.len());
        let row = self.row("MALLOC", "PTA", "N/A", &format!("{address:#018x}"), &attributes, &stack);
        self.held.push(Held { number, address, bytes, rows: vec![row], until });
        (address, bytes)
    }

    fn access(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let at = self.random(self.held.len() as u64) as usize;
        let (number, address, bytes) = (self.held[at].number, self.held[at].address, self.held[at].bytes);
        let attributes = format!(
            "allocation_id:{number},addr:{address:#018x},size:{bytes},type:PTA,dtype:torch.float32,shape:[2, 3]"
        );
        let row = self.row("ACCESS", "READ", "mm", &format!("{address:#018x}"), &attributes, "");
        self.held[at].rows.push(row);
    }

    /// Releases what lives up to this step.
    fn release(&mut self, step: u64) {
        while let Some(at) = self.held.iter().position(|h| h.until <= step) {
            let mut block = self.held.swap_remove(at);
            self.used -= block.bytes;
            let attributes = format!(
                "allocation_id:{},addr:{:#018x},size:{},total:{},used:{}",
                block.number,
                block.address,
                block.bytes,
                1 << 30,
                self.used
            );
            let row = self.row("FREE", "PTA", "N/A", &format!("{:#018x}", block.address), &attributes, "");
            block.rows.push(row);
            self.out.append(&mut block.rows);
            self.free.push(block.address);
        }
    }

    /// What the tool writes at exit: everything that is held, with a release that it makes up.
    fn exit(&mut self) {
        for mut block in std::mem::take(&mut self.held) {
            let attributes = format!(
                "allocation_id:{},addr:{:#018x},size:{},shadow:true",
                block.number, block.address, block.bytes
            );
            let row = self.row("FREE", "PTA", "N/A", &format!("{:#018x}", block.address), &attributes, "");
            block.rows.push(row);
            self.out.append(&mut block.rows);
        }
    }
}

/// Writes a run of two processes with so many steps below a directory.
pub(crate) fn write(dir: &Path, steps: u64) -> Truth {
    let mut truth = Truth::default();
    for (pid, device) in [(501, 0), (502, 1)] {
        let mut p = Process::new(pid, device);
        for _ in 0..5 {
            p.allocate("PTA@fsdp2@weight", u64::MAX);
        }
        for step in 1..=steps {
            p.tell("MSTX", "Range_start", "\"step start\"");
            p.tell("MSTX", "Mark", "\"m\"");
            for n in 0..40 {
                p.tell("OP_LAUNCH", "ATEN_START", "mm");
                // Most live to the end of the step, some into the next one.
                let longer = u64::from(p.random(4) == 0);
                p.allocate("PTA@fsdp2@activation", step + longer);
                p.access();
                p.tell("OP_LAUNCH", "ATEN_END", "mm");
                if n % 10 == 0 {
                    p.release(step.saturating_sub(1));
                }
            }
            for _ in 0..p.random(3) {
                let (address, bytes) = p.allocate("PTA@ops", u64::MAX);
                // The first and the last step are outside of the rule.
                if step > 1 && step < steps {
                    truth.leaks.push((pid, step as i64, format!("{address:#018x}"), bytes as i64));
                }
            }
            p.release(step);
            p.tell("MSTX", "Range_end", &format!("\"Range end from id {step}\""));
        }
        p.exit();
        truth.peaks.push((pid, p.peak as i64));
        let path = dump(dir, pid, device);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut text = String::from(HEADER);
        p.out.iter().for_each(|row| write!(text, "{row}").unwrap());
        fs::write(path, text).unwrap();
    }
    truth
}

/// Where the dump of a process is, as csv.
pub(crate) fn dump(dir: &Path, pid: i64, device: i64) -> PathBuf {
    dir.join(format!(
        "msmemscope_{pid}_20261001080000_ascend/device_{device}/dump/memscope_dump_20261001080000.csv"
    ))
}
