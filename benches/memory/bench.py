"""bench.py DIRECTORY: measures memory_events on the inputs that run.sh made, and prints one table.

Every figure is a median of three, with warm files; the numbers compared are taken alternately, in one
run on one machine. Our times are those of the whole process, the others' those of the work alone. With
one thread we are also bound to one core. Exits with 1 when a bar is missed or an answer differs."""

import json
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from questions import QUESTIONS

HERE = Path(__file__).parent
BENCH = Path(sys.argv[1])
PROGRAM = os.environ["RLI_PROGRAM"]
RUNS = 3

# What the reference computes for every row, and no more.
FULL = """SELECT count(*), sum(size_kb), count(nullif(call_stack, '')), count(DISTINCT call_stack_id),
 max(start_time_ms), sum(duration_ms), max(total_allocated_mb) FROM memory_events('{}')"""
MATCHES = """SELECT count(*), count(nullif(call_stack, '')), sum(octet_length(call_stack))
 FROM memory_events('{}')"""
PLAIN = "SELECT sum(size_kb) FROM memory_events('{}')"


class Sample:
    """One run of a process: wall and CPU seconds, peak memory in MB, what it printed."""

    def __init__(self, command, cores=None):
        pin = (lambda: os.sched_setaffinity(0, cores)) if cores else None
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, preexec_fn=pin)
        self.out = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"failed: {command}")
        process.returncode = 0
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss / (1 if sys.platform != "darwin" else 1024) * 1024 / 1e6


def ours(sql, tree, threads):
    cores = sorted(os.sched_getaffinity(0))[:1] if threads == 1 and hasattr(os, "sched_setaffinity") else None
    command = [PROGRAM, "--threads", str(threads), "--format", "json", "-c", sql.format(BENCH / tree)]
    return Sample(command, cores)


def peer(script, tree):
    return json.loads(Sample([sys.executable, str(HERE / script), str(BENCH / tree)]).out)


def values(sample):
    return list(json.loads(sample.out)[0].values())


def median(samples, what):
    return statistics.median(getattr(sample, what) for sample in samples)


def trace_bytes(tree):
    return sum(file.stat().st_size for file in (BENCH / tree).rglob("trace_view.json"))


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

    def same(self, what, left, right):
        same = len(left) == len(right) and all(abs(a - b) <= 1e-9 * abs(b) for a, b in zip(left, right))
        self.add(what, str(left), str(right), "same" if same else "different", "same", same)

    def __str__(self):
        head = ["what", "ours", "other", "measured", "bar", "reached"]
        lines = [head, ["---"] * len(head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def warm(*trees):
    for tree in trees:
        for file in (BENCH / tree).rglob("*"):
            if file.is_file():
                with open(file, "rb", buffering=0) as f:
                    while f.read(1 << 20):
                        pass


def against_reference(table, tree, what, bars):
    """bars: by number of threads."""
    warm(tree)
    runs = {threads: [] for threads in bars}
    reference = []
    for _ in range(RUNS):
        reference.append(peer("reference.py", tree))
        for threads in bars:
            runs[threads].append(ours(FULL, tree, threads))
    seconds = statistics.median(run["seconds"] for run in reference)
    for threads, bar in bars.items():
        plural = "" if threads == 1 else "s"
        table.ratio(f"{what}, {threads} thread{plural}", median(runs[threads], "wall"), seconds, bar)
        table.same(f"{what}, {threads} thread{plural}: rows, KB, stacks",
                   values(runs[threads][0])[:3], reference[0]["answer"])


def scanning(table, tree, what):
    """How fast the trace is scanned, from the CPU time that asking for stacks adds."""
    warm(tree)
    with_stacks, without = [], []
    for _ in range(RUNS):
        with_stacks.append(ours(FULL, tree, 1))
        without.append(ours(PLAIN, tree, 1))
    added = median(with_stacks, "cpu") - median(without, "cpu")
    speed = trace_bytes(tree) / added / 1e9
    table.add(f"{what}: trace scanning", f"{added:.3f} s of CPU", "", f"{speed:.2f} GB/s", "at least 1.8 GB/s", speed >= 1.8)


def memory(table):
    warm("one300", "one1200")
    small = median([ours(FULL, "one300", 2) for _ in range(RUNS)], "rss")
    large = median([ours(FULL, "one1200", 2) for _ in range(RUNS)], "rss")
    table.add("peak memory, 300 MB trace", f"{small:.0f} MB", "", f"{small:.0f} MB", "at most 100 MB", small <= 100)
    table.add("peak memory, 1.2 GB trace", f"{large:.0f} MB", f"{small:.0f} MB", f"{large / small:.2f} x",
              "at most 1.5 x", large <= 1.5 * small)


def against_duckdb(table):
    warm("million")
    runs, duckdb = [], []
    for _ in range(RUNS):
        duckdb.append(peer("duckdb_asof.py", "million"))
        runs.append(ours(MATCHES, "million", 2))
    seconds = statistics.median(run["seconds"] for run in duckdb)
    table.ratio(f"300 MB + 1 M rows, 2 threads, DuckDB {duckdb[0]['version']}", median(runs, "wall"), seconds, 4)
    # On equal times DuckDB may take any of the operators, so their stacks may differ in length.
    table.same("300 MB + 1 M rows: rows, matches", values(runs[0])[:2], duckdb[0]["answer"][:2])


def without_stacks(table):
    warm("million")
    plain = median([ours(PLAIN, "million", 2) for _ in range(RUNS)], "wall")
    full = median([ours(MATCHES, "million", 2) for _ in range(RUNS)], "wall")
    table.add("sum(size_kb), time against the query with stacks", f"{plain:.3f} s", f"{full:.3f} s",
              f"{plain / full:.2f} x", "at most 0.7 x", plain <= 0.7 * full)
    plan = ours("EXPLAIN ANALYZE " + PLAIN, "million", 2).out
    opened = sum(int(n) for n in re.findall(r"files_opened=(\d+)", plan))
    table.add("sum(size_kb), files opened", str(opened), "", str(opened), "1 (the csv)", opened == 1)


def questions(table):
    warm("eight_million")
    for question in QUESTIONS:
        name = question.format("run")
        # Our own generator makes one role only.
        if name.startswith("memory_diff") and not (BENCH / "eight_million/rollout_generate").exists():
            continue
        samples = [ours(f"SELECT * FROM {question.format(BENCH / 'eight_million')}", "", 2) for _ in range(RUNS)]
        seconds = median(samples, "wall")
        rss = median(samples, "rss")
        table.add(f"{name}, 1 M events, 2 threads", f"{seconds:.3f} s, {rss:.0f} MB", "", f"{seconds:.3f} s",
                  "below 1 s", seconds < 1)


def main():
    table = Table()
    questions(table)
    against_reference(table, "one300", "300 MB, mixed events", {1: 12, 2: 18})
    against_reference(table, "one300ops", "300 MB, operators only", {1: 12, 2: 18})
    against_reference(table, "eight50", "8 ranks x 50 MB", {2: 18})
    scanning(table, "one300", "300 MB, mixed events")
    scanning(table, "one300ops", "300 MB, operators only")
    memory(table)
    against_duckdb(table)
    without_stacks(table)
    print(table)
    sys.exit(0 if table.good else 1)


main()
