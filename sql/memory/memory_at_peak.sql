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
WITH peak AS (
  SELECT role, rank_id, t, bytes, recording['path'] AS path, recording['end_ns'] AS end_ns
  FROM (
    SELECT role, rank_id, found['at_ns'] AS t, found['bytes'] AS bytes, unnest(found['recordings']) AS recording
    FROM (
      SELECT role, rank_id,
        live_peak(source_path, start_time_ns, release_time_ns, CAST(round(size_kb * 1024) AS BIGINT)) AS found
      FROM memory_events($path, match => $match, on_error => $on_error)
      WHERE size_kb > 0 AND start_time_ns IS NOT NULL
      GROUP BY role, rank_id
    )
  )
)
SELECT e.role, e.rank_id, peak.t AS peak_time_ns, e.call_stack_id, min(e.call_stack) AS call_stack,
  first_value(e.name ORDER BY e.size_kb DESC, e.name) AS name, count(*) AS allocations,
  sum(CAST(round(e.size_kb * 1024) AS BIGINT)) / 1024.0 AS live_kb,
  CAST(sum(CAST(round(e.size_kb * 1024) AS BIGINT)) AS DOUBLE) / peak.bytes AS share
FROM peak JOIN memory_events($path, match => $match, on_error => $on_error) AS e
  ON e.role = peak.role AND e.rank_id = peak.rank_id AND e.source_path = peak.path
WHERE e.size_kb > 0 AND e.start_time_ns <= peak.t AND peak.t < coalesce(e.release_time_ns, peak.end_ns)
GROUP BY e.role, e.rank_id, peak.t, peak.bytes, e.call_stack_id
