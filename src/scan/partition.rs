//! Units into partitions.

use crate::source::Unit;

/// Sorts units by their keys and cuts them into at most `target` runs of about the same size.
///
/// A run is contiguous and all units with the same keys are in one run, so that the partitions can
/// be declared as ranges of the keys. More partitions than threads would only cost memory: each one
/// holds an index and a few batches, and hundreds of blocked readers can even dead-lock a runtime.
pub fn partition_units(mut units: Vec<Unit>, target: usize) -> Vec<Vec<Unit>> {
    units.sort_by(|a, b| (&a.keys, &a.source_path).cmp(&(&b.keys, &b.source_path)));
    // An empty file still costs opening it.
    let weight = |unit: &Unit| u128::from(unit.bytes().max(1));
    let total: u128 = units.iter().map(weight).sum();
    let mut keys = units.iter().map(|u| &u.keys).collect::<Vec<_>>();
    keys.dedup();
    let target = target.clamp(1, keys.len().max(1));
    let mut groups_left = keys.len();
    let (mut runs, mut run, mut done) = (Vec::with_capacity(target), Vec::new(), 0u128);
    let mut rest = units.into_iter().peekable();
    while let Some(unit) = rest.next() {
        done += weight(&unit);
        let ends_group = rest.peek().is_none_or(|next| next.keys != unit.keys);
        run.push(unit);
        if !ends_group {
            continue;
        }
        groups_left -= 1;
        let runs_left = target - runs.len() - 1;
        let full = done * target as u128 >= total * (runs.len() as u128 + 1);
        if runs_left > 0 && groups_left > 0 && (full || groups_left == runs_left) {
            runs.push(std::mem::take(&mut run));
        }
    }
    if !run.is_empty() {
        runs.push(run);
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{KeyValue, UnitFile};

    fn unit(rank: i64, bytes: u64) -> Unit {
        let file = UnitFile { part: "x".into(), path: "x".into(), bytes };
        let keys = vec![KeyValue::Text("actor".into()), KeyValue::Int(rank)];
        Unit {
            keys,
            inner_keys: vec![],
            source_path: format!("{rank}/{bytes}"),
            form: "text".into(),
            files: vec![file],
            findings: vec![],
        }
    }

    fn ranks(runs: &[Vec<Unit>]) -> Vec<Vec<i64>> {
        let rank = |u: &Unit| match u.keys[1] {
            KeyValue::Int(r) => r,
            _ => unreachable!(),
        };
        runs.iter().map(|run| run.iter().map(rank).collect()).collect()
    }

    #[test]
    fn runs_are_contiguous_and_balanced() {
        let units = (0..8).rev().map(|r| unit(r, 100)).collect();
        assert_eq!(ranks(&partition_units(units, 2)), [vec![0, 1, 2, 3], vec![4, 5, 6, 7]]);
        let units = vec![unit(0, 900), unit(1, 10), unit(2, 10), unit(3, 10)];
        assert_eq!(ranks(&partition_units(units, 4)), [[0], [1], [2], [3]]);
    }

    #[test]
    fn equal_keys_stay_together() {
        let units = vec![unit(0, 5), unit(1, 5), unit(1, 500), unit(1, 5), unit(2, 5)];
        for target in 1..6 {
            let runs = partition_units(units.clone(), target);
            assert!(runs.len() <= target.min(3));
            assert_eq!(ranks(&runs).concat(), [0, 1, 1, 1, 2]);
            assert_eq!(ranks(&runs).iter().filter(|run| run.contains(&1)).count(), 1);
        }
    }

    #[test]
    fn no_units_give_no_runs() {
        assert!(partition_units(vec![], 4).is_empty());
    }
}
