//! What can be wrong with a csv file.

use super::bytes::{self, Damage};

/// All of them, for a file that holds this text and this number as cells of the second row.
pub(super) fn damages(string: &str, number: &str) -> Vec<Damage> {
    let mut all = bytes::damages();
    let text = |what: &'static str, with: &'static [u8]| {
        let from = string.to_owned();
        Damage::new(what, move |good| bytes::replaced(good, from.as_bytes(), with))
    };
    let value = |what: &'static str, with: &'static str| {
        let from = number.to_owned();
        Damage::new(what, move |good| bytes::replaced(good, from.as_bytes(), with.as_bytes()))
    };
    all.extend([
        Damage::legal("the header only", |good| header(good).to_vec()),
        Damage::new("no header", |good| good[header(good).len()..].to_vec()),
        Damage::new("the header twice", |good| [header(good), good].concat()),
        Damage::new("the header again in the middle", |good| {
            let at = line_of(good, 2);
            [&good[..at], header(good), &good[at..]].concat()
        }),
        Damage::new("another header", |good| [b"a,b,c\n", &good[header(good).len()..]].concat()),
        Damage::new("the last row is cut in half", |good| {
            let last = good[..good.len() - 1].iter().rposition(|b| *b == b'\n').unwrap();
            good[..(last + good.len()) / 2].to_vec()
        }),
        Damage::new("no line break at the end", |good| good.trim_ascii_end().to_vec()),
        Damage::new("CR alone", |good| String::from_utf8_lossy(good).replace('\n', "\r").into_bytes()),
        // They count as lines, and some tables show the number of the line.
        Damage::legal("empty lines", |good| String::from_utf8_lossy(good).replace('\n', "\n\n").into_bytes()),
        Damage::new("semicolons for commas", |good| {
            String::from_utf8_lossy(good).replace(',', ";").into_bytes()
        }),
        Damage::new("tabs for commas", |good| String::from_utf8_lossy(good).replace(',', "\t").into_bytes()),
        Damage::new("the second column is missing", |good| columns(good, |cells| drop(cells.remove(1)))),
        Damage::new("the last column is missing", |good| columns(good, |cells| drop(cells.pop()))),
        Damage::new("a column more", |good| columns(good, |cells| cells.push(cells[0].clone() + "x"))),
        Damage::new("two columns swapped", |good| columns(good, |cells| cells.swap(0, 1))),
        Damage::new("a column twice", |good| columns(good, |cells| cells.insert(1, cells[1].clone()))),
        Damage::new("a row with a cell too many", |good| {
            let at = line_of(good, 2) - 1;
            [&good[..at], b",more", &good[at..]].concat()
        }),
        Damage::new("a row with a cell too few", |good| {
            let start = line_of(good, 2);
            let comma = start + good[start..].iter().position(|b| *b == b',').unwrap();
            [&good[..start], &good[comma + 1..]].concat()
        }),
        text("a quoted cell", b"\"a b\""),
        text("a comma in a quoted cell", b"\"a,b\""),
        text("a line break in a quoted cell", b"\"a\nb\""),
        text("a quote in a quoted cell", b"\"a\"\"b\""),
        text("a quote inside of a cell", b"a\"b"),
        text("a quote that is not closed", b"\"ab"),
        text("a comma that is not quoted", b"a,b"),
        text("a NUL byte in a cell", b"a\0b"),
        text("control characters in a cell", b"a\x01\x1fb"),
        text("bytes in a cell that are no UTF-8", b"a\xff\xfeb"),
        text("an empty text", b""),
        value("an empty cell for a number", ""),
        value("`N/A` for a number", "N/A"),
        value("a text for a number", "many"),
        value("`inf` for a number", "inf"),
        value("`nan` for a number", "nan"),
        value("1e400", "1e400"),
        value("a number with exponent", "1.5e3"),
        value("a negative number", "-5"),
        value("a number of 30 digits", "173640544300020050000000000000"),
        value("a decimal comma in quotes", "\"8,5\""),
        value("a decimal comma without quotes", "8,5"),
        value("white space around a number", " 1234 "),
        value("a hexadecimal number", "0x1F"),
        Damage::new("a JSON file", |_| b"{\"a\": [1, 2]}\n".to_vec()),
        Damage::new("a database", |_| b"SQLite format 3\0\x10\0\x01\x01\0\x40\x20\x20".to_vec()),
        Damage::new("a cell of 50 MB", {
            let from = string.to_owned();
            move |good| bytes::replaced(good, from.as_bytes(), &vec![b'x'; 50 << 20])
        }),
        Damage::new("a quote that is not closed before 70 MB", {
            let from = string.to_owned();
            move |good| {
                let mut bad = bytes::replaced(good, from.as_bytes(), b"\"ab");
                bad.extend((0..70).flat_map(|_| vec![b'x'; 1 << 20].into_iter().chain(*b"\n")));
                bad
            }
        }),
    ]);
    all
}

fn header(good: &[u8]) -> &[u8] {
    &good[..=good.iter().position(|b| *b == b'\n').unwrap()]
}

/// Where a line starts, counted from 0.
fn line_of(good: &[u8], number: usize) -> usize {
    // Lines in quotes do not count.
    let mut quoted = false;
    let breaks = good.iter().enumerate().filter(|(_, b)| {
        quoted ^= **b == b'"';
        **b == b'\n' && !quoted
    });
    breaks.map(|(at, _)| at + 1).nth(number - 1).unwrap()
}

/// Changes the cells of each row, the header's included. Cells in quotes must not hold commas for that,
/// so they are protected first.
fn columns(good: &[u8], change: impl Fn(&mut Vec<String>)) -> Vec<u8> {
    let mut quoted = false;
    let protected: String = String::from_utf8_lossy(good)
        .chars()
        .map(|c| {
            quoted ^= c == '"';
            match c {
                ',' if quoted => '\u{1}',
                '\n' if quoted => '\u{2}',
                c => c,
            }
        })
        .collect();
    let mut out = String::new();
    for line in protected.lines() {
        let mut cells: Vec<String> = line.split(',').map(str::to_owned).collect();
        change(&mut cells);
        out += &cells.join(",");
        out.push('\n');
    }
    out.replace('\u{1}', ",").replace('\u{2}', "\n").into_bytes()
}
