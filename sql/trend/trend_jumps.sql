-- trend_jumps(path, factor => 10.0, micro_step => true, scope => 'all', on_error => 'strict')
-- What changes abruptly from one step to the next? One row per tensor and step whose norm is at least factor times
-- larger or smaller than in the step before, or begins or ceases to be finite.
--
-- Parameters: factor; path, micro_step, scope and on_error as in dump_trend.
-- Values: factor number > 0; scope 'reference' or 'all'
-- Columns: role, rank, metric_name, target_name, target_micro_step, previous_step, step, source_step,
--   local_micro_step, entry_no, tensor_no, previous_norm, norm (as written), ratio (norm / previous_norm).
-- The step before is the latest earlier global step of the same role and rank in which the target has a norm. The
-- first one has none and is no jump. With micro_step => true, micro-steps of one step compare with each other as well.
-- From 0 to anything else, or to NaN or an infinity, and back, is a jump for every factor; from one of NaN and the
-- infinities to another is none.
SELECT role, rank, metric_name, target_name, target_micro_step, previous_step, step, source_step, local_micro_step,
  entry_no, tensor_no, previous_norm, norm, norm / previous_norm AS ratio
FROM (
  SELECT role, rank, metric_name, target_name, target_micro_step, step, source_step, local_micro_step, entry_no,
    tensor_no, norm, lag(norm) OVER target AS previous_norm, lag(step) OVER target AS previous_step
  FROM dump_trend($path, micro_step => $micro_step, scope => $scope, on_error => $on_error)
  WHERE norm IS NOT NULL
  WINDOW target AS (PARTITION BY role, rank, metric_name, target_name, target_micro_step
    ORDER BY step, entry_no, tensor_no)
) AS series
-- A number times zero is zero; NaN and the infinities give NaN.
WHERE previous_norm IS NOT NULL AND CASE
    WHEN isnan(norm * 0) OR isnan(previous_norm * 0) THEN isnan(norm * 0) <> isnan(previous_norm * 0)
    WHEN abs(norm - previous_norm) = 0 THEN false
    ELSE norm >= $factor * previous_norm OR previous_norm >= $factor * norm
  END
