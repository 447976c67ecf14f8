-- largest_of_all(path)
-- What was the largest allocation? Functions may call functions.

SELECT max(largest_kb) AS largest_kb FROM largest_allocations($path, most => 1)
