-- memory_diff(path_a, path_b, per => 'stack', match => 'nearest', on_error => 'strict')
-- What allocates more in one recording than in another: step against step, run against run? One row per call stack.
--
-- Parameters: path_a and path_b as path, match and on_error as in memory_events; per, 'stack': all roles and ranks
--   together, 'role': each role for itself, 'rank': each role and rank for itself.
-- Values: per 'stack' or 'role' or 'rank'
-- Columns: role, rank_id (NULL when per does not tell them apart), call_stack_id, call_stack, allocations_a,
--   allocations_b, kb_a and kb_b (sums of the sizes, KB; NULL when the call stack is not there), diff_kb (kb_b - kb_a
--   with 0 for what is not there, KB).
-- The same code in another version of a package has other line numbers, so it is another call stack.
WITH side AS (
  SELECT role, rank_id, call_stack_id, call_stack, size_kb, true AS first
  FROM memory_events($path_a, match => $match, on_error => $on_error) WHERE size_kb > 0
  UNION ALL
  SELECT role, rank_id, call_stack_id, call_stack, size_kb, false AS first
  FROM memory_events($path_b, match => $match, on_error => $on_error) WHERE size_kb > 0
),
keyed AS (
  SELECT CASE WHEN one_of('per', $per, 'stack', 'role', 'rank') <> 'stack' THEN role END AS role,
    CASE WHEN $per = 'rank' THEN rank_id END AS rank_id, call_stack_id, call_stack, first,
    TRY_CAST(round(size_kb * 1024) AS BIGINT) AS bytes
  FROM side
)
SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack,
  nullif(count(*) FILTER (WHERE first), 0) AS allocations_a,
  nullif(count(*) FILTER (WHERE NOT first), 0) AS allocations_b,
  sum(bytes) FILTER (WHERE first) / 1024.0 AS kb_a, sum(bytes) FILTER (WHERE NOT first) / 1024.0 AS kb_b,
  sum(CASE WHEN first THEN -bytes ELSE bytes END) / 1024.0 AS diff_kb
FROM keyed GROUP BY role, rank_id, call_stack_id
