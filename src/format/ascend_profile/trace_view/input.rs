//! The bytes of a trace, from a plain or a gzip file.

use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};

use flate2::read::MultiGzDecoder;

use crate::source::{Counter, Host, InputFile};

/// Why no bytes came.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// Nobody wants them any more.
    Stopped,
    /// The file cannot be read.
    Io(io::Error),
}

/// A stream of bytes. Each read asks whether somebody still wants them.
pub(super) struct Input<'a> {
    form: Form<'a>,
    host: &'a dyn Host,
    stop: &'a AtomicBool,
}

enum Form<'a> {
    Plain(Cursor<'a>),
    Gzip(Box<MultiGzDecoder<Cursor<'a>>>),
}

impl<'a> Input<'a> {
    /// The bytes of a file from an offset on, as they are; `stop` ends the reading from outside.
    pub(super) fn plain(file: &'a InputFile, offset: u64, host: &'a dyn Host, stop: &'a AtomicBool) -> Self {
        Self { form: Form::Plain(Cursor { file, offset, host }), host, stop }
    }

    /// What is compressed in a gzip file.
    pub(super) fn gzip(file: &'a InputFile, host: &'a dyn Host, stop: &'a AtomicBool) -> Self {
        let decoder = MultiGzDecoder::new(Cursor { file, offset: 0, host });
        Self { form: Form::Gzip(Box::new(decoder)), host, stop }
    }

    /// Reads some bytes; none means the end.
    pub(super) fn read(&mut self, buf: &mut [u8]) -> Result<usize, Interrupt> {
        if self.stop.load(Ordering::Relaxed) || self.host.stopped() {
            return Err(Interrupt::Stopped);
        }
        let read = match &mut self.form {
            Form::Plain(cursor) => cursor.read(buf),
            Form::Gzip(decoder) => decoder.read(buf),
        };
        read.map_err(Interrupt::Io)
    }
}

/// Reads a file from an offset on.
struct Cursor<'a> {
    file: &'a InputFile,
    offset: u64,
    host: &'a dyn Host,
}

impl Read for Cursor<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.file.read_at(buf, self.offset)?;
        self.offset += n as u64;
        self.host.count(Counter::BytesRead, n as u64);
        Ok(n)
    }
}

/// Whether a file is compressed with gzip; its name does not matter.
pub(super) fn is_gzip(file: &InputFile) -> io::Result<bool> {
    let mut magic = [0; 2];
    let n = file.read_at(&mut magic, 0)?;
    Ok(n == 2 && magic == [0x1F, 0x8B])
}
