-- memscope_fluctuation(path, compat => false, on_error => 'strict')
-- How far does the use of a pool swing within each step? One row per process, device, pool and step, from step 2 on.
--
-- Parameters: path and on_error as in memscope_blocks; compat, true: a window ends where the tool ends it, at the end
--   of any range in a step; false: at the end of the step itself.
-- Columns: source_path, pid, device, pool, step, min_used, max_used (bytes in use after an allocation or release of
--   the pool), min_max_ratio (0 to 1), pool_events (allocations and releases).
-- The tool prints only the smallest and the largest ratio of the run; here every step is a row. As there, a window
-- reaches from the end of one step to the end of the next, so what happens between two steps counts to the later one,
-- except before step 2; and zeros before the pool is used again do not count. The tool forgets its record after a step
-- in which the pool was empty; here it stays.
SELECT source_path, pid, device, pool, step, CASE WHEN last_empty > first_used THEN 0 ELSE min_used END AS min_used,
  max_used, CAST(CASE WHEN last_empty > first_used THEN 0 ELSE min_used END AS DOUBLE) / max_used AS min_max_ratio,
  pool_events
FROM (
  SELECT source_path, pid, device, pool, min(check_step) AS step,
    min(pool_used) FILTER (WHERE pool_used > 0) AS min_used, max(pool_used) AS max_used,
    min(id) FILTER (WHERE pool_used > 0) AS first_used, max(id) FILTER (WHERE pool_used = 0) AS last_empty,
    count(*) AS pool_events
  FROM (
    SELECT source_path, pid, device, pool, id, pool_used,
      greatest(max(open_step) OVER device_before, max(CASE WHEN device IS NULL THEN open_step END) OVER process_before)
        AS in_step,
      least(min(check_id) OVER device_after, min(CASE WHEN device IS NULL THEN check_id END) OVER process_after)
        AS check_id,
      least(min(check_step) OVER device_after, min(CASE WHEN device IS NULL THEN check_step END) OVER process_after)
        AS check_step
    FROM (
      SELECT source_path, pid, device, pool, id, pool_used, CAST(NULL AS BIGINT) AS open_step,
        CAST(NULL AS BIGINT) AS check_step, CAST(NULL AS BIGINT) AS check_id
      FROM memscope_pool_timeline($path, on_error => $on_error) WHERE pool IN ('PTA', 'ATB', 'MINDSPORE')
      UNION ALL
      SELECT source_path, pid, device, NULL, id, NULL, CASE WHEN kind = 'open' THEN step END,
        CASE WHEN kind = 'check' THEN step END, CASE WHEN kind = 'check' THEN id END
      FROM memscope_steps($path, on_error => $on_error)
      WHERE kind = 'open' OR step > 1 AND (step_end OR $compat)
    )
    WINDOW device_before AS (PARTITION BY source_path, pid, device ORDER BY id ROWS UNBOUNDED PRECEDING),
      device_after AS (PARTITION BY source_path, pid, device ORDER BY id
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
      process_before AS (PARTITION BY source_path, pid ORDER BY id ROWS UNBOUNDED PRECEDING),
      process_after AS (PARTITION BY source_path, pid ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
  )
  WHERE pool IS NOT NULL AND in_step > 1 AND check_id IS NOT NULL
  GROUP BY source_path, pid, device, pool, check_id
)
WHERE max_used > 0
