//! The byte-level core, against slow and simple readers of the same.

use std::fs;

use rl_insight_sql::source::InputFile;
use rl_insight_sql::text::csv::{CsvBlocks, Records, Step};
use rl_insight_sql::text::decimal;
use rl_insight_sql::text::json::cursor::{Cursor, Stop};
use rl_insight_sql::text::json::escape::text_of;
use rl_insight_sql::text::json::pull::{Kind, Pull};
use serde_json::Value;

use super::{Target, fuzz, hash};

/// Nanoseconds of a decimal text, by the book; `None` when it does not fit into 64 bits. The text must
/// match `[+-]?digits[.digits][e[+-]digits]`.
fn slow_nanos(text: &str) -> Option<Option<i64>> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], rest[at + 1..].parse::<i64>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    if !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) || !(-40..=40).contains(&exponent) {
        return None;
    }
    let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
    if digits.len() > 60 {
        return None;
    }
    // The value is digits * 10^shift nanoseconds.
    let shift = exponent + 3 - fraction.len() as i64;
    let mut value: i128 = 0;
    let kept = digits.len() as i64 + shift.min(0);
    for digit in digits.iter().take(kept.max(0) as usize) {
        value = value.checked_mul(10)?.checked_add(i128::from(*digit))?;
    }
    for _ in 0..shift.max(0) {
        let Some(more) = value.checked_mul(10) else { return Some(None) };
        value = more;
    }
    // Half away from zero: the first digit that was dropped decides.
    let dropped = if kept < 0 { 0 } else { digits.get(kept as usize).copied().unwrap_or(0) };
    if shift < 0 && dropped >= 5 {
        value += 1;
    }
    Some(i64::try_from(if negative { -value } else { value }).ok())
}

#[test]
fn decimal_times() {
    let check = |input: &[u8]| {
        let exact = decimal::micros_to_nanos(input);
        let both = decimal::micros(input);
        assert_eq!(both.map(|b| b.0), exact, "micros and micros_to_nanos differ");
        let float = decimal::float(input);
        if let (Some((_, float_of_both)), Some(float)) = (both, float) {
            assert_eq!(float_of_both.to_bits(), float.to_bits(), "the float beside the time");
        }
        let mut slow = None;
        if let Ok(text) = std::str::from_utf8(input) {
            let trimmed = text.trim();
            slow = slow_nanos(trimmed);
            if let Some(slow) = slow {
                assert_eq!(exact, slow, "decimal arithmetic");
                assert_eq!(float, trimmed.parse().ok(), "the float of the library");
            }
            let whole = !trimmed.contains('_') && trimmed.is_ascii();
            if whole {
                assert_eq!(decimal::integer(text), trimmed.parse::<i64>().ok(), "integer");
            }
        }
        hash((exact.is_some(), float.map(f64::is_finite), slow.is_some(), input.len().min(30)))
    };
    let seeds = [
        "1736405443863674.400\t",
        "9223372036854775.807",
        "-1.5e+3",
        "1_000.5",
        " .5 ",
        "0.0005",
        "inf",
        "1e-30",
    ];
    let seeds = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    let words = ["9223372036854775.807", "0005", "e-3", "e15", "_"];
    fuzz(&Target { name: "decimal_times", seeds, words: &words, most: 80, check: &check });
}

/// The records of a file in blocks of this size.
fn our_records(path: &std::path::Path, block: usize) -> Vec<Vec<Vec<u8>>> {
    let mut blocks = CsvBlocks::new(InputFile::open(path).unwrap(), block);
    let mut out = vec![];
    while let Some(block) = blocks.next_block().unwrap() {
        let mut records = Records::new(&block);
        loop {
            match records.advance() {
                Step::Record(_) => {
                    out.push((0..records.cells()).map(|i| records.cell(i).unwrap().to_vec()).collect());
                }
                Step::Open(at) => {
                    blocks.give_back(&block, at).unwrap();
                    break;
                }
                Step::End => break,
            }
        }
    }
    out
}

/// The records as the crate csv-core reads them.
fn csv_core_records(mut input: &[u8]) -> Vec<Vec<Vec<u8>>> {
    use csv_core::ReadRecordResult;
    let (mut reader, mut out) = (csv_core::Reader::new(), vec![]);
    let (mut text, mut ends) = (vec![0; input.len() + 64], vec![0; input.len() + 64]);
    let (mut filled, mut ended) = (0, 0);
    loop {
        let (result, read, written, more) =
            reader.read_record(input, &mut text[filled..], &mut ends[ended..]);
        input = &input[read..];
        filled += written;
        ended += more;
        match result {
            ReadRecordResult::Record => {
                let mut start = 0;
                let cells =
                    ends[..ended].iter().map(|end| text[std::mem::replace(&mut start, *end)..*end].to_vec());
                out.push(cells.collect());
                (filled, ended) = (0, 0);
            }
            ReadRecordResult::End => return out,
            ReadRecordResult::InputEmpty => {}
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn csv_records() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("x.csv");
    let check = |input: &[u8]| {
        fs::write(&path, input).unwrap();
        let whole = our_records(&path, 1 << 20);
        for block in [1, 2, 3, 7, 64, 100] {
            assert_eq!(our_records(&path, block), whole, "blocks of {block} bytes");
        }
        // Both read quotes as Python's module does, but that crate drops a byte-order mark, and it takes
        // a quote behind a closing one for the start of another quoted piece.
        let behind_quote =
            input.windows(2).any(|w| w[0] == b'"' && !matches!(w[1], b',' | b'\n' | b'\r' | b'"'));
        if !input.starts_with(b"\xEF\xBB\xBF") && !behind_quote {
            assert_eq!(whole, csv_core_records(input), "csv-core");
        }
        hash((
            whole.len().min(8),
            whole.iter().map(Vec::len).take(8).collect::<Vec<_>>(),
            input.contains(&b'"'),
        ))
    };
    let seeds = vec![
        b"a,b\r\n1,2\r\n".to_vec(),
        b"\"a\nb\",1\n\"c\"\"\n\",2\nd,3\n".to_vec(),
        b"stray\"quote,1\nnext,2\n\n\r\nlast".to_vec(),
    ];
    fuzz(&Target {
        name: "csv_records",
        seeds,
        words: &["\"\"", "\"\n\"", "\",\""],
        most: 2000,
        check: &check,
    });
}

/// Whether a document holds something that Python's dialect allows and JSON does not, or the other way.
fn is_special(input: &[u8]) -> bool {
    let holds = |what: &[u8]| memchr::memmem::find(input, what).is_some();
    std::str::from_utf8(input).is_err()
        || input.iter().any(|b| *b < 0x20 && !matches!(b, b'\n' | b'\r' | b'\t'))
        || holds(b"NaN")
        || holds(b"Infinity")
        || holds(b"\\")
        || holds(b"\n") | holds(b"\t") | holds(b"\r")
}

/// How far a cursor comes, and whether it says that there is too little.
fn skipped(input: &[u8], last: bool) -> Result<usize, Option<usize>> {
    let mut cursor = Cursor::new(input, last);
    match cursor.skip() {
        Ok(()) => Ok(cursor.at()),
        Err(Stop::More) => Err(None),
        Err(Stop::Broken { at, .. }) => Err(Some(at)),
    }
}

#[test]
fn json_values() {
    let check = |input: &[u8]| {
        let mut pull = Pull::new(input);
        let value = pull.value().map(|v| (v.kind, v.raw.to_vec()));
        let complete = value.is_ok() && pull.peek().is_none();
        let serde = serde_json::from_slice::<Value>(input);
        match &serde {
            Ok(known) => {
                let (kind, raw) = value.as_ref().unwrap_or_else(|e| panic!("serde_json reads it: {e:?}"));
                assert!(complete, "serde_json reads all of it");
                let same = match known {
                    Value::Null => *kind == Kind::Null,
                    Value::Bool(_) => *kind == Kind::Bool,
                    Value::Number(n) => {
                        assert_eq!(decimal::float(raw), n.as_f64(), "a number");
                        *kind == Kind::Number
                    }
                    Value::String(text) => {
                        let (ours, odd) = text_of(raw).expect("serde_json decodes it");
                        assert!(ours == *text && !odd.any(), "{ours:?} is {text:?}, {odd:?}");
                        *kind == Kind::String
                    }
                    Value::Array(_) => *kind == Kind::Array,
                    Value::Object(_) => *kind == Kind::Object,
                };
                assert!(same, "{kind:?} is {known:?}");
            }
            Err(e) => {
                let beyond =
                    e.to_string().contains("number out of range") || e.to_string().contains("recursion");
                assert!(!complete || is_special(input) || beyond, "serde_json refuses it: {e}");
            }
        }
        // The other reader of the same dialect agrees, and no matter where its input is cut.
        let whole = skipped(input, true);
        if let Ok((_, raw)) = &value {
            assert!(whole.is_ok(), "{raw:?}");
        }
        if value.is_err() {
            assert!(whole.is_err(), "the cursor reads it: {whole:?}");
        }
        for cut in (0..input.len()).take(200) {
            match (skipped(&input[..cut], false), whole) {
                (Err(None), _) => {}
                (early, whole) => assert_eq!(early, whole, "cut at {cut}"),
            }
        }
        hash((
            format!("{:?}", value.map(|v| v.0).map_err(|e| e.expected)),
            serde.is_ok(),
            complete,
            input.len().min(20),
        ))
    };
    let seeds = [
        "[1, 2.5e3, -0, true, null, \"a\\u0041\\n\"]",
        "{\"a\": {\"b\": []}, \"c\": \"\\ud83d\\ude00\"}",
        "\"plain text of more than sixteen bytes\"",
        "-1.5E+10",
        "[NaN, -Infinity]",
        "[[1, 2, 3], [10, 20]]",
    ];
    let seeds = seeds.iter().map(|s| s.as_bytes().to_vec()).collect();
    fuzz(&Target {
        name: "json_values",
        seeds,
        words: &["\\ud83d", "\\ude00", "\\/", "1e5"],
        most: 1000,
        check: &check,
    });
}
