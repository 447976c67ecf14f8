-- memscope_inefficient(path, idle_threshold => 3000, min_size => 0, kind => 'all', compat => false, on_error => 'strict')
-- Which blocks are allocated too early, released too late, or lie idle for long? One row per block that does.
--
-- Parameters: path and on_error as in memscope_events; idle_threshold, how many API calls between two accesses are
--   idle; min_size, bytes, smaller blocks are left out; kind, one of the three kinds alone, or 'all'; compat, true:
--   the answer of the tool's offline check_inefficient, in which a FREE that it made up itself counts, and blocks of
--   the workspace pool where they are printed as PTA; false: that of its analysis while it records.
-- Values: idle_threshold integer >= 0; min_size integer >= 0;
--   kind 'all' or 'early_allocation' or 'late_deallocation' or 'temporary_idleness'
-- Columns: source_path, pid, device, pool, malloc_id, malloc_ts (ns), bytes, inefficient (kinds, in the order in
--   which they were found, with commas between), early_ns (from the allocation to the first access, when that is too
--   early), late_ns (from the last access to the release, when that is too late), wasted_byte_seconds (bytes times
--   both), owner, py_stack.
-- An API call is one operator, or one allocation, access or release outside of any. early_allocation: something was
-- released between the allocation and the first access by another call. late_deallocation: something was allocated
-- between the last access and the release. temporary_idleness: more than idle_threshold calls between two accesses.
-- Nearly every block of a forward pass is one of the first two: ORDER BY wasted_byte_seconds. Needs recorded accesses
-- (--events=...,access); memscope_summary tells whether there are any. The tool writes its answer into its input; this
-- does not.
SELECT b.source_path, b.pid, b.device, b.pool, b.malloc_id, b.malloc_ts, b.size AS bytes, found.inefficient,
  CASE WHEN found.early THEN b.first_access_ts - b.malloc_ts END AS early_ns,
  CASE WHEN found.late THEN b.free_ts - b.last_access_ts END AS late_ns,
  b.size * (CASE WHEN found.early THEN b.first_access_ts - b.malloc_ts ELSE 0 END
    + CASE WHEN found.late THEN coalesce(b.free_ts - b.last_access_ts, 0) ELSE 0 END) / 1e9 AS wasted_byte_seconds,
  b.owner, b.py_stack
FROM (
  SELECT source_path, pid, allocation_id, early_at IS NOT NULL AS early, late_at IS NOT NULL AS late,
    regexp_replace(array_to_string(array_sort(make_array(
      CASE WHEN idle_at IS NOT NULL THEN concat(lpad(CAST(idle_at AS VARCHAR), 20, '0'), '1temporary_idleness') END,
      CASE WHEN early_at IS NOT NULL THEN concat(lpad(CAST(early_at AS VARCHAR), 20, '0'), '2early_allocation') END,
      CASE WHEN late_at IS NOT NULL THEN concat(lpad(CAST(late_at AS VARCHAR), 20, '0'), '3late_deallocation') END
    )), ','), '\d{21}', '', 'g') AS inefficient
  FROM (
    SELECT source_path, pid, allocation_id,
      CASE WHEN one_of('kind', $kind, 'all', 'early_allocation', 'late_deallocation', 'temporary_idleness')
          IN ('all', 'temporary_idleness') THEN idle_at END AS idle_at,
      CASE WHEN $kind IN ('all', 'early_allocation') AND malloc_api < freed_api
        AND freed_api < first_access_api THEN early_at END AS early_at,
      CASE WHEN $kind IN ('all', 'late_deallocation') THEN late_at END AS late_at
    FROM (
      SELECT source_path, pid, allocation_id, min(api) AS malloc_api,
        min(CASE WHEN what = 1 AND api > previous / 4 THEN api END) AS first_access_api,
        min(CASE WHEN what = 1 AND api > previous / 4 THEN freed_api END) AS freed_api,
        min(CASE WHEN what = 1 AND api > previous / 4 THEN id END) AS early_at,
        min(CASE WHEN what = 1 AND previous % 4 = 1 AND api - previous / 4 > $idle_threshold
          AND freed_api IS NOT NULL THEN id END) AS idle_at,
        min(CASE WHEN what = 2 AND previous % 4 = 1 AND previous / 4 < malloc_api AND malloc_api < api THEN id END)
          AS late_at
      FROM (
        SELECT source_path, pid, allocation_id, id, what, api, latest / 4294967296 AS freed_api,
          latest % 4294967296 AS malloc_api,
          -- The event before of the same block, which its own first one, the MALLOC, does not ask for. Few large
          -- partitions are faster than one for each block.
          lag(api * 4 + what) OVER (PARTITION BY source_path, pid, allocation_id % 8 ORDER BY allocation_id, id)
            AS previous
        FROM (
          -- Of both numbers those when the call is complete, which is where the next one closes.
          SELECT source_path, pid, allocation_id, id, what, api,
            next_known(CASE WHEN closes THEN freed_api * 4294967296 + malloc_api END) OVER in_order AS latest
          FROM (
            -- Numbers of the latest complete calls that released and that allocated something.
            SELECT source_path, pid, atb, allocation_id, id, what, api, closes,
              coalesce(running_max(CASE WHEN closes AND free_call = call THEN api END) OVER in_order, 0) AS freed_api,
              coalesce(running_max(CASE WHEN closes AND malloc_call = call THEN api END) OVER in_order, 0) AS malloc_api
            FROM (
              SELECT source_path, pid, atb, allocation_id, id, what, api, closes, call,
                running_max(CASE WHEN what = 2 THEN call END) OVER in_order AS free_call,
                running_max(CASE WHEN what = 0 THEN call END) OVER in_order AS malloc_call
              FROM (
                -- Its number, and that of the complete call that it is part of: operators may be nested.
                SELECT source_path, pid, atb, allocation_id, id, what, closes, counts / 4294967296 AS api,
                  counts % 4294967296 - CASE WHEN closes THEN 1 ELSE 0 END AS call
                FROM (
                  -- counts: how many calls began, times 2^32, and were complete up to here
                  SELECT source_path, pid, atb, allocation_id, id, what, closes,
                    running_sum(CASE WHEN what = 3 OR what < 3 AND closes THEN 4294967296 ELSE 0 END
                      + CASE WHEN closes THEN 1 ELSE 0 END) OVER in_order AS counts
                  FROM (
                    SELECT source_path, pid, atb, allocation_id, id, what,
                      what = 4 OR what < 3 AND coalesce(operator % 2, 0) = 0 AS closes
                    FROM (
                      -- operator: the latest start (odd) or end of one
                      SELECT source_path, pid, atb, allocation_id, id, what,
                        running_max(CASE WHEN what >= 3 THEN id * 2 + 4 - what END) OVER in_order AS operator
                      FROM (
                        -- what: 0 MALLOC, 1 ACCESS, 2 FREE, 3 and 4 start and end of an operator
                        SELECT source_path, pid, id, allocation_id,
                          CASE event WHEN 'MALLOC' THEN 0 WHEN 'ACCESS' THEN 1 WHEN 'FREE' THEN 2
                            ELSE CASE WHEN event_type IN ('ATEN_START', 'ATB_START') THEN 3 ELSE 4 END END AS what,
                          CASE event WHEN 'OP_LAUNCH' THEN event_type IN ('ATB_START', 'ATB_END') WHEN 'ACCESS'
                            THEN pool IS DISTINCT FROM 'PTA' ELSE event_type <> 'PTA' END AS atb
                        FROM memscope_events($path, on_error => $on_error)
                        WHERE event IN ('OP_LAUNCH', 'ACCESS') OR event IN ('MALLOC', 'FREE')
                          AND event_type IN ('PTA', 'ATB') AND ($compat OR NOT shadow AND pool <> 'PTA_WORKSPACE')
                      )
                      WINDOW in_order AS (PARTITION BY source_path, pid, atb ORDER BY id)
                    )
                  )
                  WINDOW in_order AS (PARTITION BY source_path, pid, atb ORDER BY id)
                )
              )
              WINDOW in_order AS (PARTITION BY source_path, pid, atb ORDER BY id)
            )
            WINDOW in_order AS (PARTITION BY source_path, pid, atb ORDER BY id)
          )
          WINDOW in_order AS (PARTITION BY source_path, pid, atb ORDER BY id)
        )
        WHERE what < 3 AND allocation_id IS NOT NULL
      )
      GROUP BY source_path, pid, allocation_id
      HAVING min(api * 4 + what) % 4 = 0
    )
  )
  WHERE idle_at IS NOT NULL OR early_at IS NOT NULL OR late_at IS NOT NULL
) AS found
JOIN memscope_blocks($path, on_error => $on_error) AS b
  ON found.source_path = b.source_path AND found.pid = b.pid AND found.allocation_id = b.allocation_id
WHERE b.size >= $min_size
