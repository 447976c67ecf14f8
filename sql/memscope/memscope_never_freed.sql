-- memscope_never_freed(path, stacks => false, on_error => 'strict')
-- What did the program never release? One row per process, device, pool, owner and kind.
--
-- Parameters: path and on_error as in memscope_blocks; stacks, true: the first frame of the Python stack tells blocks
--   of one owner apart.
-- Columns: source_path, pid, device, pool, kind, owner, category (see memscope_owners), py_stack_top (NULL unless
--   stacks), blocks, bytes, first_ts, last_ts (allocation of the first and the last one, ns).
-- kind: 'held', nothing released it; 'segment', a block of the driver in which blocks of a pool lie, which the pool
-- keeps on purpose; 'reused', its address was allocated again later, so its FREE is missing. A FREE that the tool made
-- up at exit is no release. Weights and caches are held to the end on purpose: what grows is in
-- memscope_growth_by_stack. After a kill these blocks are not in the file at all: see memscope_unaccounted. HAL and
-- the other pools are two views of the same memory: never add them up.
SELECT source_path, pid, device, pool, kind, owner, category, py_stack_top, count(*) AS blocks, sum(size) AS bytes,
  min(malloc_ts) AS first_ts, max(malloc_ts) AS last_ts
FROM (
  SELECT n.source_path, n.pid, n.malloc_id, first_value(n.device) AS device, first_value(n.pool) AS pool,
    first_value(n.owner) AS owner, first_value(n.category) AS category, first_value(n.site) AS py_stack_top,
    first_value(n.size) AS size, first_value(n.malloc_ts) AS malloc_ts,
    CASE WHEN count(i.malloc_id) FILTER (WHERE i.pool = n.pool) > 0 THEN 'reused'
      WHEN count(i.malloc_id) FILTER (WHERE i.pool <> n.pool) > 0 THEN 'segment' ELSE 'held' END AS kind
  FROM (
    -- A driver block once for each 2 MiB that it covers, to find what lies in it.
    SELECT source_path, pid, device, pool, malloc_id, malloc_ts, ptr, size, owner, category,
      CASE WHEN $stacks THEN py_stack_top END AS site,
      unnest(CASE WHEN pool = 'HAL' AND size > 0 THEN range(ptr / 2097152,
        ptr / 2097152 + (ptr % 2097152 + least(size, 1099511627776) - 1) / 2097152 + 1)
        ELSE make_array(ptr / 2097152) END) AS page
    FROM memscope_owners($path, on_error => $on_error)
    WHERE freed_by <> 'program' AND malloc_id IS NOT NULL
  ) AS n
  LEFT JOIN (
    SELECT source_path, pid, device, pool, ptr, malloc_id, ptr / 2097152 AS page
    FROM memscope_blocks($path, on_error => $on_error)
  ) AS i
    ON n.source_path = i.source_path AND n.pid = i.pid AND n.device = i.device AND n.page = i.page
      AND i.malloc_id > n.malloc_id
      AND (i.ptr = n.ptr AND i.pool = n.pool OR n.pool = 'HAL' AND i.ptr >= n.ptr AND i.ptr < n.ptr + n.size
        AND i.pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE'))
  GROUP BY n.source_path, n.pid, n.malloc_id
)
GROUP BY source_path, pid, device, pool, kind, owner, category, py_stack_top
