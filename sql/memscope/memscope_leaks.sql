-- memscope_leaks(path, mark, start_index => 0, pool => 'HAL', on_error => 'strict')
-- What was allocated between two marks and is still held at a third one? The driver blocks that leak, without the
-- segments that a caching pool keeps on purpose.
--
-- Parameters: path and on_error as in memscope_blocks; mark, the exact text of an mstx mark; start_index, which of
--   these marks is the first one, counted from 0 (the next ones are the second and the third); pool, whose blocks:
--   'HAL' (the driver), 'PTA', 'ATB', 'MINDSPORE', 'HOST_PINNED' or 'PTA_WORKSPACE'.
-- Values: mark text; start_index integer >= 0;
--   pool 'HAL' or 'HOST_PINNED' or 'PTA' or 'PTA_WORKSPACE' or 'ATB' or 'MINDSPORE'
-- Columns: source_path, pid, device, pool, malloc_id, malloc_ts (ns), address, bytes, owner, py_stack, c_stack,
--   freed_by (program: it is released, but after the third mark), free_ts (ns).
-- It is an error when no device has the three marks; a device without them, when others have them, has no rows.
-- Answers better than the tool's check_leaks (see memscope_check_leaks): a driver block in which blocks of a pool were
-- allocated while it was held is a segment of that pool and no leak; marks without a device count for all devices of
-- their process; an address that is allocated again had been released, though its FREE is missing.
WITH memscope_leaks_window AS (
  -- The three marks of each device; a NULL device stands for those that have no marks of their own.
  SELECT source_path, pid, device, devices, ids[least($start_index, 2147483647) + 1] AS a,
    ids[least($start_index, 2147483647) + 2] AS b, ids[least($start_index, 2147483647) + 3] AS c
  FROM (
    SELECT source_path, pid, device, devices, array_agg(id ORDER BY id) AS ids
    FROM (
      SELECT source_path, pid, device, devices, unnest(ids) AS id
      FROM (
        SELECT source_path, pid, devices, marks['ids'] AS ids,
          unnest(CASE WHEN marks['device'] IS NULL THEN devices ELSE make_array(marks['device']) END) AS device
        FROM (
          SELECT process['source_path'] AS source_path, process['pid'] AS pid, process['devices'] AS devices,
            unnest(process['marks']) AS marks
          FROM (
            SELECT unnest((
              -- The marks of this name in all processes; where the three that are asked for are not among them, the
              -- error says which marks there are.
              SELECT CASE WHEN must(coalesce(max(marks) FILTER (WHERE name = $mark), 0) - 2 > $start_index, concat(
                  'memscope_leaks: ', CASE WHEN bool_or(name = $mark) THEN concat('start_index ', $start_index,
                    ' needs 3 marks ''', $mark, ''' from that one on, there are ',
                    max(marks) FILTER (WHERE name = $mark), ' (0 to ', max(marks) FILTER (WHERE name = $mark) - 1, ')')
                  ELSE concat('no mark ''', $mark, '''; marks there are: ', coalesce(
                    string_agg(concat(name, ' (', marks, ')'), ', ' ORDER BY place) FILTER (WHERE place <= 20), 'none'),
                    CASE WHEN count(*) > 20 THEN concat(' and ', count(*) - 20, ' more') END) END))
                THEN first_value(processes) FILTER (WHERE name = $mark) END
              FROM (
                SELECT name, max(marks) AS marks, row_number() OVER (ORDER BY max(marks) DESC, name) AS place,
                  array_agg(named_struct('source_path', source_path, 'pid', pid, 'devices', devices,
                    'marks', of_device)) AS processes
                FROM (
                  SELECT source_path, pid, name, array_agg(device) AS devices,
                    array_agg(named_struct('device', device, 'ids', ids)) AS of_device,
                    coalesce(sum(marks) FILTER (WHERE device IS NULL), 0)
                      + coalesce(max(marks) FILTER (WHERE device IS NOT NULL), 0) AS marks
                  FROM (
                    SELECT source_path, pid, device, coalesce(name, '') AS name, count(*) AS marks,
                      array_agg(id) FILTER (WHERE name = $mark) AS ids
                    FROM memscope_events($path, on_error => $on_error) WHERE event = 'MSTX' AND event_type = 'Mark'
                    GROUP BY source_path, pid, device, name
                  )
                  GROUP BY source_path, pid, name
                )
                GROUP BY name
              )
            )) AS process
          )
        )
      )
    )
    GROUP BY source_path, pid, device, devices
  )
)
SELECT leak.source_path, leak.pid, first_value(leak.device) AS device, first_value(leak.pool) AS pool, leak.malloc_id,
  first_value(leak.malloc_ts) AS malloc_ts,
  concat('0x', lpad(to_hex(first_value(leak.ptr)), 16, '0')) AS address, first_value(leak.size) AS bytes,
  first_value(leak.owner) AS owner, first_value(leak.py_stack) AS py_stack, first_value(leak.c_stack) AS c_stack,
  first_value(leak.freed_by) AS freed_by, first_value(leak.free_ts) AS free_ts
FROM (
  -- A driver block once for each 64 MiB that it covers, to find what lies in it; a larger one than 1 TiB is damaged.
  SELECT b.*, unnest(CASE WHEN b.pool = 'HAL' THEN range(b.ptr / 67108864,
      b.ptr / 67108864 + (b.ptr % 67108864 + least(b.size, 1099511627776) - 1) / 67108864 + 1)
    ELSE make_array(0) END) AS page
  FROM (
    SELECT source_path, pid, device, pool, malloc_id, malloc_ts, ptr, size, owner, py_stack, c_stack, freed_by, free_id,
      free_ts, lead(malloc_id) OVER (PARTITION BY source_path, pid, device, ptr ORDER BY malloc_id) AS again_id
    FROM memscope_blocks($path, on_error => $on_error)
    WHERE pool = $pool AND malloc_id IS NOT NULL AND size > 0
  ) AS b JOIN memscope_leaks_window AS w ON b.source_path = w.source_path AND b.pid = w.pid
  WHERE (b.device = w.device OR w.device IS NULL AND NOT coalesce(array_has(w.devices, b.device), false))
    AND b.malloc_id >= w.a AND b.malloc_id <= w.b AND w.c IS NOT NULL
    AND (b.free_id IS NULL OR b.free_id > w.c) AND (b.again_id IS NULL OR b.again_id > w.c)
) AS leak
LEFT JOIN (
  SELECT source_path, pid, device, ptr, malloc_id, ptr / 67108864 AS page
  FROM memscope_blocks($path, on_error => $on_error)
  WHERE pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE')
) AS inside
  ON leak.source_path = inside.source_path AND leak.pid = inside.pid AND leak.device = inside.device
    AND leak.page = inside.page AND leak.pool = 'HAL' AND inside.ptr >= leak.ptr AND inside.ptr < leak.ptr + leak.size
    AND inside.malloc_id > leak.malloc_id AND (leak.free_id IS NULL OR inside.malloc_id < leak.free_id)
GROUP BY leak.source_path, leak.pid, leak.malloc_id
HAVING count(inside.malloc_id) = 0
