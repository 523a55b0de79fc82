//! The messages between the launcher and the keeper: one JSON object per line. Pure.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use crds::leftovers::Leftovers;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The order to start a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The name of the server, unique on this machine.
    pub name: String,
    /// A key of the server's description. Equal descriptions have equal keys.
    pub key: String,
    /// The replicas to start.
    pub replicas: Vec<ReplicaOrder>,
    /// The folder for the logs `<replica>.log`; it must exist.
    pub log_folder: PathBuf,
    /// How long the server can take to end after SIGTERM, in milliseconds.
    pub grace_ms: u64,
    /// The folder of the state files.
    pub state_folder: PathBuf,
}

/// One replica.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaOrder {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// Environment variables in addition to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// The port on which it listens.
    pub port: u16,
}

/// A request that follows the order. Closing the pipe means [`Request::End`], unless [`Request::LetGo`] was sent before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// End the server, and report its leftovers.
    End,
    /// Let the server continue without the launcher.
    LetGo,
}

/// An event that the keeper reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// All replicas run as processes.
    Started(Vec<Started>),
    /// A replica could not be started. The keeper has ended the replicas that had already started.
    NotStarted {
        /// The number of the replica, from 0.
        replica: usize,
        /// The reason and the remedy.
        message: String,
    },
    /// A replica ended without a stop request.
    Exited(Exited),
    /// The keeper confirms that the server continues without the launcher.
    LetGo,
    /// The last event of the keeper: all replicas have ended.
    Ended(Ended),
}

/// A replica that runs as a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The process of the replica, and its process group.
    pub pid: i32,
    /// When the replica was started.
    pub at: Timestamp,
    /// The port on which it listens.
    pub port: u16,
    /// The log of the replica.
    pub log: PathBuf,
}

/// How a process exited.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// With an exit status.
    Status(i32),
    /// Killed by a signal.
    Signal(i32),
    /// Unknown, because only the parent process can read the status, and that process is gone.
    Unknown,
}

impl fmt::Display for Exit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Exit::Status(status) => write!(f, "exit status {status}"),
            Exit::Signal(number) => match signal_name(*number) {
                Some(name) => write!(f, "signal {number} ({name})"),
                None => write!(f, "signal {number}"),
            },
            Exit::Unknown => f.write_str("an exit status that is not known"),
        }
    }
}

/// The name of a signal, by the numbers of Linux on x86 and ARM.
fn signal_name(number: i32) -> Option<&'static str> {
    let names = [
        (1, "SIGHUP"),
        (2, "SIGINT"),
        (3, "SIGQUIT"),
        (4, "SIGILL"),
        (6, "SIGABRT"),
        (7, "SIGBUS"),
        (8, "SIGFPE"),
        (9, "SIGKILL"),
        (11, "SIGSEGV"),
        (13, "SIGPIPE"),
        (15, "SIGTERM"),
    ];
    names.iter().find(|(it, _)| *it == number).map(|(_, name)| *name)
}

/// A replica that ended without a stop request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exited {
    /// The index of the replica, from 0.
    pub replica: usize,
    /// The process id of the replica.
    pub pid: i32,
    /// How the replica ended.
    pub exit: Exit,
    /// When the keeper noticed the end.
    pub at: Timestamp,
    /// How many processes the kernel killed because memory was short, as text. `None` if it killed none, or if this is unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_memory: Option<String>,
    /// The last lines of its log, without secrets.
    pub last_words: Vec<String>,
}

impl Exited {
    /// The event that reports the end of the keeper itself. The exit status of the replicas is then unknown.
    pub fn of_keeper() -> Exited {
        Exited {
            replica: 0,
            pid: 0,
            exit: Exit::Unknown,
            at: clock::now(),
            out_of_memory: None,
            last_words: Vec::new(),
        }
    }

    /// The event for a server that another process has ended as requested.
    pub fn from_elsewhere() -> Exited {
        Exited { exit: Exit::Status(0), ..Exited::of_keeper() }
    }

    /// Whether this event is about the keeper.
    pub fn is_of_keeper(&self) -> bool {
        self.pid == 0
    }

    /// Describes what happened, without text from the server.
    pub fn headline(&self) -> String {
        let Exited { replica, pid, exit, out_of_memory, .. } = self;
        if self.is_of_keeper() {
            return match exit {
                Exit::Status(_) => "the managed server was ended from elsewhere, as `benchwright server stop` does",
                Exit::Signal(_) | Exit::Unknown => {
                    "the process that keeps the managed server was killed, and the server was ended"
                }
            }
            .to_owned();
        }
        let memory = out_of_memory.as_ref().map_or_else(String::new, |it| format!("; {it}"));
        format!("the managed server ended with {exit} (replica {replica}, process {pid}){memory}")
    }

    /// Describes what happened in one sentence, followed by the last lines of the log.
    pub fn message(&self) -> String {
        let words = match self.last_words.as_slice() {
            [] if self.is_of_keeper() => String::new(),
            [] if self.exit == Exit::Unknown => {
                "; the cause is unknown: `benchwright server stop` or its keeper ended it, or its keeper was killed"
                    .to_owned()
            }
            [] => "; it wrote nothing".to_owned(),
            lines => format!("; its last output:\n  | {}", lines.join("\n  | ")),
        };
        format!("{}{words}", self.headline())
    }
}

/// The report on a server that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ended {
    /// The replicas in their order.
    pub replicas: Vec<ReplicaEnd>,
    /// What was left behind after the processes had ended.
    #[serde(default)]
    pub leftovers: Leftovers,
}

/// How a replica ended, and the state of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaEnd {
    /// The process id of the replica.
    pub pid: i32,
    /// How the replica ended.
    pub exit: Exit,
    /// When the keeper noticed the end.
    pub at: Timestamp,
    /// The log of the replica.
    pub log: LogEnd,
}

/// A description of a log file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEnd {
    /// Number of bytes that the process wrote.
    pub bytes: u64,
    /// Number of these bytes that the file lacks, because a line or the file was too long.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_left_out: u64,
    /// Number of lines in which something that looks like a secret was replaced.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted_lines: u64,
    /// The reason why the file is incomplete; `None` if it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
