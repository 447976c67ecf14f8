-- memscope_owners_at(path, at_ns, stacks => false, on_error => 'strict')
-- Who holds memory at one instant? For each process, device and pool, what each owner holds at that time.
--
-- Parameters: path and on_error as in memscope_blocks; at_ns, the time in ns, as in malloc_ts; stacks, true: the first
--   frame of the Python stack tells blocks of one owner apart.
-- Values: at_ns integer
-- Columns: source_path, pid, device, pool, owner, category (see memscope_owners), py_stack_top (NULL unless stacks),
--   blocks, bytes, largest (bytes), share (of what all blocks of the pool hold, 0 to 1).
-- A block is held from its MALLOC up to, but not at, the FREE by the program; a FREE that the tool made up ends
-- nothing. Blocks older than the recording have no owner and no size that is known before their FREE, and are not in
-- it. HAL and the other pools are two views of the same memory: never add them up.
SELECT source_path, pid, device, pool, owner, category, py_stack_top, blocks, bytes, largest,
  CAST(bytes AS DOUBLE) / sum(bytes) OVER (PARTITION BY source_path, pid, device, pool) AS share
FROM (
  SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top,
    count(*) AS blocks, sum(size) AS bytes, max(size) AS largest
  FROM memscope_owners($path, on_error => $on_error)
  WHERE malloc_ts <= $at_ns AND (free_ts IS NULL OR free_ts > $at_ns)
  GROUP BY source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END
)
