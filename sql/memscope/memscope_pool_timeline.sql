-- memscope_pool_timeline(path, on_error => 'strict')
-- How much of each pool is in use and how much is reserved, over time? One row per allocation and release of a pool.
--
-- Parameters: path and on_error as in memscope_blocks.
-- Columns: source_path, pid, device, pool, id (order within a process), ts_ns (ns), event (MALLOC or FREE), size
--   (bytes), pool_used and pool_total (bytes in use and reserved after it), idle_bytes (reserved and not in use),
--   idle_share (of pool_total, 0 to 1).
-- What the tool makes up at the end is no release. HAL and host memory are no pools: they state no totals.
SELECT source_path, pid, device, pool, id, ts_ns, event, size, pool_used, pool_total,
  pool_total - pool_used AS idle_bytes,
  CASE WHEN pool_total > 0 THEN 1 - CAST(pool_used AS DOUBLE) / pool_total END AS idle_share
FROM (
  SELECT source_path, pid, device, pool, size, event,
    CASE WHEN event = 'MALLOC' THEN malloc_id ELSE free_id END AS id,
    CASE WHEN event = 'MALLOC' THEN malloc_ts ELSE free_ts END AS ts_ns,
    CASE WHEN event = 'MALLOC' THEN pool_used ELSE free_pool_used END AS pool_used,
    CASE WHEN event = 'MALLOC' THEN pool_total ELSE free_pool_total END AS pool_total
  FROM (VALUES ('MALLOC'), ('FREE')) AS two(event) CROSS JOIN memscope_blocks($path, on_error => $on_error)
)
WHERE id IS NOT NULL AND pool_total IS NOT NULL
