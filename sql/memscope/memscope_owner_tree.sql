-- memscope_owner_tree(path, mark => NULL, on_error => 'strict')
-- How does what is held at the end of each step divide into owners and their parts? One row per process, device, pool,
-- step and node of the tree of owners: PTA, PTA@fsdp2, PTA@fsdp2@weight, ...
--
-- Parameters: path and on_error as in memscope_blocks; mark as in memscope_held_at_marks, to look at marks or
--   snapshots instead of the ends of steps.
-- Values: mark text or NULL
-- Columns: source_path, pid, device, pool, pass, mark, step (as in memscope_held_at_marks), depth (from 1), node,
--   blocks, bytes (all below the node, its own included).
-- Nodes of one depth add up to what has that many levels; blocks without an owner are in no node.
SELECT source_path, pid, device, pool, pass, mark, step, depth,
  array_to_string(array_slice(levels, 1, depth), '@') AS node, sum(blocks) AS blocks, sum(bytes) AS bytes
FROM (
  SELECT *, unnest(range(1, CAST(array_length(levels) AS BIGINT) + 1)) AS depth
  FROM (
    SELECT *, string_to_array(owner, '@') AS levels
    FROM memscope_held_at_marks($path, mark => $mark, on_error => $on_error)
    WHERE owner IS NOT NULL
  )
)
GROUP BY source_path, pid, device, pool, pass, mark, step, depth, array_to_string(array_slice(levels, 1, depth), '@')
