//! Numbers as profilers print them, read exactly.
//!
//! Times are decimal microseconds such as `1736405443863674.400`. Through a 64-bit float such a
//! time has steps of a quarter of a microsecond, which is enough to pick the wrong op; so the
//! integer of nanoseconds comes from the digits themselves.

/// Nanoseconds from a decimal text in microseconds, exactly; `None` when it is not a finite number
/// or does not fit.
///
/// Takes what Python's `float()` takes (signs, exponents, `_` between digits, surrounding white
/// space, Unicode digits), except infinities and NaN. Digits beyond the third decimal are rounded
/// half away from zero.
pub fn micros_to_nanos(text: &[u8]) -> Option<i64> {
    fast_micros(text).or_else(|| scaled(text, 3))
}

/// The common form: optional white space around at most 16 digits, a point and one to three digits.
fn fast_micros(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    let (mut value, mut i) = (0i64, 0usize);
    while let Some(d) = text.get(i).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
        if i == 15 {
            // 16 digits and three decimals still fit, more may not: leave it to the general way.
            if text.len() > 20 {
                return None;
            }
        } else if i > 15 {
            return None;
        }
        value = value * 10 + i64::from(d);
        i += 1;
    }
    if i == 0 {
        return None;
    }
    let mut decimals = 0;
    if text.get(i) == Some(&b'.') {
        i += 1;
        while let Some(d) = text.get(i).map(|b| b.wrapping_sub(b'0')).filter(|d| *d < 10) {
            if decimals == 3 {
                return None;
            }
            value = value.checked_mul(10)?.checked_add(i64::from(d))?;
            decimals += 1;
            i += 1;
        }
    }
    if i != text.len() {
        return None;
    }
    const SCALE: [i64; 4] = [1000, 100, 10, 1];
    value.checked_mul(*SCALE.get(decimals)?)
}

/// A decimal text times ten to the power of `shift`, rounded half away from zero to an integer.
fn scaled(text: &[u8], shift: i32) -> Option<i64> {
    let plain = plain_number(text)?;
    let (mantissa, exponent) = match plain.split_once(['e', 'E']) {
        Some((m, e)) => (m, e.parse::<i32>().ok()?),
        None => (plain.as_str(), 0),
    };
    let (negative, digits) = match mantissa.as_bytes().first()? {
        b'-' => (true, mantissa.get(1..)?),
        b'+' => (false, mantissa.get(1..)?),
        _ => (false, mantissa),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || !whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
    {
        return None;
    }
    // The value is 0.d1d2d3... times ten to the power of `point`.
    let all: Vec<u8> = whole.bytes().chain(fraction.bytes()).map(|b| b - b'0').collect();
    let zeros = all.iter().take_while(|d| **d == 0).count();
    let all = all.get(zeros..)?;
    if all.is_empty() {
        return Some(0);
    }
    let point = i64::from(exponent) + i64::from(shift) + whole.len() as i64 - zeros as i64;
    if point > 19 {
        return None;
    }
    let mut value: i128 = 0;
    for k in 0..point.max(0) {
        value = value * 10 + i128::from(all.get(k as usize).copied().unwrap_or(0));
    }
    let next = if point < 0 { 0 } else { all.get(point as usize).copied().unwrap_or(0) };
    if next >= 5 {
        value += 1;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

/// A number as Python's `float()` reads it, including `inf` and `nan`; `None` when it is none.
pub fn float(text: &[u8]) -> Option<f64> {
    if let Some(value) = short_float(text.trim_ascii()) {
        return Some(value);
    }
    let plain = plain_number(text)?;
    let unsigned = plain.trim_start_matches(['+', '-']);
    // Rust reads the same words as Python, in any case; anything else must start like a number.
    let word = ["inf", "infinity", "nan"].iter().any(|w| unsigned.eq_ignore_ascii_case(w));
    let number = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.');
    if plain.len() - unsigned.len() > 1 || !(word || number) {
        return None;
    }
    plain.parse().ok()
}

/// A number of at most 15 digits with a point among them or none. Such a number and the power of ten
/// are both exact floats, so that one division rounds as the whole text would be rounded.
fn short_float(text: &[u8]) -> Option<f64> {
    const TENS: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    if text.len() > 16 {
        return None;
    }
    let (mut value, mut digits, mut point) = (0u64, 0usize, None);
    for byte in text {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + u64::from(byte - b'0');
                digits += 1;
            }
            b'.' if point.is_none() => point = Some(digits),
            _ => return None,
        }
    }
    if digits == 0 || digits > 15 {
        return None;
    }
    Some(value as f64 / TENS.get(digits - point.unwrap_or(digits))?)
}

/// A time in microseconds: exact nanoseconds as [`micros_to_nanos`] gives them, and the float that
/// `text.parse::<f64>()` gives, mostly without parsing twice.
pub fn micros(text: &[u8]) -> Option<(i64, f64)> {
    match fast_micros(text) {
        // At most three decimals, so the float of the text is the float of the nanoseconds.
        Some(nanos) => Some((nanos, nanos_to_micros(nanos))),
        None => Some((scaled(text, 3)?, float(text)?)),
    }
}

/// Microseconds as a float from exact nanoseconds, rounded once: the same as printing them with
/// three decimals and reading the text back.
pub fn nanos_to_micros(nanos: i64) -> f64 {
    // Whole microseconds are exact and the fraction nearly so; their sum rounds once. Below 2^20
    // the fraction could lie so close to a rounding border that its own error counts.
    const SUM_IS_RIGHT: std::ops::Range<i64> = 1 << 20..1 << 53;
    let whole = nanos / 1000;
    if SUM_IS_RIGHT.contains(&whole) {
        return whole as f64 + (nanos % 1000) as f64 / 1000.0;
    }
    let sign = if nanos < 0 { "-" } else { "" };
    let text = format!("{sign}{}.{:03}", whole.unsigned_abs(), (nanos % 1000).unsigned_abs());
    text.parse().unwrap_or(f64::NAN)
}

/// An integer as Python's `int()` reads it: white space around it, a sign, `_` between digits.
pub fn integer(text: &str) -> Option<i64> {
    let plain = plain_number(text.as_bytes())?;
    let digits = plain.strip_prefix(['+', '-']).unwrap_or(&plain);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    plain.parse().ok()
}

/// What Python's number syntax allows on top of ASCII: white space around it, `_` between digits,
/// digits of other scripts. `None` for what it does not allow.
fn plain_number(text: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(text).ok()?.trim();
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '_' => {
                let before = out.as_bytes().last().is_some_and(u8::is_ascii_digit);
                let after = chars.peek().is_some_and(|c| digit(*c).is_some());
                if !(before && after) {
                    return None;
                }
            }
            c => out.push(digit(c).unwrap_or(c)),
        }
    }
    (!out.is_empty()).then_some(out)
}

/// The ASCII digit of a decimal digit; besides ASCII, the full-width forms that East Asian input
/// methods produce.
fn digit(c: char) -> Option<char> {
    match c {
        '0'..='9' => Some(c),
        '０'..='９' => char::from_digit(u32::from(c) - u32::from('０'), 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact_to_the_nanosecond() {
        for (text, ns) in [
            ("1736405443863674.400", 1_736_405_443_863_674_400),
            ("1736405443863674.400\t", 1_736_405_443_863_674_400),
            ("1736405443863674.4", 1_736_405_443_863_674_400),
            ("9223372036854775.807", i64::MAX),
            ("0.5", 500),
            ("12", 12_000),
            (".5", 500),
            ("5.", 5_000),
            ("-1.5", -1_500),
            ("+1.5", 1_500),
            ("1.69512E+15", 1_695_120_000_000_000_000),
            ("17.380000000000003", 17_380),
            ("0.0005", 1),
            ("-0.0005", -1),
            ("0.00049", 0),
            ("1e-9", 0),
            ("1_000", 1_000_000),
            ("１２", 12_000),
            ("0", 0),
            ("0.000", 0),
            ("00000000000000000012.5", 12_500),
        ] {
            assert_eq!(micros_to_nanos(text.as_bytes()), Some(ns), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            " ",
            ".",
            "-",
            "1.2.3",
            "1,5",
            "N/A",
            "inf",
            "nan",
            "1e",
            "e5",
            "1_",
            "_1",
            "1__0",
            "0x10",
            "9223372036854775.808",
            "1e30",
            "--1",
        ] {
            assert_eq!(micros_to_nanos(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn integers_follow_python() {
        for (text, value) in [("07", 7), ("1_0", 10), (" 3", 3), ("+4", 4), ("-1", -1)] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "x", "1.0", "1e3", "_1", "+", "1__0", "99999999999999999999"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn floats_follow_python() {
        for (text, value) in [
            (" 1 ", 1.0),
            ("+5", 5.0),
            ("1e3", 1000.0),
            (".5", 0.5),
            ("1_000", 1000.0),
            ("１２", 12.0),
            ("-0", -0.0),
            ("inf", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
        ] {
            assert_eq!(float(text.as_bytes()).map(f64::to_bits), Some(value.to_bits()), "{text}");
        }
        assert!(float(b"nan").is_some_and(f64::is_nan));
        for text in ["", "N/A", "8,0", "0x1p3", "1e", "+-1", "infin", "--1", "1 2"] {
            assert_eq!(float(text.as_bytes()), None, "{text}");
        }
    }

    #[test]
    fn the_quick_float_equals_the_parsed_one() {
        let mut state = 0x9E37_79B9_7F4A_7C15u64;
        for i in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let ns = ((state >> 1) >> (i % 40)).cast_signed();
            let text = format!("{}.{:03}", ns / 1000, ns % 1000);
            let parsed: f64 = text.parse().expect("a number");
            let (exact, float) = micros(text.as_bytes()).expect("a time");
            assert_eq!((exact, float.to_bits()), (ns, parsed.to_bits()), "{text}");
            assert_eq!(nanos_to_micros(ns).to_bits(), parsed.to_bits(), "{text}");
            let short = text.get(..text.len().min(i % 17 + 1)).expect("ASCII");
            assert_eq!(super::float(short.as_bytes()), short.parse().ok(), "{short}");
        }
    }
}
