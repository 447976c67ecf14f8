-- memscope_fluctuation(path, compat => false, on_error => 'strict')
-- How far does the use of a pool swing within each step? One row per process, device, pool and step, from step 2 on.
--
-- Parameters: path and on_error as in memscope_blocks; compat, true: a window ends where the tool ends it, at the end
--   of any range in a step; false: at the end of the step itself.
-- Columns: source_path, pid, device, pool, step, min_used and max_used (bytes in use after an allocation or release
--   of the pool), min_max_ratio (0 to 1), pool_events (allocations and releases).
-- The tool prints only the smallest and the largest ratio of the run; here every step is a row. As there, a window
-- reaches from the end of one step to the end of the next, so what happens between two steps counts to the later one,
-- except before step 2; and zeros before the pool is used again do not count. The tool forgets its record after a step
-- in which the pool was empty; here it stays. Without any step it is an error.
SELECT source_path, pid, device, pool, step, CASE WHEN last_empty > first_used THEN 0 ELSE min_used END AS min_used,
  max_used, CAST(CASE WHEN last_empty > first_used THEN 0 ELSE min_used END AS DOUBLE) / max_used AS min_max_ratio,
  pool_events
FROM (
  SELECT t.source_path, t.pid, t.device, t.pool, s.step, min(t.pool_used) FILTER (WHERE t.pool_used > 0) AS min_used,
    max(t.pool_used) AS max_used, min(t.id) FILTER (WHERE t.pool_used > 0) AS first_used,
    max(t.id) FILTER (WHERE t.pool_used = 0) AS last_empty, count(*) AS pool_events
  FROM (
    -- Each window with its ids, in pages to find what is in it. A NULL device stands for those without steps.
    -- Pages are of 1024 ids; beyond 2^26, which only a damaged id is, all are one.
    SELECT source_path, pid, device, devices, step, from_id, id,
      unnest(range(greatest(least(from_id, 67108864), 0) / 1024, greatest(least(id, 67108864), 0) / 1024 + 1)) AS page
    FROM (
      SELECT *, greatest(begins, max(CASE WHEN closes THEN id END) OVER (PARTITION BY source_path, pid, device
        ORDER BY id, kind ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)) AS from_id
      FROM (
        SELECT source_path, pid, device, devices, id, kind, step,
          kind = 'check' AND step > 1 AND (step_end OR $compat) AS closes,
          min(CASE WHEN kind = 'open' AND step > 1 THEN id END) OVER (PARTITION BY source_path, pid, device) AS begins
        FROM (
          SELECT source_path, pid, id, kind, step, step_end, devices,
            unnest(CASE WHEN device IS NULL THEN devices ELSE make_array(device) END) AS device
          FROM (
            SELECT *, array_agg(DISTINCT device) OVER (PARTITION BY source_path, pid) AS devices
            FROM memscope_steps($path, on_error => $on_error)
          )
        )
      )
    )
    WHERE closes AND begins < id
  ) AS s
  JOIN (
    SELECT source_path, pid, device, pool, id, pool_used, greatest(least(id, 67108864), 0) / 1024 AS page
    FROM memscope_pool_timeline($path, on_error => $on_error) WHERE pool IN ('PTA', 'ATB', 'MINDSPORE')
  ) AS t ON s.source_path = t.source_path AND s.pid = t.pid AND s.page = t.page
  WHERE (s.device = t.device OR s.device IS NULL AND NOT coalesce(array_has(s.devices, t.device), false))
    AND t.id > s.from_id AND t.id < s.id
  GROUP BY t.source_path, t.pid, t.device, t.pool, s.step, s.id
)
WHERE max_used > 0 AND (
    SELECT must(count(*) > 0, concat('memscope_fluctuation: no steps in the files, neither mstx ranges ''step start'' ',
      'nor msmemscope.step(); memscope_pool_timeline has what is in use after each event'))
    -- The first step tells, behind which nothing is read.
    FROM (
      SELECT id FROM memscope_events($path, on_error => $on_error)
      WHERE event IN ('MSTX', 'SYSTEM') AND event_type IN ('Range_start', 'STEP')
        AND (event_type = 'STEP' OR name = 'step start')
      LIMIT 1
    )
  )
