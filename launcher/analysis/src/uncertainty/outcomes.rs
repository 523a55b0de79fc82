//! The uncertainty of the goodput and the error ratio of a stage.

use statistics::{Estimate, batch_means, bins::RateBins, share::share_with_interval};

use super::{input::Input, rates};
use crate::rates::{Spans, good_share, goodness};
use measurement::{record::RequestRecord, recorder::InFigures};

/// `None` if nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Requests per second that met every goal; also `None` if the workload sets no goals.
    pub good_requests: Option<Estimate>,
    /// Failed / (succeeded + failed), in the order in which the requests were due.
    pub error_ratio: Option<Estimate>,
}

/// `bins`: the bins of the rates, one per stage.
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
    let outcomes = |(good, failures): (Option<RateBins>, Vec<bool>)| {
        let rates: Option<Vec<f64>> = good.map(|it| it.rates().iter().map(|it| it.value).collect());
        Outcomes {
            good_requests: rates.and_then(|it| batch_means::mean_with_interval(&it)),
            error_ratio: share_with_interval(&failures),
        }
    };
    good.into_iter().zip(failures(input, bins.len())).map(outcomes).collect()
}

/// Whether each request failed, for requests that succeeded or failed, in the order of due times, stage by stage.
fn failures(input: &Input<'_>, stages: usize) -> Vec<Vec<bool>> {
    let decided = |(record, used): (&RequestRecord, InFigures)| {
        let due = input.due(record).filter(|_| used.answer || used.failed)?;
        Some((record.stage as usize, (due, used.failed)))
    };
    let all = || input.records.with_figures().filter_map(decided).filter(|(stage, _)| *stage < stages);
    // Counts the requests first, so that each vector is allocated once.
    let mut counts = vec![0; stages];
    all().for_each(|(stage, _)| counts[stage] += 1);
    let mut found: Vec<Vec<(f64, bool)>> = counts.into_iter().map(Vec::with_capacity).collect();
    all().for_each(|(stage, it)| found[stage].push(it));
    let in_order = |mut it: Vec<(f64, bool)>| {
        it.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        it.into_iter().map(|(_, failed)| failed).collect()
    };
    found.into_iter().map(in_order).collect()
}
