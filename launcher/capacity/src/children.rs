//! [I/O] The child processes of a trial: starts them, reads their results, and kills a process that does not respond in time.

use std::{
    io::{BufRead as _, BufReader, Read as _},
    process::{Child, ChildStdin, Command, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::Duration,
};

use serde::{Serialize, de::DeserializeOwned};

use crate::{
    child_messages::{Listening, Part, ServerSpec},
    error::TrialError,
    server::Truth,
};

/// The hidden command that runs a child process. Each program that runs trials supports it.
const COMMAND: &str = "bench-part";
/// Maximum time for a server to start listening, and to print its record at the end.
const SERVER_LIMIT: Duration = Duration::from_secs(30);

/// A child process, and a thread that reads its output. The process is killed on drop.
struct Process {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
}

impl Process {
    fn start(command: &mut Command) -> Result<Process, TrialError> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take();
        let stdout = child.stdout.take().ok_or_else(|| TrialError::Child("a child process has no stdout".into()))?;
        let (sender, lines) = mpsc::channel();
        // A child prints at most two lines: the port, and the result.
        let read = move || {
            let mut stdout = BufReader::new(stdout);
            let mut first = String::new();
            let mut rest = String::new();
            if stdout.read_line(&mut first).is_ok()
                && sender.send(first).is_ok()
                && stdout.read_to_string(&mut rest).is_ok()
            {
                // Sending fails if the receiver was dropped.
                let _ = sender.send(rest);
            }
        };
        thread::Builder::new().name("bench-output".into()).spawn(read)?;
        Ok(Process { child, stdin, lines })
    }

    fn receive<T: DeserializeOwned>(&self, limit: Duration) -> Result<T, TrialError> {
        let text = self.lines.recv_timeout(limit).map_err(|_| {
            TrialError::Child(format!(
                "a child process printed nothing within {} s; measure again while the machine is at rest",
                limit.as_secs()
            ))
        })?;
        if text.is_empty() {
            return Err(TrialError::Child("a child process ended without a result; its message is above".into()));
        }
        crds::json::read(&text)
            .map_err(|error| TrialError::Child(format!("the output of a child process cannot be read: {error}")))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.stdin.take());
        // Killing fails if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the command that runs this program again, with the hidden command and the part as arguments.
fn command(part: &impl Serialize) -> Result<Command, TrialError> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args([COMMAND, &json(part)?]);
    Ok(command)
}

/// Converts a result to the text that a child prints for its parent.
///
/// # Errors
/// JSON cannot represent a value.
pub fn json(result: &impl Serialize) -> Result<String, TrialError> {
    serde_json::to_string(result).map_err(|error| TrialError::Child(error.to_string()))
}

/// Returns the error for an invalid argument of the hidden command.
pub fn unreadable_part(error: &impl std::fmt::Display) -> TrialError {
    TrialError::Child(format!(
        "{COMMAND} is an internal command of this program, and its argument cannot be read: {error}"
    ))
}

/// Runs a part in a child process to its end, and returns the result.
///
/// # Errors
/// The process cannot be started, fails, or does not print a result within `limit`.
pub fn run<T: DeserializeOwned>(part: &impl Serialize, limit: Duration) -> Result<T, TrialError> {
    Process::start(&mut command(part)?)?.receive(limit)
}

/// A running server process.
pub struct Server {
    process: Process,
    /// The port of the server, on loopback.
    pub port: u16,
}

impl Server {
    /// Starts a server, and waits until it listens.
    ///
    /// # Errors
    /// The process cannot be started, or it fails.
    pub fn start(spec: ServerSpec) -> Result<Server, TrialError> {
        let process = Process::start(&mut command(&Part::Server(spec))?)?;
        let Listening { port } = process.receive(SERVER_LIMIT)?;
        Ok(Server { process, port })
    }

    /// Ends the server, and returns its record.
    ///
    /// # Errors
    /// The process failed, or did not print its record in time.
    pub fn end(mut self) -> Result<Truth, TrialError> {
        drop(self.process.stdin.take());
        self.process.receive(SERVER_LIMIT)
    }
}
