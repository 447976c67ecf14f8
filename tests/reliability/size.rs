//! How much is tested: little in the ordinary run, much with `RELIABILITY=long`.

use std::time::Duration;

/// Whether the long form was asked for:
/// `RELIABILITY=long cargo test --release --test reliability`.
pub(crate) fn long() -> bool {
    std::env::var_os("RELIABILITY").is_some_and(|value| value == "long")
}

/// The first of two sizes, or the second in the long form.
pub(crate) fn pick<T>(ordinary: T, long_form: T) -> T {
    if long() { long_form } else { ordinary }
}

/// How long it may take until everything is given back. The promise is a second; in the ordinary run
/// the machine also does other things. RELIABILITY_SECONDS is for a long run on a machine that does.
pub(crate) fn patience() -> Duration {
    let seconds = std::env::var("RELIABILITY_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    Duration::from_secs(seconds.unwrap_or(pick(60, 1)))
}
