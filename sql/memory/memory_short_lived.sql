-- memory_short_lived(path, max_us => 100, match => 'nearest', on_error => 'strict')
-- What is allocated and given back at once, again and again? For each role, rank and call stack, its allocations that
-- live for a moment only: what a buffer that is kept, or an operation in place, would save.
--
-- Parameters: path, match and on_error as in memory_events; max_us, the longest life that counts, in us.
-- Values: max_us number >= 0
-- Columns: role, rank_id, call_stack_id, call_stack, name (of the largest one), allocations (short-lived ones),
--   allocated_kb (the sum of their sizes, KB), largest_kb (KB), mean_us and longest_us (life, us), share (of the
--   allocations of this call stack, 0 to 1).
SELECT * FROM (
  SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack,
    first_value(name ORDER BY size_kb DESC, name) FILTER (WHERE short) AS name,
    count(*) FILTER (WHERE short) AS allocations,
    sum(TRY_CAST(round(size_kb * 1024) AS BIGINT)) FILTER (WHERE short) / 1024.0 AS allocated_kb,
    max(size_kb) FILTER (WHERE short) AS largest_kb,
    sum(life) FILTER (WHERE short) / 1000.0 / nullif(count(*) FILTER (WHERE short), 0) AS mean_us,
    max(life) FILTER (WHERE short) / 1000.0 AS longest_us,
    CAST(count(*) FILTER (WHERE short) AS DOUBLE) / count(*) AS share
  FROM (
    SELECT role, rank_id, call_stack_id, call_stack, name, size_kb, release_time_ns - start_time_ns AS life,
      coalesce((release_time_ns - start_time_ns) / 1000.0 <= $max_us, false) AS short
    FROM memory_events($path, match => $match, on_error => $on_error) WHERE size_kb > 0
  )
  GROUP BY role, rank_id, call_stack_id
) WHERE allocations > 0
