-- memscope_held_at_marks(path, mark => NULL, stacks => false, on_error => 'strict')
-- What is held each time the program passes a point, and how does it grow from one time to the next? One row for each
-- pass and each owner that holds memory then: for cycles such as sleep and wake_up, rollout and update.
--
-- Parameters: path and on_error as in memscope_blocks; mark, a LIKE pattern for the names of the points: mstx marks,
--   starts of mstx ranges and snapshots (hooks name them module@Class@method@End); NULL: the ends of steps, see
--   memscope_steps; stacks, true: the first frame of the Python stack tells blocks of one owner apart.
-- Columns: source_path, pid, device, pool, pass (1 is the first one of the device), mark_id (id of the event), ts_ns
--   (ns), mark (name of the point; NULL for steps), step (NULL for marks), owner, category (see memscope_owners),
--   py_stack_top (NULL unless stacks), blocks, bytes, growth (bytes, since the pass before; NULL at the first),
--   growth_since_first (bytes, since the first pass; what was not held then counts from 0).
-- A point without a device counts for all devices of its process. What nothing is left of has no row. HAL and the
-- other pools are two views of the same memory: choose one with WHERE pool = ...
WITH memscope_held_at_marks_points AS (
  -- All that moves memory, and the points, in one order; ordinal counts the points of the device up to here.
  SELECT *, count(mark_id) OVER (PARTITION BY source_path, pid, device ORDER BY id ROWS UNBOUNDED PRECEDING) AS ordinal,
    count(mark_id) OVER (PARTITION BY source_path, pid, device) AS points
  FROM (
    SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top,
      sign, sign * size AS bytes, CASE WHEN sign > 0 THEN malloc_id ELSE free_id END AS id,
      CAST(NULL AS BIGINT) AS mark_id, CAST(NULL AS BIGINT) AS ts_ns, CAST(NULL AS VARCHAR) AS mark,
      CAST(NULL AS BIGINT) AS step
    FROM (VALUES (1), (-1)) AS two(sign) CROSS JOIN memscope_owners($path, on_error => $on_error)
    WHERE malloc_id IS NOT NULL AND (sign > 0 OR free_id IS NOT NULL)
    UNION ALL
    SELECT d.source_path, d.pid, d.device, NULL, NULL, NULL, NULL, NULL, NULL, m.id, m.id AS mark_id, m.ts_ns, m.mark,
      m.step
    FROM (
      SELECT source_path, pid, device, id, ts_ns, name AS mark, CAST(NULL AS BIGINT) AS step
      FROM memscope_events($path, on_error => $on_error)
      WHERE $mark IS NOT NULL AND name LIKE $mark
        AND (event = 'SNAPSHOT' OR event = 'MSTX' AND event_type IN ('Mark', 'Range_start'))
      UNION ALL
      SELECT source_path, pid, device, id, ts_ns, CAST(NULL AS VARCHAR), step
      FROM memscope_steps($path, on_error => $on_error)
      WHERE $mark IS NULL AND kind = 'check' AND step_end
    ) AS m JOIN (
      SELECT DISTINCT source_path, pid, device FROM memscope_blocks($path, on_error => $on_error)
    ) AS d ON m.source_path = d.source_path AND m.pid = d.pid
    WHERE m.device = d.device OR m.device IS NULL
  )
)
SELECT source_path, pid, device, pool, ordinal AS pass, mark_id, ts_ns, mark, step, owner, category, py_stack_top,
  blocks, bytes, CASE WHEN ordinal > 1 THEN bytes - coalesce(CASE WHEN previous = ordinal - 1 THEN before END, 0) END
    AS growth,
  bytes - coalesce(CASE WHEN first = 1 THEN first_bytes END, 0) AS growth_since_first
FROM (
  SELECT *, lag(bytes) OVER passes AS before, lag(ordinal) OVER passes AS previous,
    first_value(bytes) OVER passes AS first_bytes, first_value(ordinal) OVER passes AS first
  FROM (
    SELECT source_path, pid, device, pool, owner, category, py_stack_top, blocks, bytes, ordinal,
      max(mark_id) OVER pass AS mark_id, max(ts_ns) OVER pass AS ts_ns, max(mark) OVER pass AS mark,
      max(step) OVER pass AS step
    FROM (
      -- What an owner holds between two changes, once for each point in between.
      SELECT source_path, pid, device, pool, owner, category, py_stack_top, blocks, bytes, mark_id, ts_ns, mark, step,
        unnest(CASE WHEN mark_id IS NOT NULL THEN make_array(ordinal) WHEN blocks > 0 THEN range(ordinal + 1, next + 1)
          END) AS ordinal
      FROM (
        SELECT source_path, pid, device, pool, owner, category, py_stack_top, ordinal, mark_id, ts_ns, mark, step,
          sum(changed_blocks) OVER changes AS blocks, sum(changed_bytes) OVER changes AS bytes,
          coalesce(lead(ordinal) OVER changes, points) AS next
        FROM (
          SELECT source_path, pid, device, pool, owner, category, py_stack_top, ordinal, points, mark_id,
            max(ts_ns) AS ts_ns, max(mark) AS mark, max(step) AS step, sum(sign) AS changed_blocks,
            sum(bytes) AS changed_bytes
          FROM memscope_held_at_marks_points
          GROUP BY source_path, pid, device, pool, owner, category, py_stack_top, ordinal, points, mark_id
        )
        WINDOW changes AS (PARTITION BY source_path, pid, device, mark_id, pool, owner, category, py_stack_top
          ORDER BY ordinal)
      )
    )
    WINDOW pass AS (PARTITION BY source_path, pid, device, ordinal)
  )
  WHERE pool IS NOT NULL
  WINDOW passes AS (PARTITION BY source_path, pid, device, pool, owner, category, py_stack_top ORDER BY ordinal)
)
