//! Computes quantiles from the buckets of a histogram. Pure.

/// A distribution of times in seconds, from the server's buckets. A quantile in the lowest or highest bucket is `None`, because only one bound of
/// that bucket is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Number of observations in the window.
    pub count: f64,
    pub mean: f64,
    pub p50: Option<f64>,
    pub p90: Option<f64>,
    pub p99: Option<f64>,
}

/// The increases of a histogram over a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Increases {
    /// The buckets of all histograms in one list: (upper bound, increase of the cumulative count up to that bound).
    pub(super) buckets: Vec<(f64, f64)>,
    pub(super) sum: f64,
    pub(super) count: f64,
}

impl Increases {
    /// `None` if there were no observations.
    pub(super) fn latency(mut self) -> Option<Latency> {
        if self.count <= 0.0 || !self.count.is_finite() || !self.sum.is_finite() {
            return None;
        }
        self.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut merged: Vec<(f64, f64)> = Vec::new();
        // Ignores bounds that not all histograms have. The bound +Inf occurs once per histogram, so it gives their number.
        let histograms = self.buckets.iter().filter(|it| it.0 == f64::INFINITY).count();
        for bucket in self.buckets.chunk_by(|one, other| one.0 == other.0).filter(|it| it.len() == histograms) {
            merged.push((bucket[0].0, bucket.iter().map(|it| it.1).sum()));
        }
        // Cumulative counts must not fall from one bucket to the next. They may, because the server writes the buckets one by one and continues to
        // count meanwhile. So a smaller count is raised.
        let mut most = 0.0_f64;
        for (_, count) in &mut merged {
            most = most.max(*count);
            *count = most;
        }
        let quantile = |share| quantile(&merged, share);
        Some(Latency {
            count: self.count,
            mean: Some(self.sum / self.count).filter(|it| it.is_finite())?,
            p50: quantile(0.5),
            p90: quantile(0.9),
            p99: quantile(0.99),
        })
    }
}

/// A quantile by linear interpolation within its bucket, as in Prometheus' `histogram_quantile`. In the lowest and the highest bucket, Prometheus
/// guesses, but this function returns `None`, because one bound is unknown. For example, if 147 waits of 0.02 ms are all in a lowest bucket up to 0.3
/// s, Prometheus returns a p99 of 0.297 s. Also `None` without a bucket +Inf, and without observations.
fn quantile(buckets: &[(f64, f64)], share: f64) -> Option<f64> {
    let (bound, all) = *buckets.last()?;
    if bound != f64::INFINITY || buckets.len() < 2 || all <= 0.0 {
        return None;
    }
    let rank = share * all;
    let place = buckets.iter().position(|(_, count)| *count >= rank)?;
    if place == 0 || place == buckets.len() - 1 {
        return None;
    }
    let ((lower, before), (upper, count)) = (buckets[place - 1], buckets[place]);
    Some(lower + (upper - lower) * (rank - before) / (count - before)).filter(|it| it.is_finite())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const INF: f64 = f64::INFINITY;

    fn check(buckets: &[(f64, f64)], share: f64, expected: Option<f64>) {
        assert_eq!(quantile(buckets, share), expected, "{share} of {buckets:?}");
    }

    #[test]
    fn quantiles_between_two_bounds_are_those_of_prometheus() {
        let buckets = [(0.1, 10.0), (0.5, 30.0), (1.0, 40.0), (INF, 50.0)];
        check(&buckets, 0.4, Some(0.1 + 0.4 * 0.5));
        check(&buckets, 0.6, Some(0.5));
        // The lowest bucket has no lower bound, and the highest bucket has no upper bound.
        check(&buckets, 0.1, None);
        check(&buckets, 0.2, None);
        check(&buckets, 0.99, None);
        check(&[(0.1, 0.0), (INF, 0.0)], 0.5, None);
        check(&[(0.1, 3.0)], 0.5, None);
        check(&[(INF, 3.0)], 0.5, None);
    }

    #[test]
    fn histograms_of_several_servers_are_added() {
        let buckets = vec![(1.0, 1.0), (3.0, 4.0), (INF, 5.0), (1.0, 1.0), (3.0, 4.0), (INF, 5.0)];
        let latency = Increases { buckets, sum: 20.0, count: 10.0 }.latency().unwrap();
        assert_eq!((latency.count, latency.mean, latency.p50, latency.p99), (10.0, 2.0, Some(2.0), None));
        assert_eq!(Increases::default().latency(), None);
    }

    #[test]
    fn only_bounds_that_every_server_has_count() {
        let some =
            vec![(1.0, 0.0), (2.0, 10.0), (4.0, 10.0), (INF, 10.0), (2.0, 0.0), (3.0, 10.0), (4.0, 10.0), (INF, 10.0)];
        let latency = Increases { buckets: some, sum: 20.0, count: 20.0 }.latency().unwrap();
        // Ten of 20 observations are up to 2 s, and all are up to 4 s. The bound 3 s is skipped, because the first server does not have it.
        assert_eq!((latency.p50, latency.p90), (None, Some(3.6)));
        let none = vec![(1.0, 0.0), (2.0, 10.0), (INF, 10.0), (5.0, 10.0), (INF, 10.0)];
        let latency = Increases { buckets: none, sum: 20.0, count: 20.0 }.latency().unwrap();
        assert_eq!((latency.count, latency.mean, latency.p50, latency.p90), (20.0, 1.0, None, None));
    }

    proptest! {
        #[test]
        fn quantiles_are_in_order(counts in proptest::collection::vec(0_u32..1_000, 2..30)) {
            let mut sum = 0.0;
            let last = counts.len() - 1;
            let buckets: Vec<_> = counts.iter().enumerate().map(|(place, count)| {
                sum += f64::from(*count);
                (if place == last { INF } else { place as f64 + 1.0 }, sum)
            }).collect();
            if let Some(latency) = (Increases { buckets, sum, count: sum }).latency() {
                let known: Vec<f64> = [latency.p50, latency.p90, latency.p99].into_iter().flatten().collect();
                prop_assert!(known.is_sorted() && known.iter().all(|it| (1.0..=last as f64).contains(it)), "{known:?}");
            }
        }
    }
}
