-- memscope_window(path, from_ns, to_ns, stacks => false, on_error => 'strict')
-- What happens to memory between two times? For each process, device, pool and owner, what is held at both, and what
-- is allocated and released in between.
--
-- Parameters: path and on_error as in memscope_blocks; from_ns and to_ns, times in ns, as in malloc_ts; stacks, true:
--   the first frame of the Python stack tells blocks of one owner apart.
-- Values: from_ns integer; to_ns integer
-- Columns: source_path, pid, device, pool, owner, category (see memscope_owners), py_stack_top (NULL unless stacks),
--   held_before (bytes held at from_ns, before what happens in that moment), allocated and released (bytes, from
--   from_ns to to_ns, both included), held_after (bytes; held_before + allocated - released), kept (bytes that were
--   allocated in between and are held at to_ns), allocations, releases.
-- Blocks older than the recording are in none of them. A FREE that the tool made up is no release. HAL and the other
-- pools are two views of the same memory: never add them up.
SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top,
  coalesce(sum(size) FILTER (WHERE malloc_ts < $from_ns), 0) AS held_before,
  coalesce(sum(size) FILTER (WHERE malloc_ts >= $from_ns), 0) AS allocated,
  coalesce(sum(size) FILTER (WHERE free_ts <= $to_ns), 0) AS released,
  coalesce(sum(size) FILTER (WHERE free_ts IS NULL OR free_ts > $to_ns), 0) AS held_after,
  coalesce(sum(size) FILTER (WHERE malloc_ts >= $from_ns AND (free_ts IS NULL OR free_ts > $to_ns)), 0) AS kept,
  count(*) FILTER (WHERE malloc_ts >= $from_ns) AS allocations, count(*) FILTER (WHERE free_ts <= $to_ns) AS releases
FROM memscope_owners($path, on_error => $on_error)
WHERE malloc_ts <= $to_ns AND (free_ts IS NULL OR free_ts >= $from_ns)
GROUP BY source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END
