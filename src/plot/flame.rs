//! Flame graphs: who holds how much, by call stack, outermost frame on top.

use std::collections::HashMap;

use serde::Serialize;

use super::amount::{Unit, amount};
use super::embed::embedded;
use super::page::{Data, Picture};
use super::terminal::Screen;
use crate::stack::is_user_frame;

/// A flame graph, filled stack by stack. With [`Weight::Both`] it shows the difference of two.
#[derive(Debug)]
pub struct Flame {
    sides: bool,
    names: Vec<Name>,
    by_name: HashMap<(Kind, String), usize>,
    nodes: Vec<Node>,
    by_place: HashMap<(usize, usize), usize>,
    clipped: bool,
}

/// One step from the whole to an allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Level<'a> {
    /// What stacks are told apart by before their frames: role and rank, verdict, owner.
    Label(&'a str),
    /// A frame of a call stack.
    Frame(&'a str),
    /// What stands in the place of a stack that is not known.
    Unknown(&'a str),
}

/// How much a stack holds, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Weight {
    /// So much.
    One(i64),
    /// So much before and after.
    Both(i64, i64),
}

/// What a name is; the script colours by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    Library,
    User,
    Label,
    Unknown,
}

#[derive(Debug)]
struct Name {
    text: String,
    kind: Kind,
}

#[derive(Debug)]
struct Node {
    name: usize,
    depth: usize,
    parent: usize,
    /// What it is drawn for: bytes, or the larger side of each stack in it.
    width: i64,
    before: i64,
    after: i64,
}

/// Longer names are cut: they are here to be recognised.
const NAME: usize = 400;

/// Deeper frames count for the one at this depth: no browser scrolls so far.
const DEPTH: usize = 400;

#[derive(Serialize)]
struct Encoded<'a> {
    unit: Unit,
    sides: bool,
    names: Vec<&'a str>,
    /// One digit per name: 0 a frame of a library, 1 of the user, 2 a label, 3 unknown, 4 what was left out.
    kinds: String,
    /// In the order in which they are drawn: a node comes before its children.
    depth: Vec<usize>,
    name: Vec<usize>,
    /// Bytes; of two sides the larger one of each stack.
    bytes: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    before: Vec<i64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    after: Vec<i64>,
}

impl Flame {
    /// An empty graph; the name is that of the whole.
    pub fn new(name: &str) -> Self {
        let root = Node { name: 0, depth: 0, parent: 0, width: 0, before: 0, after: 0 };
        let mut flame = Self {
            sides: false,
            names: vec![],
            by_name: HashMap::new(),
            nodes: vec![root],
            by_place: HashMap::new(),
            clipped: false,
        };
        flame.name(Kind::Label, name);
        flame
    }

    /// Adds what one stack holds. Nothing happens when that is nothing.
    pub fn add<'a>(&mut self, levels: impl IntoIterator<Item = Level<'a>>, weight: Weight) {
        let (before, after, width) = match weight {
            Weight::One(bytes) => (0, bytes, bytes),
            Weight::Both(before, after) => (before, after, before.max(after)),
        };
        self.sides |= matches!(weight, Weight::Both(..));
        if width <= 0 {
            return;
        }
        let mut at = 0;
        self.count(at, before, after, width);
        for (level, depth) in levels.into_iter().zip(1..=DEPTH) {
            let (kind, text) = match level {
                Level::Label(text) => (Kind::Label, text),
                Level::Frame(text) if is_user_frame(text) => (Kind::User, text),
                Level::Frame(text) => (Kind::Library, text),
                Level::Unknown(text) => (Kind::Unknown, text),
            };
            let name = self.name(kind, text);
            let next = self.nodes.len();
            let node = *self.by_place.entry((at, name)).or_insert(next);
            if node == next {
                self.nodes.push(Node { name, depth, parent: at, width: 0, before: 0, after: 0 });
            }
            at = node;
            self.count(at, before, after, width);
        }
    }

    /// All bytes in it; of two sides those of the later one.
    pub fn total(&self) -> i64 {
        self.nodes.first().map_or(0, |root| root.after)
    }

    /// All bytes of the earlier side.
    pub fn total_before(&self) -> i64 {
        self.nodes.first().map_or(0, |root| root.before)
    }

    fn count(&mut self, node: usize, before: i64, after: i64, width: i64) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.before += before;
            node.after += after;
            node.width += width;
        }
    }

    fn name(&mut self, kind: Kind, text: &str) -> usize {
        let mut text = text.to_owned();
        if let Some((end, _)) = text.char_indices().nth(NAME) {
            text.truncate(end);
            text.push('…');
            self.clipped = true;
        }
        let next = self.names.len();
        let key = (kind, text);
        if let Some(known) = self.by_name.get(&key) {
            return *known;
        }
        self.names.push(Name { text: key.1.clone(), kind });
        self.by_name.insert(key, next);
        next
    }

    /// For each node its children that hold at least so much, widest first.
    fn children(&self, least: i64) -> Vec<Vec<usize>> {
        let mut children = vec![Vec::new(); self.nodes.len()];
        for (at, node) in self.nodes.iter().enumerate().skip(1).filter(|(_, node)| node.width >= least) {
            if let Some(siblings) = children.get_mut(node.parent) {
                siblings.push(at);
            }
        }
        let order = |at: &usize| {
            self.nodes.get(*at).map(|n| (-n.width, self.names.get(n.name).map(|name| name.text.as_str())))
        };
        children.iter_mut().for_each(|siblings| siblings.sort_by(|a, b| order(a).cmp(&order(b))));
        children
    }

    /// How much of each node is in children that hold less than this.
    fn smaller(&self, least: i64) -> Vec<Sums> {
        let mut smaller = vec![Sums::default(); self.nodes.len()];
        for node in self.nodes.iter().skip(1).filter(|node| node.width < least) {
            let parent_is_kept =
                node.parent == 0 || self.nodes.get(node.parent).is_some_and(|p| p.width >= least);
            if let Some(sums) = smaller.get_mut(node.parent).filter(|_| parent_is_kept) {
                sums.width += node.width;
                sums.before += node.before;
                sums.after += node.after;
            }
        }
        smaller
    }

    /// The nodes that hold at least so much, and what the others hold together.
    fn encoded(&self, least: i64) -> Kept {
        let (children, smaller) = (self.children(least), self.smaller(least));
        let mut encoded = Encoded::new(self.sides);
        // Names are numbered as they come, so that those of nodes that are left out take no room.
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        let mut kept = Kept { json: String::new(), nodes: 0, smaller: 0 };
        let mut waiting = vec![Step::Node(0)];
        while let Some(step) = waiting.pop() {
            let at = match step {
                Step::Node(at) => at,
                Step::Smaller(depth, sums) => {
                    kept.smaller += sums.width;
                    let number = encoded.numbered(&mut numbers, usize::MAX, "(smaller)", '4');
                    encoded.push(depth, number, sums);
                    continue;
                }
            };
            let (Some(node), Some(sums)) = (self.nodes.get(at), smaller.get(at)) else { continue };
            kept.nodes += 1;
            let (text, kind) =
                self.names.get(node.name).map_or(("", '2'), |n| (n.text.as_str(), n.kind.digit()));
            let number = encoded.numbered(&mut numbers, node.name, text, kind);
            encoded.push(node.depth, number, node.sums());
            // A node of its own: without it the parent would look as if it allocated this itself.
            waiting.extend(Some(Step::Smaller(node.depth + 1, *sums)).filter(|_| sums.width > 0));
            let below = children.get(at).map(Vec::as_slice).unwrap_or_default();
            waiting.extend(below.iter().rev().map(|at| Step::Node(*at)));
        }
        kept.json = embedded(&encoded);
        kept
    }
}

/// What a picture of the larger nodes is.
struct Kept {
    json: String,
    nodes: usize,
    /// Bytes of the nodes that are not in it.
    smaller: i64,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sums {
    width: i64,
    before: i64,
    after: i64,
}

enum Step {
    Node(usize),
    Smaller(usize, Sums),
}

impl Kind {
    fn digit(self) -> char {
        match self {
            Kind::Library => '0',
            Kind::User => '1',
            Kind::Label => '2',
            Kind::Unknown => '3',
        }
    }
}

impl Name {
    /// `function file.py:line` of a frame: the function is what people look for, and lines are short.
    fn short(&self) -> String {
        let parts = || {
            let (place, function) = self.text.split_once("): ")?;
            let (path, line) = place.rsplit_once('(')?;
            let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
            Some(format!("{function} {file}:{line}"))
        };
        let frame = matches!(self.kind, Kind::Library | Kind::User);
        parts().filter(|_| frame).unwrap_or_else(|| self.text.clone())
    }
}

impl Node {
    fn sums(&self) -> Sums {
        Sums { width: self.width, before: self.before, after: self.after }
    }
}

impl<'a> Encoded<'a> {
    fn new(sides: bool) -> Self {
        let (names, kinds) = (vec![], String::new());
        let (depth, name, bytes, before, after) = (vec![], vec![], vec![], vec![], vec![]);
        Self { unit: Unit::Bytes, sides, names, kinds, depth, name, bytes, before, after }
    }

    fn numbered(
        &mut self,
        numbers: &mut HashMap<usize, usize>,
        key: usize,
        text: &'a str,
        kind: char,
    ) -> usize {
        *numbers.entry(key).or_insert_with(|| {
            self.names.push(text);
            self.kinds.push(kind);
            self.names.len() - 1
        })
    }

    fn push(&mut self, depth: usize, name: usize, sums: Sums) {
        self.depth.push(depth);
        self.name.push(name);
        self.bytes.push(sums.width);
        if self.sides {
            self.before.push(sums.before);
            self.after.push(sums.after);
        }
    }
}

impl Picture for Flame {
    fn script(&self) -> &'static str {
        include_str!("page/flame.js")
    }

    fn data(&self, level: u32) -> Option<Data> {
        if level == 0 {
            let cut = self.clipped.then(|| format!("Names are cut after {NAME} characters."));
            return Some(Data { json: self.encoded(0).json, cut });
        }
        let wanted = self.nodes.len().checked_shr(level).filter(|n| *n > 0)?;
        let mut widths: Vec<i64> = self.nodes.iter().map(|n| n.width).collect();
        widths.sort_unstable_by(|a, b| b.cmp(a));
        // One more than what the first node beyond them holds, so that a crowd of equals goes as a whole.
        let least = widths.get(wanted).map_or(0, |width| width + 1);
        let kept = self.encoded(least);
        let left_out = self.nodes.len() - kept.nodes;
        let cut = format!(
            "To keep the file small, {left_out} of {} nodes that hold less than {} each are drawn as (smaller); together \
             {}.",
            self.nodes.len(),
            amount(least as f64, Unit::Bytes),
            amount(kept.smaller as f64, Unit::Bytes)
        );
        Some(Data { json: kept.json, cut: Some(cut) })
    }

    fn text(&self, screen: &Screen) -> String {
        let whole = self.nodes.first().map_or(0, |root| root.width);
        // As many nodes as there are lines, the largest ones.
        let mut least = (whole / 200).max(1);
        let mut lines = self.lines(least);
        while lines.len() > screen.lines && least < whole {
            least = (least + least / 4 + 1).min(whole);
            lines = self.lines(least);
        }
        let bar = (screen.width / 5).clamp(4, 24);
        let mut out = String::new();
        for (indent, at) in lines {
            let Some(node) = self.nodes.get(at) else { continue };
            let name = self.names.get(node.name).map(Name::short).unwrap_or_default();
            let share = node.width as f64 / whole.max(1) as f64;
            let figures = if self.sides {
                let sign = if node.after >= node.before { "+" } else { "" };
                format!("{sign}{}", amount((node.after - node.before) as f64, Unit::Bytes))
            } else {
                amount(node.width as f64, Unit::Bytes)
            };
            let line = format!(
                "{figures:>10} {:>4.0}% {} {}{name}",
                share * 100.0,
                screen.bar(share, bar),
                "  ".repeat(indent)
            );
            out.push_str(&screen.line(&line));
        }
        if self.nodes.iter().any(|node| node.width < least) {
            let what = amount(least as f64, Unit::Bytes);
            out.push_str(
                &screen.line(&format!("(what holds less than {what} is not shown; > FILE.html shows all)")),
            );
        }
        out
    }
}

impl Flame {
    /// Nodes that hold at least so much, each with how far it is indented. Of a chain of frames that all
    /// hold the same, only the last one.
    fn lines(&self, least: i64) -> Vec<(usize, usize)> {
        let children = self.children(least);
        let mut lines = Vec::new();
        let mut waiting = vec![(0, 0)];
        while let Some((indent, at)) = waiting.pop() {
            let (Some(node), Some(below)) = (self.nodes.get(at), children.get(at)) else { continue };
            let passes_all =
                below.first().and_then(|c| self.nodes.get(*c)).is_some_and(|c| c.width == node.width);
            let is_label = self.names.get(node.name).is_some_and(|n| n.kind == Kind::Label) && at != 0;
            let shown = is_label || !passes_all;
            if shown {
                lines.push((indent, at));
            }
            waiting.extend(below.iter().rev().map(|c| (indent + usize::from(shown), *c)));
        }
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::super::page::{Caption, Page};
    use super::*;

    fn flame() -> Flame {
        let mut flame = Flame::new("run");
        for rank in ["rank 0", "rank 1"] {
            for (leaf, bytes) in [("a.py(1): f", 700), ("torch/b.py(2): g", 200), ("c.py(3): </script>", 100)]
            {
                let levels = [Level::Label(rank), Level::Frame("main.py(9): <module>"), Level::Frame(leaf)];
                flame.add(levels, Weight::One(bytes));
            }
        }
        flame
    }

    fn numbers(json: &serde_json::Value, key: &str) -> Vec<i64> {
        json[key].as_array().unwrap().iter().map(|n| n.as_i64().unwrap()).collect()
    }

    #[test]
    fn a_node_holds_what_its_children_hold() {
        let data = flame().data(0).unwrap();
        let json: serde_json::Value = serde_json::from_str(&data.json).unwrap();
        assert_eq!(numbers(&json, "bytes"), [2000, 1000, 1000, 700, 200, 100, 1000, 1000, 700, 200, 100]);
        assert_eq!(numbers(&json, "depth"), [0, 1, 2, 3, 3, 3, 1, 2, 3, 3, 3]);
        assert_eq!(json["kinds"], "22110".to_owned() + "12");
        assert!(data.cut.is_none() && flame().total() == 2000);
    }

    #[test]
    fn what_is_left_out_stays_in_the_sum_and_is_named() {
        let data = flame().data(1).unwrap();
        let json: serde_json::Value = serde_json::from_str(&data.json).unwrap();
        let (depth, bytes) = (numbers(&json, "depth"), numbers(&json, "bytes"));
        let leaves = |at: &usize| depth.get(at + 1).is_none_or(|next| *next <= depth[*at]);
        let sum: i64 = (0..depth.len()).filter(leaves).map(|at| bytes[at]).sum();
        assert_eq!(sum, 2000);
        assert!(json["names"].as_array().unwrap().iter().any(|n| n == "(smaller)"));
        assert!(data.cut.unwrap().contains("together"));
        assert!(flame().data(9).is_none());
    }

    #[test]
    fn both_sides_of_a_difference_are_kept() {
        let mut flame = Flame::new("difference");
        flame.add([Level::Frame("a.py(1): f")], Weight::Both(1024, 4096));
        flame.add([Level::Frame("b.py(1): g")], Weight::Both(512, 0));
        let json: serde_json::Value = serde_json::from_str(&flame.data(0).unwrap().json).unwrap();
        assert_eq!(
            (numbers(&json, "before"), numbers(&json, "after")),
            (vec![1536, 1024, 512], vec![4096, 4096, 0])
        );
        assert_eq!(numbers(&json, "bytes"), [4608, 4096, 512]);
        let text = flame.text(&Screen { width: 80, lines: 20, ascii: true });
        assert!(text.contains("+3.0 KB") && text.contains("-512 B"), "{text}");
    }

    #[test]
    fn a_page_stays_below_its_limit_however_many_stacks_there_are() {
        let mut flame = Flame::new("run");
        for n in 0..20_000_i64 {
            let leaf = format!("pkg/module_{n}.py({n}): function_{n}");
            flame.add([Level::Frame("main.py(1): <module>"), Level::Frame(&leaf)], Weight::One(n + 1));
        }
        let caption = Caption { title: "many".into(), ..Caption::default() };
        let page = Page { picture: &flame, caption: &caption };
        let whole = page.html(usize::MAX).unwrap();
        let small = page.html(100_000).unwrap();
        assert!(whole.len() > 1_000_000 && small.len() <= 100_000, "{} {}", whole.len(), small.len());
        assert!(small.contains("To keep the file small") && !whole.contains("To keep the file small"));
        assert_eq!(small, page.html(100_000).unwrap());
        assert!(page.html(1000).unwrap_err().to_string().contains("1000 are allowed"));
    }

    #[test]
    fn hostile_depth_and_length_are_bounded() {
        let mut flame = Flame::new("run");
        let frames: Vec<String> = (0..100_000).map(|n| format!("f{n}")).collect();
        flame.add(frames.iter().map(|f| Level::Frame(f)), Weight::One(5));
        flame.add([Level::Frame(&"显".repeat(1_000_000))], Weight::One(5));
        let json: serde_json::Value = serde_json::from_str(&flame.data(0).unwrap().json).unwrap();
        assert_eq!(numbers(&json, "depth").into_iter().max(), Some(DEPTH as i64));
        assert!(flame.data(0).unwrap().cut.unwrap().contains("cut after 400"));
    }

    #[test]
    fn a_terminal_shows_the_largest_and_not_every_frame_of_a_chain() {
        let text = flame().text(&Screen { width: 60, lines: 20, ascii: false });
        assert_eq!(text.lines().count(), 11, "{text}");
        let mut chain = Flame::new("run");
        chain.add(["a", "b", "c"].map(Level::Frame), Weight::One(7));
        assert_eq!(chain.lines(0), [(0, 3)]);
        assert!(text.contains("g b.py:2"), "{text}");
        let few = flame().text(&Screen { width: 60, lines: 4, ascii: false });
        assert!(few.lines().count() <= 5 && few.contains("not shown"), "{few}");
    }
}
