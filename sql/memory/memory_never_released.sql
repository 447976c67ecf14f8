-- memory_never_released(path, match => 'nearest', on_error => 'strict')
-- What was allocated and not released inside the recording? One row per role, rank and call stack: where to look for
-- a leak first.
--
-- Parameters: path, match and on_error as in memory_events.
-- Columns: role, rank_id, call_stack_id, call_stack, allocations, kept_kb (KB), first_time_ns, last_time_ns.
-- Weights and caches are kept on purpose: a leak is a stack whose kept_kb grows from step to step.
SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack, count(*) AS allocations, sum(size_kb) AS kept_kb,
  min(start_time_ns) AS first_time_ns, max(start_time_ns) AS last_time_ns
FROM memory_events($path, match => $match, on_error => $on_error)
WHERE NOT released AND size_kb > 0
GROUP BY role, rank_id, call_stack_id
