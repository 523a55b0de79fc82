//! [I/O] Finds servers that this user started earlier.

use std::{fs, path::Path, time::Duration};

use crds::{
    benchmark_run::{Distribution, Lifecycle},
    hex,
    resolve::ManagedServer,
};
use jiff::Timestamp;
use managed_server::{state, state::State, sweep};
use sha2::{Digest as _, Sha256};
use tracing::warn;

/// The suffix of the folder with a server's logs.
pub(super) const LOGS: &str = ".logs";
/// How long the logs of a failed server are kept.
const LOGS_KEPT: Duration = Duration::from_secs(7 * 24 * 3600);

/// Returns the key of a server. Servers with the same start configuration have equal keys. The lifecycle and the distribution of the load do not
/// affect the key.
pub(super) fn key(server: &ManagedServer) -> String {
    let common = ManagedServer {
        lifecycle: Lifecycle::default(),
        distribution: Distribution::default(),
        unknown_options: Vec::new(),
        ..server.clone()
    };
    let text = serde_json::to_vec(&common).unwrap_or_default();
    hex(&Sha256::digest(text)[..8])
}

/// Returns a running server with this key that outlives its run, if all its replicas are running.
pub(super) fn running(folder: &Path, key: &str) -> Option<State> {
    let runs = |it: &State| it.lasting && it.is_kept() && !it.replicas.is_empty() && it.runs().iter().all(|it| *it);
    state::all(folder).into_iter().find(|it| it.key == key && runs(it))
}

/// Ends servers whose keepers were killed: servers of runs that have finished, and servers with this key.
pub(super) fn sweep_stale(folder: &Path, key: &str) {
    for stale in state::all(folder).iter().filter(|it| !it.is_kept() && (!it.lasting || it.key == key)) {
        let left = stale.processes();
        if !left.is_empty() {
            warn!(
                server = stale.name,
                processes = left.join(", "),
                "ending a server, because the process that watched it was killed"
            );
        }
        match sweep(stale, folder) {
            Ok(ended) if ended.leftovers.remains.is_empty() => {}
            Ok(ended) => {
                warn!(
                    server = stale.name,
                    remains = ended.leftovers.remains.join(", "),
                    "parts of the server could not be ended"
                )
            }
            Err(error) => warn!(server = stale.name, %error, "the server could not be ended"),
        }
    }
}

/// Deletes the logs of servers that ended long ago. Also deletes the records of how they ended, if no `server stop` has read them.
pub(super) fn delete_old_logs(folder: &Path) {
    let known: Vec<String> = state::all(folder).into_iter().map(|it| format!("{}{LOGS}", it.name)).collect();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let modified = entry.metadata().and_then(|it| it.modified()).ok().and_then(|it| Timestamp::try_from(it).ok());
        let age = modified.and_then(|it| Duration::try_from(clock::now().duration_since(it)).ok());
        if age.is_none_or(|it| it <= LOGS_KEPT) || known.contains(&name) {
            continue;
        }
        if name.ends_with(LOGS) {
            let _ = fs::remove_dir_all(entry.path());
        } else if name.ends_with(".ended") {
            let _ = fs::remove_file(entry.path());
        }
    }
}
