//! The part of a stream that is in memory.

use crate::text::blocks::BLOCK;

/// How many bytes behind a block the scanner may look at.
pub const LOOKAHEAD: usize = 16;

/// Spare bytes behind the data: at the end of the stream it is filled up with spaces to whole blocks.
const PADDING: usize = BLOCK + LOOKAHEAD;

/// Bytes of a stream from some offset on; what is no longer needed is dropped, and the buffer grows
/// when one element does not fit.
#[derive(Debug)]
pub struct Window {
    buffer: Vec<u8>,
    /// The data is `buffer[start..end]`.
    start: usize,
    end: usize,
    /// Offset in the stream of `buffer[0]`.
    base: u64,
    /// How much is asked for in one read, and how large the buffer is unless an element is larger.
    step: usize,
    ended: bool,
}

impl Window {
    /// An empty window at an offset of a stream that will be read `step` bytes at a time.
    pub fn new(offset: u64, step: usize) -> Self {
        let step = step.max(1);
        Self {
            buffer: vec![0; step.max(BLOCK) + PADDING],
            start: 0,
            end: 0,
            base: offset,
            step,
            ended: false,
        }
    }

    /// The bytes in memory that were not dropped yet.
    pub fn bytes(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    /// The same, followed by spaces once the stream has ended, so that every byte of it lies in a
    /// whole block with [`LOOKAHEAD`] bytes behind it.
    pub fn padded(&self) -> &[u8] {
        let end = if self.ended { self.end + PADDING } else { self.end };
        self.buffer.get(self.start..end).unwrap_or_default()
    }

    /// Offset in the stream of the first byte of [`Window::bytes`].
    pub fn offset(&self) -> u64 {
        self.base + self.start as u64
    }

    /// Whether the stream has ended: no more bytes will come.
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Memory in use, in bytes.
    pub fn allocated(&self) -> usize {
        self.buffer.capacity()
    }

    /// Drops the first `n` bytes.
    pub fn consume(&mut self, n: usize) {
        self.start = self.end.min(self.start.saturating_add(n));
    }

    /// Gets more bytes, keeping those that were not dropped. `read` fills the front of what it is given
    /// and says how much; nothing means that the stream has ended.
    ///
    /// # Errors
    /// What `read` returns.
    pub fn fill<E>(&mut self, read: impl FnOnce(&mut [u8]) -> Result<usize, E>) -> Result<(), E> {
        if self.ended {
            return Ok(());
        }
        self.make_room();
        let to = self.buffer.len().saturating_sub(PADDING).min(self.end + self.step);
        let n = read(self.buffer.get_mut(self.end..to).unwrap_or_default())?;
        self.end = to.min(self.end + n);
        if n == 0 {
            self.ended = true;
            self.buffer.iter_mut().skip(self.end).for_each(|b| *b = b' ');
        }
        Ok(())
    }

    /// Moves the data to the front, and doubles the buffer when little room is left.
    fn make_room(&mut self) {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.base += self.start as u64;
            self.end -= self.start;
            self.start = 0;
        }
        let usual = self.step.max(BLOCK) + PADDING;
        let room = self.buffer.len() - PADDING;
        if room - self.end < self.step.div_ceil(4) {
            self.buffer.resize(2 * room + PADDING, 0);
        } else if self.buffer.len() > 8 * usual && self.end < (usual - PADDING) / 2 {
            // One huge element does not keep its memory until the end.
            self.buffer.truncate(usual);
            self.buffer.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_survives_refills_and_growth() {
        let text: Vec<u8> = (0..10_000u32).map(|i| i.to_le_bytes()[0] ^ i.to_le_bytes()[1]).collect();
        let mut window = Window::new(5, 7);
        let mut read = 0;
        while !window.ended() {
            window
                .fill(|room| {
                    let n = room.len().min(text.len() - read);
                    room[..n].copy_from_slice(&text[read..read + n]);
                    read += n;
                    Ok::<_, ()>(n)
                })
                .expect("no errors");
            let at = (window.offset() - 5) as usize;
            assert_eq!(window.bytes(), &text[at..read]);
            // Keep 300 bytes for a while, then drop them.
            if window.bytes().len() > 300 {
                window.consume(299);
            }
        }
        assert_eq!(read, text.len());
        assert!(window.padded().ends_with(&[b' '; PADDING]));
        assert!(window.allocated() < 2000);
    }
}
