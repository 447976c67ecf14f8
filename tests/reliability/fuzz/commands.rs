//! The commands of the prompt, in the program itself: many of them in one script.

use std::process::{Command, Stdio};

use super::{Target, fuzz, hash};

const COMMANDS: [&str; 24] = [
    ".mode csv",
    ".mode",
    "\\d",
    "\\d memory_events",
    "\\df",
    "\\df memory*",
    "\\sf memory_peaks",
    ".timer on",
    ".headers off",
    ".width 20",
    ".maxrows 3",
    ".nullvalue '-'",
    "\\dt",
    ".read nowhere.sql",
    ".open /nowhere",
    ".schema x",
    ".help",
    "\\? mode",
    ".diagnostics",
    ".settings batch*",
    ".last",
    ".history 3",
    ".pager off",
    ".once",
];

#[test]
fn prompt_commands() {
    let dir = tempfile::tempdir().unwrap();
    let script = dir.path().join("script.sql");
    let check = |input: &[u8]| {
        // The target of an output is not to be made up, and a script that reads itself ends nowhere.
        let lines: Vec<&[u8]> =
            input.split(|b| *b == b'\n').filter(|l| !l.windows(6).any(|w| w == b"script")).take(40).collect();
        std::fs::write(&script, lines.join(&b'\n')).unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_rl-insight-sql"))
            .args(["--read-only", "--keep-going", "-f"])
            .arg(&script)
            .current_dir(dir.path())
            .env_clear()
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code().is_some_and(|code| code < 100), "{:?}: {said}", output.status);
        assert!(!said.contains("panicked"), "{said}");
        hash((output.status.code(), said.lines().count().min(20), output.stdout.len().min(2000) / 100))
    };
    let seeds = COMMANDS.chunks(6).map(|some| some.join("\n").into_bytes()).collect();
    fuzz(&Target { name: "prompt_commands", seeds, words: &COMMANDS, most: 2000, check: &check });
}
