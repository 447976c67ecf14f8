//! One table of command lines: exit code, every byte of stdout, and what stderr says.

use crate::discovery::copy_of_sample;
use crate::support::run;

/// A directory with functions of one's own.
const OWN: &str = "tests/data/own_functions";

/// Arguments, exit code, stdout, stderr. In all of them `{run}` is a run directory and `{tmp}` an empty
/// directory of this line. Stdout that begins with `*` need only hold the rest; stderr always does,
/// and must be empty when nothing is given.
type Line = (&'static [&'static str], i32, &'static str, &'static str);

const LONG: &str = "select count(*) from generate_series(1, 1000000) a, generate_series(1, 1000000) b where a.value + b.value = -1";

const LINES: &[Line] = &[
    // Formats.
    (&["-c", "select 1 a, null b"], 0, "a,b\n1,\n", ""),
    (&["--format", "csv", "-c", "select 'x,y' a"], 0, "a\n\"x,y\"\n", ""),
    (&["--format", "tsv", "-c", "select null a, 'b' b"], 0, "a\tb\n\\N\tb\n", ""),
    (&["--format", "json", "-c", "select 1 a"], 0, "[{\"a\":1}]\n", ""),
    (&["--format", "json", "-c", "select 1 a where false"], 0, "[]\n", ""),
    (
        &["--format", "json", "-c", "select 'NaN'::double a, 'inf'::double b, '-inf'::double c"],
        0,
        "[{\"a\":\"NaN\",\"b\":\"Infinity\",\"c\":\"-Infinity\"}]\n",
        "",
    ),
    (
        &["--format", "json", "--json-nonfinite", "null", "-c", "select 'NaN'::double a, 'inf'::double b"],
        0,
        "[{\"a\":null,\"b\":null}]\n",
        "",
    ),
    (
        &["--agent", "--json-nonfinite", "null", "-c", "select 'NaN'::double a, 1.5 b"],
        0,
        "*\"rows\":[[null,1.5]]",
        "",
    ),
    (
        &[
            "--format",
            "ndjson",
            "--json-big-integers",
            "string",
            "-c",
            "values (9007199254740992), (9007199254740993)",
        ],
        0,
        "{\"column1\":9007199254740992}\n{\"column1\":\"9007199254740993\"}\n",
        "",
    ),
    (
        &["--format", "json", "--json-nonfinite", "nil", "-c", "select 1"],
        2,
        "",
        "possible values: string, null",
    ),
    // A mapping that makes rows vanish is not silent about it.
    (
        &[
            "-c",
            "select count(*) n from dump_trend('tests/data/trend/02_micro_plain/input', mapping => 'tests/data/trend/106_mapping_without_markers/mapping.json')",
        ],
        0,
        "n\n2\n",
        "entries have no rows: the mapping takes forward, backward or parameters_grad out of their keys",
    ),
    (&["--format", "json", "-c", "select 9007199254740993 a"], 0, "[{\"a\":9007199254740993}]\n", ""),
    (&["--format", "ndjson", "-c", "values (1), (2)"], 0, "{\"column1\":1}\n{\"column1\":2}\n", ""),
    (&["--format", "ndjson", "-c", "select 1 a where false"], 0, "", ""),
    (&["--format", "markdown", "-c", "select 1 a"], 0, "| a |\n|---:|\n| 1 |\n", ""),
    // Results are apart.
    (
        &[
            "--format",
            "markdown",
            "-c",
            "select 1 a",
            "-c",
            "create view v as select 2 b",
            "-c",
            "select * from v",
        ],
        0,
        "| a |\n|---:|\n| 1 |\n\n| b |\n|---:|\n| 2 |\n",
        "",
    ),
    (&["--format", "line", "-c", "select 1 a; select 2 b"], 0, "a = 1\n\nb = 2\n", ""),
    (&["--format", "line", "-c", "select 1 a, 'x' bb"], 0, " a = 1\nbb = x\n", ""),
    (&["--format", "line", "-c", "values (1), (null)"], 0, "column1 = 1\n\ncolumn1 = NULL\n", ""),
    (
        &["--format", "html", "-c", "select '<b>' a"],
        0,
        "<table>\n<tr><th>a</th></tr>\n<tr><td>&lt;b&gt;</td></tr>\n</table>\n",
        "",
    ),
    (&["--format", "table", "-c", "select 1 a"], 0, "+---+\n| a |\n+---+\n| 1 |\n+---+\n", "(1 row)"),
    (&["--format", "automatic", "-c", "select 1 a"], 0, "a\n1\n", ""),
    (&["--format", "xml", "-c", "select 1"], 2, "", "invalid value 'xml'"),
    (&["--no-headers", "-c", "select 1 a"], 0, "1\n", ""),
    (&["--no-headers", "--format", "tsv", "-c", "values (1, 2)"], 0, "1\t2\n", ""),
    (&["--null-value", "-", "-c", "select null a, 1 b"], 0, "a,b\n-,1\n", ""),
    (&["--null-value", "?", "--format", "line", "-c", "select null a"], 0, "a = ?\n", ""),
    (
        &["--max-rows", "1", "--format", "table", "-c", "values (1), (2)"],
        0,
        "*|       1 |",
        "(2 rows, 1 shown; --max-rows 0 shows all)",
    ),
    (
        &[
            "--format",
            "table",
            "-q",
            "-c",
            ".width 30\nselect 'a text that is long' a, 'another one' b, 'and one more' c",
        ],
        0,
        "*…",
        "2 columns left out, --format line shows all)",
    ),
    (&["--format", "table", "-q", "-c", "select 59.123456789012::double a"], 0, "*| 59.123457 |", ""),
    (&["-c", "select 59.123456789012::double a"], 0, "a\n59.123456789012\n", ""),
    (&["--max-rows", "1", "-c", "values (1), (2)"], 0, "column1\n1\n2\n", ""),
    // Where SQL comes from.
    (&["-c", "select 1 a; select 2 b"], 0, "a\n1\nb\n2\n", ""),
    (&["-c", "select 1 a", "-c", "select 2 b"], 0, "a\n1\nb\n2\n", ""),
    (&["-c", "-- nothing"], 0, "", ""),
    (&["-c", "select ';' a -- ;"], 0, "a\n;\n", ""),
    (&["-c", "select $$;$$ a"], 0, "a\n;\n", ""),
    (&["-f", "/does/not/exist"], 2, "", "error: /does/not/exist: cannot be read"),
    (&["-f", "-"], 0, "", ""),
    (&["-f", "-", "-f", "-"], 2, "", "can be given only once"),
    (&[], 0, "", ""),
    (&["--command"], 2, "", "a value is required"),
    // Commands of the prompt in scripts.
    (&["-c", ".mode json\nselect 1 a"], 0, "[{\"a\":1}]\n", ""),
    (&["-c", ".headers off\nselect 1 a;\n.headers on\nselect 2 a"], 0, "1\na\n2\n", ""),
    (&["-c", ".nullvalue -\nselect null a"], 0, "a\n-\n", ""),
    (&["-c", ".quit\nselect 1"], 0, "", ""),
    (&["-c", "select 1 a;\n.once {tmp}/x.csv\nselect 2 b;\nselect 3 c"], 0, "a\n1\nc\n3\n", ""),
    (&["-c", "select 3 a", "-c", ".last json"], 0, "a\n3\n[{\"a\":3}]\n", ""),
    (&["-q", "-c", "select 3 a;\n.help .once\n.last json"], 0, "a\n3\n[{\"a\":3}]\n", ".once FILE"),
    (&["-c", ".last"], 1, "", "no statement was run yet"),
    // A plain word stands anywhere in a name.
    (&["--no-headers", "-c", ".functions by_stack"], 0, "*memory_by_stack,question,", ""),
    (&["--no-headers", "-c", "\\df nothing_like_it"], 0, "", "no name matches nothing_like_it\n"),
    (&["--no-headers", "-c", "\\df stack?"], 0, "", "no name matches stack?; try *stack*\n"),
    (&["--no-headers", "-c", ".settings json"], 0, "*json_nonfinite,string,default,", ""),
    (&["{run}", "-q", "--no-headers", "-c", "\\dt MEM"], 0, "*public,memory_record,view,", ""),
    (&["--format", "table", "-c", "\\dt nothing_like_it"], 0, "", "no name matches nothing_like_it\n"),
    (&["--format", "table", "{run}", "-q", "-c", ".diagnostics"], 0, "", "no problems, no notes\n"),
    (&["-c", ".nope"], 1, "", "the command .nope is unknown"),
    (&["-c", ".tabels"], 1, "", "hint: did you mean .tables?"),
    (&["-c", ".timer maybe"], 1, "", "expected on or off"),
    (&["-c", ".mode xml"], 1, "", "the format xml is unknown"),
    (&["-c", ".help .once"], 0, "", ".once FILE"),
    (&["-c", "\\sf memory_peaks"], 0, "*-- memory_peaks(path", ""),
    (&["-c", "\\sf memory_peak"], 1, "", "did you mean memory_peaks?"),
    (&["--no-headers", "-c", ".functions memory_peaks"], 0, "*memory_peaks,question,\"memory_peaks(path", ""),
    (
        &["--no-headers", "-c", "show functions like 'memory_events'"],
        0,
        "*memory_events,table,\"memory_events(path [, match =>",
        "",
    ),
    (&["--no-headers", "-c", "\\d memory_peaks"], 0, "*rank_id,BIGINT,NO,", ""),
    (&["-c", ".read {tmp}/none.sql"], 2, "", "none.sql: cannot be read"),
    // Errors and what was meant.
    (&["-c", "select nope"], 1, "", "error: No field named nope\n  select nope\n         ^\n"),
    (&["{run}", "-q", "-c", "select rank from memory"], 1, "", "hint: did you mean rank_id?"),
    (&["-c", "select * from memory_evnts('x')"], 1, "", "did you mean memory_events('path')?"),
    (&["-c", "select * from memory_events"], 1, "", "memory_events is a function, call it"),
    (&["-c", "select coutn(1)"], 1, "", "hint: did you mean count?"),
    (&["-c", "select 1 frm x y"], 1, "", "\n  select 1 frm x y\n               ^"),
    (&["-c", "selec 1"], 1, "", "error: Expected"),
    (&["-c", "select 'x"], 1, "", "Unterminated string literal"),
    (&["-c", "select 1/0"], 1, "", "error: division by zero\n"),
    (&["-c", "select * from memory_events('/does/not/exist')"], 3, "", "no such file or directory"),
    (&["-c", "select * from memory_events('{tmp}')"], 3, "", "error: memory_events: "),
    (
        &["-c", "select * from memory_events('{run}', match => 'x')"],
        1,
        "",
        "expected one of: nearest, inside",
    ),
    (
        &["-c", "select * from memory_growth('{run}', window => 'epoch')"],
        1,
        "",
        "error: memory_growth: window is 'epoch', expected a number above 0 or 'auto' or 'step'",
    ),
    (
        &["-c", "select * from memory_timeline('{run}', buckets => 0)"],
        1,
        "",
        "memory_timeline: buckets is 0, expected an integer of at least 1",
    ),
    (
        &["-c", "select * from memory_peaks('{run}', factor => 'much')"],
        1,
        "",
        "memory_peaks: factor is 'much', expected a number",
    ),
    (
        &["-c", "select * from memory_peaks('{run}', on_error => 'no')"],
        1,
        "",
        "memory_peaks: on_error is 'no', expected 'strict' or 'skip'",
    ),
    (
        &["-c", "select * from memory_by_stack('{run}', frame => 'bottom')"],
        1,
        "",
        "expected 'top' or 'leaf' or 'user' or 'stack' or an integer",
    ),
    (
        &["-c", "select * from memory_at('{run}', 'noon')"],
        1,
        "",
        "memory_at: at_ms is 'noon', expected a number or NULL",
    ),
    // What a COPY cannot say is counted.
    (
        &["-q", "-c", "copy (values (1.5::double), ('NaN'::double), ('-inf'::double)) to '{tmp}/x.json'"],
        0,
        "",
        "note: 2 NaN or infinite values were written as null; -o FILE --format ndjson keeps them\n",
    ),
    (&["-q", "-c", "copy (values (1.5::double), (null)) to '{tmp}/x.json'"], 0, "", ""),
    (
        &["-q", "-c", "copy (values ('', 1), (null, 2)) to '{tmp}/x.csv'"],
        0,
        "",
        "note: 1 empty text was written like NULL; -o FILE --format csv tells them apart\n",
    ),
    (&["-q", "-c", "copy (values ('', 1), ('x', 2)) to '{tmp}/x.csv'"], 0, "", ""),
    (
        &["-q", "-c", "copy (values ('', 1), (null, 2)) to '{tmp}/x.csv' options (null_value 'NULL')"],
        0,
        "",
        "",
    ),
    // Each column once, though a subquery has it again.
    (&["-c", "select * from (select 1 as a, 2 as b) order by c"], 1, "", "the columns are a, b\n"),
    // A report of a run, by a script and by the word for it.
    (
        &[
            "-q",
            "--format",
            "markdown",
            "--param",
            "run=tests/data/questions/C07",
            "-f",
            "sql/scripts/report.sql",
        ],
        0,
        "*| actor_update | 3 | 62000.0 | 64000.0 | 1.5215 | true | 2 |\n\n| held at the peak: role |",
        "",
    ),
    (
        &["report", "tests/data/questions/C07", "-q"],
        0,
        "*| actor_update | 3 | 62000.0 | 64000.0 | 1.5215 | true | 2 |\n\n| held at the peak: role |",
        "",
    ),
    (&["report", "tests/data/questions/C07"], 0, "*", "memory  memory_events: 4 ranks in 1 role"),
    (
        &["report", "tests/data/questions/C07", "-q", "--format", "json"],
        0,
        "*[{\"peaks: role\":\"actor_update\",",
        "",
    ),
    (&["report", "tests/data/questions/C07", "-q", "-o", "{tmp}/r.md"], 0, "", ""),
    (&["report", "tests/data/questions/C07", "-o", "{tmp}/r.gz"], 2, "", "results are not written as .gz"),
    // Bad pieces are left out of it and listed last, unless that is not wanted.
    (
        &["report", "tests/data/questions/C01", "-q"],
        0,
        "*| problem | missing | actor_update | 2 |",
        "were left out",
    ),
    (
        &["report", "tests/data/questions/C01", "-q", "--fail-on-partial"],
        4,
        "*| problem |",
        "--fail-on-partial",
    ),
    (
        &["report", "tests/data/questions/C01", "-q", "--on-error", "strict"],
        3,
        "",
        "is not a number in column Size(KB)",
    ),
    (&["report", "tests/data/questions/C07", "--root", "{run}"], 1, "", "--root allows only"),
    (&["report", "{tmp}"], 3, "", "nothing found that can be read"),
    (&["report"], 2, "", "required arguments were not provided"),
    (
        &["export-trend", "tests/data/questions/C08", "-q", "-o", "{tmp}/x.trend.db"],
        0,
        "",
        "note: 60 NaN were stored as NULL",
    ),
    (
        &["export-trend", "tests/data/questions/C08", "-o", "{tmp}/x.db"],
        2,
        "",
        "expected a name that ends in .trend.db",
    ),
    (&["export-trend", "tests/data/questions/C08"], 2, "", "required arguments were not provided"),
    (&["export-trend", "{run}", "-q", "-o", "{tmp}/x.trend.db"], 3, "", "dump_trend: {run}: no dump found"),
    (
        &["export-trend", "tests/data/questions/C08", "-q", "--read-only", "-o", "{tmp}/x.trend.db"],
        1,
        "",
        "read-only: COPY is refused",
    ),
    (&["report", "--lang", "zh", "--help"], 0, "*报告的格式", ""),
    // The value of --on-error is there for scripts.
    (&["--on-error", "skip", "-c", "select $on_error a"], 0, "a\nskip\n", ""),
    (&["--param", "on_error=no", "-c", "select $on_error a"], 0, "a\nno\n", ""),
    // A number is one with its sign, too.
    (&["--param", "n=-1", "-c", "select $n + 1 a, arrow_typeof($n) b"], 0, "a,b\n0,Int64\n", ""),
    (&["--param", "n=-.5", "--param", "m=1e-3", "-c", "select $n a, $m b"], 0, "a,b\n-0.5,0.001\n", ""),
    (
        &["--param", "n=-2", "-c", "select * from memory_timeline('{run}', buckets => $n)"],
        1,
        "",
        "buckets is -2, expected",
    ),
    (&["--param", "n=2026-05-26", "-c", "select $n a"], 0, "a\n2026-05-26\n", ""),
    // What comes behind something else is no Parquet file, on stdout either.
    (&["-c", "select 1 a;\n.mode parquet\nselect 2;"], 1, "a\n1\n", "parquet holds one result per file"),
    // Names of files that stand for something else.
    (&["-c", "select 1", "-o", "{tmp}/x.trend.db"], 2, "", "results are not written as .db\nhint: COPY"),
    (&["-c", "select 1 a", "-o", "{tmp}/x.db", "--format", "csv"], 0, "", ""),
    (&["-c", ".once {tmp}/x.xlsx\nselect 1"], 1, "", "hint: name it .csv"),
    (&["-c", "select 1 a", "-o", "-"], 0, "a\n1\n", ""),
    (&["-c", "select 1 a", "-o", "-", "--agent"], 0, "*\"rows\":[[1]]", ""),
    // What steers a terminal is spelled out in all formats for people.
    (
        &["--format", "markdown", "-c", "select chr(27) || '[31m' || chr(8238) a"],
        0,
        "| a |\n|---|\n| \\\\u{1b}[31m\\\\u{202e} |\n",
        "",
    ),
    (&["-q", "--format", "line", "-c", "select chr(8238) || 'x' a"], 0, "a = \\u{202e}x\n", ""),
    // Lists of what there is are shown as a whole.
    (&["--format", "table", "-q", "--max-rows", "2", "-c", ".tables memory_*"], 0, "*| memory_timeline ", ""),
    (&["--format", "table", "-q", "--max-rows", "2", "-c", "\\d memory_peaks"], 0, "*| allocations ", ""),
    (
        &["{run}", "-q", "-c", ".tables memory"],
        0,
        "*public,memory,view,the rows of memory_events('{run}')\n",
        "",
    ),
    // Mistyped words.
    (&["-c", "selec 1"], 1, "", "hint: did you mean SELECT?\n"),
    (&["{run}", "-q", "-c", "select * form memory"], 1, "", "hint: did you mean FROM?\n"),
    (
        &["{run}", "-q", "-c", "select * from memory_peaks(run)"],
        1,
        "",
        "path is run, expected a path in single quotes or a list of paths\nhint: the path that is open is $run\n",
    ),
    (
        &["doctro"],
        2,
        "",
        "no such file or directory\nhint: check the path; relative paths start at the current directory\nhint: did you mean the subcommand doctor?\n",
    ),
    (
        &["-c", "set time zone 'UTC'"],
        1,
        "",
        "error: not implemented: this form of SET; SET name = value is\n",
    ),
    // A file that is known by its name is not taken for one that can have any.
    (
        &[
            "tests/data/questions/C05/actor_update/host_1000_20260101120000000_ascend_pt/ASCEND_PROFILER_OUTPUT/operator_memory.csv",
            "-q",
            "-c",
            ".tables mem*\nselect count(*) > 0 a from memory\n;select * from memscope",
        ],
        3,
        "*a\ntrue\n",
        "so there is no view memscope",
    ),
    (&["check", "{run}", "{tmp}/x.slt"], 2, "", "hint: the suite comes first: check SUITE PATH"),
    (&["check", "tests/data/questions/none.slt", "{run}"], 2, "", "none.slt: cannot be read"),
    // What was open before is not any more.
    (
        &["{run}", "-q", "-c", ".open tests/data/questions/C08\nselect count(*) from memory"],
        3,
        "",
        "was found under tests/data/questions/C08, so there is no view memory",
    ),
    // What is not there, and habits from other tools.
    (
        &["{run}", "-q", "-c", "select * from memscope"],
        3,
        "",
        "error: no memscope_dump_*.csv or memscope_dump_*.db was found under {run}, so there is no view memscope\n",
    ),
    (&["--lang", "zh", "--bogus"], 2, "", "错误：没有参数 '--bogus'\n"),
    (&["--lang", "zh", "--threads"], 2, "", "错误：'--threads <N>' 需要一个值\n"),
    (
        &["{run}", "-q", "-c", "select * from trend"],
        3,
        "",
        "error: no dump.json of msProbe was found under {run}, so there is no view trend\n  select * from trend\n",
    ),
    (&["-c", "select * from memory"], 1, "", "error: table 'memory' not found\n"),
    (&["-c", "select * from memory"], 1, "", "open a path first (.open PATH), or call memory_events('path')"),
    (&["-c", "select 1\nselect 2"], 1, "", "  select 2\n  ^\nhint: a semicolon is missing before it\n"),
    (
        &["-c", "select * from '/x/my m.parquet'"],
        1,
        "",
        "hint: a file becomes a table first: CREATE EXTERNAL TABLE t STORED AS PARQUET LOCATION '/x/my m.parquet'\n",
    ),
    (
        &["-c", "select * from '/x/m.csv'"],
        1,
        "",
        "CREATE EXTERNAL TABLE m STORED AS CSV LOCATION '/x/m.csv'\n",
    ),
    (
        &["{run}", "-q", "-c", "select 1 from memory where role = actor_update"],
        1,
        "",
        "hint: text needs single quotes: 'actor_update'\n",
    ),
    (
        &["{run}", "-q", "-c", "select 1 from memory where role = \"actor_update\""],
        1,
        "",
        "hint: double quotes are for columns; text and paths need single quotes: 'actor_update'\n",
    ),
    (&["-c", "select * from memory_peaks(\"/x/y\")"], 1, "", "text and paths need single quotes: '/x/y'\n"),
    (&["-c", "select * from \"/x/y\""], 1, "", "text and paths need single quotes: '/x/y'\n"),
    (
        &["{run}/actor_update", "{run}/rollout_generate", "-q", "-c", "select * from memory_peaks($run)"],
        1,
        "",
        "$run exists only with exactly one PATH; you gave 2\nhint: name the path",
    ),
    (
        &["-c", "select * from memory_peaks($run)"],
        1,
        "",
        "$run exists only with exactly one PATH, and none is open\n",
    ),
    (&["--keep-going", "-c", "select nope; select 2 a"], 1, "a\n2\n", "No field named nope"),
    (&["-c", "select 1 a; select nope; select 2 a"], 1, "a\n1\n", "statement 2 (line 1)"),
    // Data.
    (
        &["{run}", "-c", "select count(*) n from memory"],
        0,
        "n\n324\n",
        "2 ranks in 2 roles (actor_update, rollout_generate)",
    ),
    (&["{run}", "-q", "-c", "select count(*) n from memory_events($run)"], 0, "n\n324\n", ""),
    (&["{run}/actor_update", "-q", "-c", "select distinct role from memory"], 0, "role\nactor_update\n", ""),
    (
        &["{run}/actor_update", "{run}/rollout_generate", "-q", "-c", "select count(*) n from memory"],
        0,
        "n\n324\n",
        "",
    ),
    (&["{run}/*", "-q", "-c", "select count(distinct role) n from memory_record"], 0, "n\n2\n", ""),
    (&["{run}", "-q", "--no-headers", "-c", "show tables"], 0, "*datafusion,public,memory,VIEW\n", ""),
    (&["{run}", "-q", "--no-headers", "-c", "describe memory"], 0, "*rank_id,BIGINT,NO,rank; -1 for", ""),
    (
        &["{tmp}", "-c", "select 1 a"],
        3,
        "",
        "nothing found that can be read\n  {tmp}: no profile found; looked at",
    ),
    (&["-c", "COPY (SELECT 1 a) TO '{tmp}/x.db'"], 1, "", "hint: add STORED AS TREND_DB"),
    (&["-q", "{tmp}", "-c", "select 1 a"], 3, "", "no dump found; looked for step<N>/rank<R>/dump.json"),
    (&["-c", ".open {tmp}"], 3, "", "hint: give the directory of a run, or one above it"),
    (&["--agent", "{tmp}", "-c", "select 1 a"], 3, "*no output of msMemScope found", ""),
    (
        &["-q", "{run}", "{tmp}", "-c", "select count(*) n from memory"],
        0,
        "n\n324\n",
        "note: {tmp}: nothing found",
    ),
    (&["{tmp}/none", "-c", "select 1"], 2, "", "no such file or directory"),
    (&["-c", ".open {run}\nselect count(*) n from memory"], 0, "n\n324\n", "memory_events: 2 ranks"),
    (&["-c", ".diagnostics"], 1, "", "no data is open"),
    (&["--param", "p={run}", "-c", "select count(*) n from memory_events($p)"], 0, "n\n324\n", ""),
    (&["-c", "copy (select 1) to $target"], 1, "", "$target has no value; give it with --param target=VALUE"),
    (&["-c", "prepare p as select $1 + 1 as a; execute p(2)"], 0, "a\n3\n", ""),
    (&["-c", "select $1"], 1, "", "Placeholder '$1' was not provided a value"),
    (&["-c", "create function f(int) returns int return $1 + 1"], 1, "", "Function factory"),
    // Functions of one's own.
    (
        &["{run}", "-q", "--functions", OWN, "-c", "select count(*) n from largest_allocations($run)"],
        0,
        "n\n3\n",
        "",
    ),
    (
        &["{run}", "-q", "--functions", OWN, "-c", "select count(*) n from largest_of_all($run)"],
        0,
        "n\n1\n",
        "",
    ),
    (
        &["--functions", OWN, "-c", "select * from endless(1)"],
        1,
        "",
        "endless calls itself: endless -> endless",
    ),
    (&["--functions", OWN, "-c", ".source largest_of_all"], 0, "*FROM largest_allocations($path", ""),
    (&["--functions", OWN, "-c", "\\df largest_*"], 0, "*largest_of_all(path)", ""),
    (
        &["--functions", OWN, "-c", "select * from largest_allocations()"],
        1,
        "",
        "largest_allocations: path is missing, expected largest_allocations(path, most => 3)",
    ),
    (
        &["--functions", OWN, "-c", "select * from largest_allocations('x', least => 1)"],
        1,
        "",
        "largest_allocations: unknown argument least",
    ),
    (
        &["--functions", OWN, "--functions", OWN, "-c", "select 1"],
        2,
        "",
        "there is a function endless already",
    ),
    (
        &["--functions", "tests/data/own_functions/broken", "-c", "select 1"],
        2,
        "",
        "half (tests/data/own_functions/broken/half.sql): ",
    ),
    (&["--functions", "{tmp}/none", "-c", "select 1"], 2, "", "none: cannot be listed"),
    (&["--param", "p", "-c", "select 1"], 2, "", "expected name=value"),
    (&["--on-error", "maybe", "-c", "select 1"], 2, "", "invalid value 'maybe'"),
    // Files.
    (&["-o", "{tmp}/x.json", "-c", "select 1 a"], 0, "", ""),
    (&["-o", "{tmp}/none/x.csv", "-c", "select nope"], 1, "", "No field named nope"),
    (&["-o", "{tmp}/x.parquet", "-c", "select 1; select 2"], 1, "", "parquet holds one result per file"),
    (&["--format", "arrow", "-o", "{tmp}/x", "-c", "select 1 a"], 0, "", ""),
    (&["-o", "{run}/actor_update", "-c", "select 1"], 2, "", "exists already"),
    (&["-c", "copy (select 1) to '{tmp}/x.csv'; copy (select 2) to '{tmp}/x.csv'"], 1, "", "exists already"),
    (
        &[
            "-q",
            "-c",
            "copy (select 1 a) to '{tmp}/x.db' stored as sqlite; copy (select 2 a) to '{tmp}/x.db' stored as sqlite",
        ],
        1,
        "",
        "x.db: exists already\nhint: give --force, or OPTIONS (overwrite 'true') behind the COPY",
    ),
    (
        &[
            "-q",
            "-c",
            "copy (select 1 a) to '{tmp}/x.db' stored as sqlite; explain analyze copy (select 2 a) to '{tmp}/x.db' stored as sqlite",
        ],
        1,
        "",
        "exists already",
    ),
    (
        &[
            "-q",
            "--force",
            "-c",
            "copy (select 1 a) to '{tmp}/x.db' stored as sqlite; copy (select 2 a) to '{tmp}/x.db' stored as sqlite",
        ],
        0,
        "",
        "",
    ),
    (
        &[
            "-q",
            "-c",
            "copy (select 1 a) to '{tmp}/x.db' stored as sqlite; copy (select 2 a) to '{tmp}/x.db' stored as sqlite options (overwrite 'true')",
        ],
        0,
        "",
        "",
    ),
    // Input data is never written, whichever way the session came to read it.
    (
        &["--force", "-c", "copy (select 1) to '{run}/actor_update/step_1_ascend_pt/new.csv'"],
        1,
        "",
        "by its name it is a part of an Ascend profile, and input data is never written",
    ),
    (
        &["--force", "-c", "copy (select 1) to '{tmp}/step0/rank0/dump.json' stored as csv"],
        1,
        "",
        "by its name it is a part of an msprobe dump",
    ),
    (
        &["--force", "-o", "{tmp}/memscope_dump_1.csv", "-c", "select 1"],
        2,
        "",
        "by its name it is a file of msMemScope",
    ),
    (
        &[
            "--force",
            "-c",
            "copy (select 1 a) to '{tmp}/x.csv'; create external table t stored as csv location '{tmp}/x.csv' options (format.has_header true); copy (select a + 1 from t) to '{tmp}/x.csv'",
        ],
        1,
        "",
        "x.csv: this session reads it, and input data is never written",
    ),
    (
        &["--force", "-c", "copy (select 1) to '{tmp}/x.csv'; copy (select 2) to '{tmp}/x.csv'"],
        0,
        "",
        "1 row written",
    ),
    (
        &[
            "-q",
            "-c",
            "copy (select 1) to '{tmp}/x.csv'; copy (select 2) to '{tmp}/x.csv' options (overwrite 'true')",
        ],
        0,
        "",
        "",
    ),
    (
        &["-q", "-c", "copy (select 1 a) to '{tmp}/x.db' stored as sqlite options (overwrite 'true')"],
        0,
        "",
        "",
    ),
    // Reading only.
    (&["--read-only", "-c", "copy (select 1) to '{tmp}/x.csv'"], 1, "", "read-only: COPY is refused"),
    (&["--read-only", "-c", "select 1 a"], 0, "a\n1\n", ""),
    (&["--read-only", "-c", "create view v as select 1 a; select * from v"], 0, "a\n1\n", ""),
    // One directory only.
    (&["--root", "{run}", "-c", "select count(*) n from memory_events('{run}/*')"], 0, "n\n324\n", ""),
    (
        &["--root", "{run}", "{run}", "-q", "-c", "select count(*) > 0 b from memory_peaks($run)"],
        0,
        "b\ntrue\n",
        "",
    ),
    (
        &["--root", "{run}", "-c", "select * from memory_events('{run}/..')"],
        1,
        "",
        "--root allows only what is in it",
    ),
    (
        &["--root", "{run}/actor_update", "-c", "select * from memory_peaks('{run}/rollout_generate')"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{run}/actor_update", "-c", "select * from diagnostics(['{run}/actor_update', '{run}'])"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{run}", "-c", "select * from dump_trend('{run}', mapping => '/etc/passwd')"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{tmp}", "-c", "create external table t stored as csv location '{run}/x.csv'"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{tmp}", "-c", "create external table t stored as memory_events location '{run}'"],
        1,
        "",
        "--root allows only",
    ),
    (&["--root", "{run}", "-c", "copy (select 1) to '{tmp}/x.csv'"], 1, "", "--root allows only"),
    (&["--root", "{tmp}", "-q", "-c", "copy (select 1) to '{tmp}/x.csv'"], 0, "", ""),
    // However the engine reads a location.
    (
        &["--root", "{run}", "-c", "copy (select 1) to 'file://{run}/%2e%2e/x.csv'"],
        1,
        "",
        "--root allows only",
    ),
    (&["--root", "{run}", "-c", "copy (select 1) to 'FILE://{tmp}/x.csv'"], 1, "", "--root allows only"),
    (
        &["--root", "{run}", "-c", "copy (select 1) to 'file:{tmp}/x.db' stored as sqlite"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{run}", "-c", "create external table t stored as csv location 'file://{run}/%2e%2e/'"],
        1,
        "",
        "--root allows only",
    ),
    (
        &["--root", "{run}", "-c", "set datafusion.runtime.temp_directory = '{tmp}/spill'"],
        1,
        "",
        "--root allows only",
    ),
    (&["--root", "{tmp}", "-c", ".read /etc/passwd"], 1, "", "--root allows only"),
    (&["plot", "timeline", "{run}", "--root", "{tmp}", "-q"], 1, "", "--root allows only"),
    (
        &["check", "--root", "{tmp}", "tests/data/questions/C07", "{run}"],
        2,
        "",
        "a directory, expected a file",
    ),
    (&["--root", "{run}", "-c", ".once {tmp}/x\nselect 1"], 1, "", "--root allows only"),
    (&["--root", "{tmp}", "{run}", "-c", "select 1"], 1, "", "--root allows only"),
    (&["--root", "{tmp}/none", "-c", "select 1"], 2, "", "no such directory"),
    // Limits.
    (&["--timeout", "0.3", "-c", LONG], 5, "", "took more than 0.3 s"),
    (&["--timeout", "0", "-c", "select 1"], 2, "", "expected a number of seconds above 0"),
    (
        &[
            "--memory-limit",
            "1m",
            "--threads",
            "1",
            "-c",
            "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b on a.value = b.value",
        ],
        5,
        "",
        "hint: --memory-limit",
    ),
    (&["--memory-limit", "much", "-c", "select 1"], 2, "", "expected a size above 0"),
    (&["--threads", "0", "-c", "select 1"], 2, "", "--threads"),
    (&["--temp-dir", "{tmp}/none", "-c", "select 1"], 2, "", "no such directory"),
    (&["--temp-dir", "{tmp}", "--disk-limit", "1g", "-c", "select 1 a"], 0, "a\n1\n", ""),
    // Streams.
    (&["--timer", "-c", "select 1 a"], 0, "a\n1\n", "time: "),
    (&["--progress", "always", "-c", "select 1 a"], 0, "a\n1\n", "progress: "),
    (&["--no-progress", "-c", "select 1 a"], 0, "a\n1\n", ""),
    (&["--color", "always", "-q", "-c", "select nope"], 1, "", "\u{1b}[1;31merror:\u{1b}[0m No field"),
    (&["--verbose", "-c", "select 1 a"], 0, "a\n1\n", "running the statement in line 1"),
    // Agents.
    (
        &["--agent", "-c", "select 1 a, 'x' b"],
        0,
        "{\"code\":0,\"columns\":[{\"name\":\"a\",\"type\":\"BIGINT\"},{\"name\":\"b\",\"type\":\"VARCHAR\"}],\"diagnostics\":[],\"message\":null,\"rows\":[[1,\"x\"]],\"status\":\"ok\",\"suggestion\":null,\"truncated\":false}\n",
        "",
    ),
    (&["--agent", "-c", "selec"], 1, "*\"status\":\"error\"", ""),
    (&["--agent", "--nope"], 2, "*\"message\":\"unexpected argument '--nope' found\"", ""),
    (&["--agent", "{tmp}/none", "-c", "select 1"], 2, "*\"code\":2,", ""),
    (
        &["--agent", "--max-rows", "1", "-c", "values (1), (2)"],
        0,
        "*\"rows\":[[1]],\"status\":\"ok\",\"suggestion\":null,\"truncated\":true",
        "",
    ),
    (
        &["--agent", "--max-bytes", "40", "-c", "values ('aaaaaaaaaa'), ('bbbbbbbbbb')"],
        0,
        "*\"rows\":[[\"aaaaaaaaaa\"]]",
        "",
    ),
    (
        &["--agent", "-c", "copy (select 1) to '{tmp}/x.csv'"],
        1,
        "*\"message\":\"read-only: COPY is refused",
        "",
    ),
    (
        &["--agent", "--allow-write", "-c", "copy (select 1) to '{tmp}/x.csv'"],
        0,
        "*\"diagnostics\":[\"1 row written\"]",
        "",
    ),
    (&["--agent", "--help"], 0, "*\"suggestion\":\"ask first: -c 'SHOW TABLES'", ""),
    (&["--agent", "{run}"], 0, "*\"suggestion\":\"no SQL was given; ask first: -c 'SHOW TABLES'", ""),
    (
        &["--agent", "check", "x.slt", "{run}"],
        2,
        "*\"message\":\"check is a subcommand, and comes before all flags\"",
        "",
    ),
    (&["--agent", "-o", "x", "-c", "select 1"], 2, "*--agent and -o do not go together", ""),
    (&["--allow-write", "-c", "select 1"], 2, "", "--allow-write is only for --agent"),
    // Settings.
    (&["-c", ".settings max_rows"], 0, "*max_rows,40,default,", ""),
    (&["--max-rows", "3", "-c", ".settings max_rows"], 0, "*max_rows,3,flag --max-rows,", ""),
    (&["-c", ".maxrows 7\n.settings max_rows"], 0, "*max_rows,7,changed in this session,", ""),
    (&["--agent", "-c", ".settings read_only"], 0, "*[\"read_only\",\"true\",\"flag --agent\"", ""),
    (
        &["--group-digits", "--format", "table", "-c", "select 1234567 a, 'x' b"],
        0,
        "*| 1,234,567 | x |",
        "(1 row)",
    ),
    (&["--format", "table", "-q", "-c", ".digits on\nselect 12345 a"], 0, "*| 12,345 |", ""),
    (&["--group-digits", "-c", "select 12345 a"], 0, "a\n12345\n", ""),
    (
        &["--format", "table", "-q", "-c", "values ('a', 1), ('b', 20)"],
        0,
        "*| a       |       1 |\n| b       |      20 |",
        "",
    ),
    (&["--progress", "json", "-c", "select 1 a"], 0, "a\n1\n", "{\"progress\":{"),
    // Chinese.
    (
        &["--lang", "zh", "-c", "select nope"],
        1,
        "",
        "错误：没有名为 nope 的列\n  select nope\n         ^\n提示：这里没有列",
    ),
    (
        &["--lang", "zh", "{run}", "-c", "select rank from memory"],
        1,
        "",
        "memory_events：2 个 rank，2 个角色 (actor_update, rollout_generate)，4 个单元，638.4 KB",
    ),
    (
        &["--lang", "zh", "-q", "{run}", "-c", "select rank from memory"],
        1,
        "",
        "提示：是不是想写 rank_id？可用的列：",
    ),
    (
        &["--lang", "zh", "{tmp}", "-c", "select 1"],
        3,
        "",
        "{tmp}：没有找到可以读取的数据\n  {tmp}：没有找到 profile",
    ),
    (&["--lang", "zh", "--format", "table", "-c", "select 1 a"], 0, "*| 1 |", "(1 行)\n"),
    (&["--lang", "zh", "--timer", "-c", "select 1 a"], 0, "a\n1\n", "用时 "),
    (
        &["--lang", "zh", "-q", "-c", "copy (select 1) to '{tmp}/x.csv'; copy (select 2) to '{tmp}/x.csv'"],
        1,
        "",
        "x.csv：已经存在\n提示：请给出 --force",
    ),
    (&["--lang", "zh", "-c", ".help .once"], 0, "", "把下一个结果写入文件"),
    (&["--lang", "zh", "--help"], 0, "*用法：rl-insight-sql", ""),
    (&["--help", "--lang=zh"], 0, "*  130  被 Ctrl-C 中断\n", ""),
    (&["check", "--lang", "zh", "--help"], 0, "*断言文件", ""),
    (&["--lang", "zh", "--agent", "-c", "select nope"], 1, "*\"message\":\"No field named nope", ""),
    (&["--lang", "de", "-c", "select 1"], 2, "", "possible values: auto, en, zh"),
    // The rest.
    (&["--version"], 0, concat!("rl-insight-sql ", env!("CARGO_PKG_VERSION"), "\n"), ""),
    (&["--help"], 0, "*  130  interrupted with Ctrl-C\n", ""),
    (&["completions", "bash"], 0, "*_rl__insight__sql() {", ""),
    (&["completions", "zsh"], 0, "*#compdef rl-insight-sql", ""),
    (&["completions", "tcsh"], 2, "", "invalid value 'tcsh'"),
    (&["man"], 0, "*.TH rl-insight-sql 1", ""),
    (&["doctor"], 0, concat!("*version         rl-insight-sql ", env!("CARGO_PKG_VERSION")), ""),
    (&["doctor", "{run}"], 0, "*no data for     dump_trend", ""),
    (&["doctor", "{tmp}/none"], 2, "", "no such file or directory"),
    (&["check"], 2, "", "required arguments were not provided"),
    (&["check", "{tmp}/none.slt", "{run}"], 2, "", "none.slt: cannot be read"),
    (&["--nope"], 2, "", "unexpected argument '--nope'"),
];

#[test]
fn command_lines_do_what_they_should() {
    assert!(LINES.len() >= 80, "only {} command lines", LINES.len());
    let data = copy_of_sample();
    let data = data.path().to_str().unwrap();
    let mut wrong = Vec::new();
    for (args, code, stdout, stderr) in LINES {
        let scratch = tempfile::tempdir().unwrap();
        let real =
            |text: &str| text.replace("{run}", data).replace("{tmp}", scratch.path().to_str().unwrap());
        let args: Vec<String> = args.iter().map(|arg| real(arg)).collect();
        let done = run(&args.iter().map(String::as_str).collect::<Vec<_>>());
        let (stdout, stderr) = (real(stdout), real(stderr));
        let out = match stdout.strip_prefix('*') {
            Some(part) => done.stdout.contains(part),
            None => done.stdout == stdout,
        };
        let err = if stderr.is_empty() { done.stderr.is_empty() } else { done.stderr.contains(&stderr) };
        // No data and no message may move the cursor where nobody asked for colours.
        let plain = args.iter().any(|a| a == "always") || !done.stderr.contains('\u{1b}');
        if done.code != Some(*code) || !out || !err || !plain {
            wrong.push(format!("{args:?}\n  expected {code}, {stdout:?}, {stderr:?}\n  {done:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), LINES.len(), wrong.join("\n"));
}

#[test]
fn a_file_of_results_is_whole_or_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("out.csv");
    let path = target.to_str().unwrap();
    let fails_late = "select 10 / (value - 20000) as v from generate_series(1, 20000)";
    assert_eq!(run(&["-o", path, "--threads", "1", "-c", fails_late]).code, Some(1));
    assert!(!target.exists() && std::fs::read_dir(dir.path()).unwrap().next().is_none());
    assert_eq!(run(&["-o", path, "-c", "select 1 a; select 2 b"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "a\n1\nb\n2\n");
    assert_eq!(run(&["-o", path, "-c", "select 3 c"]).code, Some(2));
    assert_eq!(run(&["-o", path, "--force", "--threads", "1", "-c", fails_late]).code, Some(1));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "a\n1\nb\n2\n");
    let done = run(&["-o", path, "--force", "--keep-going", "-c", "select nope; select 5 e"]);
    assert!(done.code == Some(1) && done.stderr.contains("was not written"), "{done:?}");
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "a\n1\nb\n2\n");
    assert_eq!(run(&["-o", path, "--force", "-c", "select 3 c"]).code, Some(0));
    assert_eq!(std::fs::read_to_string(&target).unwrap(), "c\n3\n");
}

#[test]
fn every_function_can_be_described() {
    let mut sql = String::new();
    let mut count = 0;
    for function in rl_insight_sql::table::all_table_functions() {
        sql.push_str(&format!("DESCRIBE {};", function.name));
        count += 1;
    }
    for function in rl_insight_sql::library::Library::shipped().unwrap().functions() {
        sql.push_str(&format!("DESCRIBE {};", function.name()));
        count += 1;
    }
    let done = run(&["-c", &sql]);
    assert_eq!((done.code, done.stderr.as_str()), (Some(0), ""));
    assert_eq!(done.stdout.matches("column_name,data_type,is_nullable,comment\n").count(), count);
}

#[test]
fn limits_can_be_set_in_the_environment_and_flags_come_first() {
    let sql = "select value from information_schema.df_settings where name = 'datafusion.execution.target_partitions'";
    let mut command = crate::support::program(&["-c", sql]);
    command.env("RL_INSIGHT_SQL_THREADS", "3");
    assert_eq!(crate::support::collect(command.output().unwrap()).stdout, "value\n3\n");
    let mut command = crate::support::program(&["--threads", "2", "-c", sql]);
    command.env("RL_INSIGHT_SQL_THREADS", "3");
    assert_eq!(crate::support::collect(command.output().unwrap()).stdout, "value\n2\n");
}

#[test]
fn incomplete_results_can_be_a_failure_of_their_own() {
    let data = copy_of_sample();
    let profile = data.path().join("actor_update/node0_20480_20260526085215123_ascend_pt");
    std::fs::remove_file(profile.join("ASCEND_PROFILER_OUTPUT/operator_memory.csv")).unwrap();
    let path = data.path().to_str().unwrap();
    let count = "select count(*) n from memory";
    let done = run(&[path, "-c", count]);
    assert_eq!(done.code, Some(3), "{done:?}");
    assert!(done.stderr.contains("1 with problems"), "{done:?}");
    let done = run(&[path, "-q", "--on-error", "skip", "-c", count]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "n\n216\n"), "{done:?}");
    assert!(done.stderr.contains("1 problem was left out"), "{done:?}");
    let done = run(&[path, "--on-error", "skip", "--fail-on-partial", "-c", count]);
    assert_eq!((done.code, done.stdout.as_str()), (Some(4), "n\n216\n"), "{done:?}");
    let done = run(&[path, "--agent", "--on-error", "skip", "-c", count]);
    assert!(done.stdout.contains("\"status\":\"partial\"") && done.code == Some(0), "{done:?}");
}

#[test]
fn the_page_of_the_shell_names_every_command_and_format() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/shell.md");
    let page = std::fs::read_to_string(path).unwrap();
    let help = run(&["-c", ".help"]).stderr;
    let commands = help.lines().filter(|line| line.starts_with(['.', '\\']));
    let mut count = 0;
    for name in commands.flat_map(|line| line.split_whitespace().take_while(|w| w.starts_with(['.', '\\']))) {
        let name = name.trim_end_matches(',');
        // Of names for one thing the page need not have every short one.
        let short = [".describe", ".show", ".exit", "\\h"];
        assert!(short.contains(&name) || page.contains(&format!("`{name}")), "{name} is not on the page");
        count += 1;
    }
    assert!(count >= 22, "{help}");
    for format in ["table", "csv", "tsv", "json", "ndjson", "markdown", "line", "html", "arrow", "parquet"] {
        assert!(page.contains(&format!("`{format}`")), "{format}");
    }
}

#[test]
fn a_broken_piece_is_left_out_where_it_is_asked_for() {
    let data = copy_of_sample();
    let profile = data.path().join("actor_update/node0_20480_20260526085215123_ascend_pt");
    std::fs::remove_file(profile.join("ASCEND_PROFILER_OUTPUT/operator_memory.csv")).unwrap();
    let path = data.path().to_str().unwrap();
    for (sql, said) in [
        ("select count(*) from memory_peaks($run)", "with memory_peaks(..., on_error => 'skip');"),
        ("select count(*) from memory_events($run)", "with memory_events(..., on_error => 'skip');"),
        ("select count(*) from memory", "with --on-error skip on the command line;"),
    ] {
        let done = run(&[path, "-q", "-c", sql]);
        assert!(done.code == Some(3) && done.stderr.contains(said), "{sql}: {done:?}");
    }
}

#[test]
fn every_call_of_an_agent_is_answered_with_one_object() {
    let data = copy_of_sample();
    let path = data.path().to_str().unwrap();
    for args in [
        vec!["--agent", "--help"],
        vec!["--agent", "--version"],
        vec!["--agent"],
        vec!["--agent", path],
        vec!["--agent", "check", "x.slt", path],
        vec!["--agent", "doctor"],
        vec!["--agent", path, "-c", "SHOW TABLES"],
        vec!["--agent", path, "-c", "SHOW FUNCTIONS LIKE 'memory%'"],
        vec!["--agent", path, "-c", "DESCRIBE memory"],
    ] {
        let done = run(&args);
        let answer: serde_json::Value = serde_json::from_str(&done.stdout).unwrap();
        assert_eq!(answer["code"].as_i64(), done.code.map(i64::from), "{args:?}: {done:?}");
        let says =
            answer["suggestion"].is_string() || answer["rows"].as_array().is_some_and(|r| !r.is_empty());
        assert!(says && done.stderr.is_empty(), "{args:?}: {done:?}");
    }
}
