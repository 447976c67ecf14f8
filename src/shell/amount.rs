//! Sizes and counts as people write them.

use std::num::NonZeroUsize;

/// More threads than any host has cores for; each costs a stack and queues.
const MOST_THREADS: usize = 4096;

/// A number of threads.
pub(crate) fn parse_threads(text: &str) -> Result<NonZeroUsize, String> {
    match text.parse::<NonZeroUsize>() {
        Ok(threads) if threads.get() <= MOST_THREADS => Ok(threads),
        _ => Err(format!("expected a number from 1 to {MOST_THREADS}")),
    }
}

/// Bytes from a size such as `4g`, `1.5 GiB` or `100000`. A kilobyte has 1024 bytes.
pub(crate) fn parse_size(text: &str) -> Result<usize, String> {
    let usage = || "expected a size above 0 such as 512m or 4g".to_owned();
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err(usage()),
    };
    let bytes = number.parse::<f64>().map_err(|_| usage())? * (1_u64 << shift) as f64;
    if bytes >= usize::MAX as f64 {
        return Err("more than this machine can address".into());
    }
    // The range is checked; what is cut off is a fraction of a byte.
    Some(bytes as usize).filter(|b| *b > 0).ok_or_else(usage)
}

/// A size for people: `0 B`, `1.5 MB`. A kilobyte has 1024 bytes.
pub(crate) fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    let mut units = ["B", "KB", "MB", "GB", "TB"].into_iter();
    let mut unit = units.next().unwrap_or_default();
    while value >= 1024.0
        && let Some(next) = units.next()
    {
        value /= 1024.0;
        unit = next;
    }
    if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") }
}

/// `1 row`, `2 rows`.
pub(crate) fn counted(count: u64, noun: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{plural}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units() {
        assert_eq!(parse_size("4g"), Ok(4 << 30));
        assert_eq!(parse_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(parse_size("100"), Ok(100));
        for bad in ["", "g", "-1g", "0", "0.1", "4x", "1e3", "99999999999t", "1.2.3"] {
            assert!(parse_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_written_in_the_unit_that_fits() {
        assert_eq!((size(0), size(1023), size(1536)), ("0 B".into(), "1023 B".into(), "1.5 KB".into()));
        assert_eq!(size(5 << 40), "5.0 TB");
    }
}
