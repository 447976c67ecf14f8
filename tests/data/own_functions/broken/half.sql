-- half(n)
-- Not a query.

SELECT ($n / 2
