"""reference.py TREE: parses TREE with rl-insight 0.3.0 and prints seconds, rows, KB and stacks as JSON.

The seconds are those of the parse alone, without the start of Python and its imports."""

import json
import sys
import time

from loguru import logger

logger.remove()

from recipe.parser import MemoryClusterParser  # noqa: E402 (the import itself logs)

parser = MemoryClusterParser({"rank_list": "all"})
start = time.perf_counter()
frame = parser.run(sys.argv[1])
seconds = time.perf_counter() - start
stacks = int((frame["call_stack"] != "").sum())
print(json.dumps({"seconds": seconds, "answer": [len(frame), float(frame["size_kb"].sum()), stacks]}))
