"""bench.py DIRECTORY SHARED_TOOLS: measures the export of dump_trend on the inputs that run.sh made, and
prints one table.

The reference is mindstudio-probe 26.2.0, in a process of its own, as we are; what is compared are the wall
times of the whole processes, taken alternately in one run on one machine, with warm files. Ours is a median
of three; the reference's is one run of the large inputs and a median of three of the small ones. With one
thread both are bound to one core. Exits with 1 when a bar is missed or a database differs."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
BENCH = Path(sys.argv[1])
COMPARE = Path(sys.argv[2]) / "compare_db.py"
PROGRAM = os.environ["RLI_PROGRAM"]
REFERENCE = os.environ["RLI_REFERENCE"]
RUNS = 3
SHAPES = ["1x32", "32x1", "32x4"]
SIZES = ["2M", "20M"]
MB = 1e6


class Sample:
    """One run of a process: wall and CPU seconds, peak memory in MB, what it printed."""

    def __init__(self, command, cores=None):
        pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=pin)
        self.out = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"failed: {command}")
        process.returncode = 0
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss * 1024 / MB


def cores_for(threads):
    return sorted(os.sched_getaffinity(0))[:threads]


def query(sql, threads):
    return Sample([PROGRAM, "--quiet", "--threads", str(threads), "--format", "csv", "-c", sql], cores_for(threads))


def ours(tree, out, threads):
    out.unlink(missing_ok=True)
    return query(f"COPY (SELECT * FROM dump_trend('{tree}')) TO '{out}' STORED AS TREND_DB", threads)


def reference(tree, out, threads):
    subprocess.run(["rm", "-rf", str(out)], check=True)
    return Sample([REFERENCE, str(HERE / "reference.py"), str(tree), str(out), "true"], cores_for(threads))


def median(samples, what):
    return statistics.median(getattr(sample, what) for sample in samples)


def warm(tree):
    for file in tree.rglob("*.json"):
        with open(file, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass


class Table:
    """Rows of the result; remembers whether all bars were reached."""

    def __init__(self):
        self.rows, self.good = [], True

    def add(self, what, ours_, theirs, measured, bar, good):
        self.good &= good
        self.rows.append([what, ours_, theirs, measured, bar, "yes" if good else "NO"])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def ratio(self, what, ours_, theirs, bar):
        ratio = theirs / ours_
        self.add(what, f"{ours_:.3f} s", f"{theirs:.2f} s", f"{ratio:.1f} x", f"at least {bar} x", ratio >= bar)

    def __str__(self):
        head = ["what", "ours", "other", "measured", "bar", "reached"]
        lines = [head, ["---"] * len(head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def export(table, shape, size):
    tree = BENCH / f"d_{shape}_{size}"
    warm(tree)
    out, theirs = BENCH / "ours.trend.db", BENCH / "theirs"
    runs = {1: [], 2: []}
    references = []
    for turn in range(RUNS):
        if turn == 0 or size == "2M":
            references.append(reference(tree, theirs, 2))
        for threads in runs:
            runs[threads].append(ours(tree, out, threads))
    seconds = median(references, "wall")
    name = f"{shape.replace('x', ' steps x ')} ranks of {size}B"
    for threads, bar in ((1, 15), (2, 20)):
        table.ratio(f"{name}, {threads} thread{'s' * (threads > 1)}", median(runs[threads], "wall"), seconds, bar)
    rss = max(run.rss for run in runs[2])
    table.add(f"{name}, peak memory", f"{rss:.0f} MB", f"{max(r.rss for r in references):.0f} MB",
              f"{rss:.0f} MB", "at most 200 MB", rss <= 200)
    same = subprocess.run([sys.executable, str(COMPARE), str(theirs / "dump_data.trend.db"), str(out), "--exact-ids"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    good = same.returncode == 0
    table.add(f"{name}, databases", "", "", "equal" if good else same.stdout[-200:], "equal, ids included", good)
    return rss


def parsing(table):
    """How reading alone scales: every statistic of every row, no export."""
    tree = BENCH / "d_1x32_20M"
    warm(tree)
    sql = f"SELECT count(*), sum(step), max(norm), max(max), min(min), max(mean), count(DISTINCT metric_name) FROM dump_trend('{tree}')"
    runs = {1: [], 2: []}
    for _ in range(RUNS):
        for threads in runs:
            runs[threads].append(query(sql, threads))
    one, two = median(runs[1], "wall"), median(runs[2], "wall")
    bytes_ = sum(f.stat().st_size for f in tree.rglob("*.json"))
    table.add("reading without export, 742 MB, 1 thread", f"{one:.3f} s", "", f"{bytes_ / one / MB:.0f} MB/s", "", True)
    table.add("reading without export, two threads against one", f"{two:.3f} s", f"{one:.3f} s",
              f"{one / two:.2f} x", "at least 1.7 x", one / two >= 1.7)


def main():
    table = Table()
    rss = {}
    for size in SIZES:
        for shape in SHAPES:
            rss[shape, size] = export(table, shape, size)
    for size in SIZES:
        small, large = max(rss["1x32", size], rss["32x1", size]), rss["32x4", size]
        table.add(f"peak memory, 128 files of {size}B against 32", f"{large:.0f} MB", f"{small:.0f} MB",
                  f"{large / small:.2f} x", "at most 1.1 x", large <= 1.1 * small)
    parsing(table)
    print(table)
    sys.exit(0 if table.good else 1)


main()
