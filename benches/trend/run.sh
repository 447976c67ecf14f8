#!/usr/bin/env bash
# Measures the export of dump_trend against `msprobe data2db`, and prints one table.
#
#   benches/trend/run.sh [DIRECTORY]
#
# DIRECTORY (default ../bench beside the repository) gets a Python environment and about 5 GB of inputs;
# both are used again the next time. Needs Rust, a C compiler, Python 3.10 or newer, the generator and
# comparer of ../shared/tools/trend (or of RLI_SHARED) and, for the first run, pip with access to a
# package index. Takes about 15 minutes on two cores, most of it for the reference.
set -euo pipefail
repository=$(cd "$(dirname "$0")/../.." && pwd)
bench=${1:-$repository/../bench}
tools=${RLI_SHARED:-$repository/../shared}/tools/trend
if [ ! -f "$tools/gen_dump.py" ]; then
  echo "there is no $tools/gen_dump.py: set RLI_SHARED to the directory that has tools/trend" >&2
  exit 2
fi
mkdir -p "$bench"
bench=$(cd "$bench" && pwd)

if [ ! -x "$bench/msprobe/bin/python" ]; then
  python3 -m venv "$bench/msprobe"
fi
if ! "$bench/msprobe/bin/python" -c 'import msprobe.core.compare.data2db' 2>/dev/null; then
  "$bench/msprobe/bin/pip" install --quiet mindstudio-probe==26.2.0
fi
export RLI_REFERENCE=$bench/msprobe/bin/python

(cd "$repository" && cargo build --release --locked --bin rl-insight-sql)
export RLI_PROGRAM=$repository/target/release/rl-insight-sql

for shape in "1 32" "32 1" "32 4"; do
  read -r steps ranks <<<"$shape"
  for size in 2M 20M; do
    tree=$bench/d_${steps}x${ranks}_$size
    [ -d "$tree" ] && continue
    echo "making $tree" >&2
    rm -rf "$tree.part"
    nice python3 "$tools/gen_dump.py" "$tree.part" --steps "$steps" --ranks "$ranks" --size "$size" --micro-steps 2 >/dev/null
    mv "$tree.part" "$tree"
  done
done

exec python3 "$repository/benches/trend/bench.py" "$bench" "$tools"
