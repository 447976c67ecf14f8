-- memory_growth(path, window => 'auto', on_error => 'strict')
-- Does memory grow from step to step? For each role and rank, the lowest and highest level of each window of time, how
-- far its floor is above that of the window before, and since when the floor only rises.
--
-- Parameters: path and on_error as in memory_events; window, 'step': one profile directory (verl writes one per step),
--   a number: so many milliseconds, 'auto': 'step' when a rank has several directories, else a tenth of its time.
-- Values: window number > 0 or 'auto' or 'step'
-- Columns: role, rank_id, window_no (from 1), from_ns and to_ns (first and last level in it, ns since the epoch),
--   low_mb and high_mb (lowest and highest level, MB), growth_mb (low_mb less that of the window before; NULL for the
--   first), growing_since (the window_no from which growth_mb stays above 0 to the end; NULL unless it did so at least
--   twice in a row, which takes three windows).
-- A floor that rises once can be a cache that fills; one that rises window after window looks like a leak.
-- Levels are those that the profiler states after each allocation and release (total_allocated_mb), so they include
-- what was allocated before the recording; cann:: rows state those of another allocator and are left out. Windows
-- without a level are left out.
WITH rank AS (
  SELECT role, rank_id, min(least(start_time_ns, release_time_ns)) AS first,
    max(greatest(start_time_ns, release_time_ns)) AS last,
    min(source_path) = max(source_path) AS single,
    CAST(CAST(nullif(nullif(CAST($window AS VARCHAR), 'auto'), 'step') AS DOUBLE) * 1e6 AS BIGINT) AS given
  FROM memory_events($path, on_error => $on_error)
  WHERE start_time_ns IS NOT NULL
  GROUP BY role, rank_id
),
ruler AS (
  SELECT role, rank_id, first,
    coalesce(
      CASE WHEN given IS NOT NULL THEN greatest(given, 1) END,
      CASE WHEN single AND CAST($window AS VARCHAR) = 'auto' THEN (last - first) / 10 + 1 END
    ) AS length
  FROM rank
),
level AS (
  SELECT role, rank_id, source_path, unnest(make_array(start_time_ns, release_time_ns)) AS t,
    unnest(make_array(total_allocated_mb, release_total_allocated_mb)) AS mb
  FROM memory_events($path, on_error => $on_error)
  WHERE start_time_ns IS NOT NULL AND name NOT LIKE 'cann::%'
),
windowed AS (
  SELECT level.role, level.rank_id, (t - first) / length + 1 AS slot,
    CASE WHEN length IS NULL THEN source_path END AS step, min(t) AS from_ns, max(t) AS to_ns, min(mb) AS low_mb,
    max(mb) AS high_mb
  FROM ruler JOIN level ON ruler.role = level.role AND ruler.rank_id = level.rank_id
  WHERE t IS NOT NULL AND mb IS NOT NULL
  GROUP BY level.role, level.rank_id, (t - first) / length + 1, CASE WHEN length IS NULL THEN source_path END
),
grown AS (
  SELECT role, rank_id, from_ns, to_ns, low_mb, high_mb, low_mb - lag(low_mb) OVER in_time AS growth_mb,
    coalesce(slot, CAST(row_number() OVER in_time AS BIGINT)) AS window_no
  FROM windowed
  WINDOW in_time AS (PARTITION BY role, rank_id ORDER BY from_ns, step)
),
judged AS (
  SELECT *, max(CASE WHEN growth_mb > 0 THEN NULL ELSE window_no END) OVER (PARTITION BY role, rank_id) AS last_still
  FROM grown
)
SELECT role, rank_id, window_no, from_ns, to_ns, low_mb, high_mb, growth_mb,
  CASE WHEN count(CASE WHEN window_no > last_still THEN 1 END) OVER whole > 1
    THEN min(CASE WHEN window_no > last_still THEN window_no END) OVER whole END AS growing_since
FROM judged
WINDOW whole AS (PARTITION BY role, rank_id)
