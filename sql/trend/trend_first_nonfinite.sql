-- trend_first_nonfinite(path, micro_step => true, scope => 'all', on_error => 'strict')
-- Where does the first NaN or infinity appear, and in which ranks did it begin? For each role, step directory and
-- rank that has one, the first tensor in execution order with a statistic that is NaN or infinite.
--
-- Parameters: path, micro_step, scope and on_error as in dump_trend.
-- Values: scope 'reference' or 'all'
-- Columns: role, source_step, rank, began, cause, earlier_steps (step directories of the role before this one that
--   have some too), tensors (of this rank and step, with such a statistic), then of the first of them step,
--   local_micro_step, entry_no, tensor_no, module_key, metric_name, target_name, io_kind, norm, max, min, mean (as
--   written), dtype, shape, reference_skip.
-- Execution order is (source_step, entry_no, tensor_no): calls in the order in which they ended.
-- began: no rank of the role has one at an earlier (entry_no, tensor_no) of this step; several ranks can share the
--   earliest place. All other ranks inherit it, or got one of their own later. Entry numbers of ranks compare only
--   where ranks run the same program: with pipeline stages go by cause, stage by stage.
-- cause: input, the tensor is an input of its call, so what made it is not in this file (another rank, the data, an
--   operation that is not recorded); parameters, a parameter of the call is not finite (or the tensor is one);
--   gradient, it is the gradient of a parameter; operation, it is a result and no recorded input or parameter of
--   the call is NaN or infinite. A call without recorded inputs counts as operation.
-- The beginning of all: began AND earlier_steps = 0. A missing statistic (NULL) is neither NaN nor infinite.
SELECT role, source_step, rank,
  rank() OVER (PARTITION BY role, source_step ORDER BY f['entry_no'], f['tensor_no']) = 1 AS began,
  CASE
    WHEN f['io_kind'] IN ('input', 'kwargs') THEN 'input'
    WHEN f['entry_no'] = parameters_entry THEN 'parameters'
    WHEN f['io_kind'] = 'grad' THEN 'gradient'
    ELSE 'operation'
  END AS cause,
  CAST(dense_rank() OVER (PARTITION BY role ORDER BY source_step) AS BIGINT) - 1 AS earlier_steps, tensors,
  f['step'] AS step, f['local_micro_step'] AS local_micro_step, f['entry_no'] AS entry_no,
  f['tensor_no'] AS tensor_no, f['module_key'] AS module_key, f['metric_name'] AS metric_name,
  f['target_name'] AS target_name, f['io_kind'] AS io_kind, f['norm'] AS norm, f['max'] AS max, f['min'] AS min,
  f['mean'] AS mean, f['dtype'] AS dtype, f['shape'] AS shape, f['reference_skip'] AS reference_skip
FROM (
  SELECT role, source_step, rank, count(*) AS tensors,
    min(entry_no) FILTER (WHERE io_kind = 'parameters') AS parameters_entry,
    first_value(named_struct('step', step, 'local_micro_step', local_micro_step, 'entry_no', entry_no,
      'tensor_no', tensor_no, 'module_key', module_key, 'metric_name', metric_name, 'target_name', target_name,
      'io_kind', io_kind, 'norm', norm, 'max', max, 'min', min, 'mean', mean, 'dtype', dtype, 'shape', shape,
      'reference_skip', reference_skip) ORDER BY entry_no, tensor_no) AS f
  FROM dump_trend($path, micro_step => $micro_step, scope => $scope, on_error => $on_error)
  -- A number times zero is zero; NaN and the infinities give NaN.
  WHERE isnan(norm * 0) OR isnan(max * 0) OR isnan(min * 0) OR isnan(mean * 0)
  GROUP BY role, source_step, rank
) AS unit
