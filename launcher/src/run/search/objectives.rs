//! The objectives of a search, and which requests missed them. Pure.

use crds::{
    benchmark_run::{Metric, Stat},
    objective::FigureValue,
    resolve::{Bound, ResolvedObjective, ResolvedRun},
};
use engine::issue::RequestSoFar;
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
    /// The figure as text, such as `p99 of ttft, max 500ms`.
    pub(super) text: String,
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
            text: format!("errorRatio, max {allowed}"),
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
        Some(SearchObjective { name: of.name.clone(), text: of.described(), share, kind })
    }

    /// The outcomes of the requests that were due at `from` or later, at the time `now`. Both times are in seconds from the start of the trial.
    pub(super) fn outcomes(&self, requests: &[RequestSoFar], from: f64, now: f64) -> Vec<Outcome> {
        let seen: Vec<Seen> = requests.iter().filter(|it| !is_given_up(it)).map(|it| self.seen(it)).collect();
        let open = match (&self.kind, self.share.limit) {
            (Kind::Ttft | Kind::Latency, Some(limit)) => Open::AtLeastItsAge(limit),
            _ => Open::Unknown,
        };
        outcomes(&seen, open, from, now)
    }

    fn seen(&self, request: &RequestSoFar) -> Seen {
        let due = request.due.as_secs_f64();
        let failed = request.record.as_ref().is_some_and(|it| !it.outcome.is_success());
        let limit = self.share.limit;
        if failed {
            // A failed request misses every objective. If it were left out, failures would improve the latencies.
            return Seen { due, value: Some(limit.map_or(0.0, |limit| FAILED * limit)), missed: true };
        }
        let record = request.record.as_ref();
        let value = match &self.kind {
            Kind::Ttft => request.first_token.map(|it| it.saturating_sub(request.due).as_secs_f64()),
            Kind::Latency => record.and_then(RequestRecord::latency_scheduled).map(|it| it.as_secs_f64()),
            // An answer of one token has no time per output token. It counts as zero, so it meets every limit.
            Kind::Tpot => record.map(|it| it.tpot().unwrap_or_default().as_secs_f64()),
            Kind::Ntpot => record.map(|it| it.ntpot().unwrap_or_default().as_secs_f64()),
            Kind::Errors | Kind::Goodput(_) => record.map(|_| 0.0),
        };
        let missed = match &self.kind {
            Kind::Errors => false,
            Kind::Goodput(goals) => record.is_some_and(|it| !is_good(it, goals)),
            _ => value.zip(limit).is_some_and(|(value, limit)| value > limit),
        };
        Seen { due, value, missed }
    }
}

/// Whether the client or the launcher ended the request. Such a request shows nothing about the server.
fn is_given_up(request: &RequestSoFar) -> bool {
    request.record.as_ref().is_some_and(|it| !it.outcome.is_decided())
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

/// Whether a successful request meets the goodput bounds of the profile. The bound on ITL is ignored, because a record has no ITL.
fn is_good(record: &RequestRecord, goals: &Goodput) -> bool {
    let values = [
        (goals.ttft, record.ttft_scheduled()),
        (goals.tpot, record.tpot()),
        (goals.ntpot, record.ntpot()),
        (goals.latency, record.latency_scheduled()),
    ];
    values.into_iter().all(|(limit, found)| limit.is_none_or(|limit| found.is_some_and(|it| it <= limit.0)))
}
