-- memscope_compare_by_occurrence(base, target, on_error => 'strict')
-- Which operators use more memory in one run than in another? One row for the n-th call of an operator in both runs.
--
-- Parameters: base and target, as path in memscope_events, one run each; on_error as there.
-- Columns: device, name, call_no (number of the call of this operator on this device, from 1), base_id and target_id
--   (id of its start), base_alloc and target_alloc and diff_alloc (bytes that the operator allocated itself),
--   base_freed and target_freed (bytes released in it), diff_net (difference of allocated less released), base_peak
--   and target_peak and diff_peak (most bytes in use in its pools). What one run does not have is NULL on its side
--   and counts 0 in diff_alloc and diff_net.
-- Calls are counted, not aligned: an operator that is called once more in the middle shifts no other operator, but all
-- later calls of its own. memscope_compare aligns both runs as the tool does. The figures are what happened between
-- start and end in the thread of the operator, in the innermost one that was open; the tool takes the size of whatever
-- the pool did next.
SELECT device, name, call_no, max(id) FILTER (WHERE NOT in_target) AS base_id,
  max(id) FILTER (WHERE in_target) AS target_id, max(alloc) FILTER (WHERE NOT in_target) AS base_alloc,
  max(alloc) FILTER (WHERE in_target) AS target_alloc,
  sum(CASE WHEN in_target THEN alloc ELSE -alloc END) AS diff_alloc,
  max(freed) FILTER (WHERE NOT in_target) AS base_freed, max(freed) FILTER (WHERE in_target) AS target_freed,
  sum(CASE WHEN in_target THEN alloc - freed ELSE freed - alloc END) AS diff_net,
  max(peak) FILTER (WHERE NOT in_target) AS base_peak, max(peak) FILTER (WHERE in_target) AS target_peak,
  max(peak) FILTER (WHERE in_target) - max(peak) FILTER (WHERE NOT in_target) AS diff_peak
FROM (
  SELECT *, CAST(row_number() OVER (PARTITION BY in_target, device, name ORDER BY source_path, pid, id) AS BIGINT)
    AS call_no
  FROM (
    SELECT in_target, source_path, pid, first_value(device) FILTER (WHERE opens) AS device, start_id AS id,
      first_value(name) FILTER (WHERE opens) AS name,
      coalesce(sum(size) FILTER (WHERE event = 'MALLOC'), 0) AS alloc,
      coalesce(sum(size) FILTER (WHERE event = 'FREE'), 0) AS freed, max(pool_used) AS peak
    FROM (
      SELECT *, running_max(CASE WHEN opens THEN id END) OVER (PARTITION BY in_target, source_path, pid, tid, depth
        ORDER BY id) AS start_id
      FROM (
        -- How many operators are open. What ends without a beginning, because the recording began in it, was none.
        SELECT in_target, source_path, pid, tid, device, id, event, name, size, pool_used, opens,
          depth - least(0, running_min(depth) OVER (PARTITION BY in_target, source_path, pid, tid ORDER BY id))
            AS depth
        FROM (
          SELECT *, running_sum(CASE WHEN opens THEN 1 WHEN event = 'OP_LAUNCH' THEN -1 ELSE 0 END) OVER (
            PARTITION BY in_target, source_path, pid, tid ORDER BY id) AS depth
          FROM (
            SELECT *, event_type IN ('ATEN_START', 'ATB_START') AS opens
            FROM (
              SELECT false AS in_target, source_path, pid, tid, device, id, event, event_type, pool, shadow, name, size,
                pool_used
              FROM memscope_events($base, on_error => $on_error)
              UNION ALL
              SELECT true, source_path, pid, tid, device, id, event, event_type, pool, shadow, name, size, pool_used
              FROM memscope_events($target, on_error => $on_error)
            )
            WHERE device IS NOT NULL AND (event = 'OP_LAUNCH'
              OR event IN ('MALLOC', 'FREE') AND NOT shadow AND pool IN ('PTA', 'ATB', 'MINDSPORE'))
          )
        )
      )
      WHERE depth > 0 AND (opens OR event <> 'OP_LAUNCH')
    )
    GROUP BY in_target, source_path, pid, start_id
  )
)
GROUP BY device, name, call_no
