//! Rows in the form in which they stand in a page.

/// A value of a row.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Value {
    /// An integer.
    Int(i64),
    /// A number of a column of type REAL; NaN stands for NULL.
    Real(f64),
}

/// Rows of `N` columns, one behind the other, each as a cell: its length, the types of its values, the
/// values.
#[derive(Debug)]
pub(in super::super) struct Cells<const N: usize> {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl<const N: usize> Cells<N> {
    /// No rows.
    pub(in super::super) const fn new() -> Self {
        // Then lengths are below 128 and take one byte, and no cell is too large for a page.
        const { assert!(N * 9 < 127) };
        Self { bytes: Vec::new(), ends: Vec::new() }
    }

    /// Adds a row.
    #[inline]
    pub(in super::super) fn push(&mut self, row: [Value; N]) {
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0, N as u8 + 1]);
        let types = start + 2;
        self.bytes.extend_from_slice(&[0; N]);
        for (at, value) in (types..).zip(row) {
            let kind = match value {
                Value::Int(value) => self.int(value),
                Value::Real(value) => self.real(value),
            };
            if let Some(slot) = self.bytes.get_mut(at) {
                *slot = kind;
            }
        }
        let length = self.bytes.len() - start - 1;
        if let Some(slot) = self.bytes.get_mut(start) {
            *slot = length as u8;
        }
        self.ends.push(self.bytes.len());
    }

    /// Forgets the rows.
    pub(in super::super) fn clear(&mut self) {
        self.bytes.clear();
        self.ends.clear();
    }

    /// The rows.
    pub(super) fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let mut start = 0;
        self.ends.iter().map(move |&end| {
            let cell = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            cell
        })
    }

    /// Adds the bytes of an integer; returns its type. SQLite takes the least bytes that hold it.
    #[inline]
    fn int(&mut self, value: i64) -> u8 {
        let (kind, bytes) = match value {
            0 => return 8,
            1 => return 9,
            -0x80..=0x7f => (1, 1),
            -0x8000..=0x7fff => (2, 2),
            -0x80_0000..=0x7f_ffff => (3, 3),
            -0x8000_0000..=0x7fff_ffff => (4, 4),
            -0x8000_0000_0000..=0x7fff_ffff_ffff => (5, 6),
            _ => (6, 8),
        };
        self.bytes.extend_from_slice(value.to_be_bytes().get(8 - bytes..).unwrap_or_default());
        kind
    }

    /// Adds the bytes of a number; returns its type. SQLite stores a whole one as an integer where that
    /// is shorter, in a column of type REAL too; minus zero becomes zero by that.
    #[inline]
    fn real(&mut self, value: f64) -> u8 {
        let whole = value as i64;
        if whole as f64 == value && whole.unsigned_abs() < 1 << 47 {
            return self.int(whole);
        }
        if value.is_nan() {
            return 0;
        }
        self.bytes.extend_from_slice(&value.to_be_bytes());
        7
    }
}
