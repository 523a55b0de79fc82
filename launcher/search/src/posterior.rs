//! The edge (the highest load at which the objectives hold), as a probability distribution over loads.
//!
//! Uses probabilistic bisection. Each trial multiplies the weight of all edges at or above its load by its belief, and the weight of all lower edges
//! by 1 - belief. A wrong verdict therefore costs a trial, not the search (Waeber, Frazier and Henderson, Bisection search with noisy responses, SIAM
//! Journal on Control and Optimization 51, 2013).

use serde::{Deserialize, Serialize};

use crate::{
    settings::{Settings, Unit},
    trial::{Role, Trial, Verdict},
};

/// The distance between two rates of the grid, on a logarithmic scale.
const STEP: f64 = 0.005;
/// Minimum belief of a trial. The maximum is 1 minus this value.
const CLIP: f64 = 0.05;
/// The same minimum for a confirming trial.
const CLIP_OF_CONFIRMATIONS: f64 = 0.02;
/// The factor that corrects an estimated rate. Exploring trials rate it too high, because their queues start empty.
const OVERRATED: f64 = 0.95;

/// The distribution of the edge over a grid of loads.
pub(crate) struct Posterior {
    loads: Vec<f64>,
    /// For each load, the probability that the edge is at this load or below.
    cumulative: Vec<f64>,
}

impl Posterior {
    /// Computes the distribution. `trials` has at least one entry.
    pub(crate) fn new(settings: &Settings, trials: &[&Trial]) -> Posterior {
        let loads = grid(settings, trials);
        let prior = |load: f64| if settings.is_closed() { -load.ln() } else { 0.0 };
        let mut logs: Vec<f64> = loads.iter().map(|it| prior(*it)).collect();
        for trial in trials {
            let clip = if trial.role == Role::Confirm { CLIP_OF_CONFIRMATIONS } else { CLIP };
            let belief = trial.belief.clamp(clip, 1.0 - clip);
            let (above, below) = (belief.ln(), (1.0 - belief).ln());
            for (log, load) in logs.iter_mut().zip(&loads) {
                *log += if *load >= trial.load { above } else { below };
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mut sum = 0.0;
        let mut cumulative: Vec<f64> = logs
            .iter()
            .map(|it| {
                sum += (it - most).exp();
                sum
            })
            .collect();
        cumulative.iter_mut().for_each(|it| *it /= sum);
        Posterior { loads, cumulative }
    }

    /// Returns the lowest load of the grid for which an edge at or below it has at least this probability.
    pub(crate) fn quantile(&self, probability: f64) -> f64 {
        let at = self.cumulative.partition_point(|it| *it < probability);
        self.loads[at.min(self.loads.len() - 1)]
    }
}

/// Returns loads around those that were tried: for a concurrency all whole numbers, for a rate loads at equal ratios.
fn grid(settings: &Settings, trials: &[&Trial]) -> Vec<f64> {
    let least = trials.iter().map(|it| it.load).fold(f64::INFINITY, f64::min);
    let most = trials.iter().map(|it| it.load).fold(0.0, f64::max);
    let (low, high) = (settings.lowest.max(least / 4.0), settings.highest.min(most * 2.0));
    match settings.unit {
        Unit::Concurrency => {
            let (low, high) = (low.floor().max(1.0) as u64, high.floor() as u64);
            (low..=high.max(low)).map(|it| it as f64).collect()
        }
        Unit::RequestsPerSecond => {
            let steps = ((high.ln() - low.ln()) / STEP + 1.0).ceil().max(1.0) as u64;
            (0..steps).map(|it| (low.ln() + it as f64 * STEP).exp()).collect()
        }
    }
}

/// Returns the trials that inform the posterior. Exploring trials that failed at or below the highest passed growing load are left out.
pub(crate) fn steering(trials: &[Trial]) -> Vec<&Trial> {
    let grown = trials.iter().filter(|it| it.role == Role::Grow && it.verdict != Verdict::Failed);
    let top = grown.map(|it| it.load).fold(0.0, f64::max);
    let steers = |it: &&Trial| match it.role {
        Role::Grow | Role::Narrow => it.verdict != Verdict::Failed || it.load > top,
        Role::Confirm => true,
        Role::WarmUp | Role::FromAbove => false,
    };
    trials.iter().filter(|it| it.verdict != Verdict::ClientLimited).filter(steers).collect()
}

/// An estimate of the edge. It has no guarantee.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Edge {
    /// The median of the distribution.
    pub estimate: f64,
    /// The 10th percentile.
    pub low: f64,
    /// The 90th percentile.
    pub high: f64,
}

/// Estimates the edge from all trials; `None` if none of them informs the posterior.
pub fn edge(settings: &Settings, trials: &[Trial]) -> Option<Edge> {
    let steering = steering(trials);
    if steering.is_empty() {
        return None;
    }
    let posterior = Posterior::new(settings, &steering);
    let factor = if settings.is_closed() { 1.0 } else { OVERRATED };
    let [estimate, low, high] = [0.5, 0.1, 0.9].map(|it| settings.fit(posterior.quantile(it) * factor));
    Some(Edge { estimate, low, high })
}
