-- memory_peaks(path, on_error => 'strict')
-- Which rank needs most memory, and is one of them different? The highest totals of each rank, and how they compare
-- with the other ranks of its role.
--
-- Parameters: path and on_error as in memory_events.
-- Columns: role, rank_id, peak_mb (highest total_allocated_mb, MB), reserved_mb (highest total_reserved_mb, MB),
--   vs_median (peak_mb divided by the median of the ranks of the role), allocations.
WITH rank AS (
  SELECT role, rank_id, max(total_allocated_mb) AS peak_mb, max(total_reserved_mb) AS reserved_mb, count(*) AS allocations
  FROM memory_events($path, on_error => $on_error)
  GROUP BY role, rank_id
),
typical AS (SELECT role, median(peak_mb) AS median_mb FROM rank GROUP BY role)
SELECT rank.role, rank_id, peak_mb, reserved_mb, peak_mb / nullif(median_mb, 0) AS vs_median, allocations
FROM rank JOIN typical ON rank.role = typical.role
