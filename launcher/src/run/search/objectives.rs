//! The objectives of a search, and which requests missed them. Pure.

use std::time::Duration;

use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
    resolve::{Bound, ResolvedObjective, ResolvedRun},
};
use engine::issue::InFlight;
use measurement::record::RequestRecord;
use search::{Open, Outcome, Seen, evidence, outcomes};
use workload_profiles::workload::Goodput;

/// The name of the objective on failed requests. It is added if the run has no such objective.
const ERRORS: &str = "errors";

/// A failed request counts like a value of this many times the limit.
const FAILED: f64 = 2.0;

/// An objective of a search. Values and limits are in seconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct SearchObjective {
    pub(super) name: String,
    pub(super) share: evidence::Objective,
    kind: Kind,
}

/// The property of a request that an objective limits.
#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Ttft,
    Tpot,
    Ntpot,
    Latency,
    Errors,
    /// The goodput bounds of the profile.
    Goodput(Goodput),
}

/// The result of an objective in the window of a trial. The default: no request was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Reading {
    /// The share of requests that missed the objective.
    pub(super) share: Option<f64>,
    /// The value that the objective limits: a percentile, in seconds. `None` for an objective on a share.
    pub(super) value: Option<f64>,
}

/// The objectives of a run. `goodput`: the goodput bounds of the profile. If no objective limits the share of failed requests,
/// `validity.maxErrorRatio` does.
pub(super) fn of_run(run: &ResolvedRun, goodput: &Goodput) -> Vec<SearchObjective> {
    let written = run.slo.iter().flat_map(|it| &it.objectives);
    let mut objectives: Vec<SearchObjective> = written.filter_map(|it| SearchObjective::new(it, goodput)).collect();
    let limits_errors = objectives.iter().any(|it| it.kind == Kind::Errors);
    let allowed = run.validity.max_error_ratio;
    if !limits_errors && allowed > 0.0 && allowed < 1.0 {
        objectives.push(SearchObjective {
            name: ERRORS.to_owned(),
            share: evidence::Objective { allowed, limit: None },
            kind: Kind::Errors,
        });
    }
    objectives
}

impl SearchObjective {
    /// Creates an objective. `None` if a search does not support it; the check of the spec refuses such an objective.
    fn new(of: &ResolvedObjective, goodput: &Goodput) -> Option<SearchObjective> {
        let limit = match of.bound.limit() {
            FigureValue::Time(time) => time.0.as_secs_f64(),
            FigureValue::Number(number) => number,
        };
        let kind = match of.metric {
            Metric::Ttft => Kind::Ttft,
            Metric::Tpot => Kind::Tpot,
            Metric::Ntpot => Kind::Ntpot,
            Metric::Latency => Kind::Latency,
            Metric::ErrorRatio => Kind::Errors,
            Metric::GoodputShare => Kind::Goodput(goodput.clone()),
            _ => return None,
        };
        let allowed = match (&kind, of.bound) {
            (Kind::Errors, Bound::Max(_)) => limit,
            (Kind::Goodput(_), Bound::Min(_)) => 1.0 - limit,
            (_, Bound::Max(_)) => allowed_above(of.stat?)?,
            _ => return None,
        };
        let has_limit = !matches!(kind, Kind::Errors | Kind::Goodput(_));
        let share = evidence::Objective { allowed, limit: has_limit.then_some(limit) };
        Some(SearchObjective { name: of.name.clone(), share, kind })
    }

    /// The outcomes of the requests that were due at `from` or later, at the time `now`. `seen` has all requests. Times are in seconds from the start of
    /// the trial.
    pub(super) fn outcomes(&self, mut seen: Vec<Seen>, from: f64, now: f64) -> Vec<Outcome> {
        seen.sort_by(|one, other| one.due.total_cmp(&other.due));
        let open = match (&self.kind, self.share.limit) {
            (Kind::Ttft | Kind::Latency, Some(limit)) => Open::AtLeastItsAge(limit),
            _ => Open::Unknown,
        };
        outcomes(&seen, open, from, now)
    }

    /// The result of the objective over these outcomes.
    pub(super) fn reading(&self, outcomes: &[Outcome]) -> Reading {
        if outcomes.is_empty() {
            return Reading::default();
        }
        let count = outcomes.len() as f64;
        let missed = outcomes.iter().filter(|it| it.missed).count();
        let percentile = || {
            let mut values: Vec<f64> = outcomes.iter().map(|it| it.value).collect();
            values.sort_by(f64::total_cmp);
            // The nearest rank. A product such as 0.9 x 10 may be slightly above 9, which must not become rank 10.
            let rank = ((1.0 - self.share.allowed) * count - 1e-9).ceil().max(1.0);
            values[rank as usize - 1]
        };
        Reading { share: Some(missed as f64 / count), value: self.share.limit.map(|_| percentile()) }
    }

    /// A request in flight in a trial that began at `start`.
    pub(super) fn in_flight(&self, request: &InFlight, start: Duration) -> Seen {
        let first_token = request.first_token.filter(|_| self.kind == Kind::Ttft);
        let value = first_token.map(|it| it.saturating_sub(request.due).as_secs_f64());
        Seen { due: request.due.saturating_sub(start).as_secs_f64(), value, missed: self.is_past(value) }
    }

    /// A request that has ended, in a trial that began at `start`. `None` if the client or the launcher ended it, which shows nothing about the server.
    pub(super) fn ended(&self, record: &RequestRecord, start: Duration) -> Option<Seen> {
        if !record.outcome.is_decided() {
            return None;
        }
        let due = record.scheduled.saturating_sub(start).as_secs_f64();
        if !record.outcome.is_success() {
            // A failed request misses every objective. If it were left out, failures would improve the latencies.
            let value = self.share.limit.map_or(0.0, |limit| FAILED * limit);
            return Some(Seen { due, value: Some(value), missed: true });
        }
        let time = match &self.kind {
            // An answer in one piece has its first token at its end.
            Kind::Ttft => record.ttft_scheduled().or(record.latency_scheduled()),
            Kind::Latency => record.latency_scheduled(),
            // An answer of one token has no time per output token. It counts as zero, so it meets every limit.
            Kind::Tpot => record.tpot(),
            Kind::Ntpot => record.ntpot(),
            Kind::Errors | Kind::Goodput(_) => None,
        };
        let value = Some(time.unwrap_or_default().as_secs_f64());
        let missed = match &self.kind {
            Kind::Goodput(goals) => !record.meets(goals),
            _ => self.is_past(value),
        };
        Some(Seen { due, value, missed })
    }

    fn is_past(&self, value: Option<f64>) -> bool {
        value.zip(self.share.limit).is_some_and(|(value, limit)| value > limit)
    }
}

/// The share of values that may be above a percentile. `None` for a statistic that is no percentile.
fn allowed_above(stat: Stat) -> Option<f64> {
    match stat {
        Stat::P50 => Some(0.5),
        Stat::P90 => Some(0.1),
        Stat::P95 => Some(0.05),
        Stat::P99 => Some(0.01),
        Stat::P99P9 => Some(0.001),
        Stat::Mean | Stat::Max => None,
    }
}
