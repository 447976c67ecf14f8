-- trend_series(path, target, statistic => 'norm', factor => 5.0, rtol => 0.01, micro_step => true, scope => 'all', on_error => 'strict')
-- How does one tensor move over the steps, and where does it leave its usual band? One row per role, rank and step of
-- the tensor.
--
-- Parameters: target, the target_name; statistic, 'norm', 'max', 'min' or 'mean'; factor, how many usual distances from
--   the median are outside; rtol, the smallest usual distance, as a share of the median; path, micro_step, scope and
--   on_error as in dump_trend.
-- Values: target text; statistic 'norm' or 'max' or 'min' or 'mean'; factor number > 0; rtol number >= 0; scope
--   'reference' or 'all'
-- Columns: role, rank, metric_name, target_name, target_micro_step, step, source_step, local_micro_step, entry_no,
--   tensor_no, value (as written), median and mad (of the finite values of this role, rank, metric and call over all
--   steps), low and high (the ends of the band), outside (of it; NaN and infinities are, where other steps are
--   finite).
-- The usual distance is the larger of 1.4826 * mad and rtol * |median|, as in trend_rank_outliers, which compares
-- ranks and not steps. A value that is NULL is not outside. With one or two steps nothing is usual: then no value is
-- outside but those that are not finite.
SELECT role, rank, metric_name, target_name, target_micro_step, step, source_step, local_micro_step, entry_no, tensor_no,
  value, median, mad, median - distance AS low, median + distance AS high,
  CASE WHEN value IS NULL OR median IS NULL THEN false
    WHEN isnan(value * 0) THEN true
    ELSE steps > 2 AND (value < median - distance OR value > median + distance) END AS outside
FROM (
  SELECT *, $factor * greatest(1.4826 * mad, $rtol * abs(median)) AS distance
  FROM (
    SELECT *, median(abs(finite - median)) OVER line AS mad
    FROM (
      SELECT *, median(finite) OVER line AS median, count(finite) OVER line AS steps
      FROM (
        -- A number times zero is zero; NaN and the infinities give NaN.
        SELECT *, CASE WHEN NOT isnan(value * 0) THEN value END AS finite
        FROM (
          SELECT role, rank, metric_name, target_name, target_micro_step, step, source_step, local_micro_step, entry_no,
            tensor_no, CASE one_of('statistic', $statistic, 'norm', 'max', 'min', 'mean')
              WHEN 'norm' THEN norm WHEN 'max' THEN max WHEN 'min' THEN min ELSE mean END AS value
          FROM dump_trend($path, micro_step => $micro_step, scope => $scope, on_error => $on_error)
          WHERE target_name = $target
        )
      )
      WINDOW line AS (PARTITION BY role, rank, metric_name, target_name, target_micro_step)
    )
    WINDOW line AS (PARTITION BY role, rank, metric_name, target_name, target_micro_step)
  )
)
