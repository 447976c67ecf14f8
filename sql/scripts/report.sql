-- A report about the memory of a run: the same bytes for the same data, for a file or a ticket.
--
--   rl-insight-sql report /data/run -o report.md
--
-- Ranks found and their peaks, and who is an outlier; what is held at the peaks; the largest gaps between reserved and
-- allocated memory; what is not released; problems and notes. Bad pieces of the data are left out, and listed last,
-- unless --on-error strict is given. As a file of one's own it needs $run, and --on-error skip for that.

-- Peaks of the ranks, in MB. An outlier is more than 1.2 times above or below the median of its role.
SELECT role AS "peaks: role", rank_id, peak_mb, reserved_mb, round(vs_median, 4) AS vs_median, outlier, allocations
FROM memory_peaks($run, on_error => $on_error) ORDER BY role, rank_id;

-- The three places in the code that hold most at the peak of each rank.
SELECT role AS "held at the peak: role", rank_id, peak_time_ns, live_kb, round(share, 4) AS share, allocations, name,
  stack_user_frame(call_stack) AS frame
FROM (
  SELECT *, row_number() OVER (PARTITION BY role, rank_id ORDER BY live_kb DESC, call_stack_id) AS place
  FROM memory_at_peak($run, on_error => $on_error)
)
WHERE place <= 3 ORDER BY role, rank_id, place;

-- Reserved and not allocated, in MB.
SELECT role AS "gaps: role", rank_id, max_gap_mb, reserved_at_max_gap_mb, round(max_gap_share, 4) AS share,
  max_reserved_mb
FROM memory_fragmentation($run, on_error => $on_error) ORDER BY role, rank_id;

-- Allocated and not released inside the recording. Look at what grows first.
SELECT role AS "not released: role", rank_id, verdict, sum(kept) AS kept, sum(kept_kb) AS kept_kb,
  count(*) AS places
FROM memory_not_released($run, on_error => $on_error) GROUP BY role, rank_id, verdict ORDER BY role, rank_id, verdict;

-- What is wrong or noteworthy with the data.
SELECT entry AS "about the data", kind, role, rank_id, file, place, message, count
FROM diagnostics($run) WHERE entry <> 'unit' ORDER BY entry DESC, kind, file, place, message;
