//! Decides which clients disconnect before their answer is complete, and when. The result depends only on the seed and the request number,
//! not on the order of requests. Pure.

use std::time::Duration;

use crds::units::Seed;
use rand::{RngExt as _, seq::SliceRandom as _};
use rand_distr::Exp1;
use workload_profiles::workload::{Abandonment, Departure};

use crate::requests::draws;

/// Size of a group of consecutive requests. In each group, the number of clients that disconnect differs from the configured share of the group by
/// less than one. So even a short run has about that share.
const STRATUM: usize = 8;

/// When a client disconnects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Leaves {
    /// After this time since sending.
    After(Duration),
    /// Once this number of output tokens has arrived.
    AfterTokens(u32),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Clients {
    abandonment: Abandonment,
    seed: Seed,
}

impl Clients {
    /// Creates the clients of a stage. `seed` is the stage's seed for abandonment.
    pub(super) fn new(abandonment: Abandonment, seed: Seed) -> Clients {
        Clients { abandonment, seed }
    }

    /// Returns the rank of a request in its group. The ranks are shuffled.
    fn rank(&self, number: u64) -> usize {
        let mut ranks: [usize; STRATUM] = std::array::from_fn(|it| it);
        ranks.shuffle(&mut draws(self.seed.derive("ranks"), number / STRATUM as u64));
        ranks[(number % STRATUM as u64) as usize]
    }

    /// Returns when the client of a request disconnects; `None` if it waits for the whole answer.
    pub(super) fn leaves(&self, number: u64) -> Option<Leaves> {
        let mut rng = draws(self.seed, number);
        // The share is drawn before the time. So a client that disconnects with one configured share also disconnects with any larger share, at the
        // same time.
        let place = (self.rank(number) as f64 + rng.random::<f64>()) / STRATUM as f64;
        if place >= self.abandonment.share {
            return None;
        }
        Some(match self.abandonment.after {
            Departure::Uniform { min, max } => {
                let spread = max.0.saturating_sub(min.0);
                Leaves::After(min.0 + spread.mul_f64(rng.random::<f64>()))
            }
            Departure::Exponential { mean } => {
                // An exponential variate drawn from 64 bits never exceeds 45 times its mean.
                Leaves::After(mean.0.mul_f64(rng.sample::<f64, _>(Exp1).min(45.0)))
            }
            Departure::Tokens(tokens) => Leaves::AfterTokens(tokens),
        })
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Span;

    use super::*;

    const NUMBERS: u64 = 20_000;

    fn check(share: f64, after: Departure, seed: u64) -> Vec<Option<Leaves>> {
        first(NUMBERS, share, after, seed)
    }

    fn first(requests: u64, share: f64, after: Departure, seed: u64) -> Vec<Option<Leaves>> {
        let clients = Clients::new(Abandonment { share, after }, Seed(seed));
        (0..requests).map(|number| clients.leaves(number)).collect()
    }

    fn span(millis: u64) -> Span {
        Span(Duration::from_millis(millis))
    }

    fn seconds(leaves: &[Option<Leaves>]) -> Vec<f64> {
        let time = |it: &Option<Leaves>| match it {
            Some(Leaves::After(time)) => Some(time.as_secs_f64()),
            _ => None,
        };
        leaves.iter().filter_map(time).collect()
    }

    #[test]
    fn the_asked_share_goes_after_the_asked_times() {
        let uniform = seconds(&check(0.25, Departure::Uniform { min: span(1_000), max: span(3_000) }, 1));
        // Tolerances: five standard errors of a share, and of the mean of a uniform variate, 2 s / sqrt(12 n).
        let share = uniform.len() as f64 / NUMBERS as f64;
        assert!((share - 0.25).abs() < 5.0 * (0.25 * 0.75 / NUMBERS as f64).sqrt(), "{share}");
        let mean = uniform.iter().sum::<f64>() / uniform.len() as f64;
        assert!((mean - 2.0).abs() < 5.0 * 2.0 / (12.0 * uniform.len() as f64).sqrt(), "{mean}");
        assert!(uniform.iter().all(|it| (1.0..=3.0).contains(it)));
        let exponential = seconds(&check(1.0, Departure::Exponential { mean: span(500) }, 1));
        let mean = exponential.iter().sum::<f64>() / exponential.len() as f64;
        assert_eq!(exponential.len() as u64, NUMBERS);
        assert!((mean - 0.5).abs() < 5.0 * 0.5 / (NUMBERS as f64).sqrt(), "{mean}");
    }

    #[test]
    fn short_runs_have_their_share_too() {
        for seed in 0..50 {
            for (share, requests, least, most) in
                [(0.5, 24, 12, 12), (0.25, 24, 6, 6), (0.1, 24, 0, 3), (0.5, 50, 24, 26)]
            {
                let leaves = first(requests, share, Departure::Tokens(3), seed);
                let gone = leaves.iter().filter(|it| it.is_some()).count();
                assert!((least..=most).contains(&gone), "{gone} of {requests} at {share}, seed {seed}");
            }
        }
    }

    #[test]
    fn nobody_goes_at_nothing_and_everybody_at_one() {
        assert!(check(0.0, Departure::Tokens(3), 1).iter().all(Option::is_none));
        assert!(check(1.0, Departure::Tokens(3), 1).iter().all(|it| *it == Some(Leaves::AfterTokens(3))));
    }

    #[test]
    fn the_same_clients_go_for_a_seed_and_more_of_them_at_a_larger_share() {
        let after = Departure::Exponential { mean: span(500) };
        let (few, many) = (check(0.1, after, 7), check(0.3, after, 7));
        assert_eq!(few, check(0.1, after, 7));
        assert_ne!(few, check(0.1, after, 8));
        assert!(few.iter().zip(&many).all(|(few, many)| few.is_none() || few == many));
    }
}
