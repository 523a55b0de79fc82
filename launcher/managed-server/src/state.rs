//! [I/O] State files. Commands use them to find servers. There is one file per keeper, in a folder of the user.

use std::{
    env, fs,
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use files::user_file;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    order::{Ended, Exited, Started},
    processes::{self, Process},
};

/// The environment variable that overrides the default folder.
pub const FOLDER_VARIABLE: &str = "BENCHWRIGHT_STATE_DIR";
/// Maximum size of a state file that is read, in bytes.
const MAX_BYTES: u64 = 4 << 20;

/// The description of a server that a keeper started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct State {
    /// The name of the server.
    pub name: String,
    /// A key of the server's description. Equal descriptions have equal keys.
    pub key: String,
    /// Whether the server outlives the command that started it.
    pub lasting: bool,
    /// The process id of the keeper and its start time in kernel ticks.
    keeper: (i32, u64),
    /// The id of the boot in which the server was started. After another boot, its processes no longer exist.
    boot: String,
    /// The replicas that were started.
    pub replicas: Vec<Started>,
    /// The start time of each replica's process, in kernel ticks.
    began: Vec<u64>,
    /// The replicas that have ended without a stop request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exited: Vec<Exited>,
    /// When the keeper was started.
    pub since: Timestamp,
    /// How long the server can take to end after SIGTERM, in milliseconds.
    pub grace_ms: u64,
}

impl State {
    /// Creates the state of a server whose keeper is this process.
    pub(crate) fn of_keeper(name: &str, key: &str, grace_ms: u64) -> State {
        let pid = i32::try_from(std::process::id()).unwrap_or_default();
        State {
            name: name.to_owned(),
            key: key.to_owned(),
            lasting: false,
            keeper: (pid, Process::find(pid).map_or(0, |it| it.began)),
            boot: processes::boot(),
            replicas: Vec::new(),
            began: Vec::new(),
            exited: Vec::new(),
            since: clock::now(),
            grace_ms,
        }
    }

    pub(crate) fn add(&mut self, started: Started) {
        self.began.push(Process::find(started.pid).map_or(0, |it| it.began));
        self.replicas.push(started);
    }

    /// The process of the keeper, if it still runs.
    pub(crate) fn keeper(&self) -> Option<Process> {
        self.process(self.keeper.0, self.keeper.1)
    }

    fn process(&self, pid: i32, began: u64) -> Option<Process> {
        let found = (self.boot == processes::boot()).then(|| Process::find(pid))?;
        found.filter(|it| it.began == began)
    }

    /// Whether the keeper still runs.
    pub fn is_kept(&self) -> bool {
        self.keeper().is_some()
    }

    /// The process id of the keeper.
    pub fn keeper_pid(&self) -> i32 {
        self.keeper.0
    }

    /// Whether each replica still runs.
    pub fn runs(&self) -> Vec<bool> {
        self.replicas.iter().zip(&self.began).map(|(it, began)| self.process(it.pid, *began).is_some()).collect()
    }

    /// The running processes of the server as text, including processes that no keeper watches any more.
    pub fn processes(&self) -> Vec<String> {
        self.members().iter().map(Process::shown).collect()
    }

    pub(crate) fn members(&self) -> Vec<Process> {
        if self.boot != processes::boot() {
            return Vec::new();
        }
        let keeper = self.keeper().map(|it| it.pid);
        processes::members(&self.name, &self.groups(), keeper)
    }

    pub(crate) fn groups(&self) -> Vec<i32> {
        self.replicas.iter().map(|it| it.pid).collect()
    }

    /// Writes the file atomically.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        write(folder, &format!("{}.json", self.name), self)
    }

    /// Deletes the file.
    pub(crate) fn forget(&self, folder: &Path) {
        let _ = fs::remove_file(folder.join(format!("{}.json", self.name)));
    }

    /// Saves how the server ended. The command that requested the end reads it.
    pub(crate) fn leave_end(&self, folder: &Path, ended: &Ended) -> io::Result<()> {
        write(folder, &format!("{}.ended", self.name), ended)
    }

    /// Reads and deletes what [`State::leave_end`] saved.
    pub fn take_end(&self, folder: &Path) -> Option<Ended> {
        let path = folder.join(format!("{}.ended", self.name));
        let ended = read(&path).ok();
        let _ = fs::remove_file(path);
        ended
    }
}

/// The folder of the state files: `BENCHWRIGHT_STATE_DIR`, or `benchwright/servers` below `XDG_STATE_HOME` or `~/.local/state`.
pub fn folder() -> PathBuf {
    let named = |it: &str| env::var_os(it).filter(|it| !it.is_empty()).map(PathBuf::from);
    let usual = || {
        let base = named("XDG_STATE_HOME").or_else(|| named("HOME").map(|it| it.join(".local/state")));
        let other = || env::temp_dir().join(format!("benchwright-{}", rustix::process::getuid().as_raw()));
        base.map_or_else(other, |it| it.join("benchwright")).join("servers")
    };
    named(FOLDER_VARIABLE).unwrap_or_else(usual)
}

/// Creates the folder with access for this user only, because it contains logs and addresses.
///
/// # Errors
/// The folder cannot be created.
pub fn make(folder: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Returns all servers that have a file, the oldest first. Files that cannot be read are skipped, see [`unreadable`].
pub fn all(folder: &Path) -> Vec<State> {
    let mut found: Vec<State> = files(folder).filter_map(|it| read(&it).ok()).collect();
    found.sort_by_key(|it| it.since);
    found
}

/// Returns the files that cannot be read, with the errors. The server of such a file can still run.
pub fn unreadable(folder: &Path) -> Vec<(PathBuf, io::Error)> {
    let read = |path: PathBuf| read::<State>(&path).err().map(|error| (path, error));
    // A file that no longer exists is no error: its server has ended in the meantime.
    files(folder).filter_map(read).filter(|(_, error)| error.kind() != io::ErrorKind::NotFound).collect()
}

fn files(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|it| it.path());
    entries.filter(|it| it.extension().is_some_and(|it| it == "json"))
}

/// Takes a lock for servers with this key. It is held until the result is dropped.
///
/// # Errors
/// The file cannot be opened or locked.
pub fn lock(folder: &Path, key: &str) -> io::Result<fs::File> {
    let path = folder.join(format!("{key}.lock"));
    let file = fs::OpenOptions::new().create(true).truncate(false).write(true).mode(0o600).open(path)?;
    file.lock()?;
    Ok(file)
}

fn write(folder: &Path, name: &str, value: &impl Serialize) -> io::Result<()> {
    let draft = folder.join(format!(".{name}.{}", std::process::id()));
    let mut file = fs::OpenOptions::new().create(true).truncate(true).write(true).mode(0o600).open(&draft)?;
    file.write_all(&serde_json::to_vec_pretty(value).map_err(io::Error::other)?)?;
    fs::rename(draft, folder.join(name))
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> io::Result<T> {
    Ok(serde_json::from_slice(&user_file::read_regular(path, MAX_BYTES)?)?)
}
