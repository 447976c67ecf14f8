-- memscope_growth_by_stack(path, mark => NULL, on_error => 'strict')
-- Which places in the code hold more and more at the end of each step? Leaks found without marks of your own.
--
-- Parameters: path and on_error as in memscope_blocks; mark as in memscope_held_at_marks, to look at marks or
--   snapshots instead of the ends of steps.
-- Values: mark text or NULL
-- Columns: source_path, pid, device, pool, site (first frame of the Python stack, else the owner, else 'unknown'),
--   passes (ends of steps at which it holds memory), first_pass and last_pass (numbers of them), first_bytes,
--   last_bytes, max_bytes, grown_bytes (last_bytes - first_bytes), growing (more at each of them than at the one
--   before), blocks (at the last one).
-- Only places that hold more at the last pass than at their first one. growing is the strong signal; what comes once,
-- such as the state of an optimizer, is not. Blocks of the pools only; the driver's are in memscope_driver_segments.
SELECT source_path, pid, device, pool, site, count(*) AS passes, min(pass) AS first_pass, max(pass) AS last_pass,
  first_value(bytes ORDER BY pass) AS first_bytes, last_value(bytes ORDER BY pass) AS last_bytes,
  max(bytes) AS max_bytes, last_value(bytes ORDER BY pass) - first_value(bytes ORDER BY pass) AS grown_bytes,
  count(*) > 1 AND bool_and(grown IS NULL OR grown > 0) AS growing, last_value(blocks ORDER BY pass) AS blocks
FROM (
  SELECT *, bytes - lag(bytes) OVER (PARTITION BY source_path, pid, device, pool, site ORDER BY pass) AS grown
  FROM (
    SELECT source_path, pid, device, pool, coalesce(py_stack_top, owner, 'unknown') AS site, pass,
      sum(blocks) AS blocks, sum(bytes) AS bytes
    FROM memscope_held_at_marks($path, mark => $mark, stacks => true, on_error => $on_error)
    WHERE pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE')
    GROUP BY source_path, pid, device, pool, coalesce(py_stack_top, owner, 'unknown'), pass
  )
)
GROUP BY source_path, pid, device, pool, site
HAVING last_value(bytes ORDER BY pass) > first_value(bytes ORDER BY pass)
