"""bench.py DIRECTORY: measures the msMemScope tables and questions on the inputs that run.sh made, and prints one
table.

Measured are wall times of whole processes with warm files, the median of five, with two threads on two cores, and peak
memory. Answers are compared with truth.json. Exits with 1 when a bar is missed or an answer is wrong."""

import csv
import io
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

BENCH = Path(sys.argv[1])
PROGRAM = os.environ["RLI_PROGRAM"]
RUNS = 5
MB = 1e6
QUESTIONS = {
    "peak of each pool": "SELECT device, pool, max(pool_used) FROM memscope_blocks('{}') GROUP BY device, pool",
    "step leaks": "SELECT pid, step, address, bytes FROM memscope_step_leaks('{}')",
    "leaks between marks": "SELECT * FROM memscope_leaks('{}', 'step')",
    "owners at the peak": "SELECT pool, owner, peak_used, bytes FROM memscope_owners_at_peak('{}')",
    "fragmentation": "SELECT pool, kind, count(*) FROM memscope_pool_growth('{}') GROUP BY pool, kind",
    "never released": "SELECT pool, kind, owner, bytes FROM memscope_never_freed('{}')",
    "growth by stack": "SELECT site, grown_bytes, growing FROM memscope_growth_by_stack('{}')",
    "counts": "SELECT * FROM memscope_summary('{}')",
    "what the tool's check_leaks finds": "SELECT * FROM memscope_check_leaks('{}', 'step')",
    "fluctuation": "SELECT * FROM memscope_fluctuation('{}')",
    "unaccounted": "SELECT * FROM memscope_unaccounted('{}')",
    "held at the ends of steps": "SELECT pid, pass, owner, bytes FROM memscope_held_at_marks('{}')",
}
INEFFICIENT = "SELECT inefficient, count(*), sum(bytes), count(py_stack) FROM memscope_inefficient('{}') GROUP BY inefficient"

# A plain reader in Python, which gives the same columns; not part of this repository.
READER = Path(os.environ.get("RLI_SHARED", Path(__file__).parents[2] / "../shared")) / "tools/memscope_read.py"
READING = """import resource, sys
sys.path.insert(0, sys.argv[1])
import memscope_read
begun = resource.getrusage(resource.RUSAGE_SELF).ru_utime
events = memscope_read.read_events(sys.argv[2])
print(events.num_rows, sum(events["size"].drop_null().to_pylist()), resource.getrusage(resource.RUSAGE_SELF).ru_utime - begun)
"""


class Sample:
    """One run of a process: wall and CPU seconds, peak memory in MB, what it printed."""

    def __init__(self, sql, threads):
        cores = sorted(os.sched_getaffinity(0))[:threads]
        command = [PROGRAM, "--quiet", "--threads", str(threads), "--format", "csv", "-c", sql]
        start = time.perf_counter()
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, preexec_fn=lambda: os.sched_setaffinity(0, cores)
        )
        self.out = process.stdout.read().decode()
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        if status != 0:
            sys.exit(f"failed: {sql}")
        process.returncode = 0
        self.cpu = usage.ru_utime + usage.ru_stime
        self.rss = usage.ru_maxrss * 1024 / MB

    def rows(self):
        return [tuple(row) for row in csv.reader(io.StringIO(self.out))][1:]


def measure(sql, threads, runs=RUNS):
    samples = [Sample(sql, threads) for _ in range(runs)]
    samples.sort(key=lambda s: s.wall)
    return samples[len(samples) // 2]


def files(run):
    return [f for f in run.rglob("memscope_dump_*") if f.is_file()]


def warm(run):
    for file in files(run):
        with open(file, "rb", buffering=0) as f:
            while f.read(1 << 20):
                pass


class Table:
    """Rows of the result; remembers whether all bars were reached."""

    def __init__(self):
        self.rows, self.good = [], True

    def add(self, what, measured, bar, good):
        self.good &= good
        self.rows.append([what, measured, bar, "yes" if good else "NO"])
        print(" | ".join(self.rows[-1]), file=sys.stderr, flush=True)

    def seconds(self, what, sample, bar):
        measured = f"{sample.wall:.2f} s, {sample.rss:.0f} MB"
        self.add(what, measured, f"at most {bar} s" if bar else "", not bar or sample.wall <= bar)

    def __str__(self):
        head = ["what", "measured", "bar", "reached"]
        lines = [head, ["---"] * len(head), *self.rows]
        return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def truth_of(run):
    return json.loads((run / "truth.json").read_text())


def counting(table):
    """How fast rows are read when nothing is done with them."""
    for name in ("memscope_1m", "memscope_1m_stacks"):
        run = BENCH / name
        warm(run)
        sample = measure(f"SELECT count(*) FROM memscope_events('{run}')", 1)
        size = sum(f.stat().st_size for f in files(run)) / MB
        rate = size / sample.cpu
        table.add(f"{name}: count, MB per CPU second of one core", f"{rate:.0f} MB/s ({size:.0f} MB)",
                  "at least 400 MB/s", rate >= 400)
        rows = sum(t["rows"] for t in truth_of(run))
        table.add(f"{name}: rows", sample.rows()[0][0], str(rows), int(sample.rows()[0][0]) == rows)


def questions(table, name, bar):
    """The questions that start from blocks."""
    run = BENCH / name
    warm(run)
    most = 0
    for what, sql in QUESTIONS.items():
        sample = measure(sql.format(run), 2)
        most = max(most, sample.rss)
        table.seconds(f"{name}: {what}", sample, bar)
    table.add(f"{name}: peak memory of these", f"{most:.0f} MB", "at most 250 MB", most <= 250)


def answers(table, name):
    """Step leaks and the peak against what the generator says."""
    run = BENCH / name
    truth = truth_of(run)
    found = sorted(Sample(QUESTIONS["step leaks"].format(run), 2).rows())
    wanted = sorted((str(t["pid"]), str(leak["step"]), leak["address"], str(leak["bytes"]))
                    for t in truth for leak in t["leaks"] if 2 <= leak["step"] < t["steps"])
    table.add(f"{name}: step leaks", f"{len(found)}", f"the {len(wanted)} of truth.json", found == wanted)
    rows = Sample(f"SELECT pid, peak_used FROM memscope_ranks('{run}') WHERE pool = 'PTA' ORDER BY pid", 2).rows()
    peaks = [(str(t["pid"]), str(t["peak"])) for t in truth]
    table.add(f"{name}: peaks", ", ".join(p for _, p in rows), "those of truth.json", rows == peaks)
    leaks = Sample(f"SELECT pid, bytes FROM memscope_leaks('{run}', 'step') ORDER BY pid", 2).rows()
    buffers = [(str(t["pid"]), str(200 << 20)) for t in truth]
    bar = f"the {len(buffers)} buffers of HCCL"
    table.add(f"{name}: leaks of the driver without segments", f"{len(leaks)}", bar, leaks == buffers)


def scaling(table):
    """Ten times the rows take ten times as long."""
    small, large = BENCH / "memscope_1m", BENCH / "memscope_10m"
    for run in (small, large):
        warm(run)
    more = {
        "count of events": "SELECT count(*) FROM memscope_events('{}')",
        "sums over blocks": "SELECT pool, count(*), sum(size) FROM memscope_blocks('{}') GROUP BY pool",
        "inefficient": INEFFICIENT,
    }
    for what in (*more, "peak of each pool", "step leaks", "leaks between marks", "owners at the peak"):
        sql = more.get(what) or QUESTIONS[what]
        samples = [measure(sql.format(run), 2, runs=3) for run in (small, large)]
        ratio = samples[1].cpu / samples[0].cpu
        table.add(f"10 million rows against 1 million: {what}, CPU time",
                  f"{ratio:.1f} x ({samples[0].wall:.2f} s, {samples[0].rss:.0f} MB to {samples[1].wall:.2f} s, "
                  f"{samples[1].rss:.0f} MB)", "at most 12 x", ratio <= 12)
    samples = [measure(f"SELECT count(*), count(name) FROM memscope_events('{run}')", 2, 3) for run in (small, large)]
    ratio = samples[1].rss / samples[0].rss
    table.add("10 million rows against 1 million: memory of a query that streams",
              f"{ratio:.2f} x ({samples[1].rss:.0f} MB)", "at most 1.2 x", ratio <= 1.2)


def against_a_plain_reader(table):
    """All columns of all events, by CPU time; the reader holds its rows, so the file is a small one."""
    if not READER.exists() or subprocess.run([sys.executable, "-c", "import pyarrow"], capture_output=True).returncode:
        print("left out: the plain reader, or pyarrow, is not there", file=sys.stderr)
        return
    run = BENCH / "memscope_200k"
    warm(run)
    read = subprocess.run([sys.executable, "-c", READING, str(READER.parent), str(run)], capture_output=True, check=True)
    rows, size, seconds = read.stdout.split()
    names = Sample(f"DESCRIBE SELECT * FROM memscope_events('{run}')", 1).rows()
    counts = ", ".join(f"count({name})" for name, *_ in names)
    sample = measure(f"SELECT count(*), sum(size), {counts} FROM memscope_events('{run}')", 1, 3)
    same = [str(v) for v in sample.rows()[0][:2]] == [rows.decode(), size.decode()]
    table.add("memscope_200k: rows and bytes as a plain reader has them", "same" if same else "different", "same", same)
    ratio = float(seconds) / sample.cpu
    table.add("memscope_200k: all columns of all events, CPU time against a plain reader in Python",
              f"{sample.cpu:.2f} s, {ratio:.0f} x", "at least 20 x", ratio >= 20)


def main():
    table = Table()
    counting(table)
    for name in ("memscope_1m", "memscope_1m_stacks", "memscope_4x1m"):
        questions(table, name, 1.0)
    questions(table, "memscope_1m_db", None)
    for name in ("memscope_1m", "memscope_1m_stacks", "memscope_4x1m"):
        sample = measure(INEFFICIENT.format(BENCH / name), 2, 3)
        table.seconds(f"{name}: inefficient", sample, 3.0)
        table.add(f"{name}: its peak memory", f"{sample.rss:.0f} MB", "at most 250 MB", sample.rss <= 250)
    against_a_plain_reader(table)
    for name in ("memscope_1m", "memscope_1m_stacks", "memscope_1m_db", "memscope_4x1m"):
        answers(table, name)
    scaling(table)
    print(table)
    sys.exit(0 if table.good else 1)


main()
