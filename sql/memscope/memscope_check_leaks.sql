-- memscope_check_leaks(path, mark, start_index => 0, on_error => 'strict')
-- What does the tool's own check_leaks report? The driver blocks that were allocated between the first and the second
-- of three marks and not released up to the third.
--
-- Parameters: path and on_error as in memscope_events; mark, the exact text of the mark; start_index, which mark of a
--   device is the first one, counted from 0 (the next ones are the second and the third).
-- Values: mark text; start_index integer >= 0
-- Columns: source_path, pid, device, event_id (of the MALLOC), address (as the tool prints it), bytes, mb (MiB),
--   owner, py_stack.
-- The blocks are those of the tool; most of them usually are segments that a caching pool keeps on purpose, so ask
-- memscope_leaks first. Different on purpose: all processes, devices and files at once, also databases; bytes, owner
-- and stack; each process for itself, where several share a file; a device with too few marks has no rows when others
-- have them; when none has them, that is an error.
SELECT source_path, pid, device, id AS event_id, concat('0x', lpad(to_hex(ptr), 16, '0')) AS address, size AS bytes,
  size / 1048576.0 AS mb, owner, py_stack
FROM (
  SELECT *, min(CASE WHEN event = 'FREE' THEN id END) OVER (PARTITION BY source_path, pid, device, ptr ORDER BY id
    ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS freed_at
  FROM (
    SELECT *, max(CASE WHEN mark_no = $start_index THEN id END) OVER of_device AS a,
      max(CASE WHEN mark_no = $start_index + 1 THEN id END) OVER of_device AS b,
      max(CASE WHEN mark_no = $start_index + 2 THEN id END) OVER of_device AS c
    FROM (
      SELECT source_path, pid, device, id, event, ptr, size, owner, py_stack,
        CASE WHEN event = 'MSTX' THEN row_number() OVER (PARTITION BY source_path, pid, device, event ORDER BY id) - 1
          END AS mark_no
      FROM memscope_events($path, on_error => $on_error)
      WHERE device IS NOT NULL AND (event = 'MSTX' AND event_type = 'Mark' AND name = $mark
        OR event IN ('MALLOC', 'FREE') AND event_type = 'HAL')
    )
    WINDOW of_device AS (PARTITION BY source_path, pid, device)
  )
  WHERE mark_no IS NULL AND id >= a AND id <= c
)
WHERE event = 'MALLOC' AND id <= b AND freed_at IS NULL AND
  -- The marks that there are, if the three that are asked for are not among them.
  (
    SELECT must(coalesce(max(marks) FILTER (WHERE name = $mark), 0) - 2 > $start_index, concat('memscope_check_leaks: ',
      CASE WHEN bool_or(name = $mark) THEN concat('start_index ', $start_index, ' needs 3 marks ''', $mark,
        ''' from that one on, there are ', max(marks) FILTER (WHERE name = $mark), ' (0 to ',
        max(marks) FILTER (WHERE name = $mark) - 1, ')')
        ELSE concat('no mark ''', $mark, ''' that has a device; marks there are: ',
          coalesce(string_agg(concat(name, ' (', marks, ')'), ', ' ORDER BY place) FILTER (WHERE place <= 20), 'none'),
          CASE WHEN count(*) > 20 THEN concat(' and ', count(*) - 20, ' more') END) END))
    FROM (
      SELECT name, max(marks) AS marks, row_number() OVER (ORDER BY max(marks) DESC, name) AS place
      FROM (
        SELECT source_path, pid, device, coalesce(name, '') AS name, count(*) AS marks
        FROM memscope_events($path, on_error => $on_error)
        WHERE event = 'MSTX' AND event_type = 'Mark' AND device IS NOT NULL
        GROUP BY source_path, pid, device, name
      )
      GROUP BY name
    )
  )
