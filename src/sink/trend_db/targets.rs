//! The targets of a trend database and the numbers that they get.

use hashbrown::HashTable;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use crate::format::msprobe_dump::Metric;

/// All targets that were met.
///
/// The reference tries to insert a target once for each metric that it is new for. Every try takes a
/// number, whether or not the target is known already from another metric; so the numbers have gaps.
#[derive(Debug, Default)]
pub(super) struct Targets {
    names: String,
    targets: Vec<Target>,
    table: HashTable<(u64, u32)>,
    /// Targets that are new for a metric since numbers were given last, by metric, in order of first use.
    fresh: [Vec<u32>; Metric::ALL.len()],
    /// All targets of each metric, in order of first use.
    of_metric: [Vec<u32>; Metric::ALL.len()],
    /// The metrics in order of first use.
    metrics: Vec<Metric>,
    /// How many numbers were given.
    tries: i64,
    /// The targets that have one, in the order of their numbers.
    numbered: Vec<u32>,
    /// Which target came after each one, by metric, when it was met last: dumps of one model list the
    /// same targets in the same order.
    after: Vec<[u32; Metric::ALL.len()]>,
    /// The target that was met last.
    last: u32,
}

#[derive(Debug, Clone, Copy)]
struct Target {
    start: usize,
    end: usize,
    vpp_stage: i64,
    micro_step: i64,
    /// 0 until it gets one.
    id: i64,
    /// The metrics that it was met with, as a set.
    metrics: u8,
}

/// A target that got its number: id, name, stage and call index.
pub(super) type Numbered<'a> = (i64, &'a str, i64, i64);

impl Targets {
    /// The place of a target in this list; it is noted when it is new for the metric.
    #[inline]
    pub(super) fn find(&mut self, metric: Metric, name: &str, vpp_stage: i64, micro_step: i64) -> u32 {
        let predicted =
            self.after.get(self.last as usize).and_then(|after| after.get(metric.index())).copied();
        let at = match predicted {
            Some(at) if self.is(at, name, vpp_stage, micro_step) => at,
            _ => {
                let at = self.search(name, vpp_stage, micro_step);
                let after = self.after.get_mut(self.last as usize);
                if let Some(slot) = after.and_then(|after| after.get_mut(metric.index())) {
                    *slot = at;
                }
                at
            }
        };
        self.last = at;
        self.note(at, metric);
        at
    }

    #[inline]
    fn is(&self, at: u32, name: &str, vpp_stage: i64, micro_step: i64) -> bool {
        self.targets.get(at as usize).is_some_and(|t| {
            t.micro_step == micro_step
                && t.vpp_stage == vpp_stage
                && self.names.get(t.start..t.end) == Some(name)
        })
    }

    /// The place of a target, which is added when it is new.
    fn search(&mut self, name: &str, vpp_stage: i64, micro_step: i64) -> u32 {
        let hash = xxh3_64_with_seed(name.as_bytes(), (micro_step ^ vpp_stage << 32).cast_unsigned());
        let found = self.table.find(hash, |&(h, at)| h == hash && self.is(at, name, vpp_stage, micro_step));
        match found {
            Some(&(_, at)) => at,
            None => {
                let at = self.targets.len() as u32;
                let start = self.names.len();
                self.names.push_str(name);
                let target =
                    Target { start, end: self.names.len(), vpp_stage, micro_step, id: 0, metrics: 0 };
                self.targets.push(target);
                self.after.push([u32::MAX; Metric::ALL.len()]);
                self.table.insert_unique(hash, (hash, at), |&(h, _)| h);
                at
            }
        }
    }

    /// Notes that a target was met with a metric.
    #[inline]
    fn note(&mut self, at: u32, metric: Metric) {
        let bit = 1 << metric.index();
        if let Some(target) = self.targets.get_mut(at as usize)
            && target.metrics & bit == 0
        {
            target.metrics |= bit;
            if self.of_metric.get(metric.index()).is_some_and(Vec::is_empty) {
                self.metrics.push(metric);
            }
            for list in [&mut self.fresh, &mut self.of_metric] {
                if let Some(list) = list.get_mut(metric.index()) {
                    list.push(at);
                }
            }
        }
    }

    /// Gives numbers to everything that is new.
    pub(super) fn number(&mut self) {
        for list in &mut self.fresh {
            for at in list.drain(..) {
                self.tries += 1;
                if let Some(target) = self.targets.get_mut(at as usize)
                    && target.id == 0
                {
                    target.id = self.tries;
                    self.numbered.push(at);
                }
            }
        }
    }

    /// The targets that have a number, in the order of their numbers.
    pub(super) fn numbered(&self) -> impl ExactSizeIterator<Item = Numbered<'_>> {
        self.numbered.iter().map(|&at| {
            let target = self.targets.get(at as usize);
            target.map_or((0, "", 0, 0), |t| (t.id, self.name(t), t.vpp_stage, t.micro_step))
        })
    }

    fn name(&self, target: &Target) -> &str {
        self.names.get(target.start..target.end).unwrap_or_default()
    }

    /// The number of a target; 0 as long as it has none.
    #[inline]
    pub(super) fn id(&self, at: u32) -> i64 {
        self.targets.get(at as usize).map_or(0, |t| t.id)
    }

    /// How many numbers were given, gaps included.
    pub(super) fn tries(&self) -> i64 {
        self.tries
    }

    /// How many targets there are.
    pub(super) fn len(&self) -> usize {
        self.targets.len()
    }

    /// The metrics in order of first use.
    pub(super) fn metrics(&self) -> &[Metric] {
        &self.metrics
    }

    /// Numbers and names of the targets of a metric, in order of first use.
    pub(super) fn of_metric(&self, metric: Metric) -> impl Iterator<Item = (i64, &str)> {
        let list = self.of_metric.get(metric.index()).map(Vec::as_slice).unwrap_or_default();
        let targets = list.iter().filter_map(|at| self.targets.get(*at as usize));
        targets.map(|t| (t.id, self.name(t)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_the_gaps_of_the_reference() {
        let mut targets = Targets::default();
        let a = targets.find(Metric::Backward, "a", 0, 0);
        let b = targets.find(Metric::Forward, "b", 0, 0);
        assert_eq!(targets.find(Metric::Forward, "a", 0, 0), a);
        assert_ne!(targets.find(Metric::Forward, "a", 0, 1), a);
        // Forward first: b, a, a with index 1; then backward tries a again.
        targets.number();
        let numbered: Vec<_> = targets.numbered().collect();
        assert_eq!(numbered, [(1, "b", 0, 0), (2, "a", 0, 0), (3, "a", 0, 1)]);
        assert_eq!((targets.id(a), targets.id(b), targets.tries()), (2, 1, 4));
        assert_eq!(targets.metrics(), [Metric::Backward, Metric::Forward]);
        targets.find(Metric::Forward, "c", 0, 0);
        targets.number();
        assert_eq!(targets.numbered().last(), Some((5, "c", 0, 0)));
    }
}
