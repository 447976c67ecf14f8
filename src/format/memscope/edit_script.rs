//! The shortest way from one sequence to another by deletions and insertions (Myers, greedy).
//!
//! Of several shortest ways the tool's is found: a deletion before an insertion where both lead
//! equally far. Time grows with the length times the number of differences; memory with the square of
//! the number of differences, at one bit each.

use crate::source::{Host, ReadError};

/// One step of the alignment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edit {
    /// Both sequences have it, at these places.
    Both(usize, usize),
    /// Only the base has it.
    Base(usize),
    /// Only the target has it.
    Target(usize),
}

/// More differences than this are not aligned: the bits take 100 MB.
pub(super) const MAX_DIFFERENCES: usize = 40_000;

/// Aligns two sequences; `None` when they differ in more than `most` places.
///
/// # Errors
/// What the host says.
pub(super) fn align(
    base: &[u32],
    target: &[u32],
    most: usize,
    host: &dyn Host,
) -> Result<Option<Vec<Edit>>, ReadError> {
    if base.is_empty() || target.is_empty() {
        // Nothing to align.
        let base = (0..base.len()).map(Edit::Base);
        return Ok(Some(base.chain((0..target.len()).map(Edit::Target)).collect()));
    }
    let most = most.min(base.len() + target.len());
    let mut front = Front { base, target, reach: vec![-1; 2 * most + 3], middle: most as i64 + 1 };
    let mut moves = Bits::default();
    for d in 0..=most as i64 {
        if d % 64 == 0 {
            if host.stopped() {
                return Err(ReadError::Stopped);
            }
            host.reserve((64 * (d as usize + 64)).div_ceil(8))?;
        }
        for k in (-d..=d).step_by(2) {
            let down = front.advance(d, k);
            moves.push(down);
            if front.ended(k) {
                return Ok(Some(front.replay(d, k, &moves)));
            }
        }
    }
    Ok(None)
}

/// How far each diagonal has come.
struct Front<'a> {
    base: &'a [u32],
    target: &'a [u32],
    reach: Vec<i64>,
    middle: i64,
}

impl Front<'_> {
    fn get(&self, k: i64) -> i64 {
        usize::try_from(k + self.middle).ok().and_then(|at| self.reach.get(at)).copied().unwrap_or(-1)
    }

    /// Takes diagonal `k` one difference further; true when by an insertion.
    fn advance(&mut self, d: i64, k: i64) -> bool {
        let (below, above) = (self.get(k - 1), self.get(k + 1));
        let down = d > 0 && (k == -d || (k != d && below < above));
        let x = if d == 0 {
            0
        } else if down {
            above
        } else {
            below + 1
        };
        let x = self.slide(x, k);
        if let Some(place) = usize::try_from(k + self.middle).ok().and_then(|at| self.reach.get_mut(at)) {
            *place = x;
        }
        down
    }

    /// Passes what both have in common.
    fn slide(&self, x: i64, k: i64) -> i64 {
        let rest = |all: &[u32], at: i64| usize::try_from(at).ok().and_then(|at| all.get(at)).copied();
        let mut x = x;
        while let (Some(a), Some(b)) = (rest(self.base, x), rest(self.target, x - k)) {
            if a != b {
                break;
            }
            x += 1;
        }
        x
    }

    fn ended(&self, k: i64) -> bool {
        let x = self.get(k);
        x >= self.base.len() as i64 && x - k >= self.target.len() as i64
    }

    /// The way that led to diagonal `k` with `d` differences.
    fn replay(&self, d: i64, k: i64, moves: &Bits) -> Vec<Edit> {
        // Backwards only the moves are known, forwards the places follow from them.
        let mut downs = vec![];
        let mut k = k;
        for d in (1..=d).rev() {
            let down = moves.get((d * (d + 1) / 2 + (k + d) / 2) as usize);
            downs.push(down);
            k += if down { 1 } else { -1 };
        }
        let mut out = Vec::with_capacity(self.base.len().max(self.target.len()));
        let (mut x, mut k) = (0, 0);
        let common = |x: &mut i64, k: i64, out: &mut Vec<Edit>| {
            let end = self.slide(*x, k);
            out.extend((*x..end).map(|x| Edit::Both(x as usize, (x - k) as usize)));
            *x = end;
        };
        common(&mut x, k, &mut out);
        for down in downs.into_iter().rev() {
            if down {
                out.push(Edit::Target((x - k) as usize));
                k -= 1;
            } else {
                out.push(Edit::Base(x as usize));
                x += 1;
                k += 1;
            }
            common(&mut x, k, &mut out);
        }
        out
    }
}

/// A growing row of bits.
#[derive(Debug, Default)]
struct Bits {
    words: Vec<u64>,
    len: usize,
}

impl Bits {
    fn push(&mut self, bit: bool) {
        if self.len.is_multiple_of(64) {
            self.words.push(0);
        }
        if let Some(word) = self.words.last_mut() {
            *word |= u64::from(bit) << (self.len % 64);
        }
        self.len += 1;
    }

    fn get(&self, at: usize) -> bool {
        self.words.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::memscope::tests::Notes;

    /// Fewest deletions and insertions, by dynamic programming.
    fn fewest(a: &[u32], b: &[u32]) -> usize {
        let mut row: Vec<usize> = (0..=b.len()).collect();
        for (i, x) in a.iter().enumerate() {
            let (mut diagonal, mut left) = (i, i + 1);
            row[0] = left;
            for (j, y) in b.iter().enumerate() {
                let above = row[j + 1];
                left = if x == y { diagonal } else { 1 + left.min(above) };
                diagonal = above;
                row[j + 1] = left;
            }
        }
        row[b.len()]
    }

    #[test]
    fn alignments_are_shortest_and_complete() {
        let mut state = 3u64;
        let mut random = |n: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % n
        };
        for _ in 0..3000 {
            let (n, m, names) = (random(25), random(25), 1 + random(5));
            let a: Vec<u32> = (0..n).map(|_| random(names) as u32).collect();
            let b: Vec<u32> = (0..m).map(|_| random(names) as u32).collect();
            let edits = align(&a, &b, 100, &Notes::default()).unwrap().unwrap();
            let (mut i, mut j, mut d) = (0, 0, 0);
            for edit in edits {
                match edit {
                    Edit::Both(x, y) => {
                        assert_eq!((x, y, a[x]), (i, j, b[y]));
                        (i, j) = (i + 1, j + 1);
                    }
                    Edit::Base(x) => {
                        assert_eq!(x, i);
                        (i, d) = (i + 1, d + 1);
                    }
                    Edit::Target(y) => {
                        assert_eq!(y, j);
                        (j, d) = (j + 1, d + 1);
                    }
                }
            }
            assert_eq!((i, j, d), (n, m, fewest(&a, &b)), "{a:?} {b:?}");
            if n > 0 && m > 0 && d > 0 {
                assert!(align(&a, &b, d - 1, &Notes::default()).unwrap().is_none());
            }
        }
    }
}
