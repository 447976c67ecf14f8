-- memory_fragmentation(path, on_error => 'strict')
-- How much memory is reserved and not used? For each role and rank, the largest gap between reserved and allocated
-- memory, the gaps while most is reserved, and how the rest splits.
--
-- Parameters: path and on_error as in memory_events.
-- Columns: role, rank_id, max_gap_mb (the largest gap, MB), reserved_at_max_gap_mb (MB), max_gap_share (max_gap_mb of
--   reserved_at_max_gap_mb, 0 to 1), max_reserved_mb (highest total_reserved_mb, MB), min_gap_at_max_reserved_mb and
--   max_gap_at_max_reserved_mb (the gaps while that much is reserved, MB), max_cached_mb and max_pending_mb (the
--   largest parts of a gap, see below, MB).
-- Definition: the gap is total_reserved_mb - total_allocated_mb right after an allocation that states both. A gap while
-- the allocator had to reserve more (at_max_reserved) is memory that it had and could not use. Of the gap,
-- reserved - active is cached (free for anyone, max_cached_mb), active - allocated is pending (given back, but a stream
-- still uses it, max_pending_mb). cann:: rows state the totals of another allocator and are left out.
WITH e AS (
  SELECT role, rank_id, total_reserved_mb AS reserved, total_reserved_mb - total_allocated_mb AS gap,
    total_reserved_mb - total_active_mb AS cached, total_active_mb - total_allocated_mb AS pending
  FROM memory_events($path, on_error => $on_error)
  WHERE size_kb > 0 AND total_reserved_mb IS NOT NULL AND total_allocated_mb IS NOT NULL AND name NOT LIKE 'cann::%'
),
by_reserved AS (
  SELECT role, rank_id, reserved, min(gap) AS low, max(gap) AS high, max(cached) AS cached, max(pending) AS pending
  FROM e GROUP BY role, rank_id, reserved
)
SELECT role, rank_id, max(high) AS max_gap_mb,
  first_value(reserved ORDER BY high DESC, reserved) AS reserved_at_max_gap_mb,
  max(high) / nullif(first_value(reserved ORDER BY high DESC, reserved), 0) AS max_gap_share,
  max(reserved) AS max_reserved_mb, first_value(low ORDER BY reserved DESC) AS min_gap_at_max_reserved_mb,
  first_value(high ORDER BY reserved DESC) AS max_gap_at_max_reserved_mb, max(cached) AS max_cached_mb,
  max(pending) AS max_pending_mb
FROM by_reserved GROUP BY role, rank_id
