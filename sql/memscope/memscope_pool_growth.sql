-- memscope_pool_growth(path, on_error => 'strict')
-- Why does a pool grow: for want of memory, or because what it has is in pieces? One row for each change of what a
-- pool has reserved.
--
-- Parameters: path and on_error as in memscope_blocks.
-- Columns: source_path, pid, device, pool, id, ts_ns (ns), kind, delta_bytes (change of the reserved bytes),
--   total_before, used_before, idle_before (bytes reserved, in use, and reserved but not in use before it), event,
--   request_bytes (size of the block that was allocated or released), owner, py_stack (of that block).
-- kind: 'demand', less was idle than the block needs; 'fragmentation', enough was idle, but not in one piece, or not
-- in a segment for blocks of this size; 'shrink', the pool gave memory back to the driver. The first event of a pool
-- has nothing before it and gives no row.
SELECT source_path, pid, device, pool, id, ts_ns,
  CASE WHEN pool_total < total_before THEN 'shrink' WHEN event = 'MALLOC' AND total_before - used_before >= size
    THEN 'fragmentation' ELSE 'demand' END AS kind,
  pool_total - total_before AS delta_bytes, total_before, used_before, total_before - used_before AS idle_before, event,
  size AS request_bytes, owner, py_stack
FROM (
  SELECT *, lag(pool_total) OVER in_order AS total_before, lag(pool_used) OVER in_order AS used_before
  FROM (
    SELECT source_path, pid, device, pool, size, event, owner, py_stack,
      CASE WHEN event = 'MALLOC' THEN malloc_id ELSE free_id END AS id,
      CASE WHEN event = 'MALLOC' THEN malloc_ts ELSE free_ts END AS ts_ns,
      CASE WHEN event = 'MALLOC' THEN pool_used ELSE free_pool_used END AS pool_used,
      CASE WHEN event = 'MALLOC' THEN pool_total ELSE free_pool_total END AS pool_total
    FROM (VALUES ('MALLOC'), ('FREE')) AS two(event) CROSS JOIN memscope_blocks($path, on_error => $on_error)
  )
  WHERE id IS NOT NULL AND pool_total IS NOT NULL
  WINDOW in_order AS (PARTITION BY source_path, pid, device, pool ORDER BY id)
)
WHERE pool_total <> total_before
