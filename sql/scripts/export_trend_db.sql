-- Exports an msprobe dump as a trend database, which TensorBoard's Trend Analyzer opens.
--
--   rl-insight-sql export-trend dump/ -o out/dump_data.trend.db
--
-- The content is that of `msprobe data2db`. To choose ranks or steps add a WHERE, for example
-- WHERE rank = 3; for steps as the directories count them give micro_step => false to dump_trend. As a file of one's
-- own it needs --param dump=dump/ --param target=out/dump_data.trend.db.
-- A target that exists is replaced with --force on the command line, and else refused.
COPY (SELECT * FROM dump_trend($dump, on_error => $on_error)) TO $target STORED AS TREND_DB;
