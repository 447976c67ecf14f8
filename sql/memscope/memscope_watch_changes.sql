-- memscope_watch_changes(path, on_error => 'strict')
-- Who changes a watched tensor? One row for each change of its check sum: memory that is overwritten by mistake.
--
-- Parameters: path and on_error as in memscope_watch.
-- Columns: source_path, device, tid, tensor, out_index, place, op, call_no, moment (before or after op), previous_op,
--   previous_call_no, old_sum, new_sum, row_no.
-- place: 'inside', the check sum differs between before and after one call of op, so op wrote it; 'between', it
-- differs between the check before and this one with another operator or call, so something that is not watched wrote
-- it. Device writes are asynchronous: without a synchronization a change may be seen some operators late. The number
-- of outputs is always 0 for tensors watched from Python, so several of one name look like changes. Memory images are
-- taken in the order in which they were last written, check sums in the order of their lines.
SELECT source_path, device, tid, tensor, out_index,
  CASE WHEN (moment = 'after' AND previous_moment = 'before' AND previous_op = op AND previous_call_no = call_no)
    THEN 'inside' ELSE 'between' END AS place,
  op, call_no, moment, previous_op, previous_call_no, old_sum, check_sum AS new_sum, row_no
FROM (
  SELECT *, lag(check_sum) OVER checks AS old_sum, lag(op) OVER checks AS previous_op,
    lag(call_no) OVER checks AS previous_call_no, lag(moment) OVER checks AS previous_moment
  FROM memscope_watch($path, on_error => $on_error)
  WINDOW checks AS (PARTITION BY source_path, device, tid, tensor, out_index ORDER BY written_ns, row_no)
)
WHERE old_sum <> check_sum
