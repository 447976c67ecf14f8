-- memory_at_peak(path, match => 'nearest', on_error => 'strict')
-- Who holds memory at the peak? For each role and rank, the call stacks that hold most at the moment at which the
-- allocations in the recording hold most.
--
-- Parameters: path, match and on_error as in memory_events.
-- Columns: role, rank_id, peak_time_ns, call_stack_id, call_stack, name (of the largest allocation),
--   allocations, live_kb (KB), share (of all that is live at the peak).
-- An allocation is live from its start up to, but not at, its release; without a release, to the end.
-- One sweep over starts and releases: the cost grows with n log n.
WITH e AS (
  SELECT role, rank_id, name, call_stack_id, call_stack, size_kb, start_time_ns, release_time_ns
  FROM memory_events($path, match => $match, on_error => $on_error)
  WHERE size_kb > 0 AND start_time_ns IS NOT NULL
),
change AS (
  SELECT role, rank_id, start_time_ns AS t, size_kb AS kb FROM e
  UNION ALL
  SELECT role, rank_id, release_time_ns AS t, -size_kb AS kb FROM e WHERE release_time_ns IS NOT NULL
),
step AS (SELECT role, rank_id, t, sum(kb) AS kb FROM change GROUP BY role, rank_id, t),
level AS (
  SELECT role, rank_id, t, sum(kb) OVER (PARTITION BY role, rank_id ORDER BY t ROWS UNBOUNDED PRECEDING) AS kb FROM step
),
peak AS (
  SELECT role, rank_id, t FROM (
    SELECT role, rank_id, t, row_number() OVER (PARTITION BY role, rank_id ORDER BY kb DESC, t) AS place FROM level
  ) WHERE place = 1
),
live AS (
  SELECT e.role, e.rank_id, p.t, e.call_stack_id, min(e.call_stack) AS call_stack,
    first_value(e.name ORDER BY e.size_kb DESC, e.name) AS name, count(*) AS allocations, sum(e.size_kb) AS live_kb
  FROM e JOIN peak p ON e.role = p.role AND e.rank_id = p.rank_id
  WHERE e.start_time_ns <= p.t AND (e.release_time_ns IS NULL OR p.t < e.release_time_ns)
  GROUP BY e.role, e.rank_id, p.t, e.call_stack_id
)
SELECT role, rank_id, t AS peak_time_ns, call_stack_id, call_stack, name, allocations, live_kb,
  live_kb / sum(live_kb) OVER (PARTITION BY role, rank_id) AS share
FROM live
