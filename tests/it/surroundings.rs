//! Settings and surroundings: config.toml, variables, odd homes, odd names, odd streams.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::discovery::copy_of_sample;
use crate::support::{Run, collect, program};

/// A home directory with this config.toml.
fn home(config: &str) -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let directory = home.path().join(".config/rl-insight-sql");
    fs::create_dir_all(&directory).unwrap();
    fs::write(directory.join("config.toml"), config).unwrap();
    home
}

fn run_at(home: &Path, variables: &[(&str, &str)], args: &[&str]) -> Run {
    collect(program(args).env("HOME", home).envs(variables.iter().copied()).output().unwrap())
}

/// Name, value and origin of one setting.
fn setting(home: &Path, variables: &[(&str, &str)], args: &[&str], name: &str) -> (String, String) {
    let query = format!(".settings {name}");
    let args: Vec<&str> =
        args.iter().copied().chain(["--format", "tsv", "--no-headers", "-c", &query]).collect();
    let done = run_at(home, variables, &args);
    assert_eq!(done.code, Some(0), "{done:?}");
    let mut fields = done.stdout.split('\t');
    assert_eq!(fields.next(), Some(name), "{done:?}");
    (fields.next().unwrap().to_owned(), fields.next().unwrap().to_owned())
}

#[test]
fn a_setting_comes_from_the_flag_the_environment_the_file_or_the_default_in_this_order() {
    let home = home("# mine\nmemory-limit = \"2g\"\n");
    let file = home.path().join(".config/rl-insight-sql/config.toml").display().to_string();
    let variable = [("RL_INSIGHT_SQL_MEMORY_LIMIT", "3g")];
    let of =
        |variables: &[(&str, &str)], args: &[&str]| setting(home.path(), variables, args, "memory_limit");
    let flag = ["--memory-limit", "4g"];
    assert_eq!(of(&variable, &flag), ("4g".into(), "flag --memory-limit".into()));
    let environment = "environment variable RL_INSIGHT_SQL_MEMORY_LIMIT".to_owned();
    assert_eq!(of(&variable, &[]), ("3g".into(), environment));
    assert_eq!(of(&[], &[]), ("2g".into(), format!("{file}, line 2")));
    assert_eq!(of(&[], &["--no-init"]), (String::new(), "default".into()));
    // The file is not only shown, it counts.
    let big = "select count(*) from generate_series(1, 300000) a join generate_series(1, 300000) b on a.value = b.value";
    fs::write(&file, "memory_limit = \"1m\"\nthreads = 1\n").unwrap();
    assert_eq!(run_at(home.path(), &[], &["-c", big]).code, Some(5));
    assert_eq!(run_at(home.path(), &[], &["--memory-limit", "1g", "-c", big]).code, Some(0));
}

#[test]
fn settings_say_what_changed_them() {
    let home = home("timer = true\nprogress = \"never\"\n");
    let of = |script: &str, name: &str| {
        let script = format!("{script}.settings {name}");
        let done = run_at(home.path(), &[], &["--no-progress", "--no-headers", "-q", "-c", &script]);
        assert_eq!(done.code, Some(0), "{done:?}");
        done.stdout
    };
    assert!(of("", "timer").starts_with("timer,true,") && of("", "timer").contains("config.toml, line 1"));
    assert!(of(".timer off\n", "timer").starts_with("timer,false,changed in this session,"));
    let batch = "datafusion.execution.batch_size";
    assert!(of("", batch).starts_with(&format!("{batch},8192,default,")));
    let set = format!("SET {batch} = 100;\n");
    assert!(of(&set, batch).starts_with(&format!("{batch},100,changed in this session,")));
    assert!(of("", "datafusion.catalog.information_schema").contains(",true,rl-insight-sql,"));
    // Every flag that can be set is there, errands are not.
    let all = of("", "*");
    assert!(
        all.contains("\ngroup_digits,false,default,")
            && !all.contains("\noutput,")
            && !all.contains("\nhelp,")
    );
}

#[test]
fn a_broken_file_of_settings_is_an_error_that_can_be_passed_by() {
    let home = home("\ntimre = true\n");
    let done = run_at(home.path(), &[], &["-c", "select 1"]);
    assert!(done.code == Some(2) && done.stdout.is_empty(), "{done:?}");
    assert!(
        done.stderr.contains("config.toml: line 2: timre is no setting\nhint: did you mean timer?"),
        "{done:?}"
    );
    assert!(done.stderr.contains("--no-init runs without this file"), "{done:?}");
    let done = run_at(home.path(), &[], &["--agent", "-c", "select 1"]);
    assert!(done.code == Some(2) && done.stderr.is_empty() && done.stdout.contains("\"code\":2"), "{done:?}");
    for args in [&["--no-init", "-c", "select 1"][..], &["--help"], &["--version"], &["man"], &["doctor"]] {
        assert_eq!(run_at(home.path(), &[], args).code, Some(0), "{args:?}");
    }
    // What is wrong with the command line comes first.
    assert!(run_at(home.path(), &[], &["--nope"]).stderr.contains("--nope"));
    assert_eq!(run_at(home.path(), &[], &["check", "x", "y"]).code, Some(2));
}

#[test]
fn switches_can_be_set_by_variables() {
    let home = home("");
    let copy = "copy (select 1) to 'x.csv'";
    let done = run_at(home.path(), &[("RL_INSIGHT_SQL_READ_ONLY", "1")], &["-c", copy]);
    assert!(done.code == Some(1) && done.stderr.contains("read-only: COPY is refused"), "{done:?}");
    let done = run_at(home.path(), &[("RL_INSIGHT_SQL_READ_ONLY", "perhaps")], &["-c", "select 1"]);
    assert!(done.code == Some(2) && done.stderr.contains("perhaps"), "{done:?}");
    let root = [("RL_INSIGHT_SQL_ROOT", home.path().to_str().unwrap())];
    assert!(run_at(home.path(), &root, &["-c", ".read /etc/passwd"]).stderr.contains("--root allows only"));
}

#[test]
fn the_language_is_that_of_the_environment_unless_it_is_said() {
    let home = home("");
    let chinese = |variables: &[(&str, &str)], args: &[&str]| {
        let args: Vec<&str> = args.iter().copied().chain(["-c", "select nope"]).collect();
        let done = run_at(home.path(), variables, &args);
        assert!(done.code == Some(1) && done.stderr.contains("nope"), "{done:?}");
        done.stderr.starts_with("错误：")
    };
    assert!(chinese(&[("LANG", "zh_CN.UTF-8")], &[]) && chinese(&[("LC_ALL", "zh_TW"), ("LANG", "C")], &[]));
    assert!(!chinese(&[("LC_ALL", "C"), ("LANG", "zh_CN.UTF-8")], &[]) && !chinese(&[], &[]));
    assert!(!chinese(&[("LANG", "zh_CN.UTF-8")], &["--lang", "en"]));
    assert!(chinese(&[("RL_INSIGHT_SQL_LANG", "zh")], &[]));
    fs::write(home.path().join(".config/rl-insight-sql/config.toml"), "lang = \"zh\"").unwrap();
    assert!(chinese(&[], &[]) && !chinese(&[], &["--no-init"]));
}

#[test]
fn odd_homes_are_no_reason_to_fail() {
    let home = tempfile::tempdir().unwrap();
    fs::write(home.path().join("file"), "").unwrap();
    let readable = home.path().join("fixed");
    fs::create_dir(&readable).unwrap();
    fs::set_permissions(&readable, fs::Permissions::from_mode(0o555)).unwrap();
    for at in
        [Path::new("/nowhere"), Path::new(""), Path::new("relative"), &home.path().join("file"), &readable]
    {
        let done = run_at(at, &[], &["-c", "select 1 a"]);
        assert!(
            done.code == Some(0) && done.stdout == "a\n1\n" && done.stderr.is_empty(),
            "{at:?}: {done:?}"
        );
        assert_eq!(run_at(at, &[], &["doctor"]).code, Some(0));
    }
    let done = collect(program(&["-c", ".history"]).output().unwrap());
    assert!(done.code == Some(1) && done.stderr.contains("there is no history"), "{done:?}");
}

#[test]
fn names_that_are_no_text_are_said_so_or_read() {
    let data = copy_of_sample();
    let odd = data.path().join(OsStr::from_bytes(b"odd_\xff"));
    fs::rename(data.path().join("actor_update"), &odd).unwrap();
    let mut command = program(&[]);
    let done = collect(command.arg(&odd).args(["-c", "select 1"]).output().unwrap());
    assert!(done.code == Some(2) && done.stderr.contains("UTF-8"), "{done:?}");
    // Below a path that is text they are found and read.
    let root = data.path().to_str().unwrap();
    let query = "SELECT count(DISTINCT role) AS roles, count(*) AS n FROM memory";
    let done = collect(program(&[root, "-q", "-c", query]).output().unwrap());
    assert_eq!((done.code, done.stdout.as_str()), (Some(0), "roles,n\n2,324\n"), "{done:?}");
}

#[test]
fn a_stream_that_is_closed_is_no_reason_to_panic() {
    for (redirection, code) in [(">&-", 0), ("2>&-", 0), ("<&-", 0), (">&- 2>&- <&-", 0), ("</dev/null", 0)] {
        let script = format!("exec \"$0\" -c 'select 1 a; select 2 b' {redirection}");
        let done = Command::new("sh")
            .args(["-c", &script, env!("CARGO_BIN_EXE_rl-insight-sql")])
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let done = collect(done);
        assert!(done.code == Some(code) && !done.stderr.contains("panic"), "{redirection}: {done:?}");
    }
}
