-- memscope_timeline(path, buckets => 200, on_error => 'strict')
-- How does each pool move over time? For each process, device and pool, its time in equal buckets, each with the
-- highest level in it, so that a picture of a few hundred points keeps every peak.
--
-- Parameters: path and on_error as in memscope_blocks; buckets, how many per process, device and pool.
-- Values: buckets integer >= 1
-- Columns: source_path, pid, device, pool, bucket (from 0), from_ns and to_ns (ns; to_ns is outside), changes
--   (allocations and releases in it), used_high and reserved_high (bytes, the most that the pool states), used_end
--   (bytes in use at its end).
-- The level at the beginning of a bucket counts in it, so a bucket without changes carries the level on. The highest
-- used_high is the peak of memscope_owners_at_peak. All buckets of a pool are equally many whole ns wide, so the last one
-- can reach beyond the last change. HAL and host memory state no totals and have no rows.
WITH level AS (
  SELECT source_path, pid, device, pool, id, ts_ns, pool_used, pool_total, min(ts_ns) OVER whole AS t0,
    (max(ts_ns) OVER whole - min(ts_ns) OVER whole) / $buckets + 1 AS width
  FROM memscope_pool_timeline($path, on_error => $on_error)
  WINDOW whole AS (PARTITION BY source_path, pid, device, pool)
),
filled AS (
  SELECT source_path, pid, device, pool, min(t0) AS t0, min(width) AS width, (ts_ns - t0) / width AS bucket,
    count(*) AS changes, max(pool_used) AS used, max(pool_total) AS reserved,
    last_value(pool_used ORDER BY ts_ns, id) AS used_end, last_value(pool_total ORDER BY ts_ns, id) AS reserved_end
  FROM level GROUP BY source_path, pid, device, pool, (ts_ns - t0) / width
),
chained AS (
  SELECT *, lag(used_end) OVER in_time AS used_before, lag(reserved_end) OVER in_time AS reserved_before,
    lead(bucket, 1, $buckets) OVER in_time AS next
  FROM filled
  WINDOW in_time AS (PARTITION BY source_path, pid, device, pool ORDER BY bucket)
),
drawn AS (SELECT *, unnest(range(bucket, next)) AS at FROM chained)
SELECT source_path, pid, device, pool, at AS bucket, t0 + at * width AS from_ns,
  t0 + (at + 1) * width AS to_ns, CASE WHEN at = bucket THEN changes ELSE 0 END AS changes,
  CASE WHEN at = bucket THEN greatest(used, used_before) ELSE used_end END AS used_high,
  CASE WHEN at = bucket THEN greatest(reserved, reserved_before) ELSE reserved_end END AS reserved_high, used_end
FROM drawn
