//! Random runs of msMemScope: what a process did, and the file that the tool would write of it.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::random::Random;

/// A block from its allocation on.
#[derive(Debug, Clone, Default)]
pub(super) struct Block {
    pub(super) allocation: i64,
    pub(super) pool: &'static str,
    pub(super) ptr: i64,
    pub(super) size: i64,
    /// Number and time of the MALLOC.
    pub(super) malloc: (i64, i64),
    /// Number and time of the release by the program.
    pub(super) free: Option<(i64, i64)>,
    /// Number of the release that the tool made up at exit.
    pub(super) tool_free: Option<i64>,
    pub(super) owner: Option<String>,
    pub(super) accesses: Vec<i64>,
    /// Bytes in use in its pool after the MALLOC; the driver does not say.
    pub(super) used: Option<i64>,
}

/// One process on one card.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) pid: i64,
    pub(super) blocks: Vec<Block>,
    /// Numbers of the marks.
    pub(super) marks: Vec<i64>,
    pub(super) events: usize,
}

pub(super) const MARK: &str = "leak, \"check\"";
const HEADER: &str = "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,\
                      Call Stack(Python),Call Stack(C)\n";
const START: i64 = 1_790_000_000_000_000_000;

/// Writes a run below `root`; the same for the same seed.
pub(super) fn write(seed: u64, root: &Path) -> Vec<Run> {
    let mut random = Random::new(seed);
    (0..1 + random.below(3) as i64)
        .map(|at| {
            let pid = 41_001 + at;
            let (run, text) = process(&mut random, pid);
            let directory = root.join(format!("msmemscope_{pid}_20261001080000_ascend/device_0/dump"));
            fs::create_dir_all(&directory).unwrap();
            fs::write(directory.join("memscope_dump_20261001080000.csv"), text).unwrap();
            run
        })
        .collect()
}

fn process(random: &mut Random, pid: i64) -> (Run, String) {
    let mut run = Run { pid, ..Run::default() };
    let (mut id, mut ts) = (random.below(5) as i64, START);
    // Rows of a block wait until it is released; what has no block is written at once.
    let mut text = HEADER.to_owned();
    let mut waiting: Vec<String> = Vec::new();
    let mut alive: Vec<usize> = Vec::new();
    let mut used = std::collections::BTreeMap::<&str, i64>::new();
    for _ in 0..random.below(200) {
        // Numbers have gaps, and several things happen in one nanosecond.
        id += 1 + random.below(3) as i64;
        ts += random.below(3) as i64 * random.below(1_000_000) as i64;
        let row = |event: &str, kind: &str, name: &str, ptr: &str, attr: &str| {
            format!("{id},{event},{kind},{name},{ts},{pid},{pid},0,{ptr},{attr},,\n")
        };
        match random.below(10) {
            0 => {
                run.marks.push(id);
                text += &row("MSTX", "Mark", &format!("\"{MARK}\""), "N/A", "");
            }
            1 => text += &row("OP_LAUNCH", "ATEN_START", "torch.add", "N/A", ""),
            2..=5 => {
                let pool = *random.pick(&["PTA", "HAL", "ATB"]);
                let size = random.below(1 << 20) as i64;
                // Addresses are used again when they are free.
                let free = |ptr: &i64| !alive.iter().any(|at| run.blocks[*at].ptr == *ptr);
                let Some(ptr) = (1..).map(|n| 0x12c0_0000_0000 + n * (2 << 20)).find(free) else { continue };
                let owner = random.once_in(2).then(|| format!("{pool}@fsdp2@a,b [{}]", random.below(3)));
                let now = used.entry(pool).or_default();
                *now += size;
                let allocation = run.blocks.len() as i64 + 1;
                let mut attr = format!("allocation_id:{allocation},addr:0x{ptr:016x},size:{size}");
                if pool != "HAL" {
                    write!(attr, ",total:{},used:{now}", 1i64 << 40).unwrap();
                }
                if let Some(owner) = &owner {
                    write!(attr, ",owner:{owner}").unwrap();
                }
                waiting.push(row(
                    "MALLOC",
                    pool,
                    "N/A",
                    &format!("0x{ptr:016x}"),
                    &format!("\"{{{attr}}}\""),
                ));
                alive.push(run.blocks.len());
                let used = (pool != "HAL").then_some(*now);
                run.blocks.push(Block {
                    allocation,
                    pool,
                    ptr,
                    size,
                    malloc: (id, ts),
                    owner,
                    used,
                    ..Block::default()
                });
            }
            6 | 7 if !alive.is_empty() => {
                let at = *random.pick(&alive);
                let block = &mut run.blocks[at];
                if block.pool == "HAL" {
                    continue;
                }
                block.accesses.push(ts);
                let attr = format!(
                    "\"{{allocation_id:{},addr:0x{:016x},size:{},type:{},dtype:Half,shape:torch.Size([32, 10])}}\"",
                    block.allocation, block.ptr, block.size, block.pool
                );
                waiting[at] += &row("ACCESS", "READ", "torch.mm", &format!("0x{:016x}", block.ptr), &attr);
            }
            _ if !alive.is_empty() => {
                let at = alive.swap_remove(random.below(alive.len()));
                let block = &mut run.blocks[at];
                let now = used.entry(block.pool).or_default();
                *now -= block.size;
                block.free = Some((id, ts));
                let mut attr = format!(
                    "allocation_id:{},addr:0x{:016x},size:{}",
                    block.allocation, block.ptr, block.size
                );
                if block.pool != "HAL" {
                    write!(attr, ",total:{},used:{now}", 1i64 << 40).unwrap();
                }
                text += &waiting[at];
                text += &row(
                    "FREE",
                    block.pool,
                    "N/A",
                    &format!("0x{:016x}", block.ptr),
                    &format!("\"{{{attr}}}\""),
                );
            }
            _ => {}
        }
    }
    // At exit what is alive is written, of some versions with a release that the tool makes up.
    let made_up = random.once_in(2);
    ts += 1;
    for at in alive {
        let block = &mut run.blocks[at];
        text += &waiting[at];
        if made_up {
            id += 1;
            block.tool_free = Some(id);
            let attr = format!(
                "allocation_id:{},addr:0x{:016x},size:{},shadow:true",
                block.allocation, block.ptr, block.size
            );
            writeln!(
                text,
                "{id},FREE,{},N/A,{ts},{pid},{pid},0,0x{:016x},\"{{{attr}}}\",,",
                block.pool, block.ptr
            )
            .unwrap();
        }
    }
    run.events = text.lines().count() - 1;
    (run, text)
}
