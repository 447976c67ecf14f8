"""questions.py TREE [RUNS]: how long each question of sql/memory takes on the profiles in TREE.

RLI_PROGRAM is the program; RUNS (default 5) is how often each is asked. Every figure is of the whole process with two
threads, warm files, its answer written as csv and thrown away: the median and the least of the wall times, the CPU
time of the least busy run, and the most memory. TREE holds the roles actor_update and rollout_generate, as run.sh makes
them (`eight_million`: a million allocations of eight ranks). Exits with 1 when a median is above one second."""

import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

# Each question, with the arguments that change how it is answered.
QUESTIONS = ["memory_at_peak('{0}')", "memory_at('{0}', at_ns => 1779785500000000000)", "memory_timeline('{0}')",
             "memory_peaks('{0}')", "memory_growth('{0}')", "memory_growth('{0}', window => 100)",
             "memory_not_released('{0}')", "memory_short_lived('{0}')", "memory_fragmentation('{0}')",
             "memory_by_stack('{0}')", "memory_by_stack('{0}', frame => 'user')", "memory_by_operator('{0}')",
             "memory_lifetimes('{0}')", "memory_imbalance('{0}')",
             "memory_diff('{0}/actor_update', '{0}/rollout_generate')"]


class Sample:
    """One run of a process: wall and CPU seconds, peak memory in MB, bytes that it printed."""

    def __init__(self, command):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.bytes = sum(len(piece) for piece in iter(lambda: process.stdout.read(1 << 16), b""))
        _, status, usage = os.wait4(process.pid, 0)
        self.wall = time.perf_counter() - start
        process.returncode = 0
        if status != 0:
            sys.exit(f"failed: {command}")
        self.cpu = usage.ru_utime + usage.ru_stime
        self.memory = usage.ru_maxrss / (1 if sys.platform != "darwin" else 1024) * 1024 / 1e6


def main():
    program, tree = os.environ["RLI_PROGRAM"], Path(sys.argv[1])
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    for file in tree.rglob("*"):
        if file.is_file():
            with open(file, "rb", buffering=0) as warm:
                while warm.read(1 << 20):
                    pass
    print("| question | median | least | CPU | memory | answer |\n|---|---:|---:|---:|---:|---:|")
    good = True
    for question in QUESTIONS:
        sql = f"SELECT * FROM {question.format(tree)}"
        samples = [Sample([program, "--threads", "2", "--format", "csv", "-c", sql]) for _ in range(runs)]
        median = statistics.median(sample.wall for sample in samples)
        good &= median <= 1
        print(f"| `{question.format('run')}` | {median:.2f} s | {min(s.wall for s in samples):.2f} s | "
              f"{min(s.cpu for s in samples):.2f} s | {max(s.memory for s in samples):.0f} MB | "
              f"{samples[0].bytes / 1e6:.1f} MB |", flush=True)
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
