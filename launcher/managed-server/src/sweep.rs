//! [I/O] Ends the processes of a server with SIGTERM and then with SIGKILL, until none is left.

use std::{collections::BTreeSet, io, path::Path, time::Duration};

use clock::Clock;
use crds::leftovers::Leftovers;
use rustix::process::Signal;

use crate::{
    order::Ended,
    processes::{self, Process},
    shared_memory,
    state::State,
};

/// Time between two scans of the processes.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How long processes outside the groups can run after the groups have ended before they also get SIGTERM.
const LEFT_ALONE: Duration = Duration::from_millis(500);
/// How long processes outside the groups can take to end after SIGTERM.
const LEFT_ASKED: Duration = Duration::from_secs(2);
/// How long SIGKILL is repeated. Once is not enough, because a process may fork between two scans.
const KILLING: Duration = Duration::from_secs(10);

/// The result of ending the processes.
#[derive(Default)]
pub(crate) struct Swept {
    pub(crate) killed: Vec<String>,
    pub(crate) left_behind: Vec<String>,
    pub(crate) remaining: Vec<Process>,
    /// The files of shared memory that the processes used.
    pub(crate) used: BTreeSet<std::path::PathBuf>,
}

/// Ends all processes of a server. The groups get SIGTERM. Processes that still run after `grace` get SIGKILL. `reap` is called between scans.
pub(crate) async fn processes(
    name: &str,
    groups: &[i32],
    keeper: Option<i32>,
    grace: Duration,
    mut reap: impl FnMut(),
) -> Swept {
    let clock = Clock::start();
    let sleeper = clock.sleeper();
    let look = || processes::members(name, groups, keeper);
    let in_group = |it: &Process| groups.contains(&it.group);
    let mut swept = Swept::default();
    let first = look();
    swept.used = shared_memory::used_by(&first);
    first.iter().filter(|it| in_group(it)).for_each(|it| it.signal(Signal::TERM));
    let mut alone_since = None;
    let mut asked_since = None;
    loop {
        reap();
        let now = look();
        if now.is_empty() {
            return swept;
        }
        let time = clock.now();
        if time >= grace {
            swept.killed = now.iter().map(Process::shown).collect();
            break;
        }
        if !now.iter().any(in_group) {
            let since = *alone_since.get_or_insert(time);
            match asked_since {
                None if time >= since + LEFT_ALONE => {
                    swept.left_behind = now.iter().map(Process::shown).collect();
                    now.iter().for_each(|it| it.signal(Signal::TERM));
                    asked_since = Some(time);
                }
                Some(asked) if time >= asked + LEFT_ASKED => {
                    swept.killed = now.iter().map(Process::shown).collect();
                    break;
                }
                _ => {}
            }
        }
        sleeper.until(time + LOOK_EVERY).await;
    }
    let until = clock.now() + KILLING;
    loop {
        reap();
        let now = look();
        if now.is_empty() || clock.now() >= until {
            swept.remaining = now;
            return swept;
        }
        now.iter().for_each(|it| it.signal(Signal::KILL));
        sleeper.until(clock.now() + LOOK_EVERY).await;
    }
}

/// Ends the server that a state file describes. Requests its end from its keeper; if the keeper was killed, ends the processes directly. Deletes the
/// state file if no process remains.
///
/// # Errors
/// The event loop cannot be started.
pub fn sweep(state: &State, folder: &Path) -> io::Result<Ended> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let clock = Clock::start();
        let sleeper = clock.sleeper();
        let grace = Duration::from_millis(state.grace_ms);
        if let Some(keeper) = state.keeper() {
            keeper.signal(Signal::TERM);
            // The maximum time that the keeper needs to end the server.
            let limit = grace + KILLING + KILLING;
            while keeper.is_there() && clock.now() < limit {
                sleeper.until(clock.now() + LOOK_EVERY).await;
            }
            if let Some(ended) = state.take_end(folder) {
                return Ok(ended);
            }
            keeper.signal(Signal::KILL);
        }
        let swept = if state.members().is_empty() {
            Swept::default()
        } else {
            processes(&state.name, &state.groups(), None, grace, || {}).await
        };
        let leftovers = Leftovers {
            remains: swept.remaining.iter().map(|it| format!("process {}", it.shown())).collect(),
            deleted_shared_memory: shared_memory::Before::everything_but(&swept.used).clean(&swept.used),
            killed: swept.killed,
            left_behind: swept.left_behind,
        };
        if leftovers.remains.is_empty() {
            state.forget(folder);
        }
        Ok(Ended { leftovers, ..Ended::default() })
    })
}
