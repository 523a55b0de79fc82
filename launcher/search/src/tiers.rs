//! Several tiers: sets of objectives that share the trials of one search.
//!
//! Each tier has its own view of every trial. A trial confirms only for the tier that planned it, because a test must be chosen before its requests
//! are sent. For other tiers the same trial has the role [`Role::Aside`](crate::Role::Aside).

use crate::{
    next::{Answer, Next, next},
    posterior::edge,
    settings::Settings,
    trial::{Plan, Role, Trial},
};

/// Minimum duration of a confirming trial while other tiers wait, in seconds.
const SHORTEST: f64 = 180.0;

/// The next step of a search with several tiers.
#[derive(Clone, Debug, PartialEq)]
pub enum NextOfTiers {
    /// A trial, and the index of the tier that planned it.
    Run(Plan, usize),
    /// One answer per tier.
    Answers(Vec<Answer>),
}

/// Returns the next step. `tiers` has one list of trials per tier. All lists have the same length, because every trial informs every tier. A single
/// tier has the same steps as in [`next`].
///
/// First, all tiers grow. Then they narrow, the tier with the widest estimate of the edge first. Confirmations begin with the lowest load. A tier
/// without a passed confirmation comes before a tier that climbs. Each tier has the risk of `settings`.
pub fn next_of_tiers(settings: &Settings, tiers: &[Vec<Trial>]) -> NextOfTiers {
    let steps: Vec<Next> = tiers.iter().map(|it| next(settings, it)).collect();
    let plans = steps.iter().enumerate().filter_map(|(at, step)| match step {
        Next::Run(plan) => Some((at, plan)),
        Next::Answer(_) => None,
    });
    let rank = |plan: &Plan| match plan.role {
        Role::WarmUp | Role::Grow => 0,
        Role::Narrow | Role::Aside => 1,
        Role::Confirm if !plan.climbing => 2,
        Role::Confirm => 3,
        Role::FromAbove => 4,
    };
    let order = |at: usize, plan: &Plan| match plan.role {
        Role::Narrow => -width(settings, &tiers[at]),
        _ => plan.load,
    };
    let plans: Vec<(usize, &Plan)> = plans.collect();
    let first = plans.iter().min_by(|(one, of_one), (other, of_other)| {
        let by_order = || order(*one, of_one).total_cmp(&order(*other, of_other));
        rank(of_one).cmp(&rank(of_other)).then_with(by_order)
    });
    if let Some((at, plan)) = first {
        let waiting = plans.iter().filter(|(_, it)| it.role == Role::Confirm && !it.climbing).count();
        let shared = plan.role == Role::Confirm && !plan.climbing && waiting > 1;
        let part = (plan.seconds / waiting.max(1) as f64).max(SHORTEST).min(plan.seconds);
        let seconds = if shared { part } else { plan.seconds };
        return NextOfTiers::Run(Plan { seconds, ..(*plan).clone() }, *at);
    }
    let answer = |step| match step {
        Next::Answer(answer) => Some(answer),
        Next::Run(_) => None,
    };
    NextOfTiers::Answers(steps.into_iter().filter_map(answer).collect())
}

/// Returns the 90th percentile of the edge divided by its 10th percentile; infinite if the edge is unknown.
fn width(settings: &Settings, trials: &[Trial]) -> f64 {
    edge(settings, trials).map_or(f64::INFINITY, |it| it.high / it.low)
}
