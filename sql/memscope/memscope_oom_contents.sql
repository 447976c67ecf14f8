-- memscope_oom_contents(path, stacks => false, on_error => 'strict')
-- Who held memory when a request failed? For each failed request everything that was alive, not only the first blocks
-- of the tool's lists, by owner.
--
-- Parameters: path and on_error as in memscope_blocks; stacks, true: the first frame of the Python stack tells blocks
--   of one owner apart.
-- Columns: source_path, pid, device, oom_no (number of the failed request in its process, from 1), oom_ts (ns),
--   request (bytes that were asked for), pool, owner, category (see memscope_owners), py_stack_top (NULL unless
--   stacks), blocks, bytes, largest (bytes).
-- Needs a file of a process that exited: a killed one leaves out what was alive. Blocks of all devices of the process
-- when the request names none, else of its device. HAL and the other pools are two views of the same memory: never add
-- them up.
SELECT o.source_path, o.pid, b.device, o.oom_no, o.ts_ns AS oom_ts, o.oom_request AS request, b.pool, b.owner,
  b.category, b.py_stack_top, count(*) AS blocks, sum(b.size) AS bytes, max(b.size) AS largest
FROM (
  SELECT source_path, pid, device, id, ts_ns, oom_request,
    CAST(row_number() OVER (PARTITION BY source_path, pid ORDER BY id) AS BIGINT) AS oom_no
  FROM memscope_events($path, on_error => $on_error)
  WHERE event = 'OOM_DETAIL' AND event_type = 'OOM_TRIGGER'
) AS o JOIN (
  SELECT source_path, pid, device, pool, owner, category, CASE WHEN $stacks THEN py_stack_top END AS py_stack_top, size,
    malloc_id, free_id
  FROM memscope_owners($path, on_error => $on_error)
) AS b ON o.source_path = b.source_path AND o.pid = b.pid
WHERE (o.device IS NULL OR o.device = b.device) AND b.malloc_id < o.id AND (b.free_id IS NULL OR b.free_id > o.id)
GROUP BY o.source_path, o.pid, b.device, o.oom_no, o.ts_ns, o.oom_request, b.pool, b.owner, b.category, b.py_stack_top
