-- memscope_held_at_marks(path, mark => NULL, stacks => false, on_error => 'strict')
-- What is held each time the program passes a point, and how does it grow from one time to the next? One row for each
-- pass and each owner that holds memory then: for cycles such as sleep and wake_up, rollout and update.
--
-- Parameters: path and on_error as in memscope_blocks; mark, a LIKE pattern for the names of the points: mstx marks,
--   starts of mstx ranges and snapshots (hooks name them module@Class@method@End); NULL: the ends of steps, see
--   memscope_steps; stacks, true: the first frame of the Python stack tells blocks of one owner apart.
-- Values: mark text or NULL
-- Columns: source_path, pid, device, pool, pass (1 is the first one of the device), mark_id (id of the event), ts_ns
--   (ns), mark (name of the point; NULL for steps), step (NULL for marks), owner, category (see memscope_owners),
--   py_stack_top (NULL unless stacks), blocks, bytes, growth (bytes, since the pass before; NULL at the first),
--   growth_since_first (bytes, since the first pass; what was not held then counts from 0).
-- It is an error when there is no such point at all. A point without a device counts for all devices of its process.
-- What nothing is left of has no row. HAL and the other pools are two views of the same memory: choose one with WHERE
-- pool = ...
WITH memscope_held_at_marks_passes AS (
  -- The passes of each device; `stream` is its name, or empty for devices that have none of their own.
  SELECT source_path, pid, device, devices, coalesce(device, '') AS stream, id, ts_ns, mark, step,
    CAST(row_number() OVER (PARTITION BY source_path, pid, device ORDER BY id) AS BIGINT) AS pass,
    coalesce(lag(id) OVER (PARTITION BY source_path, pid, device ORDER BY id), -1) AS previous_id,
    count(*) OVER (PARTITION BY source_path, pid, device) AS passes
  FROM (
    SELECT source_path, pid, id, ts_ns, mark, step, devices,
      unnest(CASE WHEN device IS NULL THEN devices ELSE make_array(device) END) AS device
    FROM (
      SELECT *, array_agg(DISTINCT device) OVER (PARTITION BY source_path, pid) AS devices
      FROM (
        SELECT source_path, pid, device, id, ts_ns, name AS mark, CAST(NULL AS BIGINT) AS step
        FROM memscope_events($path, on_error => $on_error)
        WHERE $mark IS NOT NULL AND name LIKE $mark
          AND (event = 'SNAPSHOT' OR event = 'MSTX' AND event_type IN ('Mark', 'Range_start'))
        UNION ALL
        SELECT source_path, pid, device, id, ts_ns, CAST(NULL AS VARCHAR), step
        FROM memscope_steps($path, on_error => $on_error)
        WHERE $mark IS NULL AND kind = 'check' AND step_end
      )
    )
  )
)
SELECT source_path, pid, device, pool, pass, mark_id, ts_ns, mark, step, owner, category, py_stack_top, blocks, bytes,
  CASE WHEN pass > 1 THEN bytes - coalesce(CASE WHEN previous_pass = pass - 1 THEN previous_bytes END, 0) END AS growth,
  bytes - coalesce(CASE WHEN first_pass = 1 THEN first_bytes END, 0) AS growth_since_first
FROM (
  SELECT h.source_path, h.pid, h.device, h.pool, h.pass, p.id AS mark_id, p.ts_ns, p.mark, p.step, h.owner, h.category,
    h.py_stack_top, h.blocks, h.bytes, lag(h.bytes) OVER owners AS previous_bytes,
    lag(h.pass) OVER owners AS previous_pass, first_value(h.bytes) OVER owners AS first_bytes,
    first_value(h.pass) OVER owners AS first_pass
  FROM (
    -- What an owner holds between two changes, once for each pass in between.
    SELECT source_path, pid, device, stream, pool, owner, category, py_stack_top, blocks, bytes,
      unnest(CASE WHEN blocks > 0 THEN range(changed, next_change) END) AS pass
    FROM (
      SELECT source_path, pid, device, stream, pool, owner, category, py_stack_top, changed,
        sum(blocks) OVER changes AS blocks, sum(bytes) OVER changes AS bytes,
        coalesce(lead(changed) OVER changes, passes + 1) AS next_change
      FROM (
        SELECT b.source_path, b.pid, b.device, p.stream, b.pool, b.owner, b.category, b.py_stack_top, p.pass AS changed,
          p.passes, sum(b.sign) AS blocks, sum(b.sign * b.size) AS bytes
        FROM (
          -- Each pass with the ids up to it, in pages to find what happens there. Pages are of 1024 ids;
          -- beyond 2^26, which only a damaged id is, all are one.
          SELECT *, unnest(range(greatest(least(previous_id, 67108864), 0) / 1024,
            greatest(least(id, 67108864), 0) / 1024 + 1)) AS page
          FROM memscope_held_at_marks_passes
        ) AS p
        JOIN (
          SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END
            AS py_stack_top, size, sign, CASE WHEN sign > 0 THEN malloc_id ELSE free_id END AS id
          FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN memscope_owners($path, on_error => $on_error)
          WHERE malloc_id IS NOT NULL
        ) AS b ON p.source_path = b.source_path AND p.pid = b.pid AND p.page = greatest(least(b.id, 67108864), 0) / 1024
        WHERE (p.device = b.device OR p.device IS NULL AND NOT coalesce(array_has(p.devices, b.device), false))
          AND b.id > p.previous_id AND b.id < p.id
        GROUP BY b.source_path, b.pid, b.device, p.stream, b.pool, b.owner, b.category, b.py_stack_top, p.pass, p.passes
      )
      WINDOW changes AS (PARTITION BY source_path, pid, device, pool, owner, category, py_stack_top ORDER BY changed)
    )
  ) AS h
  JOIN memscope_held_at_marks_passes AS p
    ON h.source_path = p.source_path AND h.pid = p.pid AND h.stream = p.stream AND h.pass = p.pass
  WHERE (
    SELECT must(count(*) FILTER (WHERE here) > 0, concat('memscope_held_at_marks: ',
      CASE WHEN $mark IS NULL THEN 'no step ends in the files, and no mark was asked for'
        ELSE concat('no point like ''', $mark, '''') END,
      '; points there are: ', coalesce(string_agg(concat(name, ' (', points, ')'), ', ' ORDER BY place)
        FILTER (WHERE place <= 20 AND name IS NOT NULL), 'none'),
      CASE WHEN count(name) > 20 THEN concat(' and ', count(name) - 20, ' more') END))
    FROM (
      SELECT name, coalesce(name LIKE $mark, name IS NULL) AS here, count(*) AS points,
        row_number() OVER (ORDER BY name IS NULL, count(*) DESC, name) AS place
      FROM (
        SELECT coalesce(name, '') AS name FROM memscope_events($path, on_error => $on_error)
        WHERE event = 'SNAPSHOT' OR event = 'MSTX' AND event_type IN ('Mark', 'Range_start')
        UNION ALL
        SELECT CAST(NULL AS VARCHAR) FROM memscope_steps($path, on_error => $on_error)
        WHERE $mark IS NULL AND kind = 'check' AND step_end
      )
      GROUP BY name
    )
  )
  WINDOW owners AS (PARTITION BY h.source_path, h.pid, h.device, h.pool, h.owner, h.category, h.py_stack_top
    ORDER BY h.pass)
)
