-- memscope_owners_at_peak(path, stacks => false, on_error => 'strict')
-- Who holds memory at the peak? For each process, device and pool, what each owner holds when most of the pool is in
-- use.
--
-- Parameters: path and on_error as in memscope_blocks; stacks, true: the first frame of the Python stack tells blocks
--   of one owner apart.
-- Columns: source_path, pid, device, pool, peak_used (bytes in use, as the pool itself states them), peak_ts (the
--   first such moment, ns), owner, category (see memscope_owners), py_stack_top (NULL unless stacks), blocks, bytes,
--   share (of peak_used, 0 to 1).
-- Shares add up to less than 1 where the file does not have all blocks: those older than the recording, and those that
-- were alive when the process was killed. HAL and host memory do not state how much is in use; ask memscope_owners_at
-- for them.
SELECT b.source_path, b.pid, b.device, b.pool, peak.used AS peak_used, peak.ts AS peak_ts, b.owner, b.category,
  b.py_stack_top, count(*) AS blocks, sum(b.size) AS bytes, CAST(sum(b.size) AS DOUBLE) / peak.used AS share
FROM (
  SELECT source_path, pid, device, pool, max(pool_used) AS used,
    first_value(malloc_id ORDER BY pool_used DESC, malloc_id) AS id,
    first_value(malloc_ts ORDER BY pool_used DESC, malloc_id) AS ts
  FROM memscope_blocks($path, on_error => $on_error)
  WHERE malloc_id IS NOT NULL AND pool_total IS NOT NULL AND pool_used IS NOT NULL
  GROUP BY source_path, pid, device, pool
) AS peak
JOIN (
  SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top, size,
    malloc_id, free_id
  FROM memscope_owners($path, on_error => $on_error)
) AS b ON peak.source_path = b.source_path AND peak.pid = b.pid AND peak.device = b.device AND peak.pool = b.pool
WHERE b.malloc_id <= peak.id AND (b.free_id IS NULL OR b.free_id > peak.id)
GROUP BY b.source_path, b.pid, b.device, b.pool, peak.used, peak.ts, b.owner, b.category, b.py_stack_top
