//! How sure goodput and the error ratio of a stage are.

use statistics::{Estimate, batch_means, bins::RateBins, share::share_with_interval};

use super::Input;

/// `None` where nothing was counted.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outcomes {
    /// Requests per second that met every goal; `None` too where the workload sets none.
    pub good_requests: Option<Estimate>,
    /// Failed / (succeeded + failed), in the order in which the requests were due.
    pub error_ratio: Option<Estimate>,
}

/// `bins`: those of the rates, one for each stage.
pub(super) fn of_stages(input: &Input<'_>, bins: &[Option<RateBins>]) -> Vec<Outcomes> {
    let mut good: Vec<Option<RateBins>> = bins.iter().map(|it| it.clone().filter(|_| input.has_goals)).collect();
    let mut decided: Vec<Vec<(f64, bool)>> = vec![Vec::new(); bins.len()];
    for (record, used) in input.records.with_figures() {
        let stage = record.stage as usize;
        if let Some(Some(bins)) = good.get_mut(stage).filter(|_| used.good) {
            bins.add(record.ended.as_secs_f64(), 1.0);
        }
        if let (Some(decided), Some(due), true) =
            (decided.get_mut(stage), input.due(record), used.answer || used.failed)
        {
            decided.push((due, used.failed));
        }
    }
    let outcomes = |(good, mut decided): (Option<RateBins>, Vec<(f64, bool)>)| {
        let rates: Option<Vec<f64>> = good.map(|it| it.rates().iter().map(|it| it.value).collect());
        decided.sort_unstable_by(|(one, _), (other, _)| one.total_cmp(other));
        let failed: Vec<bool> = decided.iter().map(|(_, failed)| *failed).collect();
        Outcomes {
            good_requests: rates.and_then(|it| batch_means::mean_with_interval(&it)),
            error_ratio: share_with_interval(&failed),
        }
    };
    good.into_iter().zip(decided).map(outcomes).collect()
}
