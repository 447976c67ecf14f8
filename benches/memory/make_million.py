"""make_million.py TREE OUT: the profile in TREE once more, with an operator_memory.csv of one million
rows whose names and times lie inside the operators of its trace. The same input gives the same bytes."""

import os
import random
import re
import shutil
import sys
from pathlib import Path

ROWS = 1_000_000
# The generators write operators in this form; `cat` right after `dur` tells them from other events.
OPERATOR = re.compile(
    rb'"name": "([^"]*)", "pid": \d+, "tid": \d+, "ts": "(\d+)\.(\d{3})", "dur": ([0-9.]+), "cat": "cpu_op"'
)
HEADER = (
    "Name,Size(KB),Allocation Time(us),Release Time(us),Active Release Time(us),Duration(us),"
    "Active Duration(us),Allocation Total Allocated(MB),Allocation Total Reserved(MB),"
    "Allocation Total Active(MB),Release Total Allocated(MB),Release Total Reserved(MB),"
    "Release Total Active(MB),Stream Ptr,Device Type\r\n"
)


def us(ns):
    return f"{ns // 1000}.{ns % 1000:03d}\t"


def main():
    tree, out = Path(sys.argv[1]), Path(sys.argv[2])
    trace = next(tree.rglob("trace_view.json"))
    directory = out / trace.parent.parent.relative_to(tree)
    output = directory / "ASCEND_PROFILER_OUTPUT"
    output.mkdir(parents=True)
    for file in trace.parent.parent.glob("*.json"):
        shutil.copy(file, directory)
    os.link(trace, output / trace.name)

    ops = [
        (name.decode(), int(us_) * 1000 + int(ns), int(float(dur) * 1000))
        for name, us_, ns, dur in OPERATOR.findall(trace.read_bytes())
    ]
    if not ops:
        sys.exit(f"{trace}: no operators found")
    lot = random.Random(7)
    rows = []
    for _ in range(ROWS):
        name, start, dur = lot.choice(ops)
        rows.append((start + lot.randrange(max(dur, 1)) // 10 * 10, name))
    rows.sort()
    with open(output / "operator_memory.csv", "w", encoding="utf-8", newline="") as file:
        file.write(HEADER)
        for at, name in rows:
            kb = lot.randrange(1, 65536) * 0.5
            life = lot.randrange(2000, 9_000_000) // 10 * 10
            level = lot.randrange(1 << 16) / 2
            file.write(
                f"{name},{kb},{us(at)},{us(at + life)},{us(at + life - 10)},{us(life)},{us(life - 10)},"
                f"{level},65536.0,{level},{level / 2},65536.0,{level / 2},1431569360,NPU:0\r\n"
            )


main()
