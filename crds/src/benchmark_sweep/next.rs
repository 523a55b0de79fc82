//! Decides which run of a sweep follows, from the attempts so far. Pure: the same attempts always lead to the same run, so a sweep continues after
//! every kind of restart.

use std::{collections::BTreeMap, time::Duration};

use super::{resolve::ResolvedSweep, spec::OnFailure};

/// The state of an attempt to run a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    Running,
    /// It ended with valid figures, even if an objective was missed.
    Succeeded,
    /// It ended without valid figures.
    Failed,
}

/// The attempts of each run so far. The keys are the number of the cell, from 0, and the number of the repeat, from 1.
pub type Attempts = BTreeMap<(usize, u32), Vec<Attempt>>;

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// Start this attempt, counted from 1.
    Run { cell: usize, repeat: u32, attempt: u32 },
    /// Wait for the end of the attempt that is running.
    Wait { cell: usize, repeat: u32 },
    /// No run follows.
    End(Ended),
}

/// Why a sweep ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ended {
    /// Every run succeeded, or used all of its attempts.
    Complete,
    /// A run used all of its attempts, and `onFailure` is Stop.
    RunFailed,
    /// The time limit has passed.
    Budget,
}

/// Returns what follows. `elapsed`: the time since the sweep began.
pub fn next(sweep: &ResolvedSweep, attempts: &Attempts, elapsed: Duration) -> Next {
    let of = |key: &(usize, u32)| attempts.get(key).map_or(&[][..], Vec::as_slice);
    let running = sweep.order.iter().find(|it| of(it).contains(&Attempt::Running));
    if let Some(&(cell, repeat)) = running {
        return Next::Wait { cell, repeat };
    }
    let is_done = |it: &[Attempt]| it.contains(&Attempt::Succeeded);
    let is_used_up = |it: &[Attempt]| it.len() >= sweep.attempts as usize;
    let gave_up = |it: &&(usize, u32)| !is_done(of(it)) && is_used_up(of(it));
    if sweep.on_failure == OnFailure::Stop && sweep.order.iter().any(|it| gave_up(&it)) {
        return Next::End(Ended::RunFailed);
    }
    let Some(key @ &(cell, repeat)) = sweep.order.iter().find(|it| !is_done(of(it)) && !is_used_up(of(it))) else {
        return Next::End(Ended::Complete);
    };
    if sweep.budget.is_some_and(|it| elapsed >= it) {
        return Next::End(Ended::Budget);
    }
    let attempt = u32::try_from(of(key).len() + 1).unwrap_or(u32::MAX);
    Next::Run { cell, repeat, attempt }
}
