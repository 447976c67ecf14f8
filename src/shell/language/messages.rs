//! What is said besides results, in Chinese, each behind its English text. The first that fits is taken, so those
//! that say more come first.

use super::phrase::Phrase;

/// Remarks, hints and frequent errors.
pub(super) const TEXTS: &[Phrase] = &[
    // Frames around others.
    ("statement {} (line {}): {}", "第 {} 条语句（第 {} 行）：{}"),
    ("hint: {}", "提示：{}"),
    ("note: {}", "注意：{}"),
    ("a limit was reached: {}", "达到了限制：{}"),
    // What was found.
    ("{}: {n} ranks in {n} roles ({}", "{}：{} 个 rank，{} 个角色 ({}"),
    ("{}: {n} rank in {n} roles ({}", "{}：{} 个 rank，{} 个角色 ({}"),
    ("{}: {n} ranks in {n} role ({}", "{}：{} 个 rank，{} 个角色 ({}"),
    ("{}: {n} rank in {n} role ({}", "{}：{} 个 rank，{} 个角色 ({}"),
    ("{}: {n} ranks", "{}：{} 个 rank"),
    ("{}: {n} rank", "{}：{} 个 rank"),
    ("{}: {n} processes", "{}：{} 个进程"),
    ("{}: {n} process", "{}：{} 个进程"),
    ("{n} steps ({n} to {n})", "{} 个 step（{} 到 {}）"),
    ("{n} step ({n})", "{} 个 step（{}）"),
    ("{n} units", "{} 个单元"),
    ("{n} unit", "{} 个单元"),
    ("{n} with problems", "{} 个有问题"),
    (
        "a query that meets a problem fails; .diagnostics lists them, --on-error skip leaves them out",
        "查询遇到问题会失败；.diagnostics 列出问题，--on-error skip 略去有问题的部分",
    ),
    ("{}: nothing found that can be read", "{}：没有找到可以读取的数据"),
    ("{}: no views are made of it, but it can be read by {}", "{}：没有建立视图，但可以用这些函数读取：{}"),
    (
        "{}: no profile found; looked at any depth for directories whose names end in ascend_pt or _ascend_ms, and for mindstudio_profiler_output",
        "{}：没有找到 profile；在任意深度查找了名称以 ascend_pt 或 _ascend_ms 结尾的目录，以及 mindstudio_profiler_output",
    ),
    (
        "{}: no dump found; looked for step<N>/rank<R>/dump.json (or proc<PID>), at any depth",
        "{}：没有找到 dump；在任意深度查找了 step<N>/rank<R>/dump.json（或 proc<PID>）",
    ),
    (
        "{}: no output of msMemScope found; looked for memscope_dump_*.csv and memscope_dump_*.db, at any depth",
        "{}：没有找到 msMemScope 的输出；在任意深度查找了 memscope_dump_*.csv 和 memscope_dump_*.db",
    ),
    ("give the directory of a run, or one above it", "请给出一次运行的目录，或它的上级目录"),
    ("{}: no such file or directory", "{}：没有这个文件或目录"),
    ("check the path; relative paths start at the current directory", "请检查路径；相对路径从当前目录开始"),
    // Below results.
    ("({n} rows; {n} columns left out", "({} 行；{} 列未显示"),
    ("({n} rows; {n} column left out", "({} 行；{} 列未显示"),
    ("({n} row; {n} columns left out", "({} 行；{} 列未显示"),
    ("({n} row; {n} column left out", "({} 行；{} 列未显示"),
    ("({n} rows)", "({} 行)"),
    ("({n} row)", "({} 行)"),
    ("({n} rows", "({} 行"),
    (
        "{n} shown; --max-rows 0 shows all; {n} columns left out",
        "显示 {} 行；--max-rows 0 显示全部；{} 列未显示",
    ),
    (
        "{n} shown; --max-rows 0 shows all; {n} column left out",
        "显示 {} 行；--max-rows 0 显示全部；{} 列未显示",
    ),
    ("{n} shown; --max-rows 0 shows all)", "显示 {} 行；--max-rows 0 显示全部)"),
    (".mode line shows all)", ".mode line 显示全部列)"),
    ("{n} rows written", "写入了 {} 行"),
    ("{n} row written", "写入了 {} 行"),
    ("time: {n} s", "用时 {} 秒"),
    ("{n} files", "{} 个文件"),
    ("{n} file", "{} 个文件"),
    ("{n} read", "读取 {}"),
    ("{n} rows", "{} 行"),
    ("{n} row", "{} 行"),
    ("peak memory {n}", "内存峰值 {}"),
    (
        "{n} problem was left out; SELECT * FROM diagnostics(path) lists them",
        "略去了 {} 个问题；SELECT * FROM diagnostics(path) 列出它们",
    ),
    (
        "{n} problems were left out; SELECT * FROM diagnostics(path) lists them",
        "略去了 {} 个问题；SELECT * FROM diagnostics(path) 列出它们",
    ),
    (
        "the result is not complete, and --fail-on-partial was given",
        "结果不完整，并且给出了 --fail-on-partial",
    ),
    // Names.
    ("No field named {}", "没有名为 {} 的列"),
    ("table '{}' not found", "没有名为 {} 的表"),
    ("table function '{}' not found", "没有名为 {} 的表函数"),
    ("Invalid function '{}'", "没有名为 {} 的函数"),
    ("there are no columns here; text is written in single quotes", "这里没有列；文本要写在单引号里"),
    ("did you mean {}? the columns are {}", "是不是想写 {}？可用的列：{}"),
    ("the columns are {}", "可用的列：{}"),
    ("did you mean {}? SHOW FUNCTIONS lists what there is", "是不是想写 {}？SHOW FUNCTIONS 列出全部函数"),
    ("SHOW FUNCTIONS lists what there is", "SHOW FUNCTIONS 列出全部函数"),
    (
        "did you mean {}? SHOW TABLES and SHOW FUNCTIONS list what there is",
        "是不是想写 {}？SHOW TABLES 和 SHOW FUNCTIONS 列出全部",
    ),
    ("SHOW TABLES and SHOW FUNCTIONS list what there is", "SHOW TABLES 和 SHOW FUNCTIONS 列出全部"),
    ("did you mean {}? the settings are {}", "是不是想写 {}？可用的设置：{}"),
    ("did you mean {}?", "是不是想写 {}？"),
    ("{} is a function, call it: {}", "{} 是函数，请这样调用：{}"),
    ("a path is read by a function, one of: {}", "路径要用函数读取，可用的函数：{}"),
    ("{} has no value; give it with --param {}", "{} 没有值；请用 --param {} 给出"),
    ("{}: unknown argument {}, expected {}", "{}：没有参数 {}，应为 {}"),
    ("{}: {} is missing, expected {}", "{}：缺少参数 {}，应为 {}"),
    ("{}: too many arguments, expected {}", "{}：参数太多，应为 {}"),
    ("{} is {}, expected {}", "{} 是 {}，应为 {}"),
    // SQL.
    ("Expected: {}, found: {} at Line: {}, Column: {}", "应为 {}，实际为 {}，位于第 {} 行第 {} 列"),
    ("Expected: {}, found: {}", "应为 {}，实际为 {}"),
    ("Unterminated string literal at Line: {}, Column: {}", "字符串没有结束，位于第 {} 行第 {} 列"),
    ("division by zero", "除数为零"),
    // Writing.
    ("{}: exists already", "{}：已经存在"),
    (
        "give --force, or OPTIONS (overwrite 'true') behind the COPY",
        "请给出 --force，或在 COPY 后写 OPTIONS (overwrite 'true')",
    ),
    ("give --force to replace it", "请给出 --force 以替换它"),
    ("put --force in front of its name to replace it", "请在文件名前写 --force 以替换它"),
    (
        "{}: this session reads it, and input data is never written",
        "{}：本次会话正在读取它，输入数据从不改写",
    ),
    ("{}: by its name it is {}, and input data is never written", "{}：从名称看它是 {}，输入数据从不改写"),
    ("name another file", "请换一个文件名"),
    ("read-only: {} is refused, nothing may be written", "只读：拒绝 {}，不允许写入"),
    (
        "leave out --read-only, or give --allow-write to --agent",
        "请去掉 --read-only，或与 --agent 一起给出 --allow-write",
    ),
    ("{}: outside of {}, and --root allows only what is in it", "{}：在 {} 之外，--root 只允许其中的内容"),
    ("{} was not written, because a statement failed", "{} 没有写入，因为有语句失败"),
    (
        "{} was not written, because of that; results go to the screen again",
        "{} 因此没有写入；之后的结果恢复显示在屏幕上",
    ),
    ("the result cannot be written to stdout: {}", "结果无法写到标准输出：{}"),
    ("{}: cannot be written: {}", "{}：无法写入：{}"),
    // Data.
    (
        "mend the input, or leave the bad pieces out with {}(..., on_error => 'skip'); diagnostics(path) lists them all",
        "请修复输入，或用 {}(..., on_error => 'skip') 略去坏的部分；diagnostics(path) 列出全部问题",
    ),
    // Limits.
    ("the statement took more than {n} s", "语句用时超过了 {} 秒"),
    ("--timeout sets how long it may take", "--timeout 设定允许的时间"),
    (
        "--memory-limit and --disk-limit set how much queries may use",
        "--memory-limit 和 --disk-limit 设定查询可用的量",
    ),
    ("interrupted", "已中断"),
    // The command line and the prompt.
    (
        "rl-insight-sql {}; \\? lists the commands, TAB completes, \\q leaves",
        "rl-insight-sql {}；\\? 列出命令，TAB 补全，\\q 退出",
    ),
    ("the command {} is unknown; \\? lists the commands", "没有命令 {}；\\? 列出全部命令"),
    ("usage: {}", "用法：{}"),
    ("{} is no function that is a query; \\df lists all", "{} 不是由查询实现的函数；\\df 列出全部"),
    ("the format {} is unknown; expected one of {}", "没有格式 {}；可用的格式：{}"),
    ("{}: expected on or off", "{}：应为 on 或 off"),
    ("{}: expected a number, 0 or more", "{}：应为不小于 0 的数"),
    ("no statement was run yet", "还没有执行过语句"),
    ("no data is open", "没有打开任何数据"),
    (".diagnostics PATH, or .open PATH first", "请用 .diagnostics PATH，或先用 .open PATH 打开"),
    ("there is no history: RL_INSIGHT_SQL_HISTORY is empty", "没有历史记录：RL_INSIGHT_SQL_HISTORY 为空"),
    ("running the statement in line {}", "正在执行第 {} 行的语句"),
    ("{} (one of {})", "{}（可选：{}）"),
    (
        "SQL ends with a semicolon and may have several lines. Ctrl-C cancels a query or drops the input.",
        "SQL 以分号结束，可以有多行。Ctrl-C 取消查询或丢弃输入。",
    ),
    ("{}: cannot be read: {}", "{}：无法读取：{}"),
    ("{}: no such directory", "{}：没有这个目录"),
    ("--timeout: expected a number of seconds above 0", "--timeout：应为大于 0 的秒数"),
    ("--allow-write is only for --agent", "--allow-write 只能与 --agent 一起使用"),
    ("{}: line {}: {} is no setting", "{}：第 {} 行：没有设置 {}"),
    ("{}: line {}: {}", "{}：第 {} 行：{}"),
    ("--no-init runs without this file", "--no-init 不读取此文件"),
    ("--no-init runs without it", "--no-init 不读取此文件"),
];

/// Those that the engine says. A new version may say them differently; then they stay English.
#[cfg(test)]
pub(super) const OF_THE_ENGINE: &[&str] = &[
    "table '{}' not found",
    "table function '{}' not found",
    "Invalid function '{}'",
    "Expected: {}, found: {} at Line: {}, Column: {}",
    "Expected: {}, found: {}",
    "Unterminated string literal at Line: {}, Column: {}",
];

/// Those that the program puts together from a number and a noun, or from several pieces.
#[cfg(test)]
pub(super) const PARTS: &[&str] = &[
    "{}: {n} ranks in {n} roles ({}",
    "{}: {n} rank in {n} roles ({}",
    "{}: {n} ranks in {n} role ({}",
    "{}: {n} rank in {n} role ({}",
    "{}: {n} ranks",
    "{}: {n} processes",
    "{n} steps ({n} to {n})",
    "{n} units",
    "({n} rows; {n} columns left out",
    "({n} rows; {n} column left out",
    "({n} row; {n} columns left out",
    "({n} row; {n} column left out",
    "({n} rows)",
    "({n} rows",
    "{n} shown; --max-rows 0 shows all; {n} columns left out",
    "{n} shown; --max-rows 0 shows all; {n} column left out",
    "{n} rows written",
    "{n} files",
    "{n} rows",
    "{n} problem was left out; SELECT * FROM diagnostics(path) lists them",
    "{n} problems were left out; SELECT * FROM diagnostics(path) lists them",
    "did you mean {}? the columns are {}",
    "did you mean {}? SHOW FUNCTIONS lists what there is",
    "did you mean {}? SHOW TABLES and SHOW FUNCTIONS list what there is",
    "did you mean {}? the settings are {}",
    "{}: by its name it is {}, and input data is never written",
    "{}: this session reads it, and input data is never written",
    "{}: line {}: {}",
];
