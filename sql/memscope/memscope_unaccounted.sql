-- memscope_unaccounted(path, on_error => 'strict')
-- How much of a pool is in use without a block in the file that explains it? For processes that were killed: one row
-- per process, device, pool and step, and one for what comes after the last step.
--
-- Parameters: path and on_error as in memscope_blocks.
-- Columns: source_path, pid, device, pool, step (NULL: after the end of the last step), last_id, last_ts (last event
--   of the pool up to the end of the step; ns), pool_used (bytes in use after it, as the pool states them),
--   known_bytes (in blocks that the file has), unaccounted (the difference), growth (of unaccounted, since the row
--   before).
-- The tool writes a block when it is released or when the process exits, so after a kill everything that was alive,
-- the leaks among it, is missing. All other rows still state how much of the pool is in use: what is unaccounted was
-- held by blocks that the file does not have, and its growth from step to step is the leak. In a complete file it is
-- what was allocated before the recording began, and only falls, as that is released. A step without events of the
-- pool has no row. Blocks of the driver cannot be found in this way, they do not state how much is in use.
SELECT *, unaccounted - lag(unaccounted) OVER (PARTITION BY source_path, pid, device, pool ORDER BY last_id) AS growth
FROM (
  SELECT source_path, pid, device, pool, step, max(id) AS last_id, last_value(ts_ns ORDER BY id) AS last_ts,
    last_value(pool_used ORDER BY id) AS pool_used, last_value(known_bytes ORDER BY id) AS known_bytes,
    last_value(pool_used - known_bytes ORDER BY id) AS unaccounted
  FROM (
    SELECT source_path, pid, device, pool, id, ts_ns, pool_used, known_bytes,
      least(min(check_step) OVER device_after, min(CASE WHEN device IS NULL THEN check_step END) OVER process_after)
        AS step
    FROM (
      SELECT source_path, pid, device, pool, id, ts_ns, pool_used, CAST(NULL AS BIGINT) AS check_step,
        sum(bytes) OVER (PARTITION BY source_path, pid, device, pool ORDER BY id ROWS UNBOUNDED PRECEDING)
          AS known_bytes
      FROM (
        SELECT source_path, pid, device, pool,
          CASE WHEN sign > 0 THEN size WHEN malloc_id IS NOT NULL THEN -size ELSE 0 END AS bytes,
          CASE WHEN sign > 0 THEN malloc_id ELSE free_id END AS id,
          CASE WHEN sign > 0 THEN malloc_ts ELSE free_ts END AS ts_ns,
          CASE WHEN sign > 0 THEN pool_used ELSE free_pool_used END AS pool_used
        FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN memscope_blocks($path, on_error => $on_error)
        WHERE pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE')
      )
      WHERE id IS NOT NULL AND pool_used IS NOT NULL
      UNION ALL
      SELECT source_path, pid, device, NULL, id, NULL, NULL, step, NULL
      FROM memscope_steps($path, on_error => $on_error) WHERE kind = 'check' AND step_end
    )
    WINDOW device_after AS (PARTITION BY source_path, pid, device ORDER BY id
        ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
      process_after AS (PARTITION BY source_path, pid ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
  )
  WHERE pool IS NOT NULL
  GROUP BY source_path, pid, device, pool, step
)
