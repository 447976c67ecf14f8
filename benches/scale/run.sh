#!/usr/bin/env bash
# Large scenarios: makes each, measures it at several sizes, prints a table, and removes it again.
#
#   benches/scale/run.sh [DIRECTORY] [SCENARIO ...]
#
# DIRECTORY (default ../bench/scale beside the repository) needs 4 GB for a while: 64 ranks with traces of
# 300 MB, 19 GB in all, are hard links to four traces. Needs Rust, a C compiler and Python 3.10 or newer.
# Takes about ten minutes on two cores.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
directory=${1:-$repository/../bench/scale}
[ $# -gt 0 ] && shift
mkdir -p "$directory"

if [ -z "${RLI_PROGRAM:-}" ]; then
  (cd "$repository" && cargo build --release --locked --bin rl-insight-sql --example make_profile)
fi
export RLI_PROGRAM=${RLI_PROGRAM:-$repository/target/release/rl-insight-sql}
export RLI_MAKE_PROFILE=${RLI_MAKE_PROFILE:-$repository/target/release/examples/make_profile}
exec python3 "$repository/benches/scale/scale.py" "$directory" "$@"
