-- memory_by_stack(path, frame => 'top', match => 'nearest', on_error => 'strict')
-- Which places in the code allocate most? For each role and rank, the allocations of each frame.
--
-- Parameters: path, match and on_error as in memory_events; frame, the frame of a call stack that it counts for: 'top'
--   (the first, as call_stack_top: the innermost in a profile of torch), 'leaf' (the last), 'user' (the first one of
--   the user's own code, see stack_user_frame), 'stack' (all frames: the whole call stack).
-- Values: frame 'top' or 'leaf' or 'user' or 'stack' or integer
-- Columns: role, rank_id, frame (empty without such a frame), stacks (different call stacks), allocations,
--   allocated_kb (the sum of the sizes, KB), largest_kb (KB), not_released, not_released_kb (KB), share (of
--   allocated_kb of the rank, 0 to 1).
-- Each different call stack is taken apart once per rank, not once per allocation.
WITH by_stack AS (
  SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack, count(*) AS allocations, sum(bytes) AS bytes,
    max(size_kb) AS largest_kb, count(*) FILTER (WHERE NOT released) AS not_released,
    coalesce(sum(bytes) FILTER (WHERE NOT released), 0) AS not_released_bytes
  FROM (
    SELECT role, rank_id, call_stack_id, call_stack, size_kb, released, TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes
    FROM memory_events($path, match => $match, on_error => $on_error) WHERE size_kb > 0
  )
  GROUP BY role, rank_id, call_stack_id
),
by_frame AS (
  SELECT role, rank_id, coalesce(stack_frame(call_stack, $frame), '') AS frame, count(*) AS stacks,
    sum(allocations) AS allocations, sum(bytes) AS bytes, max(largest_kb) AS largest_kb,
    sum(not_released) AS not_released, sum(not_released_bytes) AS not_released_bytes
  FROM by_stack GROUP BY role, rank_id, coalesce(stack_frame(call_stack, $frame), '')
)
SELECT role, rank_id, frame, stacks, allocations, bytes / 1024.0 AS allocated_kb, largest_kb, not_released,
  not_released_bytes / 1024.0 AS not_released_kb,
  CAST(bytes AS DOUBLE) / sum(bytes) OVER (PARTITION BY role, rank_id) AS share
FROM by_frame
