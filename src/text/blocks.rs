//! 64 bytes of text at a time: where in them a byte stands, as a bit mask.
//!
//! Written with portable vectors: SSE2 on x86-64 and NEON on aarch64, from one source and without
//! unsafe code.

use wide::u8x16;

/// Bytes in a block: one bit each in a `u64`.
pub const BLOCK: usize = 64;

/// One block of text.
pub type Block = [u8; BLOCK];

/// Where a block holds this byte.
#[inline(always)]
pub fn equal(block: &Block, byte: u8) -> u64 {
    let [mask] = equal_each(block, 0, [byte]);
    mask
}

/// Where a block holds this byte, once the bits of `fold` are set in all of its bytes.
#[inline(always)]
pub fn equal_folded(block: &Block, fold: u8, byte: u8) -> u64 {
    let [mask] = equal_each(block, fold, [byte]);
    mask
}

/// Whether a block holds this byte.
#[inline(always)]
pub fn holds(block: &Block, byte: u8) -> bool {
    let mut any = u8x16::splat(0);
    for quarter in block.as_chunks::<16>().0 {
        any |= u8x16::new(*quarter).simd_eq(u8x16::splat(byte));
    }
    any.to_bitmask() & 0xFFFF != 0
}

/// Where a block holds each of these bytes, once the bits of `fold` are set in all of its bytes.
#[inline(always)]
pub fn equal_each<const N: usize>(block: &Block, fold: u8, wanted: [u8; N]) -> [u64; N] {
    let mut masks = [0; N];
    for (k, quarter) in block.as_chunks::<16>().0.iter().enumerate() {
        let bytes = u8x16::new(*quarter) | u8x16::splat(fold);
        for (mask, byte) in masks.iter_mut().zip(wanted) {
            let lanes = bytes.simd_eq(u8x16::splat(byte)).to_bitmask();
            *mask |= u64::from(lanes & 0xFFFF) << (16 * k);
        }
    }
    masks
}
