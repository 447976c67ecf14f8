//! Makes the n-th call of the system fail: a small library that is preloaded into a test's own process,
//! see `shim/faults.c`. Nothing in the program knows of it, and SQLite is caught as well.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::own_process;
use super::sample::repository;

/// What can go wrong, and with which error of the system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fault {
    /// Name of the kind in `shim/faults.c`.
    pub(crate) kind: &'static str,
    /// The number of the error, where there is one.
    pub(crate) errno: i32,
}

/// Numbers of errors on Linux.
pub(crate) const EIO: i32 = 5;
/// Permission denied.
pub(crate) const EACCES: i32 = 13;
/// Too many open files.
pub(crate) const EMFILE: i32 = 24;

/// Runs a test of this binary with the library preloaded.
pub(crate) fn run(test: &str) {
    let dir = tempfile::tempdir().unwrap();
    let library = dir.path().join("libfaults.so");
    let compiler = std::env::var_os("CC").unwrap_or("cc".into());
    // It is there: SQLite was compiled with it.
    let compiled = Command::new(&compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(repository("tests/reliability/shim/faults.c"))
        .args(["-ldl", "-lpthread"])
        .status();
    assert!(compiled.is_ok_and(|s| s.success()), "{compiler:?} cannot compile shim/faults.c");
    own_process::run(test, [("LD_PRELOAD", library.as_os_str())]);
}

/// Says which files are watched. Fails when the library is not there, because then nothing is tested.
pub(crate) fn watch(dir: &Path) {
    command(&format!("root/{}", dir.display()));
    let probe = dir.join("probe");
    fs::write(&probe, "x").unwrap();
    arm(Fault { kind: "read", errno: EIO }, 1);
    let read = fs::read(&probe);
    assert_eq!(read.unwrap_err().raw_os_error(), Some(EIO), "faults are not injected");
    assert_eq!(told().as_deref(), Some(probe.as_path()));
    off();
    fs::remove_file(probe).unwrap();
}

/// Lets the n-th call fail, from 1.
pub(crate) fn arm(fault: Fault, n: usize) {
    command(&format!("arm/{}/{n}/{}", fault.kind, fault.errno));
}

/// Lets nothing fail any more.
pub(crate) fn off() {
    command("off");
}

/// The path that was hit since the last [`arm`].
pub(crate) fn told() -> Option<PathBuf> {
    let bytes = fs::read("/fault!/told").ok()?;
    Some(PathBuf::from(<OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(&bytes)))
}

fn command(text: &str) {
    assert!(File::open(format!("/fault!/{text}")).is_err());
}
