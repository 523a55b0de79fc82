//! [I/O] The processes of this bench: starts them, hears what they tell, and ends those that tell nothing in time.

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
    parts::Part,
    server::{Listening, ServerSpec, Truth},
};

/// The hidden command that a child is started with.
pub(super) const COMMAND: &str = "bench-part";
/// The longest that a server may take to listen, and to tell its truth when it is asked to end.
const SERVER_LIMIT: Duration = Duration::from_secs(30);

/// How often a child whose output has ended is asked whether it has ended too.
const POLL: Duration = Duration::from_millis(1);

/// A child whose output is read by a thread. Dropped, it is killed.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    fn start(command: &mut Command) -> Result<Process, BenchError> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| BenchError::Child("a child has no output".into()))?;
        let (sender, lines) = mpsc::channel();
        // Two lines at most: where it listens, and what it came to.
        let read = move || {
            let mut stdout = BufReader::new(stdout);
            let mut first = String::new();
            let mut rest = String::new();
            if stdout.read_line(&mut first).is_ok()
                && sender.send(first).is_ok()
                && stdout.read_to_string(&mut rest).is_ok()
            {
                // Nobody may wait for it any more.
                let _ = sender.send(rest);
            }
        };
        thread::Builder::new().name("bench-output".into()).spawn(read)?;
        Ok(Process { child, stdin, lines })
    }

    fn receive<T: DeserializeOwned>(&self, limit: Duration) -> Result<T, BenchError> {
        let text = self.lines.recv_timeout(limit).map_err(|_| {
            BenchError::Child(format!("a child told nothing within {} s; is the machine busy?", limit.as_secs()))
        })?;
        if text.is_empty() {
            return Err(BenchError::Child("a child ended without a word; its message is above".into()));
        }
        serde_json::from_str(&text).map_err(|error| BenchError::Child(format!("a child told nonsense: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // It may have ended by itself.
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

/// Runs a part to its end.
pub(super) fn run<T: DeserializeOwned>(part: &Part, limit: Duration) -> Result<T, BenchError> {
    Process::start(&mut command(part)?)?.receive(limit)
}

/// Runs this program as a user does, and waits for its end.
pub(super) fn run_as_user(arguments: &[&str], limit: Duration) -> Result<(), BenchError> {
    let mut command = Command::new(std::env::current_exe()?);
    run_to_end(command.args(arguments).env("BENCHWRIGHT_LOG", "warn"), limit)
}

/// Runs a program that is to succeed. One that takes longer than `limit` to say something, or to end after its output did,
/// is killed.
fn run_to_end(command: &mut Command, limit: Duration) -> Result<(), BenchError> {
    let mut process = Process::start(command)?;
    let name = format!("{} {:?}", command.get_program().display(), command.get_args().collect::<Vec<_>>());
    let stuck = || BenchError::Child(format!("{name} was killed after {limit:?}; is the machine busy?"));
    loop {
        match process.lines.recv_timeout(limit) {
            Ok(_) => {}
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => return Err(stuck()),
        }
    }
    // Its output ends when it does, or just before.
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

/// A server that runs.
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

    /// Ends it and hears what it did.
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
