-- memscope_driver_segments(path, min_size => 16777216, on_error => 'strict')
-- What are the large blocks of the driver for? One row for each: a segment of a pool, or a buffer of a module (HCCL
-- communicators, GE, RUNTIME, ...).
--
-- Parameters: path and on_error as in memscope_blocks; min_size, bytes, smaller blocks are left out.
-- Values: min_size integer >= 0
-- Columns: source_path, pid, device, malloc_id, malloc_ts (ns), address, bytes, owner, module (second level of the
--   owner), alloc_type (create: expandable segments are in use), page_type, holds_pool (pool of the blocks that were
--   allocated inside of it while it was held; NULL: it is no segment), pool_blocks (their number), pool_bytes (the
--   most of one of them), freed_by, free_ts (ns).
-- A communicator of HCCL takes about 401 MB once, at its creation; pools take segments of 2 MB, 20 MB or, for larger
-- blocks, of their size. page_type is normal for everything that halMemAlloc gave: the tool does not decode it there.
SELECT h.source_path, h.pid, first_value(h.device) AS device, h.malloc_id, first_value(h.malloc_ts) AS malloc_ts,
  concat('0x', lpad(to_hex(first_value(h.ptr)), 16, '0')) AS address, first_value(h.size) AS bytes,
  first_value(h.owner) AS owner, nullif(split_part(first_value(h.owner), '@', 2), '') AS module,
  first_value(h.alloc_type) AS alloc_type, first_value(h.page_type) AS page_type, min(p.pool) AS holds_pool,
  count(p.malloc_id) AS pool_blocks, max(p.size) AS pool_bytes, first_value(h.freed_by) AS freed_by,
  first_value(h.free_ts) AS free_ts
FROM (
  -- Once for each 2 MiB that it covers, to find what lies in it.
  SELECT source_path, pid, device, malloc_id, malloc_ts, ptr, size, owner, alloc_type, page_type, freed_by, free_id,
    free_ts,
    unnest(range(ptr / 2097152, ptr / 2097152 + (ptr % 2097152 + least(size, 1099511627776) - 1) / 2097152 + 1)) AS page
  FROM memscope_blocks($path, on_error => $on_error)
  WHERE pool = 'HAL' AND malloc_id IS NOT NULL AND size > 0 AND size >= $min_size
) AS h
LEFT JOIN (
  SELECT source_path, pid, device, pool, ptr, size, malloc_id, ptr / 2097152 AS page
  FROM memscope_blocks($path, on_error => $on_error)
  WHERE pool IN ('PTA', 'PTA_WORKSPACE', 'ATB', 'MINDSPORE')
) AS p
  ON h.source_path = p.source_path AND h.pid = p.pid AND h.device = p.device AND h.page = p.page AND p.ptr >= h.ptr
    AND p.ptr < h.ptr + h.size AND p.malloc_id > h.malloc_id AND (h.free_id IS NULL OR p.malloc_id < h.free_id)
GROUP BY h.source_path, h.pid, h.malloc_id
