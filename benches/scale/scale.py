"""scale.py DIRECTORY [SCENARIO ...]: makes large inputs, runs a query over them at three sizes, and prints
time, MB/s for each core, peak memory, and the exponent with which time and memory grow with the size.

Each scenario is made, measured and removed before the next one, so that the disk holds one at a time.
MB/s for each core are bytes of the files by CPU time, which does not depend on what else the machine does."""

import json
import math
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PROGRAM = os.environ["RLI_PROGRAM"]
MAKE_PROFILE = os.environ["RLI_MAKE_PROFILE"]
THREADS = sorted({1, os.cpu_count() or 1})

STACKS = "SELECT count(*), sum(size_kb), count(nullif(call_stack_top, '')) FROM memory_events('{path}')"
ROWS = "SELECT name, count(*), sum(size_kb), max(total_allocated_mb) FROM memory_events('{path}') GROUP BY name"
RANKS = "SELECT rank_id, count(*), max(total_allocated_mb) FROM memory_events('{path}') GROUP BY rank_id"
DUMPS = "SELECT source_step, count(*), max(norm), avg(mean) FROM dump_trend('{path}') GROUP BY source_step"
EVENTS = "SELECT event, count(*) FROM memscope_events('{path}') GROUP BY event"
BLOCKS = "SELECT count(*), sum(size), max(pool_used) FROM memscope_blocks('{path}')"


def profile(out, megabytes=None, **arguments):
    """One rank, as the project's own generator makes it."""
    size = ["--trace-mb", str(megabytes)] if megabytes else ["--steps", "2"]
    more = [text for name, value in arguments.items() for text in (f"--{name}", str(value))]
    command = [MAKE_PROFILE, "--out", out, "--roles", "actor_update", "--ranks", "1", *size, *more]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return next(out.rglob("operator_memory.csv")).parent


def ranks(path, outputs, numbers):
    """Ranks whose files are hard links to those of a few."""
    for rank in numbers:
        output = outputs[rank % len(outputs)]
        directory = path / "actor_update" / f"host_{10_000 + rank}_20260101120000000_ascend_pt"
        (directory / "ASCEND_PROFILER_OUTPUT").mkdir(parents=True)
        (directory / f"profiler_info_{rank}.json").write_text('{"rank_id": "%d"}' % rank)
        for name in ("operator_memory.csv", "trace_view.json"):
            os.link(output / name, directory / "ASCEND_PROFILER_OUTPUT" / name)


def ranks64(path):
    outputs = [profile(path / f"made{seed}", 300, seed=seed, layers=2) for seed in range(4)]
    for count in (16, 32, 64):
        ranks(path / str(count), outputs, range(count))
    return [(count, path / str(count), STACKS) for count in (16, 32, 64)]


def one_rank(path):
    made = [(megabytes, path / str(megabytes)) for megabytes in (75, 150, 300)]
    for megabytes, out in made:
        profile(out, megabytes, layers=2)
    return [(megabytes, out, STACKS) for megabytes, out in made]


def ranks1024(path):
    outputs = [profile(path / f"made{seed}", seed=seed) for seed in range(8)]
    for count in (256, 512, 1024):
        ranks(path / str(count), outputs, range(count))
    return [(count, path / str(count), RANKS) for count in (256, 512, 1024)]


def rows10m(path):
    output = profile(path / "made", 20)
    header, *rows = (output / "operator_memory.csv").read_bytes().splitlines(keepends=True)
    made = []
    for count in (2_500_000, 5_000_000, 10_000_000):
        target = path / str(count)
        ranks(target, [output], [0])
        csv = next(target.rglob("operator_memory.csv"))
        csv.unlink()
        block = b"".join(rows)
        with csv.open("wb") as file:
            file.write(header)
            for _ in range(count // len(rows)):
                file.write(block)
            file.write(b"".join(rows[: count % len(rows)]))
        made.append((count, target, ROWS))
    return made


def dump_text(entries, seed):
    """A dump.json and its construct.json: one forward pass of a model with so many linear layers."""
    tensor = lambda n: {
        "type": "torch.Tensor", "dtype": "torch.bfloat16", "shape": [4, 4096], "Max": n / 7 + seed,
        "Min": -n / 11, "Mean": n / 1e6, "Norm": n / 3, "requires_grad": False,
    }  # fmt: skip
    data, construct, parent = {}, {}, "Module.model.Model.forward.0"
    for n in range(entries):
        key = f"Module.model.layers.{n}.mlp.Linear.forward.0"
        data[key] = {
            "input_args": [tensor(n)], "input_kwargs": {}, "output": [tensor(n + 1)],
            "parameters": {"weight": tensor(n + 2), "bias": tensor(n + 3)},
        }  # fmt: skip
        construct[key] = parent
    data[parent] = {"input_args": [tensor(1)], "input_kwargs": {}, "output": [tensor(2)]}
    construct[parent] = None
    top = {"task": "statistics", "level": "L0", "framework": "pytorch", "dump_data_dir": None, "data": data}
    return json.dumps(top, indent=1), json.dumps(construct, indent=1)


def dumps4096(path):
    originals = []
    for seed in range(8):
        directory = path / "made" / str(seed)
        directory.mkdir(parents=True)
        for name, text in zip(("dump.json", "construct.json"), dump_text(300, seed)):
            (directory / name).write_text(text)
        originals.append(directory)
    made = []
    for steps in (16, 32, 64):
        for step in range(steps):
            for rank in range(64):
                directory = path / str(steps) / f"step{step}" / f"rank{rank}"
                directory.mkdir(parents=True)
                for name in ("dump.json", "construct.json"):
                    os.link(originals[(step + rank) % 8] / name, directory / name)
        made.append((steps * 64, path / str(steps), DUMPS))
    return made


def memscope(path, query):
    made = []
    for rows in (2_500_000, 5_000_000, 10_000_000):
        out = path / str(rows)
        subprocess.run(
            [sys.executable, HERE.parent / "memscope/generate.py", out, "--rows", str(rows)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        made.append((rows, out, query))
    return made


SCENARIOS = {
    "ranks64": ("64 ranks with traces of 300 MB", ranks64),
    "one_rank": ("one rank with a trace of up to 300 MB", one_rank),
    "rows10m": ("10 million operator rows in one csv", rows10m),
    "ranks1024": ("1024 small ranks", ranks1024),
    "dumps4096": ("4096 dump files", dumps4096),
    "events10m": ("10 million memscope rows: events", lambda path: memscope(path, EVENTS)),
    "blocks10m": ("10 million memscope rows: blocks", lambda path: memscope(path, BLOCKS)),
}


def read(path):
    """Bytes of the files that are read, each counted as often as it is linked; they are warm afterwards."""
    names = ("operator_memory.csv", "trace_view.json", "dump.json", "construct.json")
    size, seen = 0, set()
    for file in path.rglob("*"):
        if file.name in names or file.name.startswith("memscope_dump"):
            stat = file.stat()
            size += stat.st_size
            if stat.st_ino not in seen:
                seen.add(stat.st_ino)
                with file.open("rb") as data:
                    while data.read(1 << 24):
                        pass
    return size


def run(sql, threads):
    """Seconds, seconds of CPU and MB of peak memory of one process."""
    started = time.monotonic()
    process = subprocess.Popen(
        [PROGRAM, "--threads", str(threads), "-c", sql], stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"failed with {process.returncode}: {sql}")
    return time.monotonic() - started, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def exponent(points):
    """The slope of a line through the logarithms."""
    logs = [(math.log(x), math.log(y)) for x, y in points]
    mean_x, mean_y = (sum(values) / len(logs) for values in zip(*logs))
    return sum((x - mean_x) * (y - mean_y) for x, y in logs) / sum((x - mean_x) ** 2 for x, _ in logs)


def main():
    directory = Path(sys.argv[1])
    print("| scenario | size | GB | threads | time | MB/s | MB/s for each core | peak memory |")
    print("|---|---|---|---|---|---|---|---|")
    growth = []
    for name in sys.argv[2:] or SCENARIOS:
        title, make = SCENARIOS[name]
        path = directory / name
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        try:
            points = []
            for size, where, query in make(path):
                total = read(where) / 1e6
                for threads in THREADS:
                    seconds, cpu, peak = run(query.format(path=where), threads)
                    if threads == THREADS[-1]:
                        points.append((size, cpu, peak))
                    print(
                        f"| {title} | {size} | {total / 1000:.2f} | {threads} | {seconds:.1f} s | {total / seconds:.0f} "
                        f"| {total / cpu:.0f} | {peak:.0f} MB |",
                        flush=True,
                    )
            time_grows = exponent([(size, cpu) for size, cpu, _ in points])
            peak_grows = exponent([(size, peak) for size, _, peak in points])
            growth.append((title, time_grows, peak_grows))
        finally:
            shutil.rmtree(path, ignore_errors=True)
    print("\n| scenario | CPU time grows as size to the | peak memory as size to the |\n|---|---|---|")
    for title, time_grows, peak_grows in growth:
        print(f"| {title} | {time_grows:.2f} | {peak_grows:.2f} |")


if __name__ == "__main__":
    main()
