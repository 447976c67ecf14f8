//! The check sum of watched tensors: a 64-bit table CRC of the tool's own.
//!
//! Its table is built by shifting to the right with the ECMA polynomial as it is, not mirrored, so
//! that no catalogued CRC-64 gives the same sums. Start and final value are all ones.

const POLYNOMIAL: u64 = 0x42F0_E1EB_A9EA_3693;

/// `TABLES[k][b]` is the effect of byte `b` with `k` bytes behind it: eight bytes are taken at a time.
const TABLES: [[u64; 256]; 8] = tables();

// Runs at compile time, where an index out of range fails the build.
#[allow(clippy::indexing_slicing)]
const fn tables() -> [[u64; 256]; 8] {
    let mut out = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut value, mut bit) = (byte as u64, 0);
        while bit < 8 {
            value = if value & 1 == 1 { value >> 1 ^ POLYNOMIAL } else { value >> 1 };
            bit += 1;
        }
        out[0][byte] = value;
        byte += 1;
    }
    let mut k = 1;
    while k < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before = out[k - 1][byte];
            out[k][byte] = before >> 8 ^ out[0][(before & 0xFF) as usize];
            byte += 1;
        }
        k += 1;
    }
    out
}

/// A check sum that grows.
#[derive(Debug, Clone, Copy)]
pub(super) struct CheckSum(u64);

impl CheckSum {
    /// That of nothing.
    pub(super) fn new() -> Self {
        Self(u64::MAX)
    }

    /// Adds bytes.
    pub(super) fn add(&mut self, bytes: &[u8]) {
        let (eights, rest) = bytes.as_chunks::<8>();
        for eight in eights {
            let mixed = (self.0 ^ u64::from_le_bytes(*eight)).to_le_bytes();
            self.0 = mixed.iter().zip(TABLES.iter().rev()).fold(0, |sum, (b, t)| sum ^ entry(t, *b));
        }
        for byte in rest {
            let [low, ..] = self.0.to_le_bytes();
            self.0 = self.0 >> 8 ^ TABLES.first().map_or(0, |t| entry(t, low ^ byte));
        }
    }

    /// As the tool writes it: 16 hexadecimal digits.
    pub(super) fn text(self) -> String {
        format!("{:016x}", !self.0)
    }
}

#[inline]
fn entry(table: &[u64; 256], byte: u8) -> u64 {
    table.get(usize::from(byte)).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(parts: &[&[u8]]) -> String {
        let mut sum = CheckSum::new();
        parts.iter().for_each(|p| sum.add(p));
        sum.text()
    }

    #[test]
    fn sums_are_those_of_the_tool() {
        assert_eq!(of(&[]), "0000000000000000");
        assert_eq!(of(&[b"123456789"]), "b86883e6fa710a9f");
        let bytes: Vec<u8> = (0..999u32).map(|i| (i * 7 % 251) as u8).collect();
        for cut in [0, 1, 7, 8, 9, 500, 999] {
            let (a, b) = bytes.split_at(cut);
            assert_eq!(of(&[a, b]), of(&[&bytes]));
        }
    }
}
