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
-- One pass over the data and one sweep over starts and releases: the cost grows with n log n.
WITH found AS (
  SELECT role, rank_id, live_peak(source_path, start_time_ns, release_time_ns, bytes, named_struct(
    'call_stack_id', call_stack_id, 'call_stack', call_stack, 'name', name, 'bytes', bytes)) AS peak
  FROM (
    SELECT *, TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes
    FROM memory_events($path, match => $match, on_error => $on_error)
    WHERE size_kb > 0 AND start_time_ns IS NOT NULL
  )
  GROUP BY role, rank_id
),
live AS (
  SELECT role, rank_id, peak['at_ns'] AS peak_time_ns, peak['bytes'] AS peak_bytes, unnest(peak['live']) AS block
  FROM found
)
SELECT role, rank_id, peak_time_ns, block['call_stack_id'] AS call_stack_id, min(block['call_stack']) AS call_stack,
  first_value(block['name'] ORDER BY block['bytes'] DESC, block['name']) AS name, count(*) AS allocations,
  sum(block['bytes']) / 1024.0 AS live_kb, CAST(sum(block['bytes']) AS DOUBLE) / peak_bytes AS share
FROM live
GROUP BY role, rank_id, peak_time_ns, peak_bytes, block['call_stack_id']
