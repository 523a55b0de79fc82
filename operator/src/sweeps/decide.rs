//! Decides the next step of a sweep: a pure function of the sweep, its runs and the current time. Every decision follows from the runs that exist. The
//! status is only shown to users, except for its times. So an operator that stops at any point, or that loses the status, starts no run twice.

use std::{collections::BTreeMap, time::Duration};

use crds::{
    BenchmarkSweep, Microseconds, Milli, Outcome, Reason, RunSummary,
    benchmark_sweep::{
        Attempt, Attempts, Ended, Next, ResolvedSweep, next,
        status::{BenchmarkSweepStatus, SweepCellStatus, SweepPhase},
    },
    resolve::FieldError,
};
use jiff::Timestamp;
use kube::ResourceExt as _;

use crate::plan::{
    PlannedEvent,
    status::{Verdict, set_verdict, truncate},
};

/// Time to the next turn while a run is in progress. The watch on runs starts a turn earlier, unless a user removed the label of the run.
const WAIT: Duration = Duration::from_secs(300);
/// Time to the next try after the API server refused a run, for example because of a quota.
const REFUSED: Duration = Duration::from_secs(60);
/// Maximum size of all rows of the status, in bytes. With conditions and times, the status has at most 64 KiB.
const MAX_TABLE: usize = 58 * 1024;
/// Maximum size of a row without the name of its cell, in bytes.
const ROW: usize = 170;
/// Maximum length of a cell's name in the status, in bytes.
const MAX_CELL: usize = 256;
/// Maximum length of an error message in the status, in bytes.
const MAX_PROBLEM: usize = 1_000;

/// A run that the sweep controls.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnRun {
    /// `metadata.name` of the run. It tells cell, repeat and attempt. Unlike a label, users cannot change it.
    pub name: String,
    /// When the run was created.
    pub created: Option<Timestamp>,
    /// Whether the run has finished.
    pub state: RunState,
}

/// Whether a run has finished, and how.
#[derive(Clone, Debug, PartialEq)]
pub enum RunState {
    /// The run has not finished.
    Active,
    /// The run has finished.
    Finished {
        /// The outcome of the run.
        outcome: Option<Outcome>,
        /// When the run finished.
        time: Option<Timestamp>,
        /// The figures of the run.
        figures: Figures,
    },
    /// This release cannot parse the run. As it may still send load, the sweep waits for its end.
    Unreadable,
}

/// The figures of a run that the status of its sweep shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// p99 of the TTFT.
    pub ttft_p99: Option<Microseconds>,
    /// p50 of the TPOT.
    pub tpot_p50: Option<Microseconds>,
    /// Output tokens per second.
    pub output_tokens_per_second: Option<Milli>,
}

impl From<&RunSummary> for Figures {
    fn from(summary: &RunSummary) -> Self {
        Figures {
            ttft_p99: summary.ttft.as_ref().map(|it| it.p99_microseconds),
            tpot_p50: summary.tpot.as_ref().map(|it| it.p50_microseconds),
            output_tokens_per_second: summary.output_tokens_per_second_milli,
        }
    }
}

/// Why a run could not be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// [`Reason::StartRefused`], or [`Reason::NameConflict`] if an object of another owner has the name.
    pub reason: Reason,
    /// What was refused, the answer, and the remedy.
    pub message: String,
}

/// A run to create.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The number of the cell, from 0.
    pub cell: usize,
    /// The number of the repeat, from 1.
    pub repeat: u32,
    /// The name of the run.
    pub name: String,
}

/// The result of a decision: what the turn must do.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// Create this run, and decide again.
    Create(Start),
    /// Write this status, and wait.
    Wait(Box<Wait>),
}

/// What a turn writes that creates no run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wait {
    /// The status.
    pub status: BenchmarkSweepStatus,
    /// Events for users, to publish after the status is written.
    pub events: Vec<PlannedEvent>,
    /// Time to the next turn, unless a change starts one earlier.
    pub next_look: Option<Duration>,
}

/// Decides the next step. `resolved`: the sweep with its defaults, or its wrong fields. `refusal`: why the run that the last decision requested could
/// not be created.
pub fn decide(
    sweep: &BenchmarkSweep,
    resolved: Result<&ResolvedSweep, &[FieldError]>,
    runs: &[OwnRun],
    refusal: Option<&Refusal>,
    now: Timestamp,
) -> Plan {
    let before = sweep.status.clone().unwrap_or_default();
    let mut status = before.clone();
    status.observed_generation = sweep.metadata.generation.unwrap_or_default();
    (status.current, status.current_run) = (None, None);
    let resolved = match resolved {
        Ok(resolved) => resolved,
        Err(errors) => {
            let all = errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ");
            (status.phase, status.completion_time) = (Some(SweepPhase::Failed), None);
            let verdict = (false, false, Reason::InvalidSpec, truncate(&all, MAX_PROBLEM));
            return wait(before, status, now, verdict, None, None);
        }
    };
    let turn = Turn { sweep, resolved, runs: Runs::new(resolved, runs), refusal, now };
    turn.decide(before, status)
}

/// The runs of a sweep, by the number of the cell and the number of the repeat. Each list has one entry per attempt; `None`: it was deleted.
struct Runs<'a> {
    by_key: BTreeMap<(usize, u32), Vec<Option<&'a OwnRun>>>,
    attempts: Attempts,
}

impl<'a> Runs<'a> {
    fn new(sweep: &ResolvedSweep, runs: &'a [OwnRun]) -> Self {
        let mut by_key: BTreeMap<_, Vec<Option<&OwnRun>>> = BTreeMap::new();
        for run in runs {
            let Some((cell, repeat, attempt)) = sweep.attempt_named(&run.name) else { continue };
            let all = by_key.entry((cell, repeat)).or_default();
            let at = attempt as usize;
            all.resize(all.len().max(at), None);
            all[at - 1] = Some(run);
        }
        let of = |runs: &Vec<Option<&OwnRun>>| runs.iter().map(|it| it.map_or(Attempt::Failed, attempt_of)).collect();
        let attempts = by_key.iter().map(|(key, runs)| (*key, of(runs))).collect();
        Runs { by_key, attempts }
    }

    fn all(&self) -> impl Iterator<Item = &'a OwnRun> {
        self.by_key.values().flatten().filter_map(|it| *it)
    }

    /// The number of runs of a cell with valid figures, their figures, and the number of runs that used all of their attempts without any.
    fn of_cell(&self, cell: usize, attempts: u32) -> (Vec<Figures>, u32) {
        let (mut figures, mut failed) = (Vec::new(), 0);
        for (key, runs) in self.by_key.range((cell, 0)..=(cell, u32::MAX)) {
            let valid = runs.iter().flatten().find_map(|it| match &it.state {
                RunState::Finished { figures, .. } if attempt_of(it) == Attempt::Succeeded => Some(*figures),
                _ => None,
            });
            let states = &self.attempts[key];
            let gave_up = states.len() >= attempts as usize && states.iter().all(|it| *it == Attempt::Failed);
            figures.extend(valid);
            failed += u32::from(gave_up);
        }
        (figures, failed)
    }
}

/// An attempt that was deleted counts as failed if a later attempt exists, because the later attempt was only started for that reason.
fn attempt_of(run: &OwnRun) -> Attempt {
    match &run.state {
        RunState::Active | RunState::Unreadable => Attempt::Running,
        RunState::Finished { outcome, .. } if outcome.is_some_and(Outcome::has_valid_figures) => Attempt::Succeeded,
        RunState::Finished { .. } => Attempt::Failed,
    }
}

struct Turn<'a> {
    sweep: &'a BenchmarkSweep,
    resolved: &'a ResolvedSweep,
    runs: Runs<'a>,
    refusal: Option<&'a Refusal>,
    now: Timestamp,
}

impl Turn<'_> {
    fn decide(&self, before: BenchmarkSweepStatus, mut status: BenchmarkSweepStatus) -> Plan {
        let created = self.runs.all().filter_map(|it| it.created).min();
        status.start_time = before.start_time.into_iter().chain(created).min();
        let elapsed = status.start_time.map_or(Duration::ZERO, |it| since(it, self.now));
        let failed = self.fill_table(&mut status);
        let done = status.progress.clone().unwrap_or_default();
        let budget = self.resolved.budget.map(|it| it.saturating_sub(elapsed));
        let (phase, verdict, next_look) = match next(self.resolved, &self.runs.attempts, elapsed) {
            Next::Wait { cell, repeat } => self.active(cell, repeat, &mut status),
            Next::Run { .. } if self.sweep.spec.suspend => {
                let message =
                    format!("spec.suspend is true, so that no run is started; {done} runs have valid figures");
                (SweepPhase::Suspended, (false, true, Reason::Suspended, message), budget)
            }
            Next::Run { cell, repeat, attempt } => match (self.cooldown(), self.refusal) {
                (Some(rest), _) => {
                    let seconds = self.resolved.cooldown.as_secs();
                    let message = format!("pauses for {seconds} s before the next run; {done} runs have valid figures");
                    let look = Some(budget.map_or(rest, |it| it.min(rest)));
                    (SweepPhase::Running, (false, true, Reason::CoolingDown, message), look)
                }
                (None, Some(refusal)) => {
                    let message = truncate(&refusal.message, MAX_PROBLEM);
                    (SweepPhase::Running, (false, false, refusal.reason, message), Some(REFUSED))
                }
                (None, None) => {
                    let name = self.resolved.attempt_name(cell, repeat, attempt);
                    return Plan::Create(Start { cell, repeat, name });
                }
            },
            Next::End(ended) => self.end(ended, failed, &done),
        };
        let is_final = |it: Option<SweepPhase>| matches!(it, Some(SweepPhase::Succeeded | SweepPhase::Failed));
        status.completion_time = match is_final(Some(phase)) {
            true => before.completion_time.filter(|_| is_final(before.phase)).or(Some(self.now)),
            false => None,
        };
        status.phase = Some(phase);
        let failing = (status.failed > before.failed).then(|| self.last_failed()).flatten();
        wait(before, status, self.now, verdict, failing, next_look)
    }

    /// Sets the rows, the progress and the number of failed runs. Returns this number.
    fn fill_table(&self, status: &mut BenchmarkSweepStatus) -> u32 {
        let cells = &self.resolved.cells;
        let longest = (MAX_TABLE / cells.len().max(1)).saturating_sub(ROW).min(MAX_CELL);
        let rows = cells.iter().enumerate().map(|(at, cell)| {
            let (figures, failed) = self.runs.of_cell(at, self.resolved.attempts);
            SweepCellStatus {
                cell: truncate(&cell.name, longest),
                runs: count(figures.len()),
                failed,
                ttft_p99_microseconds: mean(&figures, |it| it.ttft_p99),
                tpot_p50_microseconds: mean(&figures, |it| it.tpot_p50),
                output_tokens_per_second_milli: mean(&figures, |it| it.output_tokens_per_second),
            }
        });
        status.cells = rows.collect();
        let failed = status.cells.iter().map(|it| it.failed).sum();
        let valid: u32 = status.cells.iter().map(|it| it.runs).sum();
        status.progress = Some(format!("{valid}/{}", self.resolved.order.len()));
        status.failed = Some(failed);
        failed
    }

    fn active(
        &self,
        cell: usize,
        repeat: u32,
        status: &mut BenchmarkSweepStatus,
    ) -> (SweepPhase, Verdict, Option<Duration>) {
        let runs = self.runs.by_key.get(&(cell, repeat)).map_or(&[][..], Vec::as_slice);
        let run = runs.iter().flatten().find(|it| attempt_of(it) == Attempt::Running);
        let name = run.map(|it| it.name.clone()).unwrap_or_default();
        let levels = &self.resolved.cells[cell].name;
        status.current = Some(truncate(levels, MAX_CELL));
        let verdict = match run.map(|it| &it.state) {
            Some(RunState::Unreadable) => {
                let message = format!(
                    "this release cannot read run {name}, so that the sweep waits; delete the run, and the sweep runs its cell again"
                );
                (false, false, Reason::Unreadable, message)
            }
            _ => (false, true, Reason::RunActive, format!("run {name} is in progress: {levels}")),
        };
        status.current_run = Some(name);
        (SweepPhase::Running, verdict, Some(WAIT))
    }

    /// The rest of the pause after the last run. `None` if it is over.
    fn cooldown(&self) -> Option<Duration> {
        let end = |it: &OwnRun| match it.state {
            RunState::Finished { time, .. } => time.or(it.created),
            RunState::Active | RunState::Unreadable => None,
        };
        let last = self.runs.all().filter_map(end).max()?;
        let rest = self.resolved.cooldown.saturating_sub(since(last, self.now));
        (!rest.is_zero()).then_some(rest)
    }

    fn end(&self, ended: Ended, failed: u32, done: &str) -> (SweepPhase, Verdict, Option<Duration>) {
        let spec = &self.sweep.spec;
        let see = format!("kubectl get bmr -l benchwright.dev/sweep={} lists the runs", self.sweep.name_any());
        let (phase, reason, message) = match ended {
            Ended::Complete if failed == 0 => (
                SweepPhase::Succeeded,
                Reason::SweepSucceeded,
                format!("all {} runs have valid figures", self.resolved.order.len()),
            ),
            Ended::Complete => {
                let message = format!(
                    "{failed} runs have no valid figures after all attempts; {see}; raise spec.attempts to try them again"
                );
                (SweepPhase::Failed, Reason::SweepFailed, message)
            }
            Ended::RunFailed => {
                let message = format!(
                    "a run has no valid figures, and spec.onFailure is Stop; {see}; write Continue or raise spec.attempts to go on"
                );
                (SweepPhase::Failed, Reason::SweepFailed, message)
            }
            Ended::Budget => {
                let message = format!(
                    "spec.budgetSeconds is {}, and {done} runs have valid figures; raise it to go on",
                    spec.budget_seconds.unwrap_or_default()
                );
                (SweepPhase::Failed, Reason::BudgetExceeded, message)
            }
        };
        (phase, (phase == SweepPhase::Succeeded, false, reason, message), None)
    }

    /// An event about the last run that failed.
    fn last_failed(&self) -> Option<PlannedEvent> {
        let failed = self.runs.all().filter(|it| attempt_of(it) == Attempt::Failed);
        let end = |it: &&OwnRun| match it.state {
            RunState::Finished { time, .. } => time,
            RunState::Active | RunState::Unreadable => None,
        };
        let run = failed.max_by_key(end)?;
        let RunState::Finished { outcome, .. } = run.state else { return None };
        let outcome = outcome.map_or("no outcome", Outcome::name);
        let note = format!("run {} has no valid figures, and ended with {outcome}; see its message", run.name);
        Some(PlannedEvent { warning: true, reason: Reason::RunFailed, note })
    }
}

/// Completes the status, and derives the events from the difference to the status before.
fn wait(
    before: BenchmarkSweepStatus,
    mut status: BenchmarkSweepStatus,
    now: Timestamp,
    verdict: Verdict,
    failing: Option<PlannedEvent>,
    next_look: Option<Duration>,
) -> Plan {
    let (ready, reconciling, reason, message) = verdict.clone();
    set_verdict(&mut status.conditions, status.observed_generation, now, verdict);
    let mut events: Vec<PlannedEvent> = failing.into_iter().collect();
    if let (Some(run), Some(levels)) = (&status.current_run, &status.current)
        && before.current_run.as_ref() != Some(run)
    {
        events.push(PlannedEvent {
            warning: false,
            reason: Reason::RunStarted,
            note: format!("started run {run}: {levels}"),
        });
    }
    let is_known = before.conditions.iter().any(|it| it.kind == "Ready" && it.reason == reason);
    if !is_known && !matches!(reason, Reason::RunActive | Reason::CoolingDown) {
        events.push(PlannedEvent { warning: !ready && !reconciling, reason, note: message });
    }
    Plan::Wait(Box::new(Wait { status, events, next_look }))
}

/// The time from `begin` to `now`; zero if the clock was set back.
fn since(begin: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(begin)).unwrap_or_default()
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// The mean of a figure over the runs that have it.
fn mean<T: Into<u64> + From<u64>>(runs: &[Figures], figure: impl Fn(&Figures) -> Option<T>) -> Option<T> {
    let found: Vec<u128> = runs.iter().filter_map(figure).map(|it| u128::from(it.into())).collect();
    let count = u128::try_from(found.len()).ok().filter(|it| *it > 0)?;
    let rounded = (found.iter().sum::<u128>() + count / 2) / count;
    Some(T::from(u64::try_from(rounded).unwrap_or(u64::MAX)))
}
