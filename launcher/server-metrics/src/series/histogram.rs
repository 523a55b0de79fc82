//! Quantiles of a histogram by its buckets. Pure.

/// A distribution of times by the buckets of the server, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Latency {
    /// Observations in the window.
    pub count: f64,
    pub mean: f64,
    pub p50: f64,
    pub p90: f64,
    pub p99: f64,
}

/// The increases of a histogram over a window.
#[derive(Clone, Debug, Default)]
pub(super) struct Increases {
    /// Upper bounds, and observations up to each.
    pub(super) buckets: Vec<(f64, f64)>,
    pub(super) sum: f64,
    pub(super) count: f64,
}

impl Increases {
    /// `None`: there was no observation.
    pub(super) fn latency(mut self) -> Option<Latency> {
        if self.count <= 0.0 || !self.count.is_finite() || !self.sum.is_finite() {
            return None;
        }
        self.buckets.sort_by(|one, other| one.0.total_cmp(&other.0));
        let mut merged: Vec<(f64, f64)> = Vec::new();
        for (bound, count) in self.buckets {
            match merged.last_mut() {
                Some((last, sum)) if *last == bound => *sum += count,
                _ => merged.push((bound, count)),
            }
        }
        // Buckets of one text are written one after the other, while the server counts on.
        let mut most = 0.0_f64;
        for (_, count) in &mut merged {
            most = most.max(*count);
            *count = most;
        }
        let quantile = |share| quantile(&merged, share);
        Some(Latency {
            count: self.count,
            mean: self.sum / self.count,
            p50: quantile(0.5)?,
            p90: quantile(0.9)?,
            p99: quantile(0.99)?,
        })
    }
}

/// A quantile by linear interpolation within its bucket, as `histogram_quantile` of Prometheus computes it: the lowest
/// bucket begins at 0, and a quantile in the highest bucket is the upper bound of the one before it. `None`: there is no
/// bucket without an upper bound, no other bucket, or no observation.
fn quantile(buckets: &[(f64, f64)], share: f64) -> Option<f64> {
    let (bound, all) = *buckets.last()?;
    if bound != f64::INFINITY || buckets.len() < 2 || all <= 0.0 {
        return None;
    }
    let rank = share * all;
    let place = buckets.iter().position(|(_, count)| *count >= rank)?;
    if place == buckets.len() - 1 {
        return Some(buckets[place - 1].0);
    }
    let (upper, count) = buckets[place];
    if place == 0 && upper <= 0.0 {
        return Some(upper);
    }
    let (lower, before) = if place == 0 { (0.0, 0.0) } else { buckets[place - 1] };
    let inside = count - before;
    Some(if inside > 0.0 { lower + (upper - lower) * (rank - before) / inside } else { upper })
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
    fn quantiles_are_those_of_prometheus() {
        let buckets = [(0.1, 10.0), (0.5, 30.0), (1.0, 40.0), (INF, 50.0)];
        check(&buckets, 0.1, Some(0.05));
        check(&buckets, 0.2, Some(0.1));
        check(&buckets, 0.4, Some(0.1 + 0.4 * 0.5));
        check(&buckets, 0.6, Some(0.5));
        // The highest bucket has no upper bound.
        check(&buckets, 0.99, Some(1.0));
        check(&[(0.1, 0.0), (INF, 0.0)], 0.5, None);
        check(&[(0.1, 3.0)], 0.5, None);
        check(&[(INF, 3.0)], 0.5, None);
    }

    #[test]
    fn histograms_of_several_servers_are_added() {
        let buckets = vec![(1.0, 4.0), (INF, 5.0), (1.0, 4.0), (INF, 5.0)];
        let latency = Increases { buckets, sum: 20.0, count: 10.0 }.latency().unwrap();
        assert_eq!((latency.count, latency.mean, latency.p50), (10.0, 2.0, 0.625));
        assert_eq!(Increases::default().latency(), None);
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
                prop_assert!(latency.p50 <= latency.p90 && latency.p90 <= latency.p99);
                prop_assert!(latency.p50 >= 0.0 && latency.p99 <= last as f64);
            }
        }
    }
}
