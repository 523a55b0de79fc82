//! Draws times between the requests of a session, such as think times. Each number has its own draw.

use std::time::Duration;

use crds::units::Seed;
use rand::RngExt as _;
use workload_profiles::workload::{Shape, TimeDistribution};

use super::{draws, lengths::draw};

/// Draws one time per number.
#[derive(Clone, Debug)]
pub struct TimeDraws {
    distribution: TimeDistribution,
    seed: Seed,
}

impl TimeDraws {
    /// Creates draws that are the same for the same seed.
    pub fn new(distribution: &TimeDistribution, seed: Seed) -> TimeDraws {
        TimeDraws { distribution: distribution.clone(), seed }
    }

    /// Returns the time with this number, limited to the range from min to max. A Poisson shape yields whole seconds.
    pub fn get(&self, number: u64) -> Duration {
        let TimeDistribution { shape, min, max, mean, std_dev } = &self.distribution;
        let [min, max, mean, std_dev] = [min, max, mean, std_dev].map(|it| it.0.as_secs_f64());
        let mut rng = draws(self.seed, number);
        let drawn = match shape {
            Shape::Uniform => min + rng.random::<f64>() * (max - min).max(0.0),
            shape => draw(*shape, mean, std_dev, &mut rng),
        };
        Duration::try_from_secs_f64(drawn.max(min).min(max.max(min))).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Span;

    use super::*;

    fn check(shape: Shape, [min, max, mean, std_dev]: [u64; 4]) -> (Duration, Duration, Duration) {
        let [min, max, mean, std_dev] = [min, max, mean, std_dev].map(|it| Span(Duration::from_millis(it)));
        let times = TimeDraws::new(&TimeDistribution { shape, min, max, mean, std_dev }, Seed(3));
        let all: Vec<Duration> = (0..5_000).map(|it| times.get(it)).collect();
        assert_eq!(all[7], times.get(7));
        let mean = all.iter().sum::<Duration>() / 5_000;
        (all.iter().min().copied().unwrap(), mean, all.into_iter().max().unwrap())
    }

    #[test]
    fn a_time_has_its_mean_and_stays_in_its_bounds() {
        let millis = Duration::from_millis;
        let fixed = check(Shape::Fixed, [500, 500, 500, 0]);
        assert_eq!(fixed, (millis(500), millis(500), millis(500)));
        for shape in [Shape::Normal, Shape::Lognormal, Shape::SkewNormal { skew: 2.0 }] {
            let (min, mean, max) = check(shape, [0, 60_000, 2_000, 100]);
            assert!(min < millis(1_900) && max > millis(2_100), "{shape:?}: {min:?} {max:?}");
            assert!(mean.abs_diff(millis(2_000)) < millis(20), "{shape:?}: {mean:?}");
            let (min, _, max) = check(shape, [1_950, 2_050, 2_000, 100]);
            assert_eq!((min, max), (millis(1_950), millis(2_050)), "{shape:?}");
        }
        let (min, mean, max) = check(Shape::Uniform, [1_000, 3_000, 0, 0]);
        assert!(min >= millis(1_000) && max <= millis(3_000) && mean.abs_diff(millis(2_000)) < millis(50));
        let (min, mean, _) = check(Shape::Poisson, [0, 60_000, 3_000, 0]);
        assert!(min.is_zero() && mean.abs_diff(millis(3_000)) < millis(100), "{min:?} {mean:?}");
    }

    #[test]
    fn bounds_that_cross_are_the_lower_one() {
        let (min, _, max) = check(Shape::Uniform, [700, 300, 500, 0]);
        assert_eq!((min, max), (Duration::from_millis(700), Duration::from_millis(700)));
    }
}
