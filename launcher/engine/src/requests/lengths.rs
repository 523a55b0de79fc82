//! Draws the lengths of the prompt and the answer of a request. Each number has its own draw, which does not depend on
//! the order.

use crds::units::Seed;
use rand::{Rng, RngExt as _};
use rand_distr::{LogNormal, Normal};
use workload_profiles::workload::{LengthDistribution, Shape};

use super::draws;

/// The two samplers of inference-perf, which read the parameters of a log-normal distribution differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sampler {
    /// For random prompts: mean and deviation are those of the length above `min`.
    Shifted,
    /// For shared prefixes: mean and deviation are those of the length.
    Plain,
}

/// Draws a length for each number.
#[derive(Clone, Debug)]
pub(super) struct LengthDraws {
    distribution: LengthDistribution,
    sampler: Sampler,
    seed: Seed,
}

impl LengthDraws {
    pub(super) fn new(distribution: &LengthDistribution, sampler: Sampler, seed: Seed) -> LengthDraws {
        LengthDraws { distribution: distribution.clone(), sampler, seed }
    }

    /// The length of the request with this number, in tokens.
    pub(super) fn get(&self, number: u64) -> u32 {
        let place = match self.distribution.total_count {
            Some(count) if count > 0 => number % u64::from(count),
            _ => number,
        };
        self.draw(&mut draws(self.seed, place))
    }

    /// Draws a length, clips it to `min` and `max`, and rounds it.
    fn draw(&self, rng: &mut impl Rng) -> u32 {
        let LengthDistribution { shape, min, max, mean, std_dev, .. } = self.distribution;
        let drawn = match shape {
            Shape::Fixed | Shape::SkewNormal { .. } | Shape::Poisson => mean,
            Shape::Uniform => return rng.random_range(min..=max.max(min)),
            Shape::Normal => Normal::new(mean, std_dev).map_or(mean, |it| rng.sample(it)),
            Shape::Lognormal => {
                let shift = if self.sampler == Sampler::Shifted { f64::from(min) } else { 0.0 };
                shift + log_normal(mean - shift, std_dev).map_or(mean - shift, |it| rng.sample(it))
            }
        };
        drawn.clamp(f64::from(min), f64::from(max.max(min))).round() as u32
    }
}

/// The log-normal with this mean and standard deviation: sigma^2 = ln(1 + (deviation / mean)^2), mu = ln(mean) - sigma^2 / 2.
/// A mean that is not above zero counts as 1, as in inference-perf.
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
        // Above `min` by the shift, or clipped to it.
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
