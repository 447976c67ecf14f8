-- memory_at(path, at_ns, match => 'nearest', on_error => 'strict')
-- Who holds memory at one instant? For each role and rank, what each call stack holds at that time.
--
-- Parameters: path, match and on_error as in memory_events; at_ns, the time in ns since the epoch, as in
--   start_time_ns (milliseconds with a fraction are too coarse: a double of them is exact to 250 ns only).
-- Values: at_ns integer
-- Columns: role, rank_id, call_stack_id, call_stack, allocations, live_kb (KB).
-- An allocation is live from its start up to, but not at, its release; without a release, to the last start or
-- release in its own profile (RL-Insight gives both, and a release at once, a duration of 0). What happens between two
-- profiles of a rank is not known: nothing is live there. What was allocated before a recording began is not in it.
-- Sizes count in whole bytes.
SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack, count(*) AS allocations,
  sum(CAST(round(size_kb * 1024) AS BIGINT)) / 1024.0 AS live_kb
FROM (
  SELECT role, rank_id, call_stack_id, call_stack, size_kb, start_time_ns,
    coalesce(release_time_ns, max(greatest(start_time_ns, release_time_ns)) OVER profile + 1) AS end_ns
  FROM memory_events($path, match => $match, on_error => $on_error)
  WHERE size_kb > 0 AND start_time_ns IS NOT NULL
  WINDOW profile AS (PARTITION BY role, rank_id, source_path)
)
WHERE start_time_ns <= $at_ns AND $at_ns < end_ns
GROUP BY role, rank_id, call_stack_id
