//! [I/O] The child processes of this bench: starts them, reads their results, and kills those that do not answer in time.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use serde::de::DeserializeOwned;

use super::{
    BenchError,
    child_messages::Part,
    server::{Listening, ServerSpec, Truth},
};

/// The hidden command of a child process.
pub(super) const COMMAND: &str = "bench-part";
/// The longest time that a server may take to listen, and to print its record at the end.
const SERVER_LIMIT: Duration = Duration::from_secs(30);

/// Time between two checks whether a child has ended after its output has.
const POLL: Duration = Duration::from_millis(1);

/// A child process, whose output a thread reads. It is killed when it is dropped.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    fn start(command: &mut Command) -> Result<Process, BenchError> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| BenchError::Child("a child process has no stdout".into()))?;
        let (sender, lines) = mpsc::channel();
        // At most two lines: the port, and the result.
        let read = move || {
            let mut stdout = BufReader::new(stdout);
            let mut first = String::new();
            let mut rest = String::new();
            if stdout.read_line(&mut first).is_ok()
                && sender.send(first).is_ok()
                && stdout.read_to_string(&mut rest).is_ok()
            {
                // The receiver may be gone.
                let _ = sender.send(rest);
            }
        };
        thread::Builder::new().name("bench-output".into()).spawn(read)?;
        Ok(Process { child, stdin, lines })
    }

    fn receive<T: DeserializeOwned>(&self, limit: Duration) -> Result<T, BenchError> {
        let text = self.lines.recv_timeout(limit).map_err(|_| {
            BenchError::Child(format!(
                "a child process printed nothing within {} s; measure again while the machine is at rest",
                limit.as_secs()
            ))
        })?;
        if text.is_empty() {
            return Err(BenchError::Child("a child process ended without a result; its message is above".into()));
        }
        crds::json::read(&text)
            .map_err(|error| BenchError::Child(format!("the output of a child process cannot be read: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn command(part: &Part) -> Result<Command, BenchError> {
    let spec = serde_json::to_string(part).map_err(|error| BenchError::Child(error.to_string()))?;
    let mut command = Command::new(std::env::current_exe()?);
    command.args([COMMAND, &spec]);
    Ok(command)
}

/// Runs a part to its end and returns its result.
pub(super) fn run<T: DeserializeOwned>(part: &Part, limit: Duration) -> Result<T, BenchError> {
    Process::start(&mut command(part)?)?.receive(limit)
}

/// Runs this program as a user would, and waits for its end.
pub(super) fn run_as_user(arguments: &[&str], limit: Duration) -> Result<(), BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    run_to_end(command.args(arguments).env("BENCHWRIGHT_LOG", "warn"), limit)
}

/// Runs a program that must succeed. It is killed when `limit` passes without output, or between the end of its output and its
/// own end.
fn run_to_end(command: &mut Command, limit: Duration) -> Result<(), BenchError> {
    let mut process = Process::start(command)?;
    let name = format!("{} {:?}", command.get_program().display(), command.get_args().collect::<Vec<_>>());
    let stuck =
        || BenchError::Child(format!("{name} was killed after {limit:?}; measure again while the machine is at rest"));
    loop {
        match process.lines.recv_timeout(limit) {
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Err(stuck()),
        }
    }
    // The output of a process ends with the process, or just before.
    let end = clock::monotonic() + limit;
    let status = loop {
        match process.child.try_wait()? {
            Some(status) => break status,
            None if clock::monotonic() >= end => return Err(stuck()),
            None => thread::sleep(POLL),
        }
    };
    if status.success() { Ok(()) } else { Err(BenchError::Child(format!("{name} ended with {status}"))) }
}

/// A running server.
pub(super) struct Server {
    process: Process,
    pub(super) port: u16,
}

impl Server {
    pub(super) fn start(spec: ServerSpec) -> Result<Server, BenchError> {
        let process = Process::start(&mut command(&Part::Server(spec))?)?;
        let Listening { port } = process.receive(SERVER_LIMIT)?;
        Ok(Server { process, port })
    }

    /// Ends the server and returns its record.
    pub(super) fn end(mut self) -> Result<Truth, BenchError> {
        drop(self.process.stdin.take());
        self.process.receive(SERVER_LIMIT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, limit: Duration) -> Result<(), String> {
        run_to_end(Command::new("sh").args(["-c", script]), limit).map_err(|error| error.to_string())
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let (long, short) = (Duration::from_secs(60), Duration::from_millis(50));
        assert_eq!(check("echo one; echo two", long), Ok(()));
        assert!(check("exit 3", long).unwrap_err().contains("ended with exit status: 3"));
        // With its output open, and with its output closed.
        for script in ["exec sleep 600", "exec sleep 600 >&-"] {
            assert!(check(script, short).unwrap_err().contains("was killed after 50ms"), "{script}");
        }
    }
}
