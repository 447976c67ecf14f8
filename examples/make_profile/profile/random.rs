//! Numbers drawn by lot, the same on every machine and with every version of every crate.

/// The SplitMix64 generator.
pub(crate) struct Random(u64);

impl Random {
    /// A generator that starts from these numbers and texts.
    pub(crate) fn new(seed: u64, text: &str, number: u32) -> Self {
        let mut random = Self(seed ^ (u64::from(number) << 32));
        for byte in text.bytes() {
            random.0 ^= u64::from(byte);
            random.next();
        }
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A time in nanoseconds between the two, in the 10 ns steps of the profiler's clock.
    pub(crate) fn ns(&mut self, from: i64, to: i64) -> i64 {
        let steps = u64::try_from((to - from) / 10).unwrap_or(0) + 1;
        from + 10 * i64::try_from(self.next() % steps).unwrap_or(0)
    }

    /// A number below `n`, which must not be 0.
    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}
