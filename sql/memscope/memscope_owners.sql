-- memscope_owners(path, on_error => 'strict')
-- What is each block for? The blocks, with one category for the owners of all versions of the tool.
--
-- Parameters: path and on_error as in memscope_blocks.
-- Columns: those of memscope_blocks, category (weights, gradients, optimizer, activations, kv_cache,
--   all_gather_buffer, graph_pool, profile_or_warmup, operator_temporaries, driver:MODULE for blocks of the driver,
--   such as driver:HCCL, other, unlabelled).
-- Owners are text with levels that vary, and whoever labels can write anything: where this does not fit, group by
-- owner, or map it with a CASE or a table of your own.
SELECT *,
  CASE WHEN owner LIKE 'CANN@%' THEN concat('driver:', split_part(owner, '@', 2))
    WHEN owner LIKE '%optimizer_state%' THEN 'optimizer'
    WHEN owner LIKE '%gradient%' THEN 'gradients'
    WHEN owner LIKE '%kv_cache%' THEN 'kv_cache'
    WHEN owner LIKE '%all_gather%' THEN 'all_gather_buffer'
    WHEN owner LIKE '%weight%' OR owner LIKE '%load_model%' THEN 'weights'
    WHEN owner LIKE '%graph_pool%' OR owner LIKE '%capture_model%' THEN 'graph_pool'
    WHEN owner LIKE '%profile%' OR owner LIKE '%warmup%' OR owner LIKE '%warm_up%' THEN 'profile_or_warmup'
    WHEN owner LIKE '%activation%' OR owner LIKE '%backward%' OR owner LIKE '%execute_model%'
      OR owner LIKE '%@serve%' THEN 'activations'
    WHEN owner LIKE '%@ops%' THEN 'operator_temporaries'
    WHEN owner IS NULL THEN 'unlabelled' ELSE 'other' END AS category
FROM memscope_blocks($path, on_error => $on_error)
