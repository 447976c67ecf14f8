-- trend_rank_outliers(path, factor => 5.0, rtol => 0.01, micro_step => true, scope => 'all', on_error => 'strict')
-- Which ranks leave the band of the others? One row per tensor, rank and statistic that is further from the median of
-- all ranks than factor times their usual distance from it, or that is NaN or infinite where it is finite elsewhere.
--
-- Parameters: factor, how many usual distances are too far; rtol, the smallest usual distance, as a share of the
--   median; path, micro_step, scope and on_error as in dump_trend.
-- Values: factor number > 0; rtol number >= 0; scope 'reference' or 'all'
-- Columns: role, source_step, step, local_micro_step, rank, entry_no, tensor_no, module_key, metric_name,
--   target_name, target_micro_step, io_kind, statistic (norm, max, min or mean), value (as written), median and mad
--   (of the finite values of all ranks), deviation (in usual distances), ranks (that have the tensor).
-- The usual distance is the larger of 1.4826 * mad and rtol * |median|; mad is the median of |value - median|, and
-- 1.4826 * mad is the standard deviation of normally distributed values, without being moved by the outliers.
-- Where all others are equal, mad is 0 and rtol alone decides; where their median is 0 too, any other value is an
-- outlier, with deviation Infinity.
-- NaN and infinities take no part in median and mad. They are outliers with deviation Infinity where at least one rank
-- is finite, and no rows where none is (trend_first_nonfinite has these).
-- A rank without the tensor or the statistic (NULL) is not an outlier. Of only two ranks with finite values neither is.
SELECT role, source_step, step, local_micro_step, rank, entry_no, tensor_no, module_key, metric_name, target_name,
  target_micro_step, io_kind, statistic, value, median, mad, deviation, ranks
FROM (
  SELECT *,
    CASE
      WHEN isnan(value * 0) THEN 'Infinity'::DOUBLE
      WHEN abs(value - median) = 0 THEN 0.0
      ELSE abs(value - median) / greatest(1.4826 * mad, $rtol * abs(median))
    END AS deviation
  FROM (
    SELECT role, source_step, step, local_micro_step, rank, entry_no, tensor_no, module_key, metric_name, target_name,
      target_micro_step, io_kind, ranks, statistic,
      CASE statistic WHEN 'norm' THEN norm WHEN 'max' THEN max WHEN 'min' THEN min ELSE mean END AS value,
      CASE statistic WHEN 'norm' THEN norm_median WHEN 'max' THEN max_median WHEN 'min' THEN min_median
        ELSE mean_median END AS median,
      CASE statistic WHEN 'norm' THEN norm_mad WHEN 'max' THEN max_mad WHEN 'min' THEN min_mad ELSE mean_mad END AS mad
    FROM (VALUES ('norm'), ('max'), ('min'), ('mean')) AS s (statistic) CROSS JOIN (
      SELECT *, median(abs(norm_finite - norm_median)) OVER tensor AS norm_mad,
        median(abs(max_finite - max_median)) OVER tensor AS max_mad,
        median(abs(min_finite - min_median)) OVER tensor AS min_mad,
        median(abs(mean_finite - mean_median)) OVER tensor AS mean_mad
      FROM (
        SELECT *, median(norm_finite) OVER tensor AS norm_median, median(max_finite) OVER tensor AS max_median,
          median(min_finite) OVER tensor AS min_median, median(mean_finite) OVER tensor AS mean_median,
          count(*) OVER tensor AS ranks
        FROM (
          SELECT role, source_step, step, local_micro_step, rank, entry_no, tensor_no, module_key, metric_name,
            target_name, target_micro_step, io_kind, norm, max, min, mean,
            -- A number times zero is zero; NaN and the infinities give NaN.
            CASE WHEN NOT isnan(norm * 0) THEN norm END AS norm_finite,
            CASE WHEN NOT isnan(max * 0) THEN max END AS max_finite,
            CASE WHEN NOT isnan(min * 0) THEN min END AS min_finite,
            CASE WHEN NOT isnan(mean * 0) THEN mean END AS mean_finite
          FROM dump_trend($path, micro_step => $micro_step, scope => $scope, on_error => $on_error)
        ) AS finite
        WINDOW tensor AS (PARTITION BY role, source_step, step, local_micro_step, metric_name, target_name,
          target_micro_step)
      ) AS typical
      WINDOW tensor AS (PARTITION BY role, source_step, step, local_micro_step, metric_name, target_name,
        target_micro_step)
    ) AS spread
  ) AS statistics
) AS judged
WHERE deviation > $factor AND median IS NOT NULL
