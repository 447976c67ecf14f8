//! Micro-steps: to which of the forward passes of one step a call belongs, and how calls are
//! numbered anew inside each of them.
//!
//! A key whose parent is `null` and that names a module is the root of a micro-step, in file order.
//! Every other key belongs to the micro-step of the root that its parents lead to. This is what the
//! reference does, also where it is surprising: a model without a single root has as many
//! micro-steps as it has top-level modules.

use std::borrow::Cow;
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;

use crate::source::{Finding, Kind, Place};
use crate::text::interner::Interner;

use super::construct_json::{Construct, Parent, Text};
use super::target::{as_forward, index_position};

/// The micro-steps of one file.
#[derive(Debug, Default)]
pub(super) struct MicroSteps {
    construct: Construct,
    /// For each key its micro-step and its new call index.
    placed: Vec<Option<Placed>>,
    count: i64,
    any: bool,
}

/// The micro-steps of one file, asked about the keys of a dump one after the other.
#[derive(Debug)]
pub(super) struct InTurn {
    steps: Arc<MicroSteps>,
    /// The key that is looked up next, if both files list calls in the same order.
    next: Cell<u32>,
}

/// Where a key belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Placed {
    micro: i64,
    index: u32,
}

/// What `construct.json` says about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Found {
    /// The file does not list it.
    Unlisted,
    /// It is listed, but its parents lead to no root.
    Rootless,
    /// It belongs to this micro-step, and is the call with this index in it.
    At {
        /// Counted from 0 within the file.
        micro: i64,
        /// Counted from 0 among the calls of the same name in the micro-step.
        index: u32,
    },
}

impl MicroSteps {
    /// Places all keys. Faults of single keys are findings; these keys have no place.
    pub(super) fn new(construct: Construct, path: &Path) -> (Self, Vec<Finding>) {
        let (micro, faults) = micro_of_keys(&construct);
        let faults = faults
            .into_iter()
            .map(|(key, message)| {
                let key = construct.key(key).to_owned();
                Finding::problem(Kind::BadValue, path, message).at(Place::Key(key))
            })
            .collect();
        let count = micro.iter().flatten().max().map_or(1, |last| last.saturating_add(1));
        let indices = renumber(&construct, &micro);
        let placed: Vec<Option<Placed>> = micro
            .into_iter()
            .zip(indices)
            .map(|(micro, index)| Some(Placed { micro: micro?, index }))
            .collect();
        let any = placed.iter().any(Option::is_some);
        (Self { any, placed, count, construct }, faults)
    }

    /// How many micro-steps the file has; at least 1 for a file that was written by a collector.
    pub(super) fn count(&self) -> i64 {
        self.count
    }

    /// Whether any key has a place. If none has, all keys of the dump keep their names.
    pub(super) fn any(&self) -> bool {
        self.any
    }

    /// Memory in use, in bytes.
    pub(super) fn allocated(&self) -> usize {
        self.construct.allocated() + self.placed.capacity() * size_of::<Option<Placed>>()
    }

    /// Whether the file begins with a byte-order mark.
    pub(super) fn is_marked(&self) -> bool {
        self.construct.is_marked()
    }

    /// Looks a key up.
    pub(super) fn find(&self, key: &str) -> Found {
        self.found(self.construct.find(key))
    }

    #[inline]
    fn found(&self, number: Option<u32>) -> Found {
        let Some(number) = number else { return Found::Unlisted };
        match self.placed.get(number as usize).copied().flatten() {
            Some(Placed { micro, index }) => Found::At { micro, index },
            None => Found::Rootless,
        }
    }
}

impl InTurn {
    /// Nothing was asked yet.
    pub(super) fn new(steps: Arc<MicroSteps>) -> Self {
        Self { steps, next: Cell::new(0) }
    }

    /// The micro-steps.
    pub(super) fn steps(&self) -> &MicroSteps {
        &self.steps
    }

    /// Looks a key up, given its XXH3 hash.
    #[inline]
    pub(super) fn find_hashed(&self, key: &str, hash: u64) -> Found {
        let construct = &self.steps.construct;
        let next = self.next.get();
        let number = if construct.key(next) == key && !key.is_empty() {
            Some(next)
        } else {
            construct.find_hashed(key, hash)
        };
        self.next.set(number.map_or(next, |n| n.saturating_add(1)));
        self.steps.found(number)
    }
}

/// What is known about a key while parents are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Not looked at yet.
    Unknown,
    /// It is on the way that is being followed: meeting it again is a cycle.
    Open,
    /// The result; `None` when it leads to no root.
    Leads(Option<i64>),
    /// It leads to a fault.
    Faulty,
}

/// The micro-step of each key, and the faults that were met.
fn micro_of_keys(construct: &Construct) -> (Vec<Option<i64>>, Vec<(u32, &'static str)>) {
    let parents: Vec<Parent> = construct.parents().collect();
    let mut roots = 0i64;
    // What the reference calls the parents: roots by their numbers. Keys outside of any module are
    // not in it, so that following them ends there.
    let mut ways: Vec<Way> = parents
        .iter()
        .enumerate()
        .map(|(number, parent)| match parent {
            Parent::None => {
                let key = construct.key(number as u32);
                let root = !key.contains(".backward")
                    && ["Module", "Cell", "optimizer"].iter().any(|m| key.starts_with(m));
                if !root {
                    return Way::Leads(None);
                }
                roots += 1;
                Way::Leads(Some(roots - 1))
            }
            Parent::Number(n) => Way::Leads(Some(*n)),
            Parent::Other => Way::Leads(None),
            Parent::Key(_) | Parent::Container => Way::Unknown,
        })
        .collect();
    let mut faults = Vec::new();
    let mut micro = Vec::with_capacity(parents.len());
    let mut open: Vec<u32> = Vec::new();
    // The number of the parent that was looked up last.
    let mut last: Option<(Text, Option<u32>)> = None;
    for number in 0..construct.len() as u32 {
        let mut key = as_forward(construct.key(number));
        // Most keys are looked up as they are.
        let mut known = matches!(key, Cow::Borrowed(_)).then_some(number);
        let end = loop {
            let Some(next) = known.take().or_else(|| construct.find(&key)) else { break Way::Leads(None) };
            let Some(way) = ways.get_mut(next as usize) else { break Way::Leads(None) };
            match (*way, parents.get(next as usize)) {
                (Way::Unknown, Some(Parent::Key(parent))) => {
                    *way = Way::Open;
                    open.push(next);
                    key = as_forward(construct.text_of(*parent));
                    // Equal pieces of text are looked up once.
                    match last {
                        Some((text, Some(number))) if text == *parent => known = Some(number),
                        _ => {
                            known = construct.find(&key);
                            last = Some((*parent, known));
                        }
                    }
                }
                (Way::Unknown, _) => {
                    *way = Way::Faulty;
                    faults
                        .push((next, "the parent is a list or an object, expected a key, a number or null"));
                    break Way::Faulty;
                }
                (Way::Open, _) => {
                    faults.push((next, "the parents lead in a circle"));
                    break Way::Faulty;
                }
                (known, _) => break known,
            }
        };
        for passed in open.drain(..) {
            if let Some(way) = ways.get_mut(passed as usize) {
                *way = end;
            }
        }
        micro.push(if let Way::Leads(micro) = end { micro } else { None });
    }
    (micro, faults)
}

/// The new call index of each key: within its micro-step, among the keys that are equal but for
/// their index, by that index.
fn renumber(construct: &Construct, micro: &[Option<i64>]) -> Vec<u32> {
    let mut stems = Interner::new();
    let mut calls: Vec<Call> = Vec::with_capacity(micro.len());
    let mut stem = String::new();
    for (number, micro) in micro.iter().enumerate() {
        let Some(micro) = micro else { continue };
        let key = construct.key(number as u32);
        stem.clear();
        let index = match index_position(key) {
            None => {
                stem.push_str(key);
                "0"
            }
            Some(at) => {
                let before = key.get(..at.start).unwrap_or_default();
                let after = key.get(at.end..).unwrap_or_default();
                // One of the two dots around the index goes with it.
                stem.push_str(before.strip_suffix('.').unwrap_or(before));
                stem.push_str(if before.is_empty() {
                    after.strip_prefix('.').unwrap_or(after)
                } else {
                    after
                });
                key.get(at).unwrap_or_default()
            }
        };
        let digits = index.trim_start_matches('0');
        let index = if digits.is_empty() { 0 } else { digits.parse().unwrap_or(u64::MAX) };
        // The same name in another micro-step is another group.
        let group = (*micro, stems.intern(&stem));
        calls.push(Call { group, index, digits, number: number as u32 });
    }
    // Stable, so that equal indices keep the order of the file. The indices are numbers of any size.
    calls.sort_by(|a, b| {
        let by_number = (a.group, a.index).cmp(&(b.group, b.index));
        by_number.then_with(|| (a.digits.len(), a.digits).cmp(&(b.digits.len(), b.digits)))
    });
    let mut indices = vec![0; micro.len()];
    let mut last = None;
    let mut next = 0;
    for call in calls {
        next = if last == Some(call.group) { next + 1 } else { 0 };
        last = Some(call.group);
        if let Some(index) = indices.get_mut(call.number as usize) {
            *index = next;
        }
    }
    indices
}

/// A key on its way to a new index.
struct Call<'a> {
    /// Its micro-step and the number of its name.
    group: (i64, u32),
    /// Its index, as far as it fits.
    index: u64,
    /// Its index without leading zeros.
    digits: &'a str,
    /// Number of the key.
    number: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn steps(json: &str) -> (MicroSteps, Vec<Finding>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("construct.json");
        std::fs::write(&path, json).expect("written");
        let host = super::super::quiet::Quiet;
        let mut feed = super::super::feed::Feed::open(&path, &host).expect("opened");
        let construct = Construct::read(&mut feed, &path, &host).expect("not stopped").expect("readable");
        MicroSteps::new(construct, Path::new("construct.json"))
    }

    #[test]
    fn roots_are_counted_and_calls_numbered_anew() {
        let (steps, faults) = steps(
            r#"{"Module.m.A.forward.0": null, "Torch.mul.0.forward": "Module.m.A.forward.0",
                "Module.m.A.forward.1": null, "Torch.mul.1.forward": "Module.m.A.forward.1",
                "Torch.mul.7.forward": "Module.m.A.forward.1", "Tensor.to.0.forward": null,
                "Module.m.A.backward.1": null, "Torch.x.0.forward": ""}"#,
        );
        assert!(faults.is_empty());
        assert_eq!(steps.count(), 2);
        assert_eq!(steps.find("Torch.mul.0.forward"), Found::At { micro: 0, index: 0 });
        assert_eq!(steps.find("Torch.mul.1.forward"), Found::At { micro: 1, index: 0 });
        assert_eq!(steps.find("Torch.mul.7.forward"), Found::At { micro: 1, index: 1 });
        assert_eq!(steps.find("Module.m.A.backward.1"), Found::At { micro: 1, index: 0 });
        assert_eq!(steps.find("Tensor.to.0.forward"), Found::Rootless);
        assert_eq!(steps.find("Torch.x.0.forward"), Found::Rootless);
        assert_eq!(steps.find("Torch.y.0.forward"), Found::Unlisted);
    }

    #[test]
    fn deep_chains_work_and_circles_are_told() {
        let mut json = String::from("{\"Module.m.A.forward.0\": null");
        let mut parent = "Module.m.A.forward.0".to_owned();
        for n in 0..5000 {
            json += &format!(", \"Torch.a.{n}.forward\": \"{parent}\"");
            parent = format!("Torch.a.{n}.forward");
        }
        let (deep, faults) = steps(&(json + "}"));
        assert!(faults.is_empty());
        assert_eq!(deep.find("Torch.a.4999.forward"), Found::At { micro: 0, index: 4999 });
        let (circle, faults) = steps(r#"{"a": "b", "b": "c", "c": "b", "d": [1, 2]}"#);
        assert_eq!(faults.len(), 2);
        assert_eq!(circle.find("a"), Found::Rootless);
        assert_eq!(circle.count(), 1);
    }

    #[test]
    fn a_repeated_key_keeps_its_place_and_takes_the_last_parent() {
        let (steps, _) = steps(r#"{"Module.a": "x", "Module.b": null, "Module.a": null}"#);
        assert_eq!(steps.find("Module.a"), Found::At { micro: 0, index: 0 });
        assert_eq!(steps.find("Module.b"), Found::At { micro: 1, index: 0 });
    }

    #[test]
    fn pairs_are_parents_in_the_form_of_megatron_only() {
        let pairs = r#""Module.a.0": [null, 0], "T.b.0": ["Module.a.0", 5]"#;
        let (plain, faults) = steps(&format!("{{{pairs}}}"));
        assert_eq!((plain.find("T.b.0"), faults.len()), (Found::Rootless, 2));
        let (megatron, faults) = steps(&format!("{{{pairs}, \"megatron_micro_step_number\": 1}}"));
        assert_eq!((megatron.find("T.b.0"), faults.len()), (Found::At { micro: 0, index: 0 }, 0));
    }
}
