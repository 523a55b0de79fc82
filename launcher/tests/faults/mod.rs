//! The built binary in a world that is broken: streams that nobody reads, files that are no files, signals, and limits of the
//! system. Every process has a minute, and is killed then.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod files;
mod limits;
mod signals;
mod streams;

use std::{
    io::Read as _,
    panic::{self, AssertUnwindSafe},
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use crate::common::Folder;

/// More than any of these processes needs on a machine that is busy.
const LONGEST: Duration = Duration::from_secs(60);

/// How a process ended, and what it said on stderr.
struct Ended {
    code: Option<i32>,
    stderr: String,
}

/// Waits for the end of a process.
fn ended(mut child: Child) -> Ended {
    let reader = child.stderr.take().map(|mut it| {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            it.read_to_end(&mut bytes).map(|_| bytes)
        })
    });
    let mut status = None;
    let ending = panic::catch_unwind(AssertUnwindSafe(|| {
        until("the end of a process", || {
            status = child.try_wait().unwrap();
            status.is_some()
        });
    }));
    if let Err(late) = ending {
        child.kill().unwrap();
        child.wait().unwrap();
        panic::resume_unwind(late);
    }
    let bytes = reader.map(|it| it.join().unwrap().unwrap()).unwrap_or_default();
    Ended { code: status.unwrap().code(), stderr: String::from_utf8_lossy(&bytes).into_owned() }
}

/// Waits until something is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let step = Duration::from_millis(10);
    for _ in 0..LONGEST.as_millis() / step.as_millis() {
        if is_so() {
            return;
        }
        thread::sleep(step);
    }
    panic!("{what}: not within {LONGEST:?}");
}

impl Folder {
    /// The text of a file; empty where there is none yet.
    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// The binary as a shell starts it, with a word before it such as `ulimit -n 12;` and redirections after it.
    fn shell(&self, before: &str, arguments: &[&str], after: &str) -> Command {
        let mut command = Command::new("bash");
        let script = format!("{before} exec \"$0\" \"$@\" {after}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_benchwright")]).args(arguments);
        command.current_dir(self.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}
