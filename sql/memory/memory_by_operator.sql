-- memory_by_operator(path, on_error => 'strict')
-- Which operators allocate most, and how long do they keep it? For each role and rank, the allocations of each
-- operator.
--
-- Parameters: path and on_error as in memory_events.
-- Columns: role, rank_id, name, allocations, allocated_kb (the sum of the sizes, KB), largest_kb (KB), not_released,
--   not_released_kb (KB), mean_us and longest_us (time until the release, us; NULL when none was released), share (of
--   allocated_kb of the rank, 0 to 1).
-- An empty name is an allocation for which the profiler found no operator. The trace is not read.
WITH by_name AS (
  SELECT role, rank_id, name, count(*) AS allocations, sum(bytes) AS bytes, max(size_kb) AS largest_kb,
    count(*) FILTER (WHERE NOT released) AS not_released,
    coalesce(sum(bytes) FILTER (WHERE NOT released), 0) / 1024.0 AS not_released_kb,
    sum(life) / 1000.0 / nullif(count(life), 0) AS mean_us, max(life) / 1000.0 AS longest_us
  FROM (
    SELECT role, rank_id, name, size_kb, released, TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes,
      release_time_ns - start_time_ns AS life
    FROM memory_events($path, on_error => $on_error) WHERE size_kb > 0
  )
  GROUP BY role, rank_id, name
)
SELECT role, rank_id, name, allocations, bytes / 1024.0 AS allocated_kb, largest_kb, not_released, not_released_kb,
  mean_us, longest_us, CAST(bytes AS DOUBLE) / sum(bytes) OVER (PARTITION BY role, rank_id) AS share
FROM by_name
