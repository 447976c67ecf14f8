-- memory_at_peak(path, match => 'nearest', on_error => 'strict')
-- Who holds memory at the peak? For each role and rank, the call stacks that hold most at the moment at which the
-- allocations in the recording hold most.
--
-- Parameters: path, match and on_error as in memory_events.
-- Columns: role, rank_id, peak_time_ns (the first such moment, ns since the epoch), call_stack_id, call_stack,
--   name (of the largest allocation), allocations, live_kb (KB), share (of all that is live at the peak, 0 to 1).
-- An allocation is live from its start up to, but not at, its release; without a release, to the end of the
-- recording. What was allocated before the recording began is not in it, so the moment can differ from that of
-- the highest total_allocated_mb. Sizes count in whole bytes.
-- One sweep over starts and releases, then one look at what is live: the cost grows with n log n.
WITH e AS (
  SELECT role, rank_id, start_time_ns, release_time_ns, CAST(round(size_kb * 1024) AS BIGINT) AS bytes
  FROM memory_events($path, match => $match, on_error => $on_error)
  WHERE size_kb > 0 AND start_time_ns IS NOT NULL
),
change AS (
  SELECT role, rank_id, CASE WHEN sign > 0 THEN start_time_ns ELSE release_time_ns END AS t, sign * bytes AS bytes
  FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN e
  WHERE sign > 0 OR release_time_ns IS NOT NULL
),
level AS (
  -- In one moment releases come first, so no level is seen that was never reached.
  SELECT role, rank_id, t, running_sum(bytes) OVER (PARTITION BY role, rank_id ORDER BY t, bytes) AS bytes FROM change
),
peak AS (
  SELECT role, rank_id, first_value(t ORDER BY bytes DESC, t) AS t, max(bytes) AS bytes
  FROM level GROUP BY role, rank_id
)
SELECT e.role, e.rank_id, peak.t AS peak_time_ns, e.call_stack_id, min(e.call_stack) AS call_stack,
  first_value(e.name ORDER BY e.size_kb DESC, e.name) AS name, count(*) AS allocations,
  sum(CAST(round(e.size_kb * 1024) AS BIGINT)) / 1024.0 AS live_kb,
  CAST(sum(CAST(round(e.size_kb * 1024) AS BIGINT)) AS DOUBLE) / peak.bytes AS share
FROM peak JOIN memory_events($path, match => $match, on_error => $on_error) AS e
  ON e.role = peak.role AND e.rank_id = peak.rank_id
WHERE e.size_kb > 0 AND e.start_time_ns <= peak.t AND (e.release_time_ns IS NULL OR peak.t < e.release_time_ns)
GROUP BY e.role, e.rank_id, peak.t, peak.bytes, e.call_stack_id
