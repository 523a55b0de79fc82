//! The built binary in a broken environment: streams that nobody reads, files that are not regular files, signals, and limits of the system. A
//! process that runs for longer than a minute is killed.

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

/// Longer than any of these processes takes on a busy machine.
const LONGEST: Duration = Duration::from_secs(60);

/// How a process ended, and its output on stderr.
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

/// Waits until a condition is true. Fails after [`LONGEST`].
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
    /// Returns the text of a file. Empty if the file does not exist yet.
    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    /// Returns the command that starts the binary in a shell. `before` is a shell command such as `ulimit -n 12;`, and `after` contains redirections.
    fn shell(&self, before: &str, arguments: &[&str], after: &str) -> Command {
        let mut command = Command::new("bash");
        let script = format!("{before} exec \"$0\" \"$@\" {after}");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_benchwright")]).args(arguments);
        command.current_dir(self.path("")).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }
}
