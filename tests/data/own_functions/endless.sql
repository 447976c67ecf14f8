-- endless(n)
-- Calls itself, which is told and not tried.

SELECT * FROM endless($n + 1)
