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
SELECT source_path, pid, device, pool, peak_used, peak_ts, owner, category, py_stack_top, count(*) AS blocks,
  sum(size) AS bytes, CAST(sum(size) AS DOUBLE) / peak_used AS share
FROM (
  SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top, size,
    malloc_id, free_id, first_value(pool_used) OVER highest AS peak_used,
    first_value(malloc_ts) OVER highest AS peak_ts, first_value(malloc_id) OVER highest AS peak_id
  FROM memscope_owners($path, on_error => $on_error)
  WHERE malloc_id IS NOT NULL AND pool_total IS NOT NULL AND pool_used IS NOT NULL
  WINDOW highest AS (PARTITION BY source_path, pid, device, pool ORDER BY pool_used DESC, malloc_id
    ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
)
WHERE malloc_id <= peak_id AND (free_id IS NULL OR free_id > peak_id)
GROUP BY source_path, pid, device, pool, peak_used, peak_ts, owner, category, py_stack_top
