//! [I/O] The managed servers of a sweep. Consecutive runs with the same server share it, so a server restarts only when its settings change.

use workload_profiles::workload::Work;

use super::folder::SweepFolder;
use crate::{input::Input, run::servers};

/// Returns the key of the server that a run shares with the runs before and after it. `None` if the run has no managed server, if its lifecycle is
/// written in the spec, or if the run needs a server of its own.
fn shared(input: &Input) -> Option<String> {
    let is_chosen = input.spec.target.server.as_ref().is_none_or(|it| it.lifecycle.is_some());
    let needs_own = input.workload.work == Work::Startup || input.run.profiling.is_some();
    if is_chosen || needs_own { None } else { servers::key(input) }
}

/// Prepares the servers for a run. Ends the servers of earlier runs with other settings. Returns whether the run shares its server.
pub(super) fn prepare(input: &Input, folder: &mut SweepFolder) -> anyhow::Result<bool> {
    let wanted = shared(input);
    end_all_but(wanted.as_deref(), folder)?;
    let Some(key) = wanted else { return Ok(false) };
    let is_ours = folder.state.servers.contains(&key);
    // A server that somebody else started is used, and left running.
    if !is_ours && !servers::runs(&key) {
        folder.state.servers.push(key);
        // Written before the server starts, so that a sweep that is killed now ends the server when it is resumed.
        folder.write_state()?;
    }
    Ok(true)
}

/// Ends all servers that this sweep started.
pub(super) fn end_all(folder: &mut SweepFolder) -> anyhow::Result<()> {
    end_all_but(None, folder)
}

fn end_all_but(wanted: Option<&str>, folder: &mut SweepFolder) -> anyhow::Result<()> {
    let (kept, ended): (Vec<String>, Vec<String>) =
        folder.state.servers.drain(..).partition(|it| Some(it.as_str()) == wanted);
    folder.state.servers = kept;
    if ended.is_empty() {
        return Ok(());
    }
    ended.iter().for_each(|it| servers::end(it));
    folder.write_state()
}
