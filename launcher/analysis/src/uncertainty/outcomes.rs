//! The uncertainty of the goodput and of the error ratio of a stage.

use statistics::{Estimate, batch_means, bins::RateBins, share::share_with_interval};

use super::{input::Input, rates};
use crate::rates::{Spans, good_share, goodness};
use measurement::{record::RequestRecord, recorder::InFigures};

/// Estimates of a stage. An estimate is `None` if no request counts for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Requests per second that met every goodput bound; `None` if the workload sets no bounds.
    pub good_requests: Option<Estimate>,
    /// Good / (succeeded + failed), over requests in the order of due times; `None` if the workload sets no goodput bounds.
    pub good_share: Option<Estimate>,
    /// Failed / (succeeded + failed), over requests in the order of due times.
    pub error_ratio: Option<Estimate>,
}

/// Computes the estimates of each stage. `bins`: for each stage, the bins in which its rates are counted.
pub(super) fn of_stages(input: &Input<'_>, bins: &[Option<RateBins>]) -> Vec<Outcomes> {
    let mut good: Vec<Option<RateBins>> = bins.iter().map(|it| it.clone().filter(|_| input.has_goals)).collect();
    let good_shares: Vec<f64> = input.tallies.iter().map(good_share).collect();
    for (record, used) in input.records.with_figures() {
        let stage = record.stage as usize;
        let (Some(Some(bins)), Some(origin)) = (good.get_mut(stage), input.origins.get(stage)) else { continue };
        if input.windows.get(stage).is_some_and(Option::is_some) {
            if record.outcome.is_success() {
                rates::spread(
                    bins,
                    Spans::new(record, *origin).request,
                    goodness(used, good_shares[stage]) * input.scales[stage],
                );
            }
        } else if used.good {
            bins.add(record.ended.as_secs_f64(), 1.0);
        }
    }
    let outcomes = |(good, ended): (Option<RateBins>, Vec<Ended>)| {
        let rates: Option<Vec<f64>> = good.map(|it| it.rates().iter().map(|it| it.value).collect());
        let share = |is_event: fn(&Ended) -> bool| share_with_interval(&ended.iter().map(is_event).collect::<Vec<_>>());
        Outcomes {
            good_requests: rates.and_then(|it| batch_means::mean_with_interval(&it)),
            good_share: input.has_goals.then(|| share(|it| it.good)).flatten(),
            error_ratio: share(|it| it.failed),
        }
    };
    good.into_iter().zip(ended(input, bins.len())).map(outcomes).collect()
}

/// A request that succeeded or failed.
#[derive(Clone, Copy, Debug)]
struct Ended {
    /// When the request was due, in seconds from the start of the run.
    due: f64,
    /// Whether the request met every goodput bound.
    good: bool,
    failed: bool,
}

/// Requests that succeeded or failed, in the order of due times, stage by stage.
fn ended(input: &Input<'_>, stages: usize) -> Vec<Vec<Ended>> {
    let decided = |(record, used): (&RequestRecord, InFigures)| {
        let due = input.due(record).filter(|_| used.answer || used.failed)?;
        Some((record.stage as usize, Ended { due, good: used.good, failed: used.failed }))
    };
    let all = || input.records.with_figures().filter_map(decided).filter(|(stage, _)| *stage < stages);
    // Counts the requests first, so that each vector is allocated once.
    let mut counts = vec![0; stages];
    all().for_each(|(stage, _)| counts[stage] += 1);
    let mut found: Vec<Vec<Ended>> = counts.into_iter().map(Vec::with_capacity).collect();
    all().for_each(|(stage, it)| found[stage].push(it));
    found.iter_mut().for_each(|it| it.sort_unstable_by(|one, other| one.due.total_cmp(&other.due)));
    found
}
