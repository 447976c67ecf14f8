-- memory_gap(path, on_error => 'strict')
-- How much memory is reserved and not allocated (fragmentation)? For each role and rank, the largest gap between
-- total_reserved_mb and total_allocated_mb, and the gap while most is reserved.
--
-- Parameters: path and on_error as in memory_events.
-- Columns: role, rank_id, max_gap_mb, max_reserved_mb, min_gap_at_max_reserved_mb, max_gap_at_max_reserved_mb (MB).
-- Gaps are taken where an allocation states both totals; cann:: rows count GE memory apart and are left out.
WITH e AS (
  SELECT role, rank_id, total_reserved_mb AS reserved, total_reserved_mb - total_allocated_mb AS gap
  FROM memory_events($path, on_error => $on_error)
  WHERE total_reserved_mb IS NOT NULL AND total_allocated_mb IS NOT NULL AND name NOT LIKE 'cann::%'
),
most AS (SELECT role, rank_id, max(gap) AS max_gap_mb, max(reserved) AS max_reserved_mb FROM e GROUP BY role, rank_id)
SELECT m.role, m.rank_id, m.max_gap_mb, m.max_reserved_mb,
  min(e.gap) AS min_gap_at_max_reserved_mb, max(e.gap) AS max_gap_at_max_reserved_mb
FROM most m JOIN e ON e.role = m.role AND e.rank_id = m.rank_id AND e.reserved = m.max_reserved_mb
GROUP BY m.role, m.rank_id, m.max_gap_mb, m.max_reserved_mb
