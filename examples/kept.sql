-- What each call stack of the sample run keeps until the end.
SELECT role, rank_id, call_stack_top, count(*) AS kept, round(sum(size_kb) / 1024) AS mb
FROM memory_events('examples/data/run', match => 'inside')
WHERE NOT released AND call_stack <> ''
GROUP BY role, rank_id, call_stack_top
ORDER BY kept DESC, mb DESC, role, rank_id LIMIT 6;
