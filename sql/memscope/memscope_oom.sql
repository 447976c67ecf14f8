-- memscope_oom(path, on_error => 'strict')
-- What did the tool record when memory ran out? One row for each failed request, and one for each block in its lists.
--
-- Parameters: path and on_error as in memscope_events.
-- Columns: source_path, pid, oom_no (number of the failed request in its process, from 1), list ('request', 'recent':
--   the last blocks that were allocated, 'largest'), place (in the list, from 1), device (of the request only), pool,
--   address, bytes (of the request: what was asked for), ts_ns (of a block: its allocation; ns), counted_twice (a
--   block of the driver in which blocks of the same list lie: the tool mixes both, so sums count these bytes twice),
--   func (driver function that failed), ret (what it returned), py_stack, c_stack (of a block: those of its
--   allocation).
-- A second failure within two seconds gets no lists. memscope_oom_contents has everything that was alive.
SELECT source_path, pid, oom_no, list,
  CASE WHEN list <> 'request'
    THEN CAST(row_number() OVER (PARTITION BY source_path, pid, oom_no, list ORDER BY id) AS BIGINT) END AS place,
  device, oom_pool AS pool,
  CASE WHEN oom_ptr IS NOT NULL THEN concat('0x', lpad(to_hex(oom_ptr), 16, '0')) END AS address, bytes,
  ts_ns,
  CASE WHEN list <> 'request' THEN oom_pool = 'HAL' AND coalesce(min(pool_ptr) OVER (
      PARTITION BY source_path, pid, oom_no, list ORDER BY oom_ptr, oom_pool <> 'HAL'
      ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) < oom_ptr + bytes, false) END AS counted_twice,
  oom_func AS func, oom_ret AS ret, py_stack, c_stack
FROM (
  SELECT source_path, pid, id, device, oom_pool, oom_ptr, oom_func, oom_ret, py_stack, c_stack,
    CASE event_type WHEN 'OOM_TRIGGER' THEN 'request' WHEN 'OOM_RECENT_ALLOC' THEN 'recent' ELSE 'largest' END AS list,
    CASE WHEN event_type = 'OOM_TRIGGER' THEN oom_request ELSE size END AS bytes,
    CASE WHEN event_type = 'OOM_TRIGGER' THEN ts_ns ELSE oom_alloc_ts END AS ts_ns,
    CASE WHEN oom_pool <> 'HAL' THEN oom_ptr END AS pool_ptr,
    count(*) FILTER (WHERE event_type = 'OOM_TRIGGER') OVER (PARTITION BY source_path, pid ORDER BY id
      ROWS UNBOUNDED PRECEDING) AS oom_no
  FROM memscope_events($path, on_error => $on_error)
  WHERE event = 'OOM_DETAIL'
)
