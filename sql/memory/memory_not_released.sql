-- memory_not_released(path, min_spread => 0.25, match => 'nearest', on_error => 'strict')
-- What was allocated and not released inside the recording, and which of it looks like a leak? One row per role, rank,
-- call stack and operator.
--
-- Parameters: path, match and on_error as in memory_events; min_spread, which part of the recording (0 to 1) must lie
--   between the first and the last kept allocation of a call stack before it counts as growing.
-- Values: min_spread number >= 0
-- Columns: role, rank_id, call_stack_id, call_stack, name, verdict, allocations (all, released or not), kept, kept_kb
--   (KB), inactive, inactive_kb (KB), first_time_ns and last_time_ns (starts of the first and the last that is not
--   released, ns since the epoch), spread (which part of a profile lies between its first and its last, 0 to 1; of
--   several profiles the largest).
-- verdict: 'grows', kept again and again over one recording, look here first; 'repeats', kept at one moment of several
--   profiles (verl writes one per step): released between them, or a leak of each step, which memory_growth tells;
--   'once', kept in one burst, as weights, optimizer state and caches are; 'inactive', the program did give it back
--   (active_release_time_ns is known), so the pool has it again; 'cann', memory of CANN itself, which keeps a graph
--   loaded and reports a duration of 0.0 for it.
-- In the columns of RL-Insight all of these, and what was released at once, have a duration of 0.0.
-- What is released after the end of its profile is kept as far as anyone can see: record several steps in one profile
-- to tell. kept and kept_kb of several profiles are sums, so they are not what is held at one moment.
WITH site AS (
  SELECT role, rank_id, source_path, call_stack_id, name, count(*) AS allocations,
    min(call_stack) FILTER (WHERE NOT released) AS call_stack, min(start_time_ns) AS first, max(start_time_ns) AS last,
    count(*) FILTER (WHERE NOT released AND active_release_time_ns IS NULL) AS kept,
    sum(bytes) FILTER (WHERE NOT released AND active_release_time_ns IS NULL) AS kept_bytes,
    count(*) FILTER (WHERE NOT released AND active_release_time_ns IS NOT NULL) AS inactive,
    sum(bytes) FILTER (WHERE NOT released AND active_release_time_ns IS NOT NULL) AS inactive_bytes,
    min(start_time_ns) FILTER (WHERE NOT released) AS first_time_ns,
    max(start_time_ns) FILTER (WHERE NOT released) AS last_time_ns
  FROM (
    SELECT *, TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes
    FROM memory_events($path, match => $match, on_error => $on_error) WHERE size_kb > 0
  )
  GROUP BY role, rank_id, source_path, call_stack_id, name
),
spread AS (
  SELECT *, CAST(last_time_ns - first_time_ns AS DOUBLE) / nullif(max(last) OVER profile - min(first) OVER profile, 0)
    AS spread
  FROM site WINDOW profile AS (PARTITION BY role, rank_id, source_path)
),
held AS (
  SELECT role, rank_id, call_stack_id, name, min(call_stack) AS call_stack, sum(allocations) AS allocations,
    sum(kept) AS kept, coalesce(sum(kept_bytes), 0) / 1024.0 AS kept_kb, sum(inactive) AS inactive,
    coalesce(sum(inactive_bytes), 0) / 1024.0 AS inactive_kb, min(first_time_ns) AS first_time_ns,
    max(last_time_ns) AS last_time_ns, coalesce(max(spread), 0) AS spread,
    coalesce(bool_or(kept > 1 AND spread >= $min_spread), false) AS grows, count(*) FILTER (WHERE kept > 0) AS profiles
  FROM spread GROUP BY role, rank_id, call_stack_id, name
)
SELECT role, rank_id, call_stack_id, call_stack, name,
  CASE WHEN name LIKE 'cann::%' THEN 'cann' WHEN kept = 0 THEN 'inactive' WHEN grows THEN 'grows'
    WHEN profiles > 1 THEN 'repeats' ELSE 'once' END AS verdict,
  allocations, kept, kept_kb, inactive, inactive_kb, first_time_ns, last_time_ns, spread
FROM held WHERE kept + inactive > 0
