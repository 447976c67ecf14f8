#!/usr/bin/env bash
# Measures the msMemScope tables and questions, and prints one table.
#
#   benches/memscope/run.sh [DIRECTORY]
#
# DIRECTORY (default ../bench beside the repository) gets about 2.5 GB of inputs, which are used again the next time.
# Needs Rust, a C compiler and Python 3.10 or newer. Takes about five minutes on two cores, more where the inputs have
# to be made first.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
bench=${1:-$repository/../bench}
mkdir -p "$bench"
bench=$(cd "$bench" && pwd)
here=$repository/benches/memscope

(cd "$repository" && cargo build --release --locked --bin rl-insight-sql)
export RLI_PROGRAM=$repository/target/release/rl-insight-sql

make_run() { # name, arguments of the generator
  [ -d "$bench/$1" ] && return
  echo "making $bench/$1" >&2
  rm -rf "$bench/$1.part"
  # shellcheck disable=SC2086 # several arguments
  nice python3 "$here/generate.py" "$bench/$1.part" $2
  mv "$bench/$1.part" "$bench/$1"
}
make_run memscope_1m "--rows 1000000"
make_run memscope_1m_stacks "--rows 1000000 --stacks"
make_run memscope_1m_db "--rows 1000000 --db"
make_run memscope_4x1m "--rows 1000000 --devices 4"
make_run memscope_10m "--rows 10000000"
make_run memscope_200k "--rows 200000"

exec python3 "$here/bench.py" "$bench"
