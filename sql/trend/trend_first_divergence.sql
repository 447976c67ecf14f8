-- trend_first_divergence(path_a, path_b, rtol => 0.0, atol => 0.0, micro_step => true, scope => 'all', on_error => 'strict', align => 'step')
-- Where do two runs begin to differ? For each role, step directory and rank with a difference, the first tensor in
-- execution order that differs, however small it is against later ones.
--
-- Parameters: as in trend_differences, which also says when two tensors differ and when they are the same tensor.
-- Values: rtol number >= 0; atol number >= 0; align 'step' or 'order'; scope 'reference' or 'all'
-- Columns: role, source_step and source_step_b (as in trend_differences), rank, differing (tensors of this step and rank
--   that differ), only_in_a and only_in_b (those of them that one run does not have), then of the first of them
--   entry_no, tensor_no, module_key, metric_name, target_name, io_kind, in_a, in_b, step_a, step_b, norm_a, norm_b,
--   max_a, max_b, min_a, min_b, mean_a, mean_b, relative_difference, shape_a, shape_b, dtype_a, dtype_b.
-- Steps and ranks without a difference have no row. The first of all is the first row in the order of source_step,
-- entry_no, tensor_no, rank.
SELECT role, source_step, source_step_b, rank, differing, only_in_a, only_in_b, f['entry_no'] AS entry_no,
  f['tensor_no'] AS tensor_no, f['module_key'] AS module_key, f['metric_name'] AS metric_name,
  f['target_name'] AS target_name, f['io_kind'] AS io_kind, f['in_a'] AS in_a, f['in_b'] AS in_b,
  f['step_a'] AS step_a, f['step_b'] AS step_b, f['norm_a'] AS norm_a, f['norm_b'] AS norm_b, f['max_a'] AS max_a,
  f['max_b'] AS max_b, f['min_a'] AS min_a, f['min_b'] AS min_b, f['mean_a'] AS mean_a, f['mean_b'] AS mean_b,
  f['relative_difference'] AS relative_difference, f['shape_a'] AS shape_a, f['shape_b'] AS shape_b,
  f['dtype_a'] AS dtype_a, f['dtype_b'] AS dtype_b
FROM (
  SELECT role, source_step, source_step_b, rank, count(*) AS differing, count(*) FILTER (WHERE NOT in_b) AS only_in_a,
    count(*) FILTER (WHERE NOT in_a) AS only_in_b,
    first_value(named_struct('entry_no', entry_no, 'tensor_no', tensor_no, 'module_key', module_key,
      'metric_name', metric_name, 'target_name', target_name, 'io_kind', io_kind, 'in_a', in_a, 'in_b', in_b,
      'step_a', step_a, 'step_b', step_b, 'norm_a', norm_a, 'norm_b', norm_b, 'max_a', max_a, 'max_b', max_b,
      'min_a', min_a, 'min_b', min_b, 'mean_a', mean_a, 'mean_b', mean_b,
      'relative_difference', relative_difference, 'shape_a', shape_a, 'shape_b', shape_b, 'dtype_a', dtype_a,
      'dtype_b', dtype_b) ORDER BY entry_no, tensor_no, in_a DESC, target_name) AS f
  FROM trend_differences($path_a, $path_b, rtol => $rtol, atol => $atol, align => $align,
    micro_step => $micro_step, scope => $scope, on_error => $on_error)
  GROUP BY role, source_step, source_step_b, rank
) AS unit
