//! Draws the lengths of prompts and answers. The draw for a number depends only on the seed and that number, not on the order of draws.
//!
//! If the parameters define no valid distribution, for example because of an infinite deviation, every length is the mean.

use std::f64::consts::FRAC_2_PI;

use crds::units::Seed;
use rand::{Rng, RngExt as _};
use rand_distr::{LogNormal, Normal, Poisson, SkewNormal};
use workload_profiles::workload::{LengthDistribution, Shape};

use super::draws;

/// The two samplers of inference-perf. They interpret the parameters of a log-normal distribution differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sampler {
    /// Used for random prompts. Mean and deviation describe the part of the length above `min`.
    Shifted,
    /// Used for shared prefixes. Mean and deviation describe the whole length.
    Plain,
}

/// Draws one length per number.
#[derive(Clone, Debug)]
pub(crate) struct LengthDraws {
    distribution: LengthDistribution,
    sampler: Sampler,
    seed: Seed,
}

impl LengthDraws {
    pub(crate) fn new(distribution: &LengthDistribution, sampler: Sampler, seed: Seed) -> LengthDraws {
        LengthDraws { distribution: distribution.clone(), sampler, seed }
    }

    /// Returns the length of request `number`, in tokens.
    pub(crate) fn get(&self, number: u64) -> u32 {
        let place = match self.distribution.total_count {
            Some(count) if count > 0 => number % u64::from(count),
            _ => number,
        };
        self.draw(&mut draws(self.seed, place))
    }

    /// Draws a length, limits it to the range from `min` to `max`, and rounds it.
    fn draw(&self, rng: &mut impl Rng) -> u32 {
        let LengthDistribution { shape, min, max, mean, std_dev, .. } = self.distribution;
        let shift = if self.sampler == Sampler::Shifted { f64::from(min) } else { 0.0 };
        let drawn = match shape {
            Shape::Uniform => return rng.random_range(min..=max.max(min)),
            Shape::Lognormal => shift + draw(shape, mean - shift, std_dev, rng),
            _ => draw(shape, mean, std_dev, rng),
        };
        drawn.clamp(f64::from(min), f64::from(max.max(min))).round() as u32
    }
}

/// Draws from a distribution of this shape, mean and standard deviation. For a uniform shape, which has other parameters, returns the mean.
pub(super) fn draw(shape: Shape, mean: f64, std_dev: f64, rng: &mut impl Rng) -> f64 {
    match shape {
        Shape::Fixed | Shape::Uniform => mean,
        Shape::Normal => Normal::new(mean, std_dev).map_or(mean, |it| rng.sample(it)),
        Shape::Lognormal => log_normal(mean, std_dev).map_or(mean, |it| rng.sample(it)),
        Shape::SkewNormal { skew } => skew_normal(mean, std_dev, skew).map_or(mean, |it| rng.sample(it)),
        Shape::Poisson => Poisson::new(mean).map_or(mean, |it| rng.sample(it)),
    }
}

/// Returns the skew-normal distribution with this mean and standard deviation. With delta = skew / sqrt(1 + skew^2), its scale is deviation
/// / sqrt(1 - 2 delta^2 / pi), and its location is mean - scale x delta x sqrt(2 / pi).
fn skew_normal(mean: f64, std_dev: f64, skew: f64) -> Option<SkewNormal<f64>> {
    let delta = skew / (1.0 + skew * skew).sqrt();
    let scale = std_dev / (1.0 - delta * delta * FRAC_2_PI).sqrt();
    SkewNormal::new(mean - scale * delta * FRAC_2_PI.sqrt(), scale, skew).ok()
}

/// Returns the log-normal distribution with this mean and standard deviation: sigma^2 = ln(1 + (deviation / mean)^2), mu = ln(mean) -
/// sigma^2 / 2. A mean of zero or less counts as 1, as in inference-perf.
fn log_normal(mean: f64, std_dev: f64) -> Option<LogNormal<f64>> {
    let mean = if mean > 0.0 { mean } else { 1.0 };
    let variance = (1.0 + (std_dev / mean).powi(2)).ln();
    LogNormal::new(mean.ln() - variance / 2.0, variance.sqrt()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: Shape, sampler: Sampler, mean: f64, std_dev: f64) -> (f64, f64) {
        let distribution = LengthDistribution { shape, min: 10, max: 100_000, mean, std_dev, total_count: None };
        let lengths = LengthDraws::new(&distribution, sampler, Seed(5));
        let all: Vec<f64> = (0..20_000).map(|it| f64::from(lengths.get(it))).collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        let deviation = (all.iter().map(|it| (it - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
        (mean, deviation)
    }

    fn near(found: f64, expected: f64) -> bool {
        (found / expected - 1.0).abs() < 0.03
    }

    #[test]
    fn a_shape_has_its_mean_and_deviation() {
        for (shape, sampler) in [(Shape::Normal, Sampler::Shifted), (Shape::Lognormal, Sampler::Plain)] {
            let (mean, deviation) = check(shape, sampler, 500.0, 100.0);
            assert!(near(mean, 500.0) && near(deviation, 100.0), "{shape:?}: {mean} {deviation}");
        }
        assert_eq!(check(Shape::Fixed, Sampler::Plain, 77.0, 0.0), (77.0, 0.0));
    }

    #[test]
    fn a_skew_normal_has_its_mean_and_deviation_and_a_long_tail_on_one_side() {
        for skew in [-4.0, 0.0, 4.0] {
            let shape = Shape::SkewNormal { skew };
            let (mean, deviation) = check(shape, Sampler::Plain, 500.0, 100.0);
            assert!(near(mean, 500.0) && near(deviation, 100.0), "{skew}: {mean} {deviation}");
            let mut distribution = LengthDistribution::uniform(0, 1_000);
            (distribution.shape, distribution.mean, distribution.std_dev) = (shape, 500.0, 100.0);
            let lengths = LengthDraws::new(&distribution, Sampler::Plain, Seed(5));
            let far = |it: &u64| f64::from(lengths.get(*it)) - 500.0;
            let long = (0..20_000).filter(|it| far(it) > 200.0).count();
            let short = (0..20_000).filter(|it| far(it) < -200.0).count();
            match skew {
                0.0 => assert!(long.abs_diff(short) < 150, "{long} {short}"),
                _ if skew > 0.0 => assert!(long > 500 && short < 50, "{long} {short}"),
                _ => assert!(short > 500 && long < 50, "{long} {short}"),
            }
        }
    }

    #[test]
    fn a_poisson_has_its_mean_as_variance() {
        let (mean, deviation) = check(Shape::Poisson, Sampler::Shifted, 400.0, 77.0);
        assert!(near(mean, 400.0) && near(deviation, 20.0), "{mean} {deviation}");
    }

    #[test]
    fn parameters_without_a_distribution_give_the_mean() {
        for (shape, mean, std_dev) in [
            (Shape::Normal, 50.0_f64, f64::NAN),
            (Shape::SkewNormal { skew: f64::NAN }, 50.0, 1.0),
            (Shape::SkewNormal { skew: 1.0 }, 50.0, -1.0),
            (Shape::Poisson, 50.0e30, 0.0),
        ] {
            let expected = mean.clamp(10.0, 100_000.0);
            assert_eq!(check(shape, Sampler::Plain, mean, std_dev), (expected, 0.0), "{shape:?}");
        }
    }

    #[test]
    fn the_shifted_log_normal_has_the_mean_too_but_another_shape() {
        let (mean, deviation) = check(Shape::Lognormal, Sampler::Shifted, 500.0, 100.0);
        assert!(near(mean, 500.0) && near(deviation, 100.0), "{mean} {deviation}");
        let all = |sampler| {
            let distribution = LengthDistribution {
                shape: Shape::Lognormal,
                min: 400,
                max: 100_000,
                mean: 500.0,
                std_dev: 100.0,
                total_count: None,
            };
            let lengths = LengthDraws::new(&distribution, sampler, Seed(5));
            (0..1_000).map(|it| lengths.get(it)).filter(|it| *it == 400).count()
        };
        // Number of draws that equal `min`: few if the distribution is shifted above `min`, and many if lengths are clipped to it.
        assert!(all(Sampler::Shifted) < 20 && all(Sampler::Plain) > 50);
    }

    #[test]
    fn every_uniform_length_is_as_likely() {
        let distribution =
            LengthDistribution { shape: Shape::Uniform, min: 3, max: 5, mean: 0.0, std_dev: 0.0, total_count: None };
        let lengths = LengthDraws::new(&distribution, Sampler::Plain, Seed(1));
        let mut counts = [0; 3];
        for number in 0..3_000 {
            counts[lengths.get(number) as usize - 3] += 1;
        }
        assert!(counts.iter().all(|it| (900..1_100).contains(it)), "{counts:?}");
    }

    #[test]
    fn lengths_repeat_after_the_total_count_and_stay_in_bounds() {
        let distribution = LengthDistribution {
            shape: Shape::Normal,
            min: 90,
            max: 110,
            mean: 100.0,
            std_dev: 50.0,
            total_count: Some(7),
        };
        let lengths = LengthDraws::new(&distribution, Sampler::Shifted, Seed(1));
        for number in 0..7 {
            assert_eq!(lengths.get(number), lengths.get(number + 21));
            assert!((90..=110).contains(&lengths.get(number)));
        }
        assert!((0..7).any(|it| lengths.get(it) != lengths.get(it + 1)));
    }
}
