#!/usr/bin/env bash
# Measures memory_events against the reference and against DuckDB, and prints one table.
#
#   benches/memory/run.sh [DIRECTORY]
#
# DIRECTORY (default ../bench beside the repository) gets a Python environment and about 2.5 GB of
# inputs; both are used again the next time. Needs Rust, a C compiler, Python 3.10 or newer and, for
# the first run, pip with access to a package index. Takes about 15 minutes on two cores.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
bench=${1:-$repository/../bench}
mkdir -p "$bench"
bench=$(cd "$bench" && pwd)
here=$repository/benches/memory

if [ ! -x "$bench/venv/bin/python" ]; then
  python3 -m venv "$bench/venv"
fi
if ! "$bench/venv/bin/python" -c 'import recipe.parser, duckdb' 2>/dev/null; then
  # The reference does not name all that it needs.
  "$bench/venv/bin/pip" install --quiet \
    rl-insight==0.3.0 pandas numpy plotly matplotlib loguru ijson psutil duckdb
fi

(cd "$repository" && cargo build --release --locked --bin rl-insight-sql --example make_profile)
export RLI_PROGRAM=$repository/target/release/rl-insight-sql

# The inputs: invented profiles, each made once. The generator of ../shared has more kinds of events
# and stacks than ours and is taken where it is present.
generator=${RLI_SHARED:-$repository/../shared}/tools/gen_profile.py
make_tree() { # name, arguments of the shared generator, arguments of ours
  [ -d "$bench/$1" ] && return
  echo "making $bench/$1" >&2
  rm -rf "$bench/$1.part"
  if [ -f "$generator" ]; then
    # shellcheck disable=SC2086 # several arguments
    nice python3 "$generator" --out "$bench/$1.part" $2
  else
    # shellcheck disable=SC2086
    nice "$repository/target/release/examples/make_profile" --out "$bench/$1.part" --roles actor_update $3
  fi
  mv "$bench/$1.part" "$bench/$1"
}
make_tree one300 "--trace-mb 300" "--trace-mb 300 --ranks 1"
make_tree one300ops "--trace-mb 300 --mix ops" "--trace-mb 300 --ranks 1 --layers 16"
make_tree eight50 "--trace-mb 50 --ranks 8" "--trace-mb 50 --ranks 8"
make_tree one1200 "--trace-mb 1200" "--trace-mb 1200 --ranks 1"
# A million allocations: eight ranks, nearly all of their events are operators, and each of these allocates.
make_tree eight_million \
  "--trace-mb 72 --roles actor_update,rollout_generate --ranks 4 --mix ops --alloc-frac 1 --stack-frac 0.05" \
  "--trace-mb 72 --ranks 8 --layers 16"
if [ ! -d "$bench/million" ]; then
  echo "making $bench/million" >&2
  rm -rf "$bench/million.part"
  nice "$bench/venv/bin/python" "$here/make_million.py" "$bench/one300" "$bench/million.part"
  mv "$bench/million.part" "$bench/million"
fi

exec "$bench/venv/bin/python" "$here/bench.py" "$bench"
