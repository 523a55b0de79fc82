//! The messages between the launcher and the keeper: one JSON object per line. Pure.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use crds::leftovers::Leftovers;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// What the keeper should start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Order {
    /// The name of the server, unique on this machine.
    pub name: String,
    /// Servers with the same description have the same key.
    pub key: String,
    /// The replicas to start.
    pub replicas: Vec<ReplicaOrder>,
    /// The folder that gets `<replica>.log`; it exists.
    pub log_folder: PathBuf,
    /// How long the server may take to end after SIGTERM, in milliseconds.
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
    /// Variables in addition to the inherited ones.
    pub env: BTreeMap<String, String>,
    /// The port on which it listens.
    pub port: u16,
}

/// What the launcher requests after its order. The end of the pipe means [`Request::End`], unless the launcher sent [`Request::LetGo`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Request {
    /// End the server, and report its leftovers.
    End,
    /// Go on without the launcher.
    LetGo,
}

/// What the keeper reports.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Event {
    /// All replicas run as processes.
    Started(Vec<Started>),
    /// A replica cannot be started; the others were ended.
    NotStarted {
        /// The number of the replica, from 0.
        replica: usize,
        /// Why, and what to do.
        message: String,
    },
    /// A replica ended without a request.
    Exited(Exited),
    /// The keeper goes on without the launcher.
    LetGo,
    /// All replicas have ended; the keeper's last event.
    Ended(Ended),
}

/// A replica that runs as a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Started {
    /// The process of the replica, and its process group.
    pub pid: i32,
    /// When it was started.
    pub at: Timestamp,
    /// The port on which it listens.
    pub port: u16,
    /// The log of the replica.
    pub log: PathBuf,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Exit {
    /// By itself, with a status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// The process is gone, and so is its parent, which alone could report its exit.
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

/// Signal numbers of Linux on x86 and ARM.
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

/// A replica that ended by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Exited {
    /// The index of the replica, from 0.
    pub replica: usize,
    /// The process of the replica.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
    /// When the keeper noticed the end.
    pub at: Timestamp,
    /// The kernel's count of processes killed for lack of memory, in words; `None`: none were killed, or the count is not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub out_of_memory: Option<String>,
    /// The last lines of its log, without secrets.
    pub last_words: Vec<String>,
}

impl Exited {
    /// The event when the keeper is gone, and with it the exit of each replica.
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

    /// The event when another process ended the server in an orderly way.
    pub fn from_elsewhere() -> Exited {
        Exited { exit: Exit::Status(0), ..Exited::of_keeper() }
    }

    /// Whether it reports the end of the keeper.
    pub fn is_of_keeper(&self) -> bool {
        self.pid == 0
    }

    /// What happened, without text from the server.
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

    /// What happened, in one sentence, followed by the last lines of the log.
    pub fn message(&self) -> String {
        let words = match self.last_words.as_slice() {
            [] if self.is_of_keeper() => String::new(),
            [] if self.exit == Exit::Unknown => {
                "; nothing says how: `benchwright server stop` or its keeper ended it, or its keeper was killed"
                    .to_owned()
            }
            [] => "; it wrote nothing".to_owned(),
            lines => format!("; its last words:\n  | {}", lines.join("\n  | ")),
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
    /// What the processes left behind.
    #[serde(default)]
    pub leftovers: Leftovers,
}

/// How a replica ended, and what became of its log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplicaEnd {
    /// The process of the replica.
    pub pid: i32,
    /// How it ended.
    pub exit: Exit,
    /// When the keeper noticed the end.
    pub at: Timestamp,
    /// The log of the replica.
    pub log: LogEnd,
}

/// What the file of a log contains.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LogEnd {
    /// The bytes that the process wrote.
    pub bytes: u64,
    /// The bytes of them that the file lacks, beyond the bound of a line or of the file.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub bytes_left_out: u64,
    /// Lines in which something that looks like a secret was replaced.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub redacted_lines: u64,
    /// Why the file is incomplete; `None`: it is complete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}
