"""generate.py OUT [--rows 1000000] [--devices 1] [--stacks] [--no-access] [--db]

Writes invented runs of msMemScope, one process per device, in the order in which the tool writes: the rows of a block
when it is released, what is alive at exit with a release that the tool makes up. The same arguments give the same
bytes. OUT/truth.json says what is in them: steps, rows, the highest use of the pool, and the blocks that leak."""

import argparse
import json
import random
import sqlite3
from pathlib import Path

HEADER = (
    "ID,Event,Event Type,Name,Timestamp(ns),Process Id,Thread Id,Device Id,Ptr,Attr,"
    "Call Stack(Python),Call Stack(C)"
)
COLUMNS = HEADER.split(",")
START_NS = 1_790_000_000_000_000_000
LAYERS = 24
KB, MB = 1 << 10, 1 << 20
WEIGHT = "PTA@fsdp2@sharded_weight"
ACTIVATION = "PTA@fsdp2@activation@ops"
GRADIENT = "PTA@fsdp2@backward@gradient@ops"
GATHERED = "PTA@fsdp2@activation@all_gather_output@ops"
STACKS = [f"model.py(88): forward\ntrain.py({n}): train_step\ntrain.py(12): <module>\n" for n in range(40)]
C_STACK = (
    "/opt/memscope/lib64/libleaks_ascend_hal_hook.so(halMemAlloc+0x118) [0x7f0000000118]\n"
    "/opt/cann/lib64/libruntime.so(+0x2a10) [0x7f0000002a10]\n"
)


class Csv:
    """Rows as the tool quotes them."""

    def __init__(self, path):
        self.file = open(path, "w", buffering=1 << 20)
        self.file.write(HEADER + "\n")

    def put(self, fields, attributes, stacks):
        attributes = '"{' + ",".join(attributes) + '}"' if attributes else ""
        quoted = [f'"{stack}"' if stack else "" for stack in stacks]
        self.file.write(",".join([*map(str, fields), attributes, *quoted]) + "\n")

    def close(self):
        self.file.close()


class Database:
    """The same rows in SQLite."""

    def __init__(self, path):
        self.connection = sqlite3.connect(path)
        self.connection.execute("PRAGMA synchronous = OFF")
        kinds = {"ID": "INTEGER", "Timestamp(ns)": "INTEGER", "Process Id": "INTEGER", "Thread Id": "INTEGER"}
        columns = ", ".join(f'"{c}" {kinds.get(c, "TEXT")}' for c in COLUMNS)
        self.connection.execute(f"CREATE TABLE memscope_dump ({columns})")

    def put(self, fields, attributes, stacks):
        attributes = json.dumps(dict(a.split(":", 1) for a in attributes), separators=(",", ":"))
        quoted = [f'"{stack}"' if stack else "" for stack in stacks]
        row = [*fields, attributes, *quoted]
        self.connection.execute("INSERT INTO memscope_dump VALUES (?,?,?,?,?,?,?,?,?,?,?,?)", row)

    def close(self):
        self.connection.commit()
        self.connection.close()


class Process:
    """One training process: its pool, its blocks, its file."""

    def __init__(self, device, sink, options):
        self.device, self.sink, self.options = device, sink, options
        self.random = random.Random(device + 7)
        self.pid = 41001 + device
        self.time, self.next_id, self.next_block, self.rows = START_NS + device, 0, 0, 0
        self.used, self.total, self.top, self.room = 0, 0, 0x12C040000000, 0
        self.live, self.holes = {}, {}
        self.peak = 0

    def tick(self):
        self.time += self.random.randrange(20_000, 300_000)
        self.next_id += 1
        return self.next_id - 1, self.time

    def put(self, moment, event, kind, name="N/A", pointer="N/A", attributes=(), stacks=("", ""), device=None):
        id_, time = moment
        device = str(self.device) if device is None else device
        self.sink.put([id_, event, kind, name, time, self.pid, self.pid, device, pointer], attributes, stacks)
        self.rows += 1

    def operator(self, name, reads=(), size=None, owner=""):
        """Runs an operator that reads blocks and may allocate one; the block's number."""
        full = "torch._ops.aten." + name
        self.put(self.tick(), "OP_LAUNCH", "ATEN_START", full)
        for block in reads:
            self.live[block]["accesses"].append((self.tick(), "READ", full))
        block = self.allocate(size, owner) if size else None
        moment = self.tick()
        kernel = f"{name.split('.')[0].title()}_tiling_{moment[0] % 5}"
        self.put(moment, "KERNEL_LAUNCH", "KERNEL_LAUNCH", kernel, attributes=["streamId:2", f"taskId:{moment[0]}"])
        if block:
            self.live[block]["accesses"].append((self.tick(), "WRITE", full))
        self.put(self.tick(), "OP_LAUNCH", "ATEN_END", full)
        return block

    def allocate(self, size, owner):
        self.used += size
        self.peak = max(self.peak, self.used)
        if self.holes.get(size):
            address = self.holes[size].pop()
        else:
            if self.room < size:
                self.room = max(size, 20 * MB)
                self.total += self.room
                self.top += -self.top % (2 * MB)
                self.add_block("HAL", self.top, self.room, "CANN@APP")
            address = self.top
            self.top += size
            self.room -= size
        return self.add_block("PTA", address, size, owner)

    def add_block(self, pool, address, size, owner):
        self.next_block += 1
        stack = self.random.choice(STACKS) if self.options.stacks else ""
        state = [f"total:{self.total}", f"used:{self.used}"] if pool == "PTA" else []
        self.live[self.next_block] = {
            "malloc": self.tick(), "pool": pool, "address": address, "size": size, "state": state + [f"owner:{owner}"],
            "stack": stack, "accesses": [],
        }
        return self.next_block

    def write_block(self, number, moment, made_up):
        block = self.live.pop(number)
        pointer = f"0x{block['address']:016x}"
        key = [f"allocation_id:{number}", f"addr:{pointer}", f"size:{block['size']}"]
        stacks = (block["stack"], C_STACK if block["stack"] else "")
        pool = block["pool"]
        self.put(block["malloc"], "MALLOC", pool, pointer=pointer, attributes=key + block["state"], stacks=stacks)
        if not self.options.no_access:
            tensor = ["type:PTA", "dtype:torch.float32", "shape:torch.Size([32, 10])"]
            for access, kind, name in block["accesses"]:
                self.put(access, "ACCESS", kind, name, pointer, key + tensor)
        end = ["shadow:true"] if made_up else [f"total:{self.total}", f"used:{self.used}"]
        self.put(moment, "FREE", pool, pointer=pointer, attributes=key + end)
        return block

    def free(self, number):
        self.used -= self.live[number]["size"]
        block = self.write_block(number, self.tick(), made_up=False)
        self.holes.setdefault(block["size"], []).append(block["address"])

    def step(self, number, weights):
        """One step of training; the block that it leaks, if any."""
        self.put(self.tick(), "MSTX", "Range_start", '"step start"')
        self.put(self.tick(), "MSTX", "Mark", '"step"')
        if number == 1:
            self.add_block("HAL", 0x12C0C0000000, 200 * MB, "CANN@HCCL")
        activations = [self.operator("embedding.default", [weights[0]], 512 * KB, ACTIVATION)]
        for weight in weights:
            gathered = self.operator("all_gather.default", [weight], 4 * MB, GATHERED)
            product = self.operator("mm.default", [activations[-1], gathered], 2 * MB, ACTIVATION)
            gate = self.operator("gelu.default", [product], MB, ACTIVATION)
            total = self.operator("add.Tensor", [gate, product], 2 * MB, ACTIVATION)
            self.free(gate)
            self.free(gathered)
            activations += [product, total]
        for weight in reversed(weights):
            gradient = self.operator("mm.default", [activations[-1], weight], 4 * MB, GRADIENT)
            self.free(activations.pop())
            self.free(activations.pop())
            self.operator("_foreach_add_.List", [gradient, weight])
            self.free(gradient)
        self.free(activations.pop())
        leak = None
        if number == 3 or self.random.random() < 0.02:
            size = 512 * self.random.randrange(1, 8192)
            block = self.operator("randn.default", size=size, owner="PTA@ops")
            leak = {"step": number, "address": f"0x{self.live[block]['address']:016x}", "bytes": size}
        self.put(self.tick(), "MSTX", "Range_end", f'"Range end from id {number}"')
        return leak

    def run(self, rows):
        """Runs steps until there are so many rows; what is true of them."""
        start = self.tick(), "SYSTEM", "START_TRACE"
        weights = [self.operator("empty.memory_format", size=4 * MB, owner=WEIGHT) for _ in range(LAYERS)]
        steps, leaks = 0, []
        while self.rows < rows:
            steps += 1
            leak = self.step(steps, weights)
            leaks += [leak] if leak else []
        stop = self.tick()
        attributes = ["free:67108864000", "total:68719476736"]
        self.put(*start, attributes=attributes, device="N/A")
        self.put(stop, "SYSTEM", "STOP_TRACE", device="N/A")
        for number in list(self.live):
            self.write_block(number, (self.tick()[0], stop[1] + 1), made_up=True)
        return {"pid": self.pid, "steps": steps, "rows": self.rows, "peak": self.peak, "leaks": leaks}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of all devices together")
    parser.add_argument("--devices", type=int, default=1)
    parser.add_argument("--stacks", action="store_true")
    parser.add_argument("--no-access", action="store_true")
    parser.add_argument("--db", action="store_true")
    options = parser.parse_args()
    truth = []
    for device in range(options.devices):
        date = f"20261001{80000 + device:06d}"
        place = options.out / f"msmemscope_{41001 + device}_{date}_ascend" / f"device_{device}" / "dump"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"memscope_dump_{date}.{'db' if options.db else 'csv'}"
        path.unlink(missing_ok=True)
        sink = (Database if options.db else Csv)(path)
        truth.append(Process(device, sink, options).run(options.rows // options.devices))
        sink.close()
    (options.out / "truth.json").write_text(json.dumps(truth, indent=1))


main()
