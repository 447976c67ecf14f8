-- trend_differences(path_a, path_b, rtol => 0.0, atol => 0.0, micro_step => true, scope => 'all', on_error => 'strict', align => 'step')
-- Which tensors differ between two runs, and by how much? One row per tensor with a statistic that differs by more
-- than the tolerances, or that only one of the runs has.
--
-- Parameters: path_a and path_b, the two runs; rtol and atol, relative and absolute tolerance; align, which steps of
--   each role are compared: 'step', those with the same number, or 'order', the first of one run with the first of the
--   other, and so on; micro_step, scope and on_error as in dump_trend. For one step or rank only, give its directory
--   in both runs as the paths; to compare two steps, give both and align => 'order'.
-- Values: rtol number >= 0; atol number >= 0; align 'step' or 'order'; scope 'reference' or 'all'
-- Columns: role, source_step (of run A, or of run B where A has none for it), source_step_b (the step of run B that it
--   is compared with, NULL where there is none), rank, entry_no and tensor_no (the place in execution order: that in
--   run A, or in run B where A does not have the tensor), module_key, metric_name, target_name, io_kind, in_a and in_b
--   (whether the run has the tensor), step_a, step_b, norm_a, norm_b, max_a, max_b, min_a, min_b, mean_a, mean_b (as written),
--   relative_difference (|a - b| / max(|a|, |b|), the largest of the four, NULL where a run has no number), shape_a,
--   shape_b, dtype_a, dtype_b.
-- Two numbers differ when |a - b| > atol + rtol * max(|a|, |b|), so the order of the two runs makes no difference.
-- NaN equals NaN and an infinity equals itself; from anything else they differ by Infinity.
-- What one run does not have is NULL on its side, not 0, and differs; what neither has does not differ.
-- Shape and element type are shown, not compared.
-- A tensor is the same in both runs when role, step directory, rank, module_key and target_name are. The global step is
-- not asked for, so that runs with other numbers of micro-steps in earlier steps are not shifted against each other.
-- Runs without a step in common are an error unless align is 'order'.
SELECT role, source_step, source_step_b, rank, entry_no, tensor_no, module_key, metric_name, target_name, io_kind,
  in_a, in_b, step_a, step_b, norm_a, norm_b, max_a, max_b, min_a, min_b, mean_a, mean_b,
  -- A row with the difference 0 differs by what one side does not have.
  nullif(greatest(
    CASE WHEN norm_distance IN (0, 'Infinity'::DOUBLE) THEN norm_distance
      ELSE norm_distance / greatest(abs(norm_a), abs(norm_b)) END,
    CASE WHEN max_distance IN (0, 'Infinity'::DOUBLE) THEN max_distance
      ELSE max_distance / greatest(abs(max_a), abs(max_b)) END,
    CASE WHEN min_distance IN (0, 'Infinity'::DOUBLE) THEN min_distance
      ELSE min_distance / greatest(abs(min_a), abs(min_b)) END,
    CASE WHEN mean_distance IN (0, 'Infinity'::DOUBLE) THEN mean_distance
      ELSE mean_distance / greatest(abs(mean_a), abs(mean_b)) END
  ), 0.0) AS relative_difference, shape_a, shape_b, dtype_a, dtype_b
FROM (
  SELECT coalesce(a.role, b.role) AS role,
    coalesce(a.source_step_a, a.source_step_b, b.source_step_a, b.source_step_b) AS source_step,
    coalesce(a.source_step_b, b.source_step_b) AS source_step_b, coalesce(a.rank, b.rank) AS rank,
    coalesce(a.entry_no, b.entry_no) AS entry_no, coalesce(a.tensor_no, b.tensor_no) AS tensor_no, coalesce(a.module_key, b.module_key) AS module_key,
    coalesce(a.metric_name, b.metric_name) AS metric_name, coalesce(a.target_name, b.target_name) AS target_name,
    coalesce(a.io_kind, b.io_kind) AS io_kind, a.rank IS NOT NULL AS in_a, b.rank IS NOT NULL AS in_b,
    a.step AS step_a, b.step AS step_b, a.norm AS norm_a, b.norm AS norm_b, a.max AS max_a, b.max AS max_b,
    a.min AS min_a, b.min AS min_b, a.mean AS mean_a, b.mean AS mean_b, a.shape AS shape_a, b.shape AS shape_b,
    a.dtype AS dtype_a, b.dtype AS dtype_b,
    -- The distance: NULL where a side is missing, Infinity where one side is not finite and the other is not the same.
    CASE WHEN a.norm = b.norm OR (isnan(a.norm) AND isnan(b.norm)) THEN 0.0
      WHEN isnan(a.norm + b.norm) THEN 'Infinity'::DOUBLE ELSE abs(a.norm - b.norm) END AS norm_distance,
    CASE WHEN a.max = b.max OR (isnan(a.max) AND isnan(b.max)) THEN 0.0
      WHEN isnan(a.max + b.max) THEN 'Infinity'::DOUBLE ELSE abs(a.max - b.max) END AS max_distance,
    CASE WHEN a.min = b.min OR (isnan(a.min) AND isnan(b.min)) THEN 0.0
      WHEN isnan(a.min + b.min) THEN 'Infinity'::DOUBLE ELSE abs(a.min - b.min) END AS min_distance,
    CASE WHEN a.mean = b.mean OR (isnan(a.mean) AND isnan(b.mean)) THEN 0.0
      WHEN isnan(a.mean + b.mean) THEN 'Infinity'::DOUBLE ELSE abs(a.mean - b.mean) END AS mean_distance
  FROM (
    SELECT d.role, pair, source_step_a, source_step_b, rank, step, entry_no, tensor_no, module_key, metric_name,
      target_name, io_kind, norm, max, min, mean, shape, dtype
    FROM trend_step_pairs($path_a, $path_b, $align) AS p
    JOIN dump_trend($path_a, micro_step => $micro_step, scope => $scope, on_error => $on_error) AS d
      ON (d.role IS NOT DISTINCT FROM p.role) AND (d.source_step IS NOT DISTINCT FROM p.source_step_a)
  ) AS a FULL JOIN (
    SELECT d.role, pair, source_step_a, source_step_b, rank, step, entry_no, tensor_no, module_key, metric_name,
      target_name, io_kind, norm, max, min, mean, shape, dtype
    FROM trend_step_pairs($path_a, $path_b, $align) AS p
    JOIN dump_trend($path_b, micro_step => $micro_step, scope => $scope, on_error => $on_error) AS d
      ON (d.role IS NOT DISTINCT FROM p.role) AND (d.source_step IS NOT DISTINCT FROM p.source_step_b)
  ) AS b ON (a.role IS NOT DISTINCT FROM b.role)
    AND (a.pair IS NOT DISTINCT FROM b.pair) AND (a.rank IS NOT DISTINCT FROM b.rank)
    AND (a.module_key IS NOT DISTINCT FROM b.module_key) AND (a.target_name IS NOT DISTINCT FROM b.target_name)
) AS pair
-- Asked only where the distance is not 0: rtol 0 times an infinity is NaN, which may sort below 0.
WHERE in_a <> in_b
  OR (norm_a IS NULL) <> (norm_b IS NULL) OR (max_a IS NULL) <> (max_b IS NULL)
  OR (min_a IS NULL) <> (min_b IS NULL) OR (mean_a IS NULL) <> (mean_b IS NULL)
  OR norm_distance = 'Infinity'::DOUBLE
  OR (norm_distance > 0 AND (norm_distance <= $atol + $rtol * greatest(abs(norm_a), abs(norm_b))) IS NOT TRUE)
  OR max_distance = 'Infinity'::DOUBLE
  OR (max_distance > 0 AND (max_distance <= $atol + $rtol * greatest(abs(max_a), abs(max_b))) IS NOT TRUE)
  OR min_distance = 'Infinity'::DOUBLE
  OR (min_distance > 0 AND (min_distance <= $atol + $rtol * greatest(abs(min_a), abs(min_b))) IS NOT TRUE)
  OR mean_distance = 'Infinity'::DOUBLE
  OR (mean_distance > 0 AND (mean_distance <= $atol + $rtol * greatest(abs(mean_a), abs(mean_b))) IS NOT TRUE)
