-- largest_allocations(path, most => 3)
-- Which operators allocated the most at once? One row per operator name.
--
-- name         operator
-- largest_kb   its largest allocation, in KiB

SELECT name, max(size_kb) AS largest_kb
FROM memory_events($path)
GROUP BY name
ORDER BY largest_kb DESC, name
LIMIT $most
