//! Sizes for people.

use serde::Serialize;

/// What the numbers of a picture count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum Unit {
    /// Bytes.
    #[serde(rename = "B")]
    Bytes,
    /// 1024 * 1024 bytes.
    #[serde(rename = "MB")]
    Megabytes,
    /// Nothing that has a name: statistics of tensors.
    #[serde(rename = "")]
    None,
}

/// A number with its unit as people write it: `1.5 GB`, `-12.0 KB`, `3.1416`. A kilobyte has 1024 bytes.
pub fn amount(value: f64, unit: Unit) -> String {
    const NAMES: [&str; 6] = ["B", "KB", "MB", "GB", "TB", "PB"];
    let first = match unit {
        Unit::Bytes => 0,
        Unit::Megabytes => 2,
        Unit::None => return plain(value),
    };
    if !value.is_finite() {
        return plain(value);
    }
    let mut value = value;
    let mut names = NAMES.into_iter().skip(first);
    let mut name = names.next().unwrap_or_default();
    while value.abs() >= 1024.0
        && let Some(next) = names.next()
    {
        value /= 1024.0;
        name = next;
    }
    if name == "B" { format!("{value:.0} B") } else { format!("{value:.1} {name}") }
}

/// Five digits that count, as short as possible.
fn plain(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+inf" } else { "-inf" }.to_owned();
    }
    if value == 0.0 || (1e-4..1e7).contains(&value.abs()) {
        let digits = if value == 0.0 { 0 } else { (4 - value.abs().log10().floor() as i64).clamp(0, 9) };
        let text = format!("{value:.*}", digits as usize);
        let short = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
        return short.to_owned();
    }
    format!("{value:.4e}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_the_unit_that_fits() {
        assert_eq!(amount(1023.0, Unit::Bytes), "1023 B");
        assert_eq!(amount(1536.0, Unit::Bytes), "1.5 KB");
        assert_eq!(amount(-3_221_225_472.0, Unit::Bytes), "-3.0 GB");
        assert_eq!(amount(512.25, Unit::Megabytes), "512.2 MB");
        assert_eq!(amount(7308.6328125, Unit::Megabytes), "7.1 GB");
    }

    #[test]
    fn statistics_keep_five_digits() {
        for (value, text) in [
            (0.0, "0"),
            (1.0, "1"),
            (2.5, "2.5"),
            (1234.5678, "1234.6"),
            (0.00125, "0.00125"),
            (3e9, "3.0000e9"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(amount(value, Unit::None), text);
        }
    }
}
