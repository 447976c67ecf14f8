-- memory_timeline(path, buckets => 200, on_error => 'strict')
-- How does memory move over time? For each role and rank, its time in equal buckets, each with the highest level in
-- it, so that a picture of a few hundred points keeps every peak.
--
-- Parameters: path and on_error as in memory_events; buckets, how many per role and rank.
-- Values: buckets integer >= 1
-- Columns: role, rank_id, bucket (from 0), from_ns and to_ns (ns since the epoch; to_ns is outside), changes (starts
--   and releases in it), live_high_mb and live_end_mb (MB, held by the allocations in the recording: the most, and at
--   its end), allocated_high_mb and reserved_high_mb and active_high_mb (MB, the most that the profiler states after
--   an allocation or a release; cann:: rows state those of another allocator and are left out).
-- The level at the beginning of a bucket counts in it, so a bucket without changes carries the level on. The highest
-- live_high_mb is the peak of memory_at_peak; the highest allocated_high_mb is at least the highest
-- total_allocated_mb. (RL-Insight's chart picks 2000 points by their number and can lose the peak.) What is not
-- released counts as live to the end of its own profile; what the profiler states is carried on to the next profile.
-- The first bucket begins at the first change; all are equally many whole ns wide, so the last one can reach beyond the
-- last change. One sweep: the cost grows with n log n.
WITH swept AS (
  SELECT role, rank_id, unnest(live_levels(source_path, start_time_ns, release_time_ns,
    TRY_CAST(round(size_kb * 1024) AS BIGINT), $buckets,
    CASE WHEN states THEN total_allocated_mb END, CASE WHEN states THEN release_total_allocated_mb END,
    CASE WHEN states THEN total_reserved_mb END, CASE WHEN states THEN release_total_reserved_mb END,
    CASE WHEN states THEN total_active_mb END, CASE WHEN states THEN release_total_active_mb END)) AS part
  FROM (
    SELECT *, name NOT LIKE 'cann::%' AS states
    FROM memory_events($path, on_error => $on_error)
    WHERE size_kb > 0 AND start_time_ns IS NOT NULL
  )
  GROUP BY role, rank_id
),
-- Up to the next part in which something changes, the level stays.
drawn AS (SELECT role, rank_id, part, unnest(range(part['bucket'], part['next'])) AS at FROM swept)
SELECT role, rank_id, at AS bucket, part['from_ns'] + at * part['width_ns'] AS from_ns,
  part['from_ns'] + (at + 1) * part['width_ns'] AS to_ns,
  CASE WHEN at = part['bucket'] THEN part['changes'] ELSE 0 END AS changes,
  CASE WHEN at = part['bucket'] THEN part['high_bytes'] ELSE part['end_bytes'] END / 1048576.0 AS live_high_mb,
  part['end_bytes'] / 1048576.0 AS live_end_mb,
  CASE WHEN at = part['bucket'] THEN part['stated_high'][1] ELSE part['stated_end'][1] END AS allocated_high_mb,
  CASE WHEN at = part['bucket'] THEN part['stated_high'][2] ELSE part['stated_end'][2] END AS reserved_high_mb,
  CASE WHEN at = part['bucket'] THEN part['stated_high'][3] ELSE part['stated_end'][3] END AS active_high_mb
FROM drawn
