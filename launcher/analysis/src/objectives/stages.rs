//! Compares each stage with the limit of an objective, and states how certain the decision is.
//!
//! The objective itself is decided by its value alone. For a stage, the decision must be certain: its whole 95 % interval lies on one side of the
//! limit or, if there is no interval, enough independent values all lie on one side. So a reader sees which loads certainly meet the limit.

use crds::{
    benchmark_run::{Metric, Stat},
    objective::Met,
    resolve::Bound,
};

use super::{
    certainty::{Certainty, Drift},
    comparison::is_within,
    decision::Subject,
    reading::Reading,
    result::{ObjectiveResult, StageResult},
};

/// Minimum number of independent values for a certain miss if more than half of them exceed the limit, for percentiles of p90 or higher. Of five
/// values, three or more lie beyond their p90 in only 0.9 % of samples.
const FEWEST_FOR_A_MISS: u64 = 5;

impl StageResult {
    /// Compares a stage with the limit. `decided` is the result of the objective for the value of this stage.
    pub(super) fn new(decided: &ObjectiveResult, subject: &Subject<'_>) -> StageResult {
        let (objective, stage) = (&decided.objective, decided.stage.as_deref());
        let certainty = subject.source.certainty(stage, objective.metric, objective.stat);
        let doubt = match decided.met {
            Met::Inconclusive => Some(decided.reason.clone()),
            Met::True | Met::False => doubt(decided, &certainty, subject),
        };
        StageResult {
            stage: stage.unwrap_or_default().to_owned(),
            met: if doubt.is_some() { Met::Inconclusive } else { decided.met },
            observed: decided.observed.clone(),
            interval: certainty.interval,
            reason: doubt.unwrap_or_default(),
        }
    }
}

/// The reason why it is uncertain on which side of the limit the value of a stage lies; `None` if it is certain.
fn doubt(result: &ObjectiveResult, certainty: &Certainty, subject: &Subject<'_>) -> Option<String> {
    let (limit, bound) = (result.limit(), result.objective.bound);
    match (result.met, bound, certainty.drift) {
        (Met::True, Bound::Max(_), Some(Drift::Up)) => return Some("the stage was drifting up".to_owned()),
        (Met::True, Bound::Min(_), Some(Drift::Down)) => return Some("the stage was drifting down".to_owned()),
        _ => {}
    }
    let no_error = result.objective.metric == Metric::ErrorRatio
        && result.observed.as_ref().is_some_and(|it| it.value.as_f64() == 0.0);
    if no_error && result.met == Met::True {
        return None;
    }
    let Some((low, high)) = certainty.interval else { return without_interval(result, certainty, subject) };
    let agrees = |it| is_within(bound, limit, it) == (result.met == Met::True);
    let holds_limit =
        || format!("the limit lies within the 95 % interval, {} to {}", low.beside(limit), high.beside(limit));
    (!(agrees(low) && agrees(high))).then(holds_limit)
}

/// The reason why it is uncertain on which side of the limit a value without an interval lies, as in [`doubt`]. A percentile is decided if enough
/// independent values lie on one side of the limit.
fn without_interval(result: &ObjectiveResult, certainty: &Certainty, subject: &Subject<'_>) -> Option<String> {
    let no_interval = "it has no interval";
    let (Some(observed), Some(stat)) = (&result.observed, result.objective.stat) else {
        return Some(no_interval.to_owned());
    };
    if stat == Stat::Max {
        // The largest value has no uncertainty, so a `max` is decided.
        return None;
    }
    let (Some(effective), Some(needed)) = (certainty.effective_values, fewest_values(stat)) else {
        return Some(no_interval.to_owned());
    };
    // The cast rounds down.
    let count = (effective as u64).min(observed.count);
    let is_sure = match result.met {
        Met::True => count >= needed && all_within(result, subject),
        Met::False | Met::Inconclusive => most_miss(result, count, subject),
    };
    (!is_sure).then(|| if count < needed { format!("{count} of {needed} values") } else { no_interval.to_owned() })
}

/// Minimum number of independent values that decide without an interval, if all lie on one side of the limit: ln 0.05 / ln p. In less than 5 % of
/// samples of this size, no value lies beyond the percentile. `None` for a statistic that cannot be decided this way.
fn fewest_values(stat: Stat) -> Option<u64> {
    match stat {
        Stat::P50 => Some(5),
        Stat::P90 => Some(29),
        Stat::P95 => Some(59),
        Stat::P99 => Some(299),
        Stat::P99P9 => Some(2_995),
        Stat::Mean | Stat::Max => None,
    }
}

/// Whether all values meet an upper limit, because the largest value does.
fn all_within(result: &ObjectiveResult, subject: &Subject<'_>) -> bool {
    let (objective, Bound::Max(_)) = (&result.objective, result.objective.bound) else { return false };
    let largest = subject.source.reading(result.stage.as_deref(), objective.metric, Some(Stat::Max));
    largest.is_some_and(|it| is_within(objective.bound, result.limit(), it.value))
}

/// Whether at least half of `count` independent values exceed an upper limit on a high percentile. This is known if the median exceeds it.
fn most_miss(result: &ObjectiveResult, count: u64, subject: &Subject<'_>) -> bool {
    let (objective, Bound::Max(_)) = (&result.objective, result.objective.bound) else { return false };
    let is_high = matches!(objective.stat, Some(Stat::P90 | Stat::P95 | Stat::P99 | Stat::P99P9));
    let median = subject.source.reading(result.stage.as_deref(), objective.metric, Some(Stat::P50));
    let misses = |it: &Reading| !is_within(objective.bound, result.limit(), it.value);
    is_high && count >= FEWEST_FOR_A_MISS && median.is_some_and(|it| misses(&it))
}
