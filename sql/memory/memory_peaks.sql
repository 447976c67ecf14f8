-- memory_peaks(path, factor => 1.2, on_error => 'strict')
-- Which rank needs most memory, and is one of them different? The highest totals of each rank, and how they compare
-- with the other ranks of its role.
--
-- Parameters: path and on_error as in memory_events; factor, how far from the median an outlier is.
-- Values: factor number > 0
-- Columns: role, rank_id, peak_mb (highest total_allocated_mb, MB), peak_time_ns (the first such moment, ns since the
--   epoch), reserved_mb (highest total_reserved_mb, MB), vs_median (peak_mb divided by the median of the ranks of the
--   role), outlier (vs_median is above factor or below 1 / factor), allocations.
-- Totals are those that the profiler states after an allocation, so they include what was allocated before the
-- recording; cann:: rows state those of another allocator and are left out of them.
WITH rank AS (
  SELECT role, rank_id, max(allocated) AS peak_mb, max(reserved) AS reserved_mb, count(*) AS allocations,
    first_value(start_time_ns ORDER BY allocated DESC NULLS LAST, start_time_ns) AS peak_time_ns
  FROM (
    SELECT role, rank_id, start_time_ns, CASE WHEN name NOT LIKE 'cann::%' THEN total_allocated_mb END AS allocated,
      CASE WHEN name NOT LIKE 'cann::%' THEN total_reserved_mb END AS reserved
    FROM memory_events($path, on_error => $on_error) WHERE size_kb > 0
  )
  GROUP BY role, rank_id
),
compared AS (
  SELECT *, peak_mb / nullif(median(peak_mb) OVER (PARTITION BY role), 0) AS vs_median FROM rank
)
SELECT role, rank_id, peak_mb, peak_time_ns, reserved_mb, vs_median,
  vs_median > $factor OR vs_median < 1.0 / $factor AS outlier, allocations
FROM compared
