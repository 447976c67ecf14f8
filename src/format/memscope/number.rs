//! Integers as msMemScope prints them.

/// An unsigned number at the start of the text, and what follows it; `None` without a digit, or when
/// it does not fit 64 bits.
#[inline]
pub(super) fn leading(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut rest) = (0u64, text);
    while let [digit @ b'0'..=b'9', tail @ ..] = rest {
        value = value.checked_mul(10)?.checked_add(u64::from(digit - b'0'))?;
        rest = tail;
    }
    (rest.len() < text.len()).then_some((value, rest))
}

/// Decimal or, after `0x`, hexadecimal; with a sign. What is above the range of a signed number
/// wraps, as a debugger shows addresses. `None` for anything else.
#[inline]
pub(super) fn integer(text: &[u8]) -> Option<i64> {
    let text = text.trim_ascii();
    match text {
        [b'0', b'x' | b'X', digits @ ..] => hexadecimal(digits),
        [b'-', digits @ ..] => {
            let (value, rest) = leading(digits)?;
            (rest.is_empty() && value <= 1 << 63).then(|| (value.wrapping_neg()).cast_signed())
        }
        digits => {
            let (value, rest) = leading(digits)?;
            rest.is_empty().then(|| value.cast_signed())
        }
    }
}

fn hexadecimal(digits: &[u8]) -> Option<i64> {
    let mut value = 0u64;
    for digit in digits {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            b'A'..=b'F' => digit - b'A' + 10,
            _ => return None,
        };
        if value >> 60 != 0 {
            return None;
        }
        value = value << 4 | u64::from(digit);
    }
    (!digits.is_empty()).then(|| value.cast_signed())
}

/// Whether the text stands for no value at all.
#[inline]
pub(super) fn is_absent(text: &[u8]) -> bool {
    matches!(text, b"" | b"N/A" | b"NA")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_bases_and_signs_are_read_and_nothing_else() {
        for (text, value) in [
            ("0", 0),
            ("-5", -5),
            ("0x000012c0f0000000", 0x12c0_f000_0000),
            ("0XfF", 255),
            ("18446744073709551615", -1),
            ("0xffffffffffffffff", -1),
            ("-9223372036854775808", i64::MIN),
            (" 7 ", 7),
        ] {
            assert_eq!(integer(text.as_bytes()), Some(value), "{text}");
        }
        for text in
            ["", "-", "0x", "1.5", "12a", "0x1g", "N/A", "18446744073709551616", "0x10000000000000000"]
        {
            assert_eq!(integer(text.as_bytes()), None, "{text}");
        }
    }
}
