//! Chooses and ends the trials of a search while its load runs.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use crds::units::{RequestRate, Span};
use engine::issue::{RequestsSoFar, TrialStage, Trials};
use search::{Answer, Next, Outcome, Plan, Role, Seen, Settings, Trial, Unit, Verdict, Watch, next};
use tracing::info;
use workload_profiles::workload::{Arrivals, Load, Margin, Rate, RatePoint, RateShape, Stage};

use super::objectives::SearchObjective;
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
pub(super) struct Ended {
    pub(super) trial: Trial,
    pub(super) stage: Stage,
    /// For each objective, the share of requests that missed it; `None` if the trial was not evaluated.
    pub(super) shares: Vec<Option<f64>>,
    /// Number of requests in the window of the last evaluation.
    pub(super) requests: usize,
}

/// A search in progress.
#[derive(Debug)]
pub(in crate::run) struct Searcher {
    settings: Settings,
    objectives: Vec<SearchObjective>,
    template: Template,
    /// A trial counts only if the 99th percentile of its send lag is at most this long.
    max_send_lag: Duration,
    state: Mutex<State>,
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
    is_late: bool,
    shares: Vec<Option<f64>>,
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
    /// The trials in order. If a stop cut a trial off, it is the last one, and undecided.
    pub(super) trials: Vec<Ended>,
    /// The answer. `None` if a stop ended the search.
    pub(super) answer: Option<Answer>,
}

impl Searcher {
    pub(super) fn new(
        settings: Settings,
        objectives: Vec<SearchObjective>,
        template: Template,
        max_send_lag: Duration,
    ) -> Searcher {
        Searcher { settings, objectives, template, max_send_lag, state: Mutex::default() }
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
        let left = (budget - now.as_secs_f64()).max(0.0);
        Some(SearchStanding {
            trial: format!("trial {}: {what} {load}", state.ended.len() + 1),
            done: (now.as_secs_f64() / budget).min(1.0),
            left: format!("at most {} left", short_time(left.ceil() as u64)),
        })
    }

    /// Ends the search at the time `now` on the clock of the load.
    pub(super) fn end(&self, now: Duration) -> Found {
        let mut state = self.state();
        if let Some(cut) = state.running.take() {
            state.ended.push(cut.end(now));
        }
        Found { trials: std::mem::take(&mut state.ended), answer: state.answer.take() }
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

impl Running {
    fn end(self, now: Duration) -> Ended {
        let mut trial = self.watch.ended(now.saturating_sub(self.began).as_secs_f64());
        if self.is_late {
            trial.verdict = Verdict::ClientLimited;
        }
        Ended { trial, stage: self.stage, shares: self.shares, requests: self.requests }
    }
}

impl Trials for Searcher {
    fn begin(&self, stage: usize, now: Duration) -> Option<TrialStage> {
        let mut state = self.state();
        if let Some(running) = state.running.take() {
            let ended = running.end(now);
            let Trial { load, verdict, seconds, .. } = ended.trial;
            info!(load, ?verdict, seconds, stage = ended.stage.name, "a trial is over");
            state.ended.push(ended);
        }
        let trials: Vec<Trial> = state.ended.iter().map(|it| it.trial.clone()).collect();
        let warm_up = Plan {
            role: Role::WarmUp,
            load: self.settings.first,
            seconds: WARM_UP.min(self.settings.budget / 10.0),
            risk: 0.0,
            climbing: false,
            carried: Vec::new(),
        };
        let plan = match trials.is_empty() {
            true => warm_up,
            false => match next(&self.settings, &trials) {
                Next::Run(plan) => plan,
                Next::Answer(answer) => {
                    state.answer = Some(answer);
                    return None;
                }
            },
        };
        let shares: Vec<_> = self.objectives.iter().map(|it| it.share).collect();
        let watch = Watch::new(&shares, &plan);
        let trial = self.stage(stage + 1, &plan, &watch);
        state.running = Some(Running {
            stage: trial.stage.clone(),
            watch,
            began: now,
            ended: vec![Vec::new(); self.objectives.len()],
            lags: Vec::new(),
            is_late: false,
            shares: vec![None; self.objectives.len()],
            requests: 0,
        });
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
        let share = |of: &Vec<Outcome>| {
            let missed = of.iter().filter(|it| it.missed).count();
            (!of.is_empty()).then(|| missed as f64 / of.len() as f64)
        };
        running.shares = outcomes.iter().map(share).collect();
        running.requests = outcomes.iter().map(Vec::len).max().unwrap_or_default();
        running.is_late = lag_p99(&running.lags, from) > self.max_send_lag;
        let is_over = running.watch.look(&outcomes).is_some();
        // A client that sends late sends another load than the trial tests. A longer trial would not change that, so the trial ends.
        is_over || (running.is_late && running.watch.plan().role != Role::WarmUp)
    }
}

/// The 99th percentile of the send lag of requests that were due at `from` or later.
fn lag_p99(lags: &[(f64, Duration)], from: f64) -> Duration {
    let mut lags: Vec<Duration> = lags.iter().filter(|(due, _)| *due >= from).map(|(_, lag)| *lag).collect();
    lags.sort_unstable();
    let rank = (lags.len() * 99).div_ceil(100);
    rank.checked_sub(1).map_or(Duration::ZERO, |it| lags[it])
}
