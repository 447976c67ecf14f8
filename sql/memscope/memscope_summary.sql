-- memscope_summary(path, on_error => 'strict')
-- What is in these files, and which questions can they answer? One row per process and device: run it first.
--
-- Parameters: path and on_error as in memscope_events.
-- Columns: source_path, pid, device (NULL: events without a device, such as the start and the end of the recording),
--   first_ts and last_ts (ns), seconds, events, then counts of them: mallocs, frees (by the program), tool_frees
--   (made up by the tool: the program never released the block), accesses (none: memscope_inefficient finds nothing),
--   operators, kernels, marks (mstx marks and ranges), steps (ends of msmemscope.step()), snapshots, oom_records,
--   with_owner, with_py_stack, with_c_stack.
-- mallocs without tool_frees, and far more of them than frees, are a sign of 26.0 or 26.1; neither tool_frees nor a
-- STOP_TRACE at the end is one of a process that was killed (see memscope_unaccounted).
SELECT source_path, pid, device, min(ts_ns) AS first_ts, max(ts_ns) AS last_ts,
  (max(ts_ns) - min(ts_ns)) / 1e9 AS seconds, count(*) AS events,
  count(*) FILTER (WHERE event = 'MALLOC') AS mallocs,
  count(*) FILTER (WHERE event = 'FREE' AND NOT shadow) AS frees,
  count(*) FILTER (WHERE event = 'FREE' AND shadow) AS tool_frees,
  count(*) FILTER (WHERE event = 'ACCESS') AS accesses,
  count(*) FILTER (WHERE event_type IN ('ATEN_START', 'ATB_START')) AS operators,
  count(*) FILTER (WHERE event_type IN ('KERNEL_LAUNCH', 'KERNEL_START', 'KERNEL_EXECUTE_START')) AS kernels,
  count(*) FILTER (WHERE event_type IN ('Mark', 'Range_start')) AS marks,
  count(*) FILTER (WHERE event = 'SYSTEM' AND event_type = 'STEP') AS steps,
  count(*) FILTER (WHERE event = 'SNAPSHOT') AS snapshots,
  count(*) FILTER (WHERE event = 'OOM_DETAIL') AS oom_records,
  count(owner) AS with_owner, count(py_stack) AS with_py_stack, count(c_stack) AS with_c_stack
FROM memscope_events($path, on_error => $on_error)
GROUP BY source_path, pid, device
