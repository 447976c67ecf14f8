//! The prompt in a pseudo-terminal: the first five minutes, start file, progress.
//!
//! A program of its own, and one test at a time: the crate behind it forks, which is only safe while no
//! other thread starts processes.

#![cfg(unix)]
// In a test a panic is the failure; clippy only knows that of functions marked #[test].
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, clippy::panic)]

#[path = "it/big_run.rs"]
mod big_run;

use std::path::Path;
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rexpect::session::{PtySession, spawn_command};

use big_run::big_run;

/// What an impatient user takes for at once, and a busy machine can keep.
const SOON: Duration = Duration::from_secs(30);

/// The prompt in a terminal, with its history and start file in `home`.
fn prompt(home: &Path, args: &[&str]) -> PtySession {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"));
    command.args(args).env_clear().current_dir(home);
    command.envs([("TERM", "xterm"), ("PAGER", "cat"), ("NO_COLOR", "1")]).env("HOME", home);
    spawn_command(command, Some(60_000)).unwrap()
}

/// The same in a terminal of so many columns, with more variables, and any home.
fn prompt_in(columns: usize, home: &Path, variables: &[(&str, &str)], args: &[&str]) -> PtySession {
    let mut command = Command::new("sh");
    let script = format!("stty cols {columns} rows 24; cd \"$HOME\" 2>/dev/null; exec \"$0\" \"$@\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_rl-insight-sql")]).args(args).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.envs([("TERM", "xterm"), ("PAGER", "cat"), ("NO_COLOR", "1")]).env("HOME", home);
    command.envs(variables.iter().copied());
    spawn_command(command, Some(60_000)).unwrap()
}

/// Held by the test that runs.
fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the terminal is told when a line begins to be edited, and when it is complete: pasting is
/// bracketed in between. What is typed before that may be lost.
const BEGIN: &str = "\u{1b}[?2004h";
const END: &str = "\u{1b}[?2004l";

/// A text as the crate gives it: each byte is a character of its own.
fn raw(text: &str) -> String {
    text.bytes().map(char::from).collect()
}

/// What the crate gives as the text that it was.
fn cooked(raw: &str) -> String {
    String::from_utf8(raw.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect()).unwrap()
}

/// Types a line, waits for its answer, which may be empty, and for the prompt.
fn ask(session: &mut PtySession, line: &str, answer: &str) {
    session.send_line(line).unwrap();
    for expected in [END, &raw(answer), BEGIN] {
        session.exp_string(expected).unwrap_or_else(|e| panic!("{line}: {e}"));
    }
}

/// Types a line of a statement that goes on.
fn go_on(session: &mut PtySession, line: &str) {
    ask(session, line, "");
    session.exp_string("...> ").unwrap_or_else(|e| panic!("{line}: {e}"));
}

/// Types the beginning of a line and TAB twice, waits for something in the list, and drops the line.
fn complete(session: &mut PtySession, line: &str, listed: &str) {
    session.send(&format!("{line}\t\t")).unwrap();
    session.flush().unwrap();
    session.exp_string(&raw(listed)).unwrap_or_else(|e| panic!("{line}: {e}"));
    session.send_control('c').unwrap();
    session.exp_string(END).unwrap();
    session.exp_string(BEGIN).unwrap();
}

#[cfg(target_os = "linux")]
fn resident(pid: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|l| l.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse().unwrap()
}

/// The process whose working directory this is.
#[cfg(target_os = "linux")]
fn process_in(directory: &Path) -> String {
    let directory = directory.canonicalize().unwrap();
    let mut processes = std::fs::read_dir("/proc").unwrap().flatten();
    let found =
        processes.find(|p| std::fs::read_link(p.path().join("cwd")).is_ok_and(|cwd| cwd == directory));
    found.unwrap().file_name().into_string().unwrap()
}

#[test]
fn the_first_five_minutes() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let run_dir = home.path().join("run_dir");
    big_run(&run_dir, "");
    let mut session = prompt(home.path(), &["run_dir"]);
    // What was found.
    session.exp_string("128 ranks in 3 roles").unwrap();
    session.exp_string("2 with problems").unwrap();
    session.exp_string(".diagnostics").unwrap();
    session.exp_string(BEGIN).unwrap();
    // A first look reads one rank only.
    let begun = Instant::now();
    ask(
        &mut session,
        "SELECT rank_id, size_kb FROM memory WHERE rank_id <> 5 AND rank_id <> 77 LIMIT 5;",
        "(5 rows",
    );
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    // Functions with their signature, folders inside quotes.
    complete(&mut session, "SELECT * FROM memory_", "memory_peaks(path");
    complete(&mut session, "SELECT * FROM memory_peaks('run_dir/", "compute_ref/");
    // A question of the library.
    ask(
        &mut session,
        "SELECT role, rank_id, peak_mb, vs_median FROM memory_peaks('run_dir', on_error => 'skip') ORDER BY 3 DESC LIMIT 3;",
        "(3 rows",
    );
    // A picture in a file that needs no network; the ranks that are broken are not opened for it.
    complete(&mut session, ".plot fl", "flame");
    ask(&mut session, ".plot flame at_peak rank=3 > peak.html", "peak.html: ");
    let picture = std::fs::read_to_string(home.path().join("peak.html")).unwrap();
    assert!(picture.starts_with("<!DOCTYPE html>") && picture.ends_with("</html>\n"));
    assert!(picture.contains("memory_at_peak(&#39;run_dir&#39;) WHERE rank_id = 3 "));
    // Nothing is fetched: the only address is the name of SVG.
    assert!(!picture.replace("http://www.w3.org/2000/svg", "").contains("://"));
    ask(&mut session, ".plot timeline role=actor_update rank=0..12", "5 ranks in 1 role");
    // The next result goes to a file, which is complete or absent.
    ask(&mut session, ".once out.csv", "");
    ask(&mut session, "SELECT 20 + 1 AS n;", "out.csv: written");
    ask(&mut session, "SELECT 20 + 2 AS n;", "(1 row)");
    assert_eq!(
        std::fs::read_to_string(home.path().join("out.csv")).unwrap().lines().count(),
        2,
        "names and a row"
    );
    ask(&mut session, ".once bad.csv", "");
    ask(&mut session, "SELECT 1 / (value - 9000) FROM generate_series(1, 9000);", "division by zero");
    assert!(!home.path().join("bad.csv").exists());
    // A wrong column.
    ask(&mut session, "SELECT rank FROM memory;", "hint: did you mean rank_id?");
    // Ctrl-C cancels the query, keeps the prompt, and gives the memory back.
    #[cfg(target_os = "linux")]
    let (pid, before) = {
        let pid = process_in(home.path());
        (pid.clone(), resident(&pid))
    };
    session
        .send_line("SELECT count(DISTINCT a.value) FROM generate_series(1, 1000000) a, generate_series(1, 1000000) b WHERE a.value + b.value > 0;")
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    let begun = Instant::now();
    session.send_control('c').unwrap();
    session.exp_string("interrupted").unwrap();
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "SELECT 40 + 2 AS answer;", "42");
    assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
    #[cfg(target_os = "linux")]
    {
        // Cancelled operators are dropped when they next look up.
        let enough = |now: u64| now < before + (200 << 10);
        let waited = Instant::now();
        while !enough(resident(&pid)) && waited.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(200));
        }
        let now = resident(&pid);
        assert!(enough(now), "{before} kB before, {now} kB after");
    }
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
    assert!(home.path().join(".local/state/rl-insight-sql/history").is_file());
    assert!(!run_dir.join("history").exists());
}

#[test]
fn the_start_file_runs_first_and_can_be_left_out() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let config = home.path().join(".config/rl-insight-sql");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("init.sql"), ".timer on\nCREATE VIEW mine AS SELECT 6 * 7 AS n;\n").unwrap();
    let mut session = prompt(home.path(), &[]);
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "SELECT * FROM mine;", "time: ");
    ask(&mut session, "SELECT * FROM mine;", "42");
    session.send_control('d').unwrap();
    session.exp_eof().unwrap();
    let mut session = prompt(home.path(), &["--no-init"]);
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "SELECT * FROM mine;", "not found");
    session.send_line("exit").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn progress_is_shown_on_the_terminal_and_erased() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let sql = "SELECT count(*) FROM generate_series(1, 60000) a, generate_series(1, 60000) b WHERE a.value + b.value = -1";
    let mut session = prompt(home.path(), &["--timeout", "4", "-c", sql]);
    session.exp_string("peak memory").unwrap();
    session.exp_string("\r\u{1b}[K").unwrap();
    session.exp_string("took more than 4 s").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn tables_fit_narrow_and_wide_terminals() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let query =
        "SELECT 1234567 AS number, 'a text that is longer than the screen' AS words, 3 AS c, 4 AS d, 5 AS e;";
    let mut session = prompt_in(20, home.path(), &[], &[]);
    session.exp_string(BEGIN).unwrap();
    session.send_line(query).unwrap();
    session.exp_string(END).unwrap();
    let drawn = cooked(&session.exp_string("left out").unwrap());
    let lines: Vec<&str> = drawn.lines().filter(|line| line.starts_with(['+', '|'])).collect();
    assert!(lines.len() >= 4 && lines.iter().all(|line| line.chars().count() <= 20), "{drawn}");
    assert!(drawn.contains('…') && drawn.contains("1234567"), "{drawn}");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
    let mut session = prompt_in(400, home.path(), &[], &[]);
    session.exp_string(BEGIN).unwrap();
    session.send_line(query).unwrap();
    session.exp_string(END).unwrap();
    let drawn = cooked(&session.exp_string("(1 row)").unwrap());
    assert!(drawn.contains("a text that is longer than the screen") && !drawn.contains('…'), "{drawn}");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn only_what_is_longer_than_the_screen_goes_through_the_pager() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt_in(80, home.path(), &[("PAGER", "sed s/^/paged:/")], &["--max-rows", "0"]);
    session.exp_string(BEGIN).unwrap();
    let mut shown = |line: &str| {
        session.send_line(line).unwrap();
        session.exp_string(END).unwrap();
        session.exp_string(BEGIN).unwrap()
    };
    let long = "SELECT value FROM generate_series(1, 40);";
    let answer = shown(long);
    assert!(answer.contains("paged:|    40 |"), "{answer}");
    let answer = shown("SELECT 40 + 2 AS answer;");
    assert!(answer.contains("42 |") && !answer.contains("paged:"), "{answer}");
    shown(".pager off");
    let answer = shown(long);
    assert!(answer.contains("|    40 |") && !answer.contains("paged:"), "{answer}");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn a_prompt_starts_whatever_home_is_like() {
    let _alone = alone();
    let scratch = tempfile::tempdir().unwrap();
    std::fs::write(scratch.path().join("file"), "").unwrap();
    let file = scratch.path().join("file");
    for (home, history) in [(Path::new("/nowhere"), "/proc/none/history"), (&file, ""), (&file, "/dev/full")]
    {
        let mut session = prompt_in(100, home, &[("RL_INSIGHT_SQL_HISTORY", history)], &[]);
        session.exp_string(BEGIN).unwrap();
        ask(&mut session, "SELECT 40 + 2 AS answer;", "42");
        ask(&mut session, "SELECT 40 + 3 AS answer;", "43");
        session.send_control('d').unwrap();
        session.exp_eof().unwrap();
    }
}

#[test]
fn a_statement_goes_on_until_its_semicolon_and_commands_work_in_between() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt(home.path(), &["--no-init"]);
    session.exp_string(BEGIN).unwrap();
    go_on(&mut session, "SELECT 40");
    ask(&mut session, "", "(the statement ends with ; - Ctrl-C drops it)");
    ask(&mut session, ".help .once", "send the next result to a file");
    ask(&mut session, "  + 2 AS answer;", "42");
    // In quotes the same line is text.
    go_on(&mut session, "SELECT '");
    go_on(&mut session, "\\?");
    ask(&mut session, "' AS sign;", "| \\?");
    go_on(&mut session, "SELECT 1");
    ask(&mut session, "SELECT 2;", "hint: a semicolon is missing before it");
    go_on(&mut session, "SELECT 3");
    session.send_control('c').unwrap();
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "SELECT 5 AS five;", "five");
    // Functions are completed with what the lines before say.
    go_on(&mut session, "SELECT rank_id FROM");
    complete(&mut session, "memory_peaks('x') WHERE vs_m", "vs_median");
    go_on(&mut session, "SELECT");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn hints_at_the_prompt_name_its_commands_and_break_at_words() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt_in(40, home.path(), &[], &["--no-init", "--max-rows", "2"]);
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "VALUES (1), (2), (3);", "(3 rows, 2 shown; .maxrows 0 shows all)");
    ask(
        &mut session,
        "SELECT * FROM memory;",
        "hint: memory is a view over what is\r\n  open: open a path first",
    );
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn diagnostics_are_lines_on_a_narrow_screen_and_words_when_there_are_none() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    big_run(&home.path().join("run_dir"), "");
    let mut session = prompt_in(80, home.path(), &[], &["--no-init", "-q", "run_dir/compute_ref"]);
    session.exp_string(BEGIN).unwrap();
    // Rank 5 and 77 of it lack a file; on a narrow screen that is said line by line.
    ask(&mut session, ".diagnostics", "entry = problem");
    ask(&mut session, ".diagnostics run_dir/rollout_generate", "no problems, no notes");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn a_path_that_holds_nothing_is_said_and_the_prompt_stays() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    std::fs::create_dir(home.path().join("empty")).unwrap();
    let mut session = prompt(home.path(), &["-q", "empty"]);
    session.exp_string("empty: nothing found that can be read").unwrap();
    session.exp_string("no profile found; looked at any depth").unwrap();
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, ".open empty", "hint: give the directory of a run, or one above it");
    ask(&mut session, "SELECT 40 + 2 AS answer;", "42");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn words_and_values_are_completed_where_they_are_typed() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    big_run(&home.path().join("训练"), "");
    let mut session = prompt(home.path(), &["-q", "训练"]);
    session.exp_string(BEGIN).unwrap();
    complete(&mut session, ".open 训练/act", "训练/actor_update/");
    complete(&mut session, "SELECT * FROM memory_peaks('训", "训练/");
    complete(&mut session, "SELECT * FROM memory_growth('x', window => '", "step");
    complete(&mut session, "\\d memory_f", "memory_fragmentation");
    complete(&mut session, "SET datafusion.execution.batch_s", "batch_size");
    // Two of its 42 ranks have no data.
    let sql =
        "SELECT count(DISTINCT rank_id) AS n FROM memory_events('训练/compute_ref', on_error => 'skip');";
    ask(&mut session, sql, "40");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}

#[test]
fn the_prompt_speaks_chinese_where_that_is_the_language() {
    let _alone = alone();
    let home = tempfile::tempdir().unwrap();
    let mut session = prompt_in(100, home.path(), &[("LANG", "zh_CN.UTF-8")], &[]);
    session.exp_string(&raw("\\? 列出命令")).unwrap();
    session.exp_string(BEGIN).unwrap();
    ask(&mut session, "\\?", "查看路径中有什么");
    ask(&mut session, "SELECT nope;", "错误：没有名为 nope 的列");
    ask(&mut session, "SELECT 1 AS a;", "(1 行)");
    session.send_line("\\q").unwrap();
    session.exp_eof().unwrap();
}
