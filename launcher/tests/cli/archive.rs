//! `benchwright archive`, called like the kubectl plugin calls it in a pod.

use std::{
    fs,
    process::{Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};

fn archive(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_benchwright"));
    command.arg("archive").args(arguments).stdin(Stdio::null());
    command
}

#[test]
fn a_folder_goes_to_stdout_and_comes_back_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    fs::write(folder.path().join("report.json"), "{}").unwrap();
    fs::write(folder.path().join("report.md"), "# chat").unwrap();
    std::os::unix::fs::symlink("report.md", folder.path().join("link")).unwrap();
    for (arguments, expected) in [(&[path][..], 2), (&[path, "--file", "report.json"], 1)] {
        let done = archive(arguments).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert_eq!(done.status.code(), Some(0), "{said}");
        assert_eq!(said, format!("benchwright: {path}/link is not sent: it is a link, or not a regular file\n"));
        let into = tempfile::tempdir().unwrap();
        let received = ::archive::unpack(&done.stdout[..], into.path(), |_, _| {}).unwrap();
        assert_eq!(received.len(), expected);
        assert_eq!(fs::read_to_string(into.path().join("report.json")).unwrap(), "{}");
    }
}

#[test]
fn what_cannot_be_sent_has_an_exit_code_and_a_message() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    for (arguments, code, part) in [
        (&[path][..], 10, "has no files; give the results folder of a finished run"),
        (&["/none"], 10, "cannot read /none"),
        (&[], 10, "<FOLDER>"),
        (&[path, "--hold", "1s"], 10, "cannot be used with"),
    ] {
        let done = archive(arguments).output().unwrap();
        let said = String::from_utf8(done.stderr).unwrap();
        assert!(done.status.code() == Some(code) && said.contains(part), "{arguments:?}: {:?} {said}", done.status);
    }
    fs::write(folder.path().join("report.json"), "{}").unwrap();
    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let done = archive(&[path]).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap();
    let said = String::from_utf8(done.stderr).unwrap();
    assert!(done.status.code() == Some(12) && said.contains("cannot write the stream"), "{:?} {said}", done.status);
}

#[test]
fn a_container_is_held_until_the_time_is_over_or_a_signal_comes() {
    assert_eq!(archive(&["--hold", "20ms"]).status().unwrap().code(), Some(0));
    let mut child = archive(&["--hold", "1h"]).spawn().unwrap();
    let pid = Pid::from_child(&child);
    // Wait until the process has its own handler for the signal. Before that, the signal would end the process, too, but not in the way that is
    // tested.
    let status = format!("/proc/{}/status", child.id());
    let listens = || {
        let status = fs::read_to_string(&status).unwrap();
        let caught = status.lines().find_map(|it| it.strip_prefix("SigCgt:")).unwrap();
        u64::from_str_radix(caught.trim(), 16).unwrap() & (1 << (Signal::TERM.as_raw() - 1)) != 0
    };
    while !listens() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    kill_process(pid, Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
