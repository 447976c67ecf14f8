-- memscope_ranks(path, factor => 1.2, on_error => 'strict')
-- Which process needs most memory, and is one of them different? One row per process, device and pool.
--
-- Parameters: path and on_error as in memscope_blocks; factor, how far from the median an outlier is.
-- Values: factor number > 0
-- Columns: source_path, run_dir, pid, device, pool, role (rollout, train or both, as far as owners tell), peak_used
--   and peak_reserved (bytes, the most that the pool states; NULL for HAL and host memory, which state none),
--   vs_median (peak_used divided by the median of the processes with the same role and pool), outlier (vs_median is
--   above factor or below 1 / factor), blocks, allocated (bytes of all blocks), never_freed (bytes that the program
--   never released).
-- Nothing in the files names a rank: tell them by device and process. Peaks include what was allocated before the
-- recording began. For one role the ranks should be alike.
SELECT source_path, run_dir, pid, device, pool, role, peak_used, peak_reserved, vs_median,
  vs_median > $factor OR vs_median < 1.0 / $factor AS outlier, blocks, allocated, never_freed
FROM (
  SELECT *, CAST(peak_used AS DOUBLE)
    / nullif(CAST(median(CAST(peak_used AS DOUBLE)) OVER (PARTITION BY role, pool) AS DOUBLE), 0) AS vs_median
  FROM (
    SELECT source_path, run_dir, pid, device, pool, blocks, allocated, never_freed, peak_used, peak_reserved,
      CASE WHEN max(rollout) OVER process AND max(train) OVER process THEN 'both' WHEN max(rollout) OVER process
        THEN 'rollout' WHEN max(train) OVER process THEN 'train' END AS role
    FROM (
      SELECT source_path, run_dir, pid, device, pool, bool_or(role = 'rollout') AS rollout,
        bool_or(role = 'train') AS train,
        CASE WHEN count(pool_total) > 0 THEN max(greatest(pool_used, free_pool_used)) END AS peak_used,
        max(greatest(pool_total, free_pool_total)) AS peak_reserved, count(malloc_id) AS blocks,
        sum(size) FILTER (WHERE malloc_id IS NOT NULL) AS allocated,
        coalesce(sum(size) FILTER (WHERE malloc_id IS NOT NULL AND freed_by <> 'program'), 0) AS never_freed
      FROM memscope_blocks($path, on_error => $on_error)
      GROUP BY source_path, run_dir, pid, device, pool
    )
    WINDOW process AS (PARTITION BY source_path, pid)
  )
)
