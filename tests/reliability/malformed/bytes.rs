//! What can be wrong with any text file, and what a damage is.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// Makes a bad file of a good one.
pub(super) struct Damage {
    /// What is wrong, as the documentation calls it.
    pub(super) what: &'static str,
    /// Whether the result is a file that a tool may well write, with an answer of its own.
    pub(super) legal: bool,
    make: Box<Make>,
}

/// From the bytes of a good file to those of a bad one.
type Make = dyn Fn(&[u8]) -> Vec<u8>;

impl Damage {
    pub(super) fn new(what: &'static str, make: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Self {
        Self { what, legal: false, make: Box::new(make) }
    }

    pub(super) fn legal(what: &'static str, make: impl Fn(&[u8]) -> Vec<u8> + 'static) -> Self {
        Self { legal: true, ..Self::new(what, make) }
    }

    /// The bad file.
    pub(super) fn of(&self, good: &[u8]) -> Vec<u8> {
        (self.make)(good)
    }
}

/// The same with the last occurrence of a text replaced.
pub(super) fn replaced(good: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let at = memchr::memmem::rfind(good, from).unwrap_or_else(|| panic!("no {}", from.escape_ascii()));
    [&good[..at], to, &good[at + from.len()..]].concat()
}

/// All that need not know what the text means.
pub(super) fn damages() -> Vec<Damage> {
    const MARK: &[u8] = b"\xEF\xBB\xBF";
    vec![
        Damage::new("zero bytes", |_| vec![]),
        Damage::new("white space only", |_| b" \n\n ".to_vec()),
        Damage::new("cut in the middle", |good| good[..good.len() * 3 / 5].to_vec()),
        Damage::new("the last three bytes are missing", |good| good[..good.len() - 3].to_vec()),
        Damage::new("the first half is missing", |good| good[good.len() / 2..].to_vec()),
        Damage::new("byte-order mark", |good| [MARK, good].concat()),
        Damage::new("two byte-order marks", |good| [MARK, MARK, good].concat()),
        Damage::new("CRLF", |good| String::from_utf8_lossy(good).replace('\n', "\r\n").into_bytes()),
        Damage::new("UTF-16", |good| {
            let units = String::from_utf8_lossy(good).encode_utf16().collect::<Vec<u16>>();
            [0xFEFF].iter().chain(&units).flat_map(|unit| unit.to_le_bytes()).collect()
        }),
        Damage::new("4096 NUL bytes at the end", |good| [good, &[0; 4096]].concat()),
        Damage::new("NUL bytes only", |good| vec![0; good.len()]),
        Damage::new("a gzip file", |good| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(good).unwrap();
            gzip.finish().unwrap()
        }),
        Damage::new("a gzip file that is cut off", |good| {
            let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
            gzip.write_all(good).unwrap();
            let bytes = gzip.finish().unwrap();
            bytes[..bytes.len() * 2 / 3].to_vec()
        }),
        Damage::new("a first line of 1 million letters", |_| vec![b'x'; 1_000_000]),
        Damage::new("random bytes", |good| {
            let mut state = 7u64;
            let next = |_: &u8| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                state.to_le_bytes()[7]
            };
            good.iter().map(next).collect()
        }),
    ]
}
