//! What the requests of a trial show about an objective.
//!
//! Each objective limits the share of requests that miss it to `allowed`. For example, p99 <= x allows 1 % of requests above x. Requests depend on
//! each other, so counts are divided by the integrated autocorrelation time (`statistics::effective_sample_size`).
//!
//! An exploring trial yields a belief: a probability without a guarantee. A confirming trial is a sequential test. Its statistic is a mixture of
//! likelihood ratios. Under the null hypothesis, the statistic exceeds 1 / risk at any look with a probability of at most `risk` (Ville, Étude
//! critique de la notion de collectif, 1939). A look evaluates the requests so far.

use statistics::effective_sample_size::autocorrelation_time;
use statrs::function::{beta::beta_reg, erf::erfc};

use crate::trial::{Counts, Plan, Verdict};

/// An objective: a limit on the share of requests that miss it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Objective {
    /// The share of requests that may miss it, above 0 and below 1.
    pub allowed: f64,
    /// The limit of a request's value, such as a latency; `None` if the objective counts events, such as errors.
    pub limit: Option<f64>,
}

/// A request of a trial.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The value, in the unit of the limit. For a request without an answer: its age. Ignored if the objective has no limit.
    pub value: f64,
    /// Whether the request missed the objective.
    pub missed: bool,
}

/// Minimum number of requests for a belief.
const FEWEST: usize = 5;
/// With fewer requests than this, all of them together count as one, because their dependence is unknown.
const FEWEST_FOR_DEPENDENCE: usize = 8;
/// The weight of the prior on the share of misses, in requests.
const PRIOR: f64 = 4.0;
/// From this number of expected misses on, only counts decide, and the tail does not.
const COUNTS_DECIDE: f64 = 5.0;
/// Minimum and maximum share of values (the largest ones) from which the tail is extrapolated.
const TAIL: (f64, f64) = (0.2, 0.5);
/// A value came near its limit if it exceeds this share of the limit.
const NEAR: f64 = 0.5;

/// Returns the belief that an objective holds: a probability, from 0 to 1. `outcomes` must be in the order of due times.
///
/// Two estimates are made. By counts: the posterior of the share of misses, with a Beta prior of weight `PRIOR` around the allowed share. By the
/// tail: an exponential fit to the largest values, extrapolated to the percentile. The tail shows a queue that builds up before there are enough
/// requests to count a p99.
///
/// In a trial that only raises the load (`growing`), the larger estimate is used, because the tail alone mistakes rare stalls for an overload. In
/// other trials the estimates are averaged. Counts get more weight the more misses are expected, up to `COUNTS_DECIDE`.
pub fn belief(objective: &Objective, outcomes: &[Outcome], growing: bool) -> f64 {
    let (count, allowed) = (outcomes.len(), objective.allowed);
    if count < FEWEST {
        return 0.5;
    }
    let misses = outcomes.iter().filter(|it| it.missed).count() as f64 / count as f64;
    let values: Option<Vec<f64>> = objective.limit.map(|_| outcomes.iter().map(|it| it.value).collect());
    let missed: Vec<f64> = outcomes.iter().map(|it| f64::from(u8::from(it.missed))).collect();
    let effective = match (count < FEWEST_FOR_DEPENDENCE, &values) {
        (true, _) => 1.0,
        (false, None) => count as f64 / autocorrelation_time(&missed),
        (false, Some(values)) => {
            count as f64 / autocorrelation_time(&missed).max(autocorrelation_time(&above(values, 0.9)))
        }
    };
    let found = misses * effective;
    let by_counts =
        beta_reg(found + PRIOR * allowed, effective - found + PRIOR * (1.0 - allowed), allowed).clamp(0.0, 1.0);
    let Some((values, limit)) = values.zip(objective.limit) else {
        return by_counts;
    };
    let by_tail = tail(&values, allowed, limit);
    let weight = (effective * allowed / COUNTS_DECIDE).min(1.0);
    if growing { by_tail.max(by_counts) } else { weight * by_counts + (1.0 - weight) * by_tail }
}

/// Returns the probability that the percentile is within its limit. Assumes an exponential tail.
fn tail(values: &[f64], allowed: f64, limit: f64) -> f64 {
    let count = values.len() as f64;
    let (least, most) = TAIL;
    let share = least.max((10.0 / count).min(most)).max((1.5 * allowed).min(most));
    let sorted = sorted(values);
    let start = quantile(&sorted, 1.0 - share);
    let over: Vec<f64> = sorted.iter().filter(|it| **it > start).map(|it| it - start).collect();
    let mean = over.iter().sum::<f64>() / (over.len() as f64).max(1.0);
    let largest = sorted[sorted.len() - 1];
    if over.len() < 2 || mean < 1e-3 * limit {
        return if largest <= limit { 0.9 } else { 0.1 };
    }
    let is_over: Vec<f64> = values.iter().map(|it| f64::from(u8::from(*it > start))).collect();
    let effective = (over.len() as f64 / autocorrelation_time(&is_over)).max(1.0);
    let reach = (share / allowed).ln();
    let mut estimate = start + mean * reach;
    if count * allowed >= 10.0 {
        estimate = 0.5 * (estimate + quantile(&sorted, 1.0 - allowed));
    }
    let error = (mean * ((1.0 + reach * reach) / effective).sqrt()).max(0.02 * limit);
    let normal = |z: f64| 0.5 * erfc(-z / std::f64::consts::SQRT_2);
    normal((limit - estimate) / error)
}

/// The state of a confirming trial, which each look updates.
#[derive(Clone, Debug)]
pub struct Confirmation {
    objectives: Vec<Objective>,
    plan: Plan,
    /// The largest autocorrelation time of all looks so far, per objective. So a later look never assumes less dependence than an earlier one.
    dependence: Vec<f64>,
    counts: Vec<Counts>,
    /// The logarithm of the mixture of likelihood ratios, per objective.
    logs: Vec<f64>,
    /// The share of misses divided by the allowed share, per objective.
    shares: Vec<f64>,
}

/// The result of a look at a confirming trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// The trial goes on.
    Continue,
    /// The trial ends with this verdict.
    End(Verdict),
}

/// The duration of the warm-up before the window of a confirming trial, in seconds.
pub const WARM_UP_OF_CONFIRMATION: f64 = 30.0;
/// The times of the looks, in seconds since the start of the window. With more or earlier looks, more trials would pass by mistake.
const LOOKS: [f64; 5] = [150.0, 240.0, 360.0, 540.0, 900.0];
/// If a look is at most this many seconds before the planned end, the trial ends with that look.
const NO_LOOK_BEFORE_END: f64 = 30.0;
/// Minimum number of requests for a look.
const FEWEST_OF_LOOK: usize = 20;
/// The shares of misses in the mixture, relative to the allowed share.
const MIXTURE: [f64; 6] = [0.02, 0.1, 0.25, 0.4, 0.55, 0.7];

impl Confirmation {
    pub fn new(objectives: &[Objective], plan: &Plan) -> Confirmation {
        let count = objectives.len();
        Confirmation {
            objectives: objectives.to_vec(),
            plan: plan.clone(),
            dependence: vec![1.0; count],
            counts: vec![Counts::default(); count],
            logs: vec![f64::NEG_INFINITY; count],
            shares: vec![0.0; count],
        }
    }

    /// Returns the times of the looks, in seconds since the start of the window.
    pub fn looks(&self) -> Vec<f64> {
        let length = self.length();
        let mut looks: Vec<f64> = LOOKS.into_iter().filter(|it| *it <= length).collect();
        if looks.last().is_none_or(|it| *it < length - NO_LOOK_BEFORE_END) {
            looks.push(length);
        }
        looks
    }

    /// Returns the length of the window, in seconds.
    fn length(&self) -> f64 {
        self.plan.seconds - WARM_UP_OF_CONFIRMATION
    }

    /// Makes a look after `seconds` of the window. `outcomes` has one list per objective, each in the order of due times.
    pub fn look(&mut self, seconds: f64, outcomes: &[Vec<Outcome>]) -> Look {
        for (at, outcomes) in outcomes.iter().enumerate() {
            self.count(at, outcomes);
        }
        let needed = (1.0 / self.plan.risk).ln();
        if self.logs.iter().all(|it| *it >= needed) {
            return Look::End(Verdict::Passed);
        }
        let missing = |log: f64| (needed - log) * seconds / log.max(0.05);
        let missing = self.logs.iter().map(|it| missing(*it)).fold(0.0, f64::max);
        let left = self.length() - seconds;
        // A climbing trial ends sooner: it has less to lose, because a lower load has passed.
        let (patience, from) = if self.plan.climbing { (1.0, 150.0) } else { (3.0, 240.0) };
        let is_slow = missing > left * patience && seconds >= from;
        let futile = match seconds {
            it if it < 150.0 => 2.0,
            it if it < 240.0 => 1.6,
            it if it < 360.0 => 1.3,
            _ => 1.0,
        };
        let worst = self.worst();
        match worst > futile || is_slow || left <= 0.0 {
            true if worst > 1.0 => Look::End(Verdict::Failed),
            true => Look::End(Verdict::Undecided),
            false => Look::Continue,
        }
    }

    fn count(&mut self, at: usize, outcomes: &[Outcome]) {
        let objective = self.objectives[at];
        let count = outcomes.len();
        if count < FEWEST_OF_LOOK {
            (self.logs[at], self.shares[at]) = (f64::NEG_INFINITY, 0.0);
            return;
        }
        let misses = outcomes.iter().filter(|it| it.missed).count() as f64;
        if !is_far(&objective, outcomes) {
            let missed: Vec<f64> = outcomes.iter().map(|it| f64::from(u8::from(it.missed))).collect();
            self.dependence[at] = self.dependence[at].max(autocorrelation_time(&missed));
            if objective.limit.is_some() {
                // Without misses, their dependence cannot be seen. So the dependence of the largest values counts too.
                let values: Vec<f64> = outcomes.iter().map(|it| it.value).collect();
                for share in [0.1, objective.allowed.max((30.0 / count as f64).min(0.5))] {
                    let own = autocorrelation_time(&above(&values, 1.0 - share));
                    self.dependence[at] = self.dependence[at].max(own);
                }
            }
        }
        let dependence = self.dependence[at];
        self.counts[at] = Counts { misses: misses / dependence, requests: count as f64 / dependence };
        let carried = self.plan.carried.get(at).copied().unwrap_or_default();
        self.logs[at] = log_mixture(self.counts[at].plus(carried), objective.allowed);
        self.shares[at] = misses / count as f64 / objective.allowed;
    }

    /// Returns the largest of `shares`.
    fn worst(&self) -> f64 {
        self.shares.iter().copied().fold(0.0, f64::max)
    }

    /// Returns the counts of the last look, per objective.
    pub fn counts(&self) -> &[Counts] {
        &self.counts
    }

    /// Returns the belief of a confirming trial with this verdict. It becomes part of the posterior.
    pub fn belief(&self, verdict: Verdict) -> f64 {
        match verdict {
            Verdict::Passed => 0.98,
            _ if self.worst() > 1.1 => 0.05,
            _ => 0.3,
        }
    }
}

/// Whether no value came near the limit. Requests then count as independent. Otherwise an objective that is far from its limit would decide how long
/// a trial takes.
fn is_far(objective: &Objective, outcomes: &[Outcome]) -> bool {
    let largest = outcomes.iter().map(|it| it.value).fold(f64::NEG_INFINITY, f64::max);
    objective.limit.is_some_and(|limit| largest <= NEAR * limit && outcomes.iter().all(|it| !it.missed))
}

/// Returns the logarithm of the mixture: the mean, over all shares q, of the likelihood ratio of "the share is q" to "the share is `allowed`".
fn log_mixture(counts: Counts, allowed: f64) -> f64 {
    let Counts { misses, requests } = counts;
    let ratio = |relative: f64| {
        let share = relative * allowed;
        misses * relative.ln() + (requests - misses) * ((1.0 - share) / (1.0 - allowed)).ln()
    };
    let logs = MIXTURE.map(ratio);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    most + (logs.iter().map(|it| (it - most).exp()).sum::<f64>() / logs.len() as f64).ln()
}

/// Returns for each value 1 if it is above this quantile of the values, else 0.
fn above(values: &[f64], at: f64) -> Vec<f64> {
    let bound = quantile(&sorted(values), at);
    values.iter().map(|it| f64::from(u8::from(*it > bound))).collect()
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    sorted
}

/// Returns the quantile, with linear interpolation between two neighbours. `sorted` has at least one value.
fn quantile(sorted: &[f64], at: f64) -> f64 {
    let place = at.clamp(0.0, 1.0) * (sorted.len() - 1) as f64;
    let (below, part) = (place.floor() as usize, place.fract());
    let above = sorted[(below + 1).min(sorted.len() - 1)];
    sorted[below] + part * (above - sorted[below])
}
