"""duckdb_asof.py TREE: matches TREE's allocations with its operators by DuckDB's ASOF join, with two
threads, and prints seconds and the numbers of rows, matches and bytes of matched stacks as JSON.

The seconds are those of the query alone. Explicit columns are DuckDB's fastest way to read a trace."""

import json
import sys
import time
from pathlib import Path

import duckdb

tree = Path(sys.argv[1])
trace, memory = next(tree.rglob("trace_view.json")), next(tree.rglob("operator_memory.csv"))
connection = duckdb.connect()
connection.execute("SET threads = 2")
connection.execute("SET preserve_insertion_order = false")
start = time.perf_counter()
connection.execute(f"""
CREATE TABLE matched AS
WITH ops AS (
  SELECT name, CAST(CAST(ts AS DECIMAL(22, 3)) * 1000 AS BIGINT) AS at, args."Call stack" AS stack
  FROM read_json('{trace}', format = 'array', maximum_object_size = 16777216,
    columns = {{name: 'VARCHAR', ts: 'VARCHAR', cat: 'VARCHAR', args: 'STRUCT("Call stack" VARCHAR)'}})
  WHERE cat = 'cpu_op' AND args."Call stack" IS NOT NULL
), allocations AS (
  SELECT "Name" AS name, "Size(KB)" AS kb,
    CAST(CAST(trim("Allocation Time(us)", chr(9)) AS DECIMAL(22, 3)) * 1000 AS BIGINT) AS at
  FROM read_csv('{memory}', header = true, all_varchar = true, quote = '"')
)
SELECT allocations.*, ops.stack
FROM allocations ASOF LEFT JOIN ops ON allocations.name = ops.name AND allocations.at >= ops.at""")
answer = connection.execute("SELECT count(*), count(stack), sum(strlen(stack)) FROM matched").fetchone()
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "answer": [int(n) for n in answer], "version": duckdb.__version__}))
