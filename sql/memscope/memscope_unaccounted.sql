-- memscope_unaccounted(path, on_error => 'strict')
-- How much of a pool is in use without a block in the file that explains it? For processes that were killed: one row
-- per process, device, pool and step, and one for what comes after the last step.
--
-- Parameters: path and on_error as in memscope_blocks.
-- Columns: source_path, pid, device, pool, step (NULL: after the end of the last step), last_id and last_ts (last
--   event of the pool up to the end of the step; ns), pool_used (bytes in use after it, as the pool states them),
--   known_bytes (in blocks that the file has), unaccounted (the difference), growth (of unaccounted, since the row
--   before).
-- The tool writes a block when it is released or when the process exits, so after a kill everything that was alive,
-- the leaks among it, is missing. All other rows still state how much of the pool is in use: what is unaccounted was
-- held by blocks that the file does not have, and its growth from step to step is the leak. In a complete file it is
-- what was allocated before the recording began, and only falls, as that is released. A step without events of the
-- pool has no row. Blocks of the driver cannot be found in this way, they do not state how much is in use.
SELECT *, unaccounted - lag(unaccounted) OVER (PARTITION BY source_path, pid, device, pool ORDER BY last_id) AS growth
FROM (
  SELECT source_path, pid, device, pool, step, last_id, last_ts, pool_used,
    sum(bytes) OVER so_far AS known_bytes, pool_used - sum(bytes) OVER so_far AS unaccounted
  FROM (
    SELECT e.source_path, e.pid, e.device, e.pool, s.step, max(e.id) AS last_id,
      last_value(e.ts_ns ORDER BY e.id) AS last_ts, last_value(e.pool_used ORDER BY e.id) AS pool_used,
      sum(e.bytes) AS bytes
    FROM (
      -- The ends of steps with the ids up to them, in pages to find what happens there. A NULL device stands for those
      -- without steps. Pages are of 1024 ids; beyond 2^26, which only a damaged id is, all are one.
      SELECT source_path, pid, device, devices, step, previous_id, id,
        unnest(range(greatest(least(previous_id, 67108864), 0) / 1024,
          greatest(least(id, 67108864), 0) / 1024 + 1)) AS page
      FROM (
        SELECT *, coalesce(lag(id) OVER (PARTITION BY source_path, pid, device ORDER BY id), -1) AS previous_id
        FROM (
          SELECT source_path, pid, id, step, devices,
            unnest(CASE WHEN device IS NULL THEN devices ELSE make_array(device) END) AS device
          FROM (
            SELECT *, array_agg(DISTINCT device) OVER (PARTITION BY source_path, pid) AS devices
            FROM memscope_steps($path, on_error => $on_error) WHERE kind = 'check' AND step_end
          )
        )
      )
    ) AS s
    RIGHT JOIN (
      SELECT source_path, pid, device, pool,
        CASE WHEN sign > 0 THEN size WHEN malloc_id IS NOT NULL THEN -size ELSE 0 END AS bytes,
        CASE WHEN sign > 0 THEN malloc_id ELSE free_id END AS id,
        CASE WHEN sign > 0 THEN malloc_ts ELSE free_ts END AS ts_ns,
        CASE WHEN sign > 0 THEN pool_used ELSE free_pool_used END AS pool_used
      FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN memscope_blocks($path, on_error => $on_error)
      WHERE pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE')
    ) AS e
      ON s.source_path = e.source_path AND s.pid = e.pid AND s.page = greatest(least(e.id, 67108864), 0) / 1024
        AND (s.device = e.device OR s.device IS NULL AND NOT coalesce(array_has(s.devices, e.device), false))
        AND e.id > s.previous_id AND e.id < s.id
    WHERE e.id IS NOT NULL AND e.pool_used IS NOT NULL
    GROUP BY e.source_path, e.pid, e.device, e.pool, s.step, s.id
  )
  WINDOW so_far AS (PARTITION BY source_path, pid, device, pool ORDER BY last_id ROWS UNBOUNDED PRECEDING)
)
