//! Second by second: the number of requests is drawn from a Poisson distribution, and they are placed in that second by
//! rescaled exponential gaps, the last at its end. It goes on until the count is reached, so that the span varies around
//! the stage's duration. inference-perf calls it `poisson`.

use std::time::Duration;

use crds::units::RequestRate;
use rand::{Rng, RngExt as _};
use rand_distr::Poisson;

use super::{conditioned_poisson, nanos};

const SECOND: Duration = Duration::from_secs(1);

/// `count` times in order, in nanoseconds.
pub(super) fn times(rate: RequestRate, count: u64, rng: &mut impl Rng) -> Vec<u64> {
    let requests = Poisson::new(rate.per_second()).expect("a RequestRate is finite and above zero");
    let count = usize::try_from(count).unwrap_or_default();
    let mut times = Vec::with_capacity(count);
    let mut start = 0;
    while times.len() < count {
        let in_second = rng.sample::<f64, _>(requests) as u64;
        let placed = conditioned_poisson::times(SECOND, in_second, rng);
        times.extend(placed.into_iter().take(count - times.len()).map(|it| start + it));
        start += nanos(SECOND);
    }
    times
}
