//! Lifetimes: the largest blocks, from allocation to release.

use rl_insight_sql::plot::{Block, Caption, Lifetimes, Unit, amount};
use rl_insight_sql::stack;

use super::Drawn;
use super::call::{Call, moment};
use super::flame::{Seen, process};
use super::kinds::Source;
use super::rows::Rows;
use crate::shell::failure::Failure;

/// So many blocks are drawn, the largest ones.
const BLOCKS: u64 = 2000;

/// The queries: one for blocks, one for everything that there is.
///
/// # Errors
/// When an option cannot be understood.
pub(super) fn queries(call: &Call<'_>) -> Result<Vec<String>, String> {
    let blocks = call.request.number("blocks", BLOCKS)?;
    if blocks > 100_000 {
        return Err(format!("blocks={blocks}: no screen shows more than 100000"));
    }
    let (path, arguments) = (call.path(), call.arguments()?);
    Ok(match call.subject.source {
        Source::Memscope => {
            let filter = call.filter(&["malloc_id IS NOT NULL".to_owned(), "size > 0".to_owned()])?;
            let from = format!("FROM memscope_blocks({path}{arguments}){filter}");
            vec![
                format!(
                    "SELECT pid, device, pool, owner, py_stack, size, malloc_ts, CASE WHEN freed_by = 'program' THEN free_ts \
                     END AS free_ts {from} ORDER BY size DESC, source_path, pid, malloc_id LIMIT {blocks}"
                ),
                format!(
                    "SELECT count(*) AS blocks, sum(size) AS bytes, min(malloc_ts) AS first, max(greatest(malloc_ts, \
                     coalesce(free_ts, malloc_ts))) AS last, count(DISTINCT concat(source_path, ' ', pid, ' ', device, ' ', \
                     pool)) AS places {from}"
                ),
            ]
        }
        _ => {
            let filter = call.filter(&["size_kb > 0".to_owned(), "start_time_ns IS NOT NULL".to_owned()])?;
            let from = format!("FROM memory_events({path}{arguments}){filter}");
            vec![
                // A block that is not released ends with its own profile, unless that is the last of the rank.
                format!(
                    "SELECT role, rank_id, name, call_stack, size_kb, start_time_ns, \
                     CASE WHEN release_time_ns IS NULL AND profile_end < rank_end THEN profile_end \
                     ELSE release_time_ns END AS release_time_ns \
                     FROM (SELECT *, max(greatest(start_time_ns, release_time_ns)) OVER (PARTITION BY role, rank_id, \
                     source_path) AS profile_end, max(greatest(start_time_ns, release_time_ns)) OVER (PARTITION BY role, \
                     rank_id) AS rank_end {from}) \
                     ORDER BY size_kb DESC, role, rank_id, start_time_ns, source_path, row_no LIMIT {blocks}"
                ),
                format!(
                    "SELECT count(*) AS blocks, sum(CAST(round(size_kb * 1024) AS BIGINT)) AS bytes, \
                     min(start_time_ns) AS first, max(coalesce(release_time_ns, start_time_ns)) AS last, \
                     count(DISTINCT concat(role, ' ', rank_id)) AS places {from}"
                ),
            ]
        }
    })
}

/// The picture.
///
/// # Errors
/// When there is more than one rank or pool: their blocks do not share a memory.
pub(super) fn drawn(call: &Call<'_>, rows: &[Rows]) -> Result<Drawn, Failure> {
    let [blocks, all] = rows else { return Err(Failure::Query("two queries were expected".into())) };
    let one =
        |name: &str| -> Result<i64, Failure> { Ok(all.ints(name)?.iter().next().flatten().unwrap_or(0)) };
    let memscope = call.subject.source == Source::Memscope;
    if one("places")? > 1 {
        let options = if memscope { "pid=, device= and pool=" } else { "role= and rank=" };
        let what = if memscope { "pools" } else { "ranks" };
        return Err(Failure::Query(format!(
            "lifetimes shows one memory, and the data has {} {what}\nhint: choose one with {options}",
            one("places")?
        )));
    }
    let (found, shown) = if memscope { of_pool(blocks)? } else { of_rank(blocks)? };
    let drawn_bytes: i64 = found.iter().map(|b| b.bytes).sum();
    let mut facts = call.facts();
    facts.push(("shown".to_owned(), shown));
    facts.push((
        "blocks".to_owned(),
        format!(
            "the {} largest of {}, with {} of {}",
            found.len(),
            one("blocks")?,
            amount(drawn_bytes as f64, Unit::Bytes),
            amount(one("bytes")? as f64, Unit::Bytes)
        ),
    ));
    facts.push(("begins".to_owned(), moment(one("first")?)));
    let note = "Each box is a block: as wide as it lives, as high as it is large, at the lowest place that is free for all \
                of its life. Places are not addresses. What reaches the right edge was not released inside the recording; \
                what an earlier profile of the rank does not release ends with that profile. Smaller blocks are not drawn.";
    let caption = Caption {
        title: "Lifetimes of the largest blocks".into(),
        facts,
        notes: vec![note.into()],
        queries: vec![],
    };
    let picture = Lifetimes { span: (one("first")?, one("last")?), blocks: found };
    Ok(Drawn { picture: Box::new(picture), caption })
}

fn of_rank(rows: &Rows) -> Result<(Vec<Block>, String), Failure> {
    let (roles, ranks, names) = (rows.texts("role")?, rows.ints("rank_id")?, rows.texts("name")?);
    let (stacks, bytes) = (rows.texts("call_stack")?, rows.kilobytes("size_kb")?);
    let (from, to) = (rows.ints("start_time_ns")?, rows.ints("release_time_ns")?);
    let mut seen = Seen::default();
    let mut blocks = Vec::new();
    for (((role, rank), (name, stack)), (bytes, (from, to))) in roles
        .iter()
        .zip(&ranks)
        .zip(names.iter().zip(stacks.iter()))
        .zip(bytes.into_iter().zip(from.iter().zip(&to)))
    {
        seen.rank(role, rank);
        let stack = stack.unwrap_or_default();
        let place = stack::user_frame(stack).or_else(|| stack::nth(stack, 1)).unwrap_or_default().to_owned();
        let name = name.unwrap_or_default().to_owned();
        blocks.push(Block { name, place, bytes, from_ns: from.unwrap_or(0), to_ns: to });
    }
    Ok((blocks, seen.told()))
}

fn of_pool(rows: &Rows) -> Result<(Vec<Block>, String), Failure> {
    let (pids, devices, pools) = (rows.ints("pid")?, rows.texts("device")?, rows.texts("pool")?);
    let (owners, stacks, sizes) = (rows.texts("owner")?, rows.texts("py_stack")?, rows.ints("size")?);
    let (from, to) = (rows.ints("malloc_ts")?, rows.ints("free_ts")?);
    let mut blocks = Vec::new();
    let mut shown = String::new();
    for ((((pid, device), pool), (owner, stack)), (bytes, (from, to))) in pids
        .iter()
        .zip(devices.iter())
        .zip(pools.iter())
        .zip(owners.iter().zip(stacks.iter()))
        .zip(sizes.iter().zip(from.iter().zip(&to)))
    {
        shown = format!("{} {}", process(pid, device), pool.unwrap_or_default());
        let stack = stack.unwrap_or_default();
        let place = stack::user_frame(stack).or_else(|| stack::nth(stack, 1)).unwrap_or_default().to_owned();
        let name = owner.unwrap_or_default().to_owned();
        blocks.push(Block { name, place, bytes: bytes.unwrap_or(0), from_ns: from.unwrap_or(0), to_ns: to });
    }
    Ok((blocks, shown))
}
