-- memory_at_peak(path, match => 'nearest', on_error => 'strict')
-- Who holds memory at the peak? For each role and rank, the call stacks that hold most at the moment at which the
-- allocations in the recording hold most.
--
-- Parameters: path, match and on_error as in memory_events.
-- Columns: role, rank_id, peak_time_ns (the first such moment, ns since the epoch), call_stack_id, call_stack,
--   name (of the largest allocation), allocations, live_kb (KB), share (of all that is live at the peak, 0 to 1).
-- An allocation is live from its start up to, but not at, its release; without a release, to the last start or
-- release in its own profile: what a later profile of the rank records does not come on top. What was allocated before
-- a recording began is not in it, so the moment can differ from that of the highest total_allocated_mb. Sizes count in
-- whole bytes.
-- One sweep over starts and releases, then one look at what is live: the cost grows with n log n.
WITH e AS (
  SELECT role, rank_id, source_path, start_time_ns, CAST(round(size_kb * 1024) AS BIGINT) AS bytes,
    coalesce(release_time_ns, max(greatest(start_time_ns, release_time_ns)) OVER profile + 1) AS end_ns
  FROM memory_events($path, match => $match, on_error => $on_error)
  WHERE size_kb > 0 AND start_time_ns IS NOT NULL
  WINDOW profile AS (PARTITION BY role, rank_id, source_path)
),
change AS (
  SELECT role, rank_id, source_path, CASE WHEN sign > 0 THEN start_time_ns ELSE end_ns END AS t, sign * bytes AS bytes
  FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN e
),
level AS (
  -- In one moment releases come first, so no level is seen that was never reached.
  SELECT role, rank_id, source_path, t, running_sum(bytes) OVER (PARTITION BY role, rank_id ORDER BY t, bytes) AS bytes
  FROM change
),
profile AS (
  -- Where a block is not released, the last change of its profile is the end of it.
  SELECT role, rank_id, source_path, first_value(t ORDER BY bytes DESC, t) AS t, max(bytes) AS bytes, max(t) AS end_ns
  FROM level GROUP BY role, rank_id, source_path
),
peak AS (
  SELECT role, rank_id, source_path, end_ns, first_value(t) OVER highest AS t, first_value(bytes) OVER highest AS bytes
  FROM profile WINDOW highest AS (PARTITION BY role, rank_id ORDER BY bytes DESC, t)
)
SELECT e.role, e.rank_id, peak.t AS peak_time_ns, e.call_stack_id, min(e.call_stack) AS call_stack,
  first_value(e.name ORDER BY e.size_kb DESC, e.name) AS name, count(*) AS allocations,
  sum(CAST(round(e.size_kb * 1024) AS BIGINT)) / 1024.0 AS live_kb,
  CAST(sum(CAST(round(e.size_kb * 1024) AS BIGINT)) AS DOUBLE) / peak.bytes AS share
FROM peak JOIN memory_events($path, match => $match, on_error => $on_error) AS e
  ON e.role = peak.role AND e.rank_id = peak.rank_id AND e.source_path = peak.source_path
WHERE e.size_kb > 0 AND e.start_time_ns <= peak.t AND peak.t < coalesce(e.release_time_ns, peak.end_ns)
GROUP BY e.role, e.rank_id, peak.t, peak.bytes, e.call_stack_id
