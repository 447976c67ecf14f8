//! Flags, subcommands and commands of the prompt in Chinese, each behind its English text.

use super::phrase::Phrase;

/// Every text of `--help` and `.help`.
pub(super) const TEXTS: &[Phrase] = &[
    (
        "Ask in SQL what a reinforcement-learning job left on disk",
        "用 SQL 查询强化学习任务留在磁盘上的诊断数据",
    ),
    // Flags.
    (
        "Directories, files or globs to begin with: views are made of what is found there",
        "启动时打开的目录、文件或通配符：为其中的数据建立视图",
    ),
    (
        "Run this SQL: one or more statements, separated by semicolons. May be given several times",
        "执行这些 SQL：一条或多条语句，以分号分隔。可以给出多次",
    ),
    (
        "Run the SQL in this file; - is standard input. May be given several times",
        "执行此文件中的 SQL；- 表示标准输入。可以给出多次",
    ),
    (
        "How results are written [default: table on a terminal, by the name of the file with -o, else csv]",
        "结果的格式 [默认：终端上为 table，有 -o 时由文件名决定，其余为 csv]",
    ),
    (
        "Write results to this file, which is there when all of them are in it and not before",
        "把结果写入此文件；全部写完之后文件才会出现",
    ),
    (
        "Replace files that exist already: the target of -o, .output, .once and COPY",
        "允许替换已经存在的文件：-o、.output、.once 和 COPY 的目标",
    ),
    (
        "How many rows a table shows; 0 shows all [default: 40, with --agent 1000]",
        "table 最多显示多少行；0 为全部 [默认：40，--agent 时为 1000]",
    ),
    ("How many bytes of rows --agent prints", "--agent 最多输出多少字节的行"),
    ("Leave out the line of column names in csv and tsv", "csv 和 tsv 不写列名行"),
    ("What stands for NULL in csv, tsv, table and line", "csv、tsv、table 和 line 中表示 NULL 的文字"),
    ("Group the digits of numbers in tables: 1,234,567", "table 中的数字每三位分组：1,234,567"),
    (
        "What NaN and infinities are in json, ndjson and with --agent",
        "json、ndjson 和 --agent 中 NaN 与无穷大的写法",
    ),
    (
        "What 64-bit integers beyond 2^53 are in json, ndjson and with --agent",
        "json、ndjson 和 --agent 中超过 2^53 的 64 位整数的写法",
    ),
    (
        "Read and write no file outside of this directory, whatever the SQL says",
        "无论 SQL 怎么写，都不读写此目录之外的文件",
    ),
    ("Refuse every statement that writes", "拒绝一切写操作的语句"),
    (
        "Answer with exactly one JSON object on stdout, for programs; implies --read-only",
        "供程序调用：在标准输出上只给出一个 JSON 对象；隐含 --read-only",
    ),
    ("Let --agent write", "允许 --agent 写"),
    (
        "Go on after a statement that failed; the exit code is that of the first failure",
        "语句失败后继续执行；退出码为第一个失败的退出码",
    ),
    ("Exit code 4 when something was left out of a result", "结果中有数据被略去时退出码为 4"),
    ("After each statement say how long it took and what it read", "每条语句之后说明用时和读取量"),
    ("When to show progress", "何时显示进度"),
    ("The same as --progress never", "等同于 --progress never"),
    ("Do not use a pager", "不使用分页器"),
    ("Run this file when the prompt starts, instead of init.sql", "进入提示符时执行此文件，代替 init.sql"),
    ("Do not run init.sql, and do not read config.toml", "不执行 init.sql，也不读取 config.toml"),
    ("In which language help, remarks and errors are", "帮助、说明和错误信息的语言"),
    ("How many threads work on a query [default: the number of cores]", "查询使用的线程数 [默认：CPU 核数]"),
    (
        "How much memory queries may use, for example 512m or 4g [default: no limit]",
        "查询可用的内存，例如 512m 或 4g [默认：不限]",
    ),
    (
        "Where queries put what does not fit into memory [default: the system's directory]",
        "内存放不下时临时文件的目录 [默认：系统临时目录]",
    ),
    ("How much queries may put there [default: 100g]", "临时文件最多占用多少磁盘 [默认：100g]"),
    ("How long a statement may take, in seconds [default: for ever]", "一条语句最多用多少秒 [默认：不限]"),
    (
        "What the views over PATHs do with problems in the data: fail, or leave out and count",
        "视图遇到数据问题时：报错（strict），或略去并计数（skip）",
    ),
    (
        "A value for $NAME in the SQL: a number, true, false, or text ('...' for text that looks like a number). May be given several times",
        "SQL 中 $NAME 的值：数字、true、false 或文本（像数字的文本写成 '...'）。可以给出多次",
    ),
    (
        "Make a table function of each *.sql in this directory, in the form of the shipped ones (.source NAME shows them). May be given several times",
        "把此目录中的每个 *.sql 变成表函数，写法与自带的函数相同（.source NAME 可查看）。可以给出多次",
    ),
    ("When to use colours on stderr", "标准错误上何时使用颜色"),
    (
        "Print results, errors and warnings that a result is not complete; nothing else",
        "只输出结果、错误，以及结果不完整的警告",
    ),
    ("Say more: for every statement what it is going to do", "多说一些：每条语句将要做什么"),
    // Subcommands.
    ("Run the assertions of a sqllogictest file on data", "用 sqllogictest 文件中的断言检查数据"),
    (
        "Draw a picture of data: on the terminal, or as an HTML file that needs no network",
        "画图：显示在终端上，或写成不需要网络的 HTML 文件",
    ),
    (
        "What kind of picture: flame, timeline, heatmap, trend or lifetimes",
        "哪种图：flame、timeline、heatmap、trend 或 lifetimes",
    ),
    (
        "What of the data, options, and the data itself: at_peak rank=3 run/",
        "画数据的什么、选项，以及数据本身：at_peak rank=3 run/",
    ),
    (
        "Write the picture to this file: .html, or .txt for what a terminal shows [default: text on a terminal, else a page on stdout]",
        "把图写入此文件：.html，或 .txt（终端上显示的样子）[默认：终端上为文字，否则把网页写到标准输出]",
    ),
    ("Draw with characters, also where stdout is no terminal", "用字符画图，标准输出不是终端时也是"),
    ("Replace the file if it exists already", "文件已经存在时替换它"),
    ("Read and write no file outside of this directory", "不读写此目录之外的文件"),
    (
        "draw a picture here, or into an HTML file; without a kind, list them",
        "在这里画图，或写入 HTML 文件；不给种类时列出全部种类",
    ),
    (
        "Report about the memory of a run: peaks and outliers, who holds it, gaps, what is kept, problems",
        "一次运行的内存报告：峰值和离群的 rank、谁占用内存、空隙、未释放的内存、数据问题",
    ),
    ("The run: a directory with profiles, at any depth", "一次运行：含有 profile 的目录，深度不限"),
    (
        "How the report is written [default: table on a terminal, by the name of the file with -o, else markdown]",
        "报告的格式 [默认：终端上为 table，有 -o 时由文件名决定，其余为 markdown]",
    ),
    ("Write the report to this file instead of stdout", "把报告写入此文件，而不是标准输出"),
    (
        "Export a dump of msProbe as the database that TensorBoard's Trend Analyzer opens",
        "把 msProbe 的 dump 导出为 TensorBoard Trend Analyzer 可以打开的数据库",
    ),
    ("The dump: a directory with step<N>/rank<R>/dump.json", "dump：含有 step<N>/rank<R>/dump.json 的目录"),
    (
        "The database to write, NAME.trend.db; it is there as a whole or not at all",
        "要写的数据库 NAME.trend.db；要么完整，要么不存在",
    ),
    ("Say what is installed, what the limits are, and what a path holds", "说明版本、限制，以及路径中有什么"),
    ("Directories, files or globs to look at", "要查看的目录、文件或通配符"),
    ("Print the completions for a shell", "输出 shell 的补全脚本"),
    ("The shell", "哪种 shell"),
    ("Print the manual page", "输出手册页"),
    ("The file of assertions, in the format of sqllogictest", "断言文件，sqllogictest 格式"),
    ("The data: views as at the prompt, and $run", "数据：与提示符中相同的视图，以及 $run"),
    ("Do not read config.toml", "不读取 config.toml"),
    ("How the outcome is written", "报告的格式"),
    ("Write the outcome to this file instead of stdout", "把报告写入此文件，而不是标准输出"),
    // Commands of the prompt.
    ("look what a path holds, and make views of it", "查看路径中有什么，并建立视图"),
    ("list tables, views and table functions", "列出表、视图和表函数"),
    (
        "the columns of a table or table function, or what .tables says",
        "表或表函数的列；没有参数时同 .tables",
    ),
    ("the columns of a table or table function", "表或表函数的列"),
    ("list functions: how to call them, and what for", "列出函数：调用方法和用途"),
    ("the SQL of a function that is a query", "由查询实现的函数的 SQL"),
    ("problems and notes about the data; reads all of it", "数据的问题和说明；会读取全部数据"),
    ("choose how results are written, or say how they are", "选择结果的格式，或显示当前格式"),
    (
        "send results to a file from now on; without one, to the screen again",
        "从现在起把结果写入文件；不给文件名时恢复到屏幕",
    ),
    ("send the next result to a file", "把下一个结果写入文件"),
    ("run the last statement again, written differently", "以另一种格式重新执行上一条语句"),
    ("how many rows a table shows; 0 shows all", "table 最多显示多少行；0 为全部"),
    ("how wide a table may be; 0 is as wide as the screen", "table 的最大宽度；0 为屏幕宽度"),
    ("group the digits of numbers in tables", "table 中的数字每三位分组"),
    ("the line of names in csv and tsv", "csv 和 tsv 的列名行"),
    ("what stands for NULL in text", "文本中表示 NULL 的文字"),
    ("say how long each statement takes and what it reads", "说明每条语句的用时和读取量"),
    ("show long tables in the pager", "长表格使用分页器"),
    (
        "what is set and by whom: flags, variables, config.toml, SET",
        "每个设置的值和来源：参数、环境变量、config.toml、SET",
    ),
    ("run the SQL in a file", "执行文件中的 SQL"),
    ("what was typed last", "最近输入的内容"),
    ("this list", "本列表"),
    ("leave; Ctrl-D does the same", "退出；也可按 Ctrl-D"),
];

/// What stands below the flags.
pub(super) const AFTER_HELP: &str = "\
有 -c 或 -f 时，按命令行中的顺序执行它们，然后结束。没有时，从标准输入读取 SQL；标准输入是终端时显示
提示符。提示符的命令（\\? 列出全部）也可以写在脚本里，各占一行。

启动时只列出 PATH 的内容，不打开数据文件：找到的数据在标准错误上说明，并建立视图 memory、memory_record、
trend 等。只有一个 PATH 时，它在 SQL 中就是 $run：memory_peaks($run)。

结果写到标准输出，其余一切写到标准错误。
  csv       NULL 是空字段，空字符串是 \"\"
  tsv       制表符、换行、回车和反斜杠写成 \\t \\n \\r \\\\；NULL 是 \\N
  json      每个结果一个数组，占一行；ndjson：每行一个对象；NaN 和无穷大是字符串
            （--json-nonfinite null 使它们成为 null）；同名列中靠后的加上序号：a、a_2
  table     只显示前若干行（见 --max-rows），在终端上只显示放得下的部分；其他格式从不省略
  arrow、parquet  每个文件一个结果

退出码：
  0    完成（标准输出的读者提前离开也算完成）
  1    SQL 有误、执行失败，或被 --read-only 拒绝；之后的语句不再执行
  2    命令行有误，或其中的文件或 PATH 无法读取
  3    输入数据无法按要求读取
  4    已完成，但 on_error => 'skip' 略去了数据，并且给出了 --fail-on-partial
  5    允许的内存、磁盘或时间已用完
  6    check：有断言不成立
  130  被 Ctrl-C 中断
  143  被 SIGTERM 结束

文件和环境：
  标有 [env: ...] 的参数也可以由环境变量给出，或写在 $XDG_CONFIG_HOME/rl-insight-sql/config.toml
  （~/.config）中，例如 memory_limit = \"4g\"；命令行优先，其次是环境变量。
  $XDG_STATE_HOME/rl-insight-sql/history（~/.local/state）保存输入历史；RL_INSIGHT_SQL_HISTORY 可指定
  另一个文件，为空则不保存。进入提示符时执行 $XDG_CONFIG_HOME/rl-insight-sql/init.sql（~/.config）。
  PAGER、NO_COLOR、CLICOLOR_FORCE 和 TERM 的含义与通常相同。

示例：
  rl-insight-sql run/
  rl-insight-sql run/ -c \"SELECT role, rank_id, max(total_allocated_mb) FROM memory GROUP BY 1, 2\"
  rl-insight-sql --format json -f setup.sql -f report.sql > report.json
  rl-insight-sql report run/ -o report.md
  rl-insight-sql export-trend dump/ -o out/dump_data.trend.db
  rl-insight-sql check nightly.slt run/ --format junit -o report.xml
  rl-insight-sql plot flame run/ at_peak rank=3 -o peak.html";
