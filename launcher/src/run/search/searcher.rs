//! Chooses and ends the trials of a search while its load runs.

use std::{
    pin::Pin,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use analysis::search::{SearchTrial, TrialObjective};
use crds::units::{RequestRate, Seed, Span};
use engine::issue::{RequestsSoFar, TrialStage, Trials};
use search::{Answer, Next, Outcome, Plan, Role, Seen, Settings, Trial, Unit, Verdict, Watch, next};
use tracing::info;
use workload_profiles::workload::{Arrivals, Load, Margin, Rate, RatePoint, RateShape, Stage};

use super::{
    drain::Drain,
    objectives::{Reading, SearchObjective},
    saved::{Ledger, SavedTrial, TrialInProgress},
};
use crate::run::progress_text::short_time;

/// Requests are sent for up to this long after the last evaluation of a trial, which ends the trial.
const AFTER_LAST_LOOK: Duration = Duration::from_secs(1);
/// The pause after a trial. Meanwhile the requests of the trial end, and the server becomes idle.
const PAUSE: Duration = Duration::from_secs(2);
/// The duration of the warm-up before the first trial, in seconds.
const WARM_UP: f64 = 20.0;

/// The properties of the load that are the same in every trial.
#[derive(Clone, Copy, Debug)]
pub(super) struct Template {
    /// The arrival process of an open loop.
    pub(super) arrivals: Arrivals,
    /// Maximum number of requests in flight of an open loop.
    pub(super) max_concurrency: Option<u32>,
}

/// A trial that has ended.
#[derive(Clone, Debug)]
struct Ended {
    trial: Trial,
    stage: Stage,
    /// The result of each objective in the window of the last evaluation.
    readings: Vec<Reading>,
    /// Number of requests in the window of the last evaluation.
    requests: usize,
}

/// A search in progress.
#[derive(Debug)]
pub(in crate::run) struct Searcher {
    settings: Settings,
    objectives: Vec<SearchObjective>,
    template: Template,
    limits: ClientLimits,
    /// Waits between trials until the server is idle; `None` in tests of the search alone.
    drain: Option<Drain>,
    /// The trials of an earlier search, from which this one goes on.
    earlier: Vec<SavedTrial>,
    /// Where the trials are saved; `None` if there is no results folder.
    ledger: Option<Ledger>,
    state: Mutex<State>,
}

/// A trial beyond one of these limits shows nothing about the server.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClientLimits {
    /// Maximum 99th percentile of the send lag.
    pub(super) send_lag: Duration,
    /// Maximum share of the time in which a load thread uses a CPU or waits for one. A closed loop has no send lag: if the launcher is slow, its requests
    /// are late without being due earlier.
    pub(super) cpu_share: f64,
}

#[derive(Debug, Default)]
struct State {
    ended: Vec<Ended>,
    running: Option<Running>,
    answer: Option<Answer>,
}

#[derive(Debug)]
struct Running {
    stage: Stage,
    watch: Watch,
    began: Duration,
    /// The requests that have ended, per objective.
    ended: Vec<Vec<Seen>>,
    /// When each request that has ended was due, from the start of the trial in seconds, and its send lag.
    lags: Vec<(f64, Duration)>,
    /// Whether the launcher was too slow for the load.
    is_late: bool,
    readings: Vec<Reading>,
    requests: usize,
}

/// The progress of a search.
#[derive(Debug)]
pub(in crate::run) struct SearchStanding {
    /// The running trial, such as `trial 7: confirming 12.3/s`.
    pub(in crate::run) trial: String,
    /// The part of the time limit that has passed, from 0 to 1.
    pub(in crate::run) done: f64,
    /// The remaining time as text. The search may end earlier.
    pub(in crate::run) left: String,
}

/// The trials and the answer of a search.
#[derive(Debug)]
pub(super) struct Found {
    /// All trials in order, with those of the earlier search. If a stop cut a trial off, it is the last one, and undecided.
    pub(super) trials: Vec<SavedTrial>,
    /// The stages of the trials that this search made.
    pub(super) stages: Vec<Stage>,
    /// The names of stages before which the server did not become idle.
    pub(super) busy_before: Vec<String>,
    /// The answer. `None` if a stop ended the search.
    pub(super) answer: Option<Answer>,
}

impl Searcher {
    pub(super) fn new(
        settings: Settings,
        objectives: Vec<SearchObjective>,
        template: Template,
        limits: ClientLimits,
        earlier: Vec<SavedTrial>,
        ledger: Option<Ledger>,
        drain: Option<Drain>,
    ) -> Searcher {
        Searcher { settings, objectives, template, limits, drain, earlier, ledger, state: Mutex::default() }
    }

    /// The seed of the load. A search that goes on draws other arrivals and lengths than its earlier part, because its tests must be independent of the
    /// trials that chose them.
    pub(in crate::run) fn seed(&self, run: Seed) -> Seed {
        const ODD: u64 = 0x9E37_79B9_7F4A_7C15;
        Seed(run.0.wrapping_add(ODD.wrapping_mul(self.earlier.len() as u64)))
    }

    /// The time that the earlier search took, in seconds.
    fn used_before(&self) -> f64 {
        self.earlier.iter().map(|it| it.trial.seconds).sum()
    }

    /// All finished trials, with those of the earlier search.
    fn finished(&self, state: &State) -> Vec<SavedTrial> {
        let own = state.ended.iter().map(|it| it.saved(&self.objectives));
        self.earlier.iter().cloned().chain(own).collect()
    }

    /// Saves the finished trials and the trial in progress, which began `seconds` ago.
    fn save(&self, state: &State, seconds: f64) {
        let Some(ledger) = &self.ledger else { return };
        let in_progress = state.running.as_ref().map(|it| TrialInProgress {
            stage: it.stage.name.clone(),
            plan: it.watch.plan().clone(),
            seconds,
        });
        ledger.write(self.finished(state), in_progress);
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The progress of the search at the time `now` on the clock of the load. `None` before the first trial.
    pub(in crate::run) fn standing(&self, now: Duration) -> Option<SearchStanding> {
        let state = self.state();
        let Plan { role, load, .. } = *state.running.as_ref()?.watch.plan();
        let what = match role {
            Role::WarmUp => "warm-up at",
            Role::Grow => "growing,",
            Role::Narrow => "narrowing,",
            Role::Confirm => "confirming",
            Role::FromAbove => "overload, then",
        };
        let load = match self.settings.unit {
            Unit::RequestsPerSecond => format!("{load}/s"),
            Unit::Concurrency => format!("{load} users"),
        };
        let budget = self.settings.budget;
        let used = self.used_before() + now.as_secs_f64();
        let left = (budget - used).max(0.0);
        Some(SearchStanding {
            trial: format!("trial {}: {what} {load}", self.earlier.len() + state.ended.len() + 1),
            done: (used / budget).min(1.0),
            left: format!("at most {} left", short_time(left.ceil() as u64)),
        })
    }

    /// Ends the search at the time `now` on the clock of the load.
    pub(super) fn end(&self, now: Duration) -> Found {
        let mut state = self.state();
        // A look may have been long ago. Only a search that a stop ended still has a trial in progress.
        if let Some(running) = &state.running {
            self.save(&state, now.saturating_sub(running.began).as_secs_f64());
        }
        if let Some(cut) = state.running.take() {
            state.ended.push(cut.end(now));
        }
        let stages: Vec<Stage> = state.ended.iter().map(|it| it.stage.clone()).collect();
        let busy = self.drain.as_ref().map(Drain::busy_before).unwrap_or_default();
        let busy_before = busy.into_iter().filter_map(|it| Some(stages.get(it)?.name.clone())).collect();
        Found { trials: self.finished(&state), stages, busy_before, answer: state.answer.take() }
    }

    /// The stage of a trial. Its measurement window begins with the first request that is evaluated.
    fn stage(&self, number: usize, plan: &Plan, watch: &Watch) -> TrialStage {
        let duration = Duration::from_secs_f64(plan.seconds) + AFTER_LAST_LOOK;
        let warm_up = match plan.role {
            Role::WarmUp => Margin::All,
            _ => Margin::Duration(Span(
                watch
                    .load_changes()
                    .map_or_else(|| Duration::from_secs_f64(watch.window_start(plan.seconds)), Duration::from_secs_f64),
            )),
        };
        let surge = watch.load_changes().map(|until| (watch.load_factor(0.0), Duration::from_secs_f64(until)));
        let (load, extra) = match self.settings.unit {
            Unit::RequestsPerSecond => (open_load(self.template, plan.load, surge, duration), None),
            Unit::Concurrency => {
                let extra = surge.map(|(factor, until)| ((plan.load * (factor - 1.0)) as u32, until));
                (closed_load(plan.load, duration), extra)
            }
        };
        let name = format!("{number:02}-{}-{}{}", name_of(plan.role), self.letter(), plan.load);
        let stage = Stage { pause_after: Span(PAUSE), warm_up: Some(warm_up), ..Stage::new(name, load) };
        TrialStage { stage, surge: extra }
    }

    fn letter(&self) -> char {
        if self.settings.unit == Unit::Concurrency { 'c' } else { 'r' }
    }
}

/// An open loop. `surge`: a factor by which the rate is multiplied at first, and the time at which this ends.
pub(super) fn open_load(template: Template, rate: f64, surge: Option<(f64, Duration)>, duration: Duration) -> Load {
    let within = |rate: f64| rate.min(RequestRate::MAX);
    let rate = match surge {
        Some((factor, until)) => {
            let point = |at: Duration, rate: f64| RatePoint { at: Span(at), rate: within(rate) };
            let high = rate * factor;
            Rate::Varying(RateShape::Points(vec![point(Duration::ZERO, high), point(until, high), point(until, rate)]))
        }
        None => Rate::Steady(RequestRate::try_from(within(rate)).expect("a load of a search is above 0")),
    };
    let Template { arrivals, max_concurrency } = template;
    Load::Open { arrivals, rate, duration: Some(Span(duration)), count: None, max_concurrency }
}

/// A closed loop.
pub(super) fn closed_load(concurrency: f64, duration: Duration) -> Load {
    let (ramp_up, start_rate) = (Span::default(), None);
    Load::Closed { concurrency: concurrency as u32, count: None, duration: Some(Span(duration)), ramp_up, start_rate }
}

fn name_of(role: Role) -> &'static str {
    match role {
        Role::WarmUp => "warm-up",
        Role::Grow => "grow",
        Role::Narrow => "narrow",
        Role::Confirm => "confirm",
        Role::FromAbove => "from-above",
    }
}

impl Ended {
    /// The trial as it is saved.
    fn saved(&self, objectives: &[SearchObjective]) -> SavedTrial {
        let Ended { trial, stage, readings, requests } = self;
        let in_ms = |seconds: f64| seconds * 1e3;
        let objective = |(it, reading): (&SearchObjective, &Reading)| TrialObjective {
            name: it.name.clone(),
            share: reading.share,
            allowed: it.share.allowed,
            value_ms: reading.value.map(in_ms),
            limit_ms: it.share.limit.map(in_ms),
        };
        let shown = SearchTrial {
            stage: stage.name.clone(),
            role: trial.role,
            load: trial.load,
            seconds: trial.seconds,
            requests: *requests as u64,
            verdict: trial.verdict,
            belief: trial.belief,
            resumed: false,
            objectives: objectives.iter().zip(readings).map(objective).collect(),
        };
        SavedTrial { trial: trial.clone(), shown }
    }
}

impl Running {
    fn end(self, now: Duration) -> Ended {
        let mut trial = self.watch.ended(now.saturating_sub(self.began).as_secs_f64());
        if self.is_late {
            trial.verdict = Verdict::ClientLimited;
        }
        Ended { trial, stage: self.stage, readings: self.readings, requests: self.requests }
    }
}

impl Trials for Searcher {
    fn settle(&self, stage: usize) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(async move {
            if let Some(drain) = &self.drain {
                drain.settle(stage).await;
            }
        })
    }

    fn begin(&self, stage: usize, now: Duration, cpu_share: f64) -> Option<TrialStage> {
        let mut state = self.state();
        if let Some(mut running) = state.running.take() {
            // A warm-up has no verdict.
            running.is_late |= cpu_share > self.limits.cpu_share && running.watch.plan().role != Role::WarmUp;
            let ended = running.end(now);
            let Trial { load, verdict, seconds, .. } = ended.trial;
            info!(load, ?verdict, seconds, stage = ended.stage.name, "a trial is over");
            state.ended.push(ended);
        }
        let own = state.ended.iter().map(|it| it.trial.clone());
        let trials: Vec<Trial> = self.earlier.iter().map(|it| it.trial.clone()).chain(own).collect();
        let warm_up = Plan {
            role: Role::WarmUp,
            load: self.settings.first,
            seconds: WARM_UP.min(self.settings.budget / 10.0),
            risk: 0.0,
            climbing: false,
            carried: Vec::new(),
        };
        // A search that goes on also begins with a warm-up, because the server may have been idle or may have been started again.
        let plan = match state.ended.is_empty() {
            true => warm_up,
            false => match next(&self.settings, &trials) {
                Next::Run(plan) => plan,
                Next::Answer(answer) => {
                    state.answer = Some(answer);
                    self.save(&state, 0.0);
                    return None;
                }
            },
        };
        let shares: Vec<_> = self.objectives.iter().map(|it| it.share).collect();
        let watch = Watch::new(&shares, &plan);
        let trial = self.stage(self.earlier.len() + stage + 1, &plan, &watch);
        state.running = Some(Running {
            stage: trial.stage.clone(),
            watch,
            began: now,
            ended: vec![Vec::new(); self.objectives.len()],
            lags: Vec::new(),
            is_late: false,
            readings: vec![Reading::default(); self.objectives.len()],
            requests: 0,
        });
        self.save(&state, 0.0);
        Some(trial)
    }

    fn next_look(&self) -> Option<Duration> {
        self.state().running.as_ref()?.watch.next_look().map(Duration::from_secs_f64)
    }

    fn look(&self, requests: RequestsSoFar) -> bool {
        let mut state = self.state();
        let Some(running) = &mut state.running else { return true };
        let RequestsSoFar { start, now, ended, in_flight } = requests;
        let since = |at: Duration| at.saturating_sub(start).as_secs_f64();
        running.lags.extend(ended.iter().filter_map(|it| Some((since(it.scheduled), it.send_lag()?))));
        let now = since(now);
        let from = running.watch.window_start(now);
        let outcomes = |(objective, seen): (&SearchObjective, &mut Vec<Seen>)| {
            seen.extend(ended.iter().filter_map(|it| objective.ended(it, start)));
            let in_flight = in_flight.iter().map(|it| objective.in_flight(it, start));
            objective.outcomes(seen.iter().copied().chain(in_flight).collect(), from, now)
        };
        let outcomes: Vec<Vec<Outcome>> = self.objectives.iter().zip(&mut running.ended).map(outcomes).collect();
        running.readings = self.objectives.iter().zip(&outcomes).map(|(it, of)| it.reading(of)).collect();
        running.requests = outcomes.iter().map(Vec::len).max().unwrap_or_default();
        running.is_late = lag_p99(&running.lags, from) > self.limits.send_lag;
        let is_over = running.watch.look(&outcomes).is_some();
        // A client that sends late sends another load than the trial tests. A longer trial would not change that, so the trial ends.
        let ends = is_over || (running.is_late && running.watch.plan().role != Role::WarmUp);
        self.save(&state, now);
        ends
    }
}

/// The 99th percentile of the send lag of requests that were due at `from` or later.
fn lag_p99(lags: &[(f64, Duration)], from: f64) -> Duration {
    let mut lags: Vec<Duration> = lags.iter().filter(|(due, _)| *due >= from).map(|(_, lag)| *lag).collect();
    lags.sort_unstable();
    let rank = (lags.len() * 99).div_ceil(100);
    rank.checked_sub(1).map_or(Duration::ZERO, |it| lags[it])
}
