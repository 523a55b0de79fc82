//! Each stage against the limit of an objective, with the certainty of the decision.
//!
//! The objective itself is decided by its value. A stage is decided only if its 95 % interval lies on one side of the limit, or, without an interval,
//! if there are enough values: so that a reader sees which loads surely hold the limit.

use crds::{
    benchmark_run::Stat,
    objective::{FigureValue, Met},
    resolve::{Bound, ResolvedObjective, Scope},
};

use super::{ObjectiveResult, Reading, Subject, comparison::is_within, decide};

/// Minimum number of values for which a limit that more than half of them exceed is surely missed by a percentile of p90 or higher: five values with
/// three or more beyond their p90 occur in 0.9 % of samples.
const FEWEST_FOR_A_MISS: u64 = 5;
/// Minimum number of values for a decision on a mean without an interval, as [`statistics::enough::VALUES_FOR_A_MEAN`].
const FEWEST_FOR_A_MEAN: u64 = 8;

/// One stage against the limit of an objective.
#[derive(Clone, Debug, PartialEq)]
pub struct StageResult {
    /// The name of the stage.
    pub stage: String,
    /// Whether it surely holds the limit, surely misses it, or neither.
    pub met: Met,
    /// The measured value; `None` if nothing was measured.
    pub observed: Option<Reading>,
    /// The 95 % interval of the value, from its lower to its upper end; `None` if it has none.
    pub interval: Option<(FigureValue, FigureValue)>,
    /// Why it is undecided; empty if it is decided.
    pub reason: String,
}

/// The measured stages that an objective covers, in their order. A limit for the whole run is applied to each stage, without the baseline: an earlier
/// run limits only the figure of the whole run.
pub(super) fn results(objective: &ResolvedObjective, subject: &Subject<'_>) -> Vec<StageResult> {
    let baseline = subject.baseline.filter(|_| objective.scope() != Scope::Run);
    let subject = Subject { baseline, ..subject.clone() };
    let covered = |stage: &&&str| !matches!(objective.scope(), Scope::Stage(only) if only != **stage);
    subject.measured.iter().filter(covered).map(|stage| result(objective, stage, &subject)).collect()
}

fn result(objective: &ResolvedObjective, stage: &str, subject: &Subject<'_>) -> StageResult {
    let result = decide(objective, Some(stage), subject);
    let interval = subject.source.certainty(Some(stage), objective.metric, objective.stat).interval;
    let doubt = match result.met {
        Met::Inconclusive => Some(result.reason.clone()),
        Met::True | Met::False => doubt(&result, interval, subject),
    };
    StageResult {
        stage: stage.to_owned(),
        met: if doubt.is_some() { Met::Inconclusive } else { result.met },
        observed: result.observed,
        interval,
        reason: doubt.unwrap_or_default(),
    }
}

/// Why the value of a stage does not surely lie on its side of the limit; `None` if it does.
fn doubt(
    result: &ObjectiveResult,
    interval: Option<(FigureValue, FigureValue)>,
    subject: &Subject<'_>,
) -> Option<String> {
    let (limit, bound) = (result.limit(), result.objective.bound);
    if let Some((low, high)) = interval {
        let is_within = |it| is_within(bound, limit, it);
        return (is_within(low) != is_within(high)).then(|| {
            format!("the limit lies within the 95 % interval, {} to {}", low.beside(limit), high.beside(limit))
        });
    }
    let (count, needed) = (result.observed.as_ref()?.count, fewest_values(result.objective.stat?)?);
    let is_few = count < needed && !(result.met == Met::False && most_values_miss(result, subject));
    is_few.then(|| format!("{count} of {needed} values"))
}

/// Minimum number of values that decide without an interval. With this many values on one side, a percentile lies on the other side in less than 5 %
/// of samples: ln 0.05 / ln p. `None` for a statistic without such a number.
fn fewest_values(stat: Stat) -> Option<u64> {
    match stat {
        Stat::Mean => Some(FEWEST_FOR_A_MEAN),
        Stat::P50 => Some(5),
        Stat::P90 => Some(29),
        Stat::P95 => Some(59),
        Stat::P99 => Some(299),
        Stat::P99P9 => Some(2_995),
        Stat::Max => None,
    }
}

/// Whether the median misses the limit of a high percentile, too.
fn most_values_miss(result: &ObjectiveResult, subject: &Subject<'_>) -> bool {
    let (objective, Bound::Max(_)) = (&result.objective, result.objective.bound) else { return false };
    let is_high = matches!(objective.stat, Some(Stat::P90 | Stat::P95 | Stat::P99 | Stat::P99P9));
    let median = subject.source.reading(result.stage.as_deref(), objective.metric, Some(Stat::P50));
    let misses = |it: &Reading| it.count >= FEWEST_FOR_A_MISS && !is_within(objective.bound, result.limit(), it.value);
    is_high && median.is_some_and(|it| misses(&it))
}
