-- memscope_step_leaks(path, compat => false, on_error => 'strict')
-- What was allocated in one step and is still held when the next step ends? The pool blocks that leak.
--
-- Parameters: path and on_error as in memscope_blocks; compat, true: look where the tool looks, at the end of any
--   range in the next step; false: at the end of the next step itself.
-- Columns: source_path, pid, device, pool, step (in which it was allocated), malloc_id, malloc_ts (ns), ptr, address,
--   bytes, mb (MiB), owner, py_stack, c_stack, freed_by (program: it is released, but later), free_ts (ns).
-- With compat, and without it where no range ends inside of a step, these are the leaks that the tool prints at exit:
-- of step 2 and later, still held at the end of the next step, even if released after that. So blocks of the first and
-- of the last step are never in it (memscope_growth_by_stack sees them), and what lives for two steps on purpose is.
-- An address that is allocated again while it is held counts once, from its first allocation to the next release.
-- Without any step it is an error.
SELECT leak.source_path, leak.pid, first_value(leak.device) AS device, first_value(leak.pool) AS pool,
  first_value(leak.step) AS step, leak.malloc_id, first_value(b.malloc_ts) FILTER (WHERE b.malloc_id = leak.malloc_id)
    AS malloc_ts,
  first_value(leak.ptr) AS ptr, concat('0x', lpad(to_hex(first_value(leak.ptr)), 16, '0')) AS address,
  first_value(leak.size) AS bytes, first_value(leak.size) / 1048576.0 AS mb,
  first_value(b.owner) FILTER (WHERE b.malloc_id = leak.malloc_id) AS owner,
  first_value(b.py_stack) FILTER (WHERE b.malloc_id = leak.malloc_id) AS py_stack,
  first_value(b.c_stack) FILTER (WHERE b.malloc_id = leak.malloc_id) AS c_stack,
  first_value(b.freed_by) FILTER (WHERE b.malloc_id = leak.malloc_id) AS freed_by,
  first_value(b.free_ts) FILTER (WHERE b.malloc_id = leak.malloc_id) AS free_ts
FROM (
  SELECT b.source_path, b.pid, b.device, b.pool, b.ptr, b.size, b.malloc_id, s.step, s.check_id
  FROM (
    -- Each step with its ids, from where it begins to where the next one does, in pages to find the blocks in it; and
    -- with the place in the next one where its blocks are looked at. A NULL device stands for those without steps.
    -- Pages are of 1024 ids; beyond 2^26, which only a damaged id is, all are one.
    SELECT source_path, pid, device, devices, step, id, next_id, check_id,
      unnest(range(greatest(least(id, 67108864), 0) / 1024, greatest(least(next_id, 67108864), 0) / 1024 + 1)) AS page
    FROM (
      SELECT *, min(CASE WHEN kind = 'open' THEN id END) OVER behind AS next_id,
        min(CASE WHEN kind = 'open' THEN looked_id END) OVER behind AS check_id
      FROM (
        SELECT *, min(CASE WHEN kind = 'check' AND (step_end OR $compat) THEN id END) OVER behind AS looked_id
        FROM (
          SELECT source_path, pid, id, kind, step, step_end, devices,
            unnest(CASE WHEN device IS NULL THEN devices ELSE make_array(device) END) AS device
          FROM (
            SELECT *, array_agg(DISTINCT device) OVER (PARTITION BY source_path, pid) AS devices
            FROM memscope_steps($path, on_error => $on_error)
          )
        )
        WINDOW behind AS (PARTITION BY source_path, pid, device ORDER BY id, kind
          ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
      )
      WINDOW behind AS (PARTITION BY source_path, pid, device ORDER BY id, kind
        ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)
    )
    WHERE kind = 'open' AND step > 1 AND check_id IS NOT NULL
  ) AS s
  JOIN memscope_blocks($path, on_error => $on_error) AS b
    ON s.source_path = b.source_path AND s.pid = b.pid AND s.page = greatest(least(b.malloc_id, 67108864), 0) / 1024
  WHERE (s.device = b.device OR s.device IS NULL AND NOT coalesce(array_has(s.devices, b.device), false))
    AND b.malloc_id > s.id AND b.malloc_id < s.next_id AND (b.free_id IS NULL OR b.free_id > s.check_id)
    AND b.pool IN ('PTA', 'ATB', 'MINDSPORE') AND (
      SELECT must(count(*) > 0, concat('memscope_step_leaks: ',
        'no steps in the files, neither mstx ranges ''step start'' ',
        'nor msmemscope.step(); memscope_leaks looks between marks, memscope_never_freed at the end'))
      -- The first step tells, behind which nothing is read.
      FROM (
        SELECT id FROM memscope_events($path, on_error => $on_error)
        WHERE event IN ('MSTX', 'SYSTEM') AND event_type IN ('Range_start', 'STEP')
          AND (event_type = 'STEP' OR name = 'step start')
        LIMIT 1
      )
    )
) AS leak
JOIN memscope_blocks($path, on_error => $on_error) AS b
  ON leak.source_path = b.source_path AND leak.pid = b.pid AND leak.device = b.device AND leak.pool = b.pool
    AND leak.ptr = b.ptr
GROUP BY leak.source_path, leak.pid, leak.malloc_id
-- The latest that happened at this address before is a release, and no release follows up to where it is looked at.
HAVING coalesce(max(b.malloc_id) FILTER (WHERE b.malloc_id < leak.malloc_id), -1)
    <= coalesce(max(b.free_id) FILTER (WHERE b.free_id < leak.malloc_id AND b.malloc_id IS NOT NULL), -1)
  AND coalesce(min(b.free_id) FILTER (WHERE b.malloc_id >= leak.malloc_id) > min(leak.check_id), true)
