//! How long blocks live: one box per block, from its allocation to its release, as high as it is large.

use serde::Serialize;

use super::amount::{Unit, amount};
use super::embed::embedded;
use super::page::{Data, Picture};
use super::terminal::Screen;

/// The largest blocks of one rank or pool.
#[derive(Debug, Default)]
pub struct Lifetimes {
    /// First and last moment of the recording, ns since the epoch.
    pub span: (i64, i64),
    /// The blocks.
    pub blocks: Vec<Block>,
}

/// One block.
#[derive(Debug, Clone, Default)]
pub struct Block {
    /// What allocated it: operator or owner.
    pub name: String,
    /// Where: a frame, or nothing.
    pub place: String,
    /// Its size.
    pub bytes: i64,
    /// The moment of its allocation, ns since the epoch.
    pub from_ns: i64,
    /// The moment of its release; `None` when it is held to the end.
    pub to_ns: Option<i64>,
}

#[derive(Serialize)]
struct Encoded<'a> {
    unit: Unit,
    from_ns: String,
    span_ns: i64,
    /// How high the picture is, in bytes.
    height: i64,
    names: Vec<&'a str>,
    /// Name, place, bytes, start and end (ns from the first moment; -1: not released), and the lower edge
    /// in bytes.
    blocks: Vec<(usize, usize, i64, i64, i64, i64)>,
}

impl Lifetimes {
    /// The largest blocks, so many of them, by the time of their allocation, each with its lower edge: the
    /// lowest place that is free as long as it lives, as an allocator would choose an address.
    fn placed(&self, count: usize) -> (Vec<(&Block, i64)>, i64) {
        let mut blocks: Vec<&Block> = self.blocks.iter().filter(|b| b.bytes > 0).collect();
        let key = |b: &Block| (-b.bytes, b.from_ns, b.to_ns, b.name.clone(), b.place.clone());
        blocks.sort_by_cached_key(|b| key(b));
        blocks.truncate(count);
        blocks.sort_by_cached_key(|b| (b.from_ns, key(b)));
        let mut live: Vec<(i64, i64, i64)> = Vec::new();
        let mut placed = Vec::with_capacity(blocks.len());
        let mut height = 0;
        for block in blocks {
            live.retain(|(_, _, end)| *end > block.from_ns);
            // They are kept in the order of their lower edges.
            let mut edge = 0;
            let mut at = 0;
            for (low, high, _) in &live {
                if low - edge >= block.bytes {
                    break;
                }
                edge = edge.max(*high);
                at += 1;
            }
            live.insert(at, (edge, edge + block.bytes, block.to_ns.unwrap_or(i64::MAX)));
            height = height.max(edge + block.bytes);
            placed.push((block, edge));
        }
        (placed, height)
    }
}

impl Picture for Lifetimes {
    fn script(&self) -> &'static str {
        include_str!("page/lifetimes.js")
    }

    fn data(&self, level: u32) -> Option<Data> {
        let count = self.blocks.len().checked_shr(level).filter(|n| *n > 0)?;
        let (placed, height) = self.placed(count);
        let mut names: Vec<&str> =
            placed.iter().flat_map(|(b, _)| [b.name.as_str(), b.place.as_str()]).collect();
        names.sort_unstable();
        names.dedup();
        let number = |name: &str| names.binary_search(&name).unwrap_or(0);
        let (first, last) = self.span;
        let blocks = placed.iter().map(|(b, edge)| {
            let end = b.to_ns.map_or(-1, |to| to.saturating_sub(first));
            (number(&b.name), number(&b.place), b.bytes, b.from_ns.saturating_sub(first), end, *edge)
        });
        let blocks = blocks.collect();
        let cut = (count < self.blocks.len()).then(|| {
            format!("To keep the file small, the {count} largest of {} blocks are drawn.", self.blocks.len())
        });
        let span_ns = last.saturating_sub(first).max(1);
        let encoded =
            Encoded { unit: Unit::Bytes, from_ns: first.to_string(), span_ns, height, names, blocks };
        Some(Data { json: embedded(&encoded), cut })
    }

    fn text(&self, screen: &Screen) -> String {
        let (placed, _) = self.placed(screen.lines.max(1));
        let (first, last) = self.span;
        let room = (screen.width / 3).max(8);
        let column = |t: i64| {
            let share = t.saturating_sub(first) as f64 / last.saturating_sub(first).max(1) as f64;
            ((share * room as f64) as usize).min(room - 1)
        };
        let full = if screen.ascii { '=' } else { '━' };
        let mut out = String::new();
        for (block, _) in placed {
            let (from, to) = (column(block.from_ns), column(block.to_ns.unwrap_or(last)));
            let line: String =
                (0..room).map(|at| if (from..=to).contains(&at) { full } else { ' ' }).collect();
            let end = if block.to_ns.is_some() { ' ' } else { '>' };
            let size = amount(block.bytes as f64, Unit::Bytes);
            out.push_str(&screen.line(&format!("{size:>10} {line}{end} {} {}", block.name, block.place)));
        }
        out.push_str(
            &screen.line("(the largest blocks by the time of their allocation; > was not released)"),
        );
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(bytes: i64, from_ns: i64, to_ns: Option<i64>) -> Block {
        Block { name: format!("op {bytes}"), place: "a.py(1): f".into(), bytes, from_ns, to_ns }
    }

    fn lifetimes() -> Lifetimes {
        let blocks = vec![
            block(10, 0, None),
            block(20, 1, Some(3)),
            block(5, 2, Some(9)),
            block(15, 4, Some(6)),
            block(6, 5, Some(6)),
        ];
        Lifetimes { span: (0, 10), blocks }
    }

    #[test]
    fn blocks_that_live_together_never_overlap() {
        let picture = lifetimes();
        let (placed, height) = picture.placed(99);
        for (n, (a, low_a)) in placed.iter().enumerate() {
            for (b, low_b) in &placed[n + 1..] {
                let together = a.to_ns.unwrap_or(99) > b.from_ns && b.to_ns.unwrap_or(99) > a.from_ns;
                let apart = low_a + a.bytes <= *low_b || low_b + b.bytes <= *low_a;
                assert!(!together || apart, "{a:?} at {low_a}, {b:?} at {low_b}");
            }
        }
        assert_eq!(placed.iter().map(|(_, low)| *low).collect::<Vec<_>>(), [0, 10, 30, 10, 35]);
        assert_eq!(height, 41);
    }

    #[test]
    fn the_largest_are_kept() {
        let data = lifetimes().data(1).unwrap();
        let json: serde_json::Value = serde_json::from_str(&data.json).unwrap();
        let sizes: Vec<i64> =
            json["blocks"].as_array().unwrap().iter().map(|b| b[2].as_i64().unwrap()).collect();
        assert_eq!(sizes, [20, 15]);
        assert!(data.cut.unwrap().contains("2 largest of 5"));
        let text = lifetimes().text(&Screen { width: 60, lines: 3, ascii: true });
        assert!(text.contains("=> op 10"), "{text}");
    }
}
