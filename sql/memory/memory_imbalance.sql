-- memory_imbalance(path, match => 'nearest', on_error => 'strict')
-- Which code makes the ranks of a role unequal? For each role and call stack, what the ranks allocate there, side by
-- side.
--
-- Parameters: path, match and on_error as in memory_events.
-- Columns: role, call_stack_id, call_stack, ranks (that allocate there), of_ranks (all of the role), min_kb and
--   mean_kb and max_kb (sums of the sizes per rank, over of_ranks, KB; a rank that allocates nothing there counts as
--   0), max_rank (the lowest rank with max_kb), excess_kb (max_kb - mean_kb, KB), max_vs_mean (max_kb divided by
--   mean_kb).
-- Most of the difference between two ranks stands at the top of excess_kb. memory_peaks compares the ranks as wholes.
WITH by_rank AS (
  SELECT role, rank_id, call_stack_id, min(call_stack) AS call_stack,
    sum(TRY_CAST(round(size_kb * 1024) AS BIGINT)) AS bytes
  FROM memory_events($path, match => $match, on_error => $on_error) WHERE size_kb > 0
  GROUP BY role, rank_id, call_stack_id
),
counted AS (
  SELECT *, max(nth) OVER (PARTITION BY role) AS of_ranks
  FROM (SELECT *, dense_rank() OVER (PARTITION BY role ORDER BY rank_id) AS nth FROM by_rank)
),
by_stack AS (
  SELECT role, call_stack_id, min(call_stack) AS call_stack, count(*) AS ranks, min(of_ranks) AS of_ranks,
    min(bytes) AS low, sum(bytes) AS total, max(bytes) AS high,
    first_value(rank_id ORDER BY bytes DESC, rank_id) AS max_rank
  FROM counted GROUP BY role, call_stack_id
)
SELECT role, call_stack_id, call_stack, ranks, of_ranks,
  CASE WHEN ranks < of_ranks THEN 0 ELSE low END / 1024.0 AS min_kb,
  total / 1024.0 / of_ranks AS mean_kb, high / 1024.0 AS max_kb, max_rank,
  (high - CAST(total AS DOUBLE) / of_ranks) / 1024.0 AS excess_kb,
  CAST(high AS DOUBLE) * of_ranks / total AS max_vs_mean
FROM by_stack
