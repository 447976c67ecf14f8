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
WITH e AS (
  SELECT role, rank_id, start_time_ns, release_time_ns, CAST(round(size_kb * 1024) AS BIGINT) AS bytes,
    name NOT LIKE 'cann::%' AS states, total_allocated_mb, release_total_allocated_mb, total_reserved_mb,
    release_total_reserved_mb, total_active_mb, release_total_active_mb,
    max(greatest(start_time_ns, release_time_ns)) OVER (PARTITION BY role, rank_id, source_path) AS profile_end,
    min(least(start_time_ns, release_time_ns)) OVER (PARTITION BY role, rank_id) AS t0,
    max(greatest(start_time_ns, release_time_ns)) OVER (PARTITION BY role, rank_id) AS t1
  FROM memory_events($path, on_error => $on_error)
  WHERE size_kb > 0 AND start_time_ns IS NOT NULL
),
change AS (
  -- What is not released ends one ns after its profile, without counting as a change.
  SELECT role, rank_id, t0, (t1 - t0) / $buckets + 1 AS width, sign * bytes AS bytes,
    CASE WHEN sign > 0 THEN start_time_ns ELSE coalesce(release_time_ns, profile_end + 1) END AS t,
    sign > 0 OR release_time_ns IS NOT NULL AS recorded,
    CASE WHEN sign > 0 AND states THEN total_allocated_mb
      WHEN states AND release_time_ns IS NOT NULL THEN release_total_allocated_mb END AS allocated,
    CASE WHEN sign > 0 AND states THEN total_reserved_mb
      WHEN states AND release_time_ns IS NOT NULL THEN release_total_reserved_mb END AS reserved,
    CASE WHEN sign > 0 AND states THEN total_active_mb
      WHEN states AND release_time_ns IS NOT NULL THEN release_total_active_mb END AS active
  FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN e
  WHERE sign > 0 OR release_time_ns IS NOT NULL OR profile_end < t1
),
level AS (
  -- In one moment releases come first, so no level is seen that was never reached.
  SELECT role, rank_id, t0, width, (t - t0) / width AS bucket, t, bytes, recorded, allocated, reserved, active,
    running_sum(bytes) OVER (PARTITION BY role, rank_id ORDER BY t, bytes) AS level
  FROM change
),
filled AS (
  SELECT role, rank_id, min(t0) AS t0, min(width) AS width, bucket, count(*) FILTER (WHERE recorded) AS changes,
    max(level) AS high, sum(bytes) AS bytes, max(allocated) AS allocated, max(reserved) AS reserved,
    max(active) AS active,
    last_value(allocated ORDER BY t, allocated) FILTER (WHERE allocated IS NOT NULL) AS last_allocated,
    last_value(reserved ORDER BY t, reserved) FILTER (WHERE reserved IS NOT NULL) AS last_reserved,
    last_value(active ORDER BY t, active) FILTER (WHERE active IS NOT NULL) AS last_active
  FROM level GROUP BY role, rank_id, bucket
),
chained AS (
  SELECT *, sum(bytes) OVER so_far AS level, last_value(last_allocated) IGNORE NULLS OVER so_far AS now_allocated,
    last_value(last_reserved) IGNORE NULLS OVER so_far AS now_reserved,
    last_value(last_active) IGNORE NULLS OVER so_far AS now_active,
    last_value(last_allocated) IGNORE NULLS OVER before AS old_allocated,
    last_value(last_reserved) IGNORE NULLS OVER before AS old_reserved,
    last_value(last_active) IGNORE NULLS OVER before AS old_active,
    lead(bucket, 1, $buckets) OVER (PARTITION BY role, rank_id ORDER BY bucket) AS next
  FROM filled
  WINDOW so_far AS (PARTITION BY role, rank_id ORDER BY bucket ROWS UNBOUNDED PRECEDING),
    before AS (PARTITION BY role, rank_id ORDER BY bucket ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
),
drawn AS (SELECT *, unnest(range(bucket, next)) AS at FROM chained)
SELECT role, rank_id, at AS bucket, t0 + at * width AS from_ns, t0 + (at + 1) * width AS to_ns,
  CASE WHEN at = bucket THEN changes ELSE 0 END AS changes,
  CASE WHEN at = bucket THEN greatest(high, level - bytes) ELSE level END / 1048576.0 AS live_high_mb,
  level / 1048576.0 AS live_end_mb,
  CASE WHEN at = bucket THEN greatest(allocated, old_allocated) ELSE now_allocated END AS allocated_high_mb,
  CASE WHEN at = bucket THEN greatest(reserved, old_reserved) ELSE now_reserved END AS reserved_high_mb,
  CASE WHEN at = bucket THEN greatest(active, old_active) ELSE now_active END AS active_high_mb
FROM drawn
