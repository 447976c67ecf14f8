-- memory_at(path, at_ms => NULL, at_ns => NULL, match => 'nearest', on_error => 'strict')
-- Who holds memory at one instant? For each role and rank, what each call stack holds at that time.
--
-- Parameters: path, match and on_error as in memory_events; the time as one of at_ms, in ms since the epoch as in
--   start_time_ms, and at_ns, in ns as in start_time_ns (a double of ms is exact to 250 ns only).
-- Values: at_ms number or NULL; at_ns integer or NULL
-- Columns: role, rank_id, call_stack_id, call_stack, allocations, live_kb (KB).
-- An allocation is live from its start up to, but not at, its release; without a release, to the last start or
-- release in its own profile (RL-Insight gives both, and a release at once, a duration of 0). What happens between two
-- profiles of a rank is not known: nothing is live there. What was allocated before a recording began is not in it.
-- Sizes count in whole bytes.
-- One pass, and no sort: what ends with its profile is kept apart until the end of the profile is known.
WITH by_profile AS (
  SELECT role, rank_id, source_path, call_stack_id, min(call_stack) AS call_stack,
    max(greatest(start_time_ns, release_time_ns)) AS last,
    count(*) FILTER (WHERE started AND release_time_ns IS NOT NULL AND NOT released) AS released_later,
    sum(bytes) FILTER (WHERE started AND release_time_ns IS NOT NULL AND NOT released) AS released_later_bytes,
    count(*) FILTER (WHERE started AND release_time_ns IS NULL) AS kept,
    sum(bytes) FILTER (WHERE started AND release_time_ns IS NULL) AS kept_bytes
  FROM (
    SELECT role, rank_id, source_path, call_stack_id, call_stack, start_time_ns, release_time_ns,
      TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes,
      CASE WHEN $at_ns IS NULL THEN start_time_ms <= $at_ms ELSE start_time_ns <= $at_ns END AS started,
      CASE WHEN $at_ns IS NULL THEN release_time_ns / 1e6 <= $at_ms ELSE release_time_ns <= $at_ns END AS released
    FROM memory_events($path, match => $match, on_error => $on_error)
    WHERE size_kb > 0 AND start_time_ns IS NOT NULL
  )
  GROUP BY role, rank_id, source_path, call_stack_id
),
ended AS (
  SELECT *, CASE WHEN $at_ns IS NULL THEN $at_ms <= max(last) OVER profile / 1e6 ELSE $at_ns <= max(last) OVER profile
    END AS goes_on
  FROM by_profile
  WINDOW profile AS (PARTITION BY role, rank_id, source_path)
)
SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack,
  sum(released_later + CASE WHEN goes_on THEN kept ELSE 0 END) AS allocations,
  sum(coalesce(released_later_bytes, 0) + CASE WHEN goes_on THEN coalesce(kept_bytes, 0) ELSE 0 END) / 1024.0 AS live_kb
FROM ended
WHERE (released_later > 0 OR (goes_on AND kept > 0)) AND (
    SELECT must(($at_ms IS NULL) <> ($at_ns IS NULL),
      'memory_at: expected the time as one of at_ms => (ms since the epoch) and at_ns => (ns since the epoch)')
  ) AND (
    SELECT must(coalesce($at_ms, 0) < 1e15,
      'memory_at: at_ms is a time in the far future: ns are given as at_ns => ...')
  )
GROUP BY role, rank_id, call_stack_id
