-- trend_summary(path, micro_step => true, scope => 'all', on_error => 'strict')
-- What is in this dump? One row per role, metric and reason why msprobe data2db leaves tensors out: how much there is,
-- and how many of the statistics are NaN, infinite, missing, or too large for a trend database.
--
-- Parameters: path, micro_step, scope and on_error as in dump_trend. With scope => 'reference' nothing is left out.
-- Values: scope 'reference' or 'all'
-- Columns: role, metric_name (NULL: the key names none), reference_skip (NULL: msprobe data2db takes them), tensors
--   (rows of dump_trend), targets (names with call index), ranks, source_steps (step directories), steps (global
--   steps: with micro_step they count micro-steps), first_step and last_step (global), then counts of statistics
--   (four for each tensor): missing (NULL), nan, positive_infinity, negative_infinity, clipped (finite, and beyond
--   1e9 on either side, where a trend database has 1e9).
-- Infinities are not in clipped, though a trend database changes them too, to 1000000001; NaN becomes NULL in it.
-- targets, ranks and steps of several rows overlap: they cannot be added up.
SELECT role, metric_name, reference_skip, count(*) AS tensors,
  count(DISTINCT concat(target_name, ' ', target_micro_step)) AS targets, count(DISTINCT rank) AS ranks,
  count(DISTINCT source_step) AS source_steps, count(DISTINCT step) AS steps, min(step) AS first_step,
  max(step) AS last_step,
  4 * count(*) - count(norm) - count(max) - count(min) - count(mean) AS missing,
  count(*) FILTER (WHERE isnan(norm)) + count(*) FILTER (WHERE isnan(max)) + count(*) FILTER (WHERE isnan(min))
    + count(*) FILTER (WHERE isnan(mean)) AS nan,
  count(*) FILTER (WHERE norm = 'Infinity') + count(*) FILTER (WHERE max = 'Infinity')
    + count(*) FILTER (WHERE min = 'Infinity') + count(*) FILTER (WHERE mean = 'Infinity') AS positive_infinity,
  count(*) FILTER (WHERE norm = '-Infinity') + count(*) FILTER (WHERE max = '-Infinity')
    + count(*) FILTER (WHERE min = '-Infinity') + count(*) FILTER (WHERE mean = '-Infinity') AS negative_infinity,
  count(*) FILTER (WHERE abs(norm) > 1e9 AND abs(norm) < 'Infinity')
    + count(*) FILTER (WHERE abs(max) > 1e9 AND abs(max) < 'Infinity')
    + count(*) FILTER (WHERE abs(min) > 1e9 AND abs(min) < 'Infinity')
    + count(*) FILTER (WHERE abs(mean) > 1e9 AND abs(mean) < 'Infinity') AS clipped
FROM dump_trend($path, micro_step => $micro_step, scope => $scope, on_error => $on_error)
GROUP BY role, metric_name, reference_skip
