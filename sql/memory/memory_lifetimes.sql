-- memory_lifetimes(path, on_error => 'strict')
-- How long do allocations live? For each role and rank, how many live for how long, in powers of ten.
--
-- Parameters: path and on_error as in memory_events.
-- Columns: role, rank_id, from_us and below_us (bounds of the life, us; both NULL: not released inside the recording;
--   below_us alone NULL: no upper bound), allocations, allocated_kb (the sum of the sizes, KB), share (of the
--   allocations of the rank, 0 to 1).
-- Bounds that no allocation falls between are left out. RL-Insight gives a duration of 0 to what was not released and
-- to what was released at once; here the first has no bounds, and the second is below 1 us.
WITH e AS (
  SELECT role, rank_id, TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes,
    CASE WHEN life IS NULL THEN NULL WHEN life < 1000 THEN 0 WHEN life < 10000 THEN 1 WHEN life < 100000 THEN 2
      WHEN life < 1000000 THEN 3 WHEN life < 10000000 THEN 4 WHEN life < 100000000 THEN 5 WHEN life < 1000000000 THEN 6
      WHEN life < 10000000000 THEN 7 ELSE 8 END AS magnitude
  FROM (
    SELECT role, rank_id, size_kb, release_time_ns - start_time_ns AS life
    FROM memory_events($path, on_error => $on_error) WHERE size_kb > 0
  )
),
by_magnitude AS (
  SELECT role, rank_id, magnitude, count(*) AS allocations, sum(bytes) / 1024.0 AS allocated_kb
  FROM e GROUP BY role, rank_id, magnitude
)
SELECT role, rank_id,
  CASE WHEN magnitude = 0 THEN 0 WHEN magnitude > 0 THEN CAST(power(10, magnitude - 1) AS BIGINT) END AS from_us,
  CASE WHEN magnitude < 8 THEN CAST(power(10, magnitude) AS BIGINT) END AS below_us, allocations, allocated_kb,
  CAST(allocations AS DOUBLE) / sum(allocations) OVER (PARTITION BY role, rank_id) AS share
FROM by_magnitude
