//! [I/O] The identity of the measured server. It is requested when the server is ready, and again after the load.

use super::ready::Ready;
use analysis::TargetIdentity;
use engine::{
    client::identity,
    stop::{Stop, StopState},
};
use measurement::server_identity::ServerIdentity;

/// Requests the identity of a ready target. Values that do not arrive within seconds are omitted, and so are values that have not arrived when the
/// run is stopped.
pub(super) fn before(ready: &Ready, stop: &Stop) -> ServerIdentity {
    ask(ready, stop, |it| *it != StopState::Run)
}

/// Requests the identity again after the load. Skipped if the load was aborted, because a user who aborts a run does not want to wait.
pub(super) fn after(before: ServerIdentity, ready: &Ready, stop: &Stop) -> TargetIdentity {
    let is_abort = |it: &StopState| matches!(it, StopState::Abort(_));
    let after = (!is_abort(&stop.state())).then(|| ask(ready, stop, is_abort));
    TargetIdentity { before, after }
}

fn ask(ready: &Ready, stop: &Stop, gives_up: impl FnMut(&StopState) -> bool) -> ServerIdentity {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
        // If the system has no resources left, this is not an error here: the load will report it.
        return ServerIdentity::default();
    };
    runtime.block_on(async {
        let mut stopped = stop.watch();
        tokio::select! {
            _ = stopped.wait_for(gives_up) => ServerIdentity::default(),
            identity = identity::ask(&ready.target, &ready.model) => identity,
        }
    })
}
