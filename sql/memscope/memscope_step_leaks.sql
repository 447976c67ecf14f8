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
SELECT b.source_path, b.pid, b.device, b.pool, leak.in_step AS step, b.malloc_id, b.malloc_ts, b.ptr,
  concat('0x', lpad(to_hex(b.ptr), 16, '0')) AS address, b.size AS bytes, b.size / 1048576.0 AS mb, b.owner, b.py_stack,
  b.c_stack, b.freed_by, b.free_ts
FROM (
  SELECT source_path, pid, id,
    greatest(max(step) OVER device_before, max(CASE WHEN device IS NULL THEN step END) OVER process_before) AS in_step,
    least(min(check_id) OVER device_after, min(CASE WHEN device IS NULL THEN check_id END) OVER process_after)
      AS next_check,
    step, freed_id
  FROM (
    SELECT source_path, pid, device, malloc_id AS id, freed_id, CAST(NULL AS BIGINT) AS step,
      CAST(NULL AS BIGINT) AS check_id
    FROM (
      SELECT *, lag(freed_id) OVER at_address AS previous_freed_id, lag(malloc_id) OVER at_address AS previous_id
      FROM (
        SELECT source_path, pid, device, pool, ptr, malloc_id,
          min(free_id) OVER (PARTITION BY source_path, pid, device, pool, ptr ORDER BY malloc_id
            ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS freed_id
        FROM memscope_blocks($path, on_error => $on_error)
        WHERE malloc_id IS NOT NULL AND pool IN ('PTA', 'ATB', 'MINDSPORE')
      )
      WINDOW at_address AS (PARTITION BY source_path, pid, device, pool, ptr ORDER BY malloc_id)
    )
    WHERE previous_id IS NULL OR previous_freed_id < malloc_id
    UNION ALL
    -- Where steps begin, each with the place after it where the blocks of the step before it are looked at.
    SELECT source_path, pid, device, id, NULL, step, check_id
    FROM (
      SELECT source_path, pid, device, id, kind, step,
        least(min(CASE WHEN looks THEN id END) OVER (PARTITION BY source_path, pid, device ORDER BY id, kind
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING),
          min(CASE WHEN looks AND device IS NULL THEN id END) OVER (PARTITION BY source_path, pid ORDER BY id, kind
            ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)) AS check_id
      FROM (
        SELECT *, kind = 'check' AND (step_end OR $compat) AS looks FROM memscope_steps($path, on_error => $on_error)
      )
    )
    WHERE kind = 'open'
  )
  WINDOW device_before AS (PARTITION BY source_path, pid, device ORDER BY id ROWS UNBOUNDED PRECEDING),
    device_after AS (PARTITION BY source_path, pid, device ORDER BY id
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING),
    process_before AS (PARTITION BY source_path, pid ORDER BY id ROWS UNBOUNDED PRECEDING),
    process_after AS (PARTITION BY source_path, pid ORDER BY id ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING)
) AS leak
JOIN memscope_blocks($path, on_error => $on_error) AS b
  ON leak.source_path = b.source_path AND leak.pid = b.pid AND leak.id = b.malloc_id
WHERE leak.step IS NULL AND leak.in_step > 1 AND leak.next_check IS NOT NULL
  AND (leak.freed_id IS NULL OR leak.freed_id > leak.next_check)
