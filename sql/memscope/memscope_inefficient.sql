-- memscope_inefficient(path, idle_threshold => 3000, min_size => 0, kind => 'all', compat => false, on_error => 'strict')
-- Which blocks are allocated too early, released too late, or lie idle for long? One row per block that does.
--
-- Parameters: path and on_error as in memscope_blocks; idle_threshold, how many API calls between two accesses are
--   idle; min_size, bytes, smaller blocks are left out; kind, one of the three kinds alone, or 'all'; compat, true:
--   the answer of the tool's offline check_inefficient, in which a FREE that it made up itself counts, and blocks of
--   the workspace pool where they are printed as PTA; false: that of its analysis while it records.
-- Values: idle_threshold integer >= 0; min_size integer >= 0;
--   kind 'all' or 'early_allocation' or 'late_deallocation' or 'temporary_idleness'
-- Columns: source_path, pid, device, pool, malloc_id, malloc_ts (ns), bytes, inefficient (kinds, in the order in
--   which they were found, with commas between), early_ns (from the allocation to the first access, when that is too
--   early), late_ns (from the last access to the release, when that is too late), wasted_byte_seconds (bytes times
--   both), owner, py_stack.
-- An API call is one operator, or one allocation, access or release outside of any. early_allocation: something was
-- released between the allocation and the first access by another call. late_deallocation: something was allocated
-- between the last access and the release. temporary_idleness: more than idle_threshold calls between two accesses.
-- Nearly every block of a forward pass is one of the first two: ORDER BY wasted_byte_seconds. Where no file has a
-- recorded access it is an error; memscope_summary tells which process has some. The tool writes its answer into its
-- input; this does not.
SELECT b.source_path, b.pid, b.device, b.pool, b.malloc_id, b.malloc_ts, b.size AS bytes, found.inefficient,
  CASE WHEN found.early THEN b.first_access_ts - b.malloc_ts END AS early_ns,
  CASE WHEN found.late THEN b.free_ts - b.last_access_ts END AS late_ns,
  CAST(b.size AS DOUBLE) * (CASE WHEN found.early THEN b.first_access_ts - b.malloc_ts ELSE 0 END
    + CASE WHEN found.late THEN coalesce(b.free_ts - b.last_access_ts, 0) ELSE 0 END) / 1e9 AS wasted_byte_seconds,
  b.owner, b.py_stack
FROM (
  SELECT source_path, pid, allocation_id, early, late,
    -- Idle at the first access is found before that this one is late.
    concat_ws(',', CASE WHEN idle AND idle_at_once THEN 'temporary_idleness' END,
      CASE WHEN early THEN 'early_allocation' END,
      CASE WHEN idle AND NOT idle_at_once THEN 'temporary_idleness' END,
      CASE WHEN late THEN 'late_deallocation' END) AS inefficient
  FROM (
    SELECT source_path, pid, allocation_id, coalesce(idle_before_use > $idle_threshold, false) AS idle_at_once,
      one_of('kind', $kind, 'all', 'early_allocation', 'late_deallocation', 'temporary_idleness')
        IN ('all', 'temporary_idleness') AND coalesce(longest_idle > $idle_threshold, false) AS idle,
      $kind IN ('all', 'early_allocation')
        AND coalesce(malloc_call < release_before_use AND release_before_use < use_call, false) AS early,
      $kind IN ('all', 'late_deallocation')
        AND coalesce(last_use_call < alloc_before_free AND alloc_before_free < free_call, false) AS late
    FROM memscope_block_calls($path, compat => $compat, on_error => $on_error)
    WHERE malloc_call IS NOT NULL
  )
  WHERE idle OR early OR late
) AS found
JOIN memscope_blocks($path, on_error => $on_error) AS b
  ON found.source_path = b.source_path AND found.pid = b.pid AND found.allocation_id = b.allocation_id
WHERE b.size >= $min_size AND (
    SELECT must(count(*) > 0, concat('memscope_inefficient: no accesses in the files, without which nothing can be ',
      'told; record them with --events=alloc,free,launch,access'))
    FROM (SELECT id FROM memscope_events($path, on_error => $on_error) WHERE event = 'ACCESS' LIMIT 1)
  )
