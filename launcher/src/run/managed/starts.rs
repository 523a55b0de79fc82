//! [I/O] How the replicas of a server started, by their logs.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
};

use jiff::{Timestamp, tz::TimeZone};
use startup::Startup;
use tracing::warn;

use report::{
    json::ReplicaDocument,
    startup::{ServerStart, SleepCycle},
};

/// The start of a replica. `None`: its log is not that of an engine whose words are known, or cannot be read, and its sleep was not measured.
pub(super) fn of(
    replica: usize,
    document: &ReplicaDocument,
    log: &Path,
    sleep_cycles: Vec<SleepCycle>,
) -> Option<ServerStart> {
    let startup = match read(log) {
        Ok(startup) => startup,
        Err(error) => {
            warn!(%error, log = %log.display(), "the log of the server cannot be read, so the report does not say how it started");
            Startup::default()
        }
    };
    if startup.engine.is_none() && sleep_cycles.is_empty() {
        return None;
    }
    Some(ServerStart {
        server: replica.to_string(),
        log: document.log.clone()?,
        observed_ready_seconds: document.ready_ms.map(|it| it as f64 / 1e3),
        startup,
        sleep_cycles,
    })
}

/// The server is a process of this machine, and so its clock and zone are those of this machine.
fn read(log: &Path) -> io::Result<Startup> {
    let file = File::open(log)?;
    let written = Timestamp::try_from(file.metadata()?.modified()?).map_err(io::Error::other)?;
    startup::read(BufReader::new(file), &written.to_zoned(TimeZone::system()))
}
