//! [I/O] How the replicas of a server started, based on their logs.

use std::{
    fs::File,
    io::{self, BufReader},
    path::Path,
};

use jiff::{Timestamp, Zoned, tz::TimeZone};
use startup::Startup;
use tracing::warn;

use document::{ReplicaDocument, ServerStart, SleepCycle};

/// Reads how a replica started from its log. `None` if the engine's log format is unknown and neither start nor sleep is measured. `reference` is a
/// time after the last line of the log, in the time zone of the server. It is `None` if the server is a process on this machine.
pub(super) fn read_start(
    replica: usize,
    document: &ReplicaDocument,
    log: &Path,
    reference: Option<&Zoned>,
    sleep_cycles: Vec<SleepCycle>,
    measures_start: bool,
) -> Option<ServerStart> {
    let startup = match read(log, reference) {
        Ok(startup) => startup,
        Err(error) => {
            warn!(%error, log = %log.display(), "the log of the server cannot be read, so the report does not say how it started");
            Startup::default()
        }
    };
    if startup.engine.is_none() && sleep_cycles.is_empty() && !measures_start {
        return None;
    }
    Some(ServerStart {
        server: replica.to_string(),
        log: Some(document.log.clone()?),
        observed_ready_seconds: document.ready_ms.map(|it| it as f64 / 1e3),
        pod: None,
        startup,
        sleep_cycles,
    })
}

/// Reads a log. Without `reference`, the server used this machine's clock and time zone.
fn read(log: &Path, reference: Option<&Zoned>) -> io::Result<Startup> {
    let file = File::open(log)?;
    let written = Timestamp::try_from(file.metadata()?.modified()?).map_err(io::Error::other)?;
    let written = written.to_zoned(TimeZone::system());
    startup::read(BufReader::new(file), reference.unwrap_or(&written))
}
