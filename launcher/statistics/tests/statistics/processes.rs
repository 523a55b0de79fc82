//! Synthetic processes with known figures.

/// Pairs (p, p quantile of the standard normal distribution).
pub const QUANTILES: [(f64, f64); 3] = [(0.5, 0.0), (0.9, 1.281_551_565_544_600_4), (0.99, 2.326_347_874_040_840_8)];

/// The sigma of log-normal values. Their mean is 13 % above the median, and their p99 is 3.2 times the median.
const SIGMA: f64 = 0.5;

/// Random numbers by SplitMix64 (Steele, Lea and Flood, Fast splittable pseudorandom number generators, 2014).
pub struct Random(pub u64);

impl Random {
    fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// A uniform number above 0 and at most 1.
    pub fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound.max(1) as u64) as usize
    }

    /// An exponential number with mean 1.
    pub fn exponential(&mut self) -> f64 {
        -self.uniform().ln()
    }

    /// A standard normal number by the method of Box and Muller.
    pub fn normal(&mut self) -> f64 {
        (2.0 * self.exponential()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }
}

/// A stationary process with a known mean and known quantiles.
#[derive(Clone, Copy, Debug)]
pub enum Process {
    /// Independent exponential values with mean 1.
    Exponential,
    /// Log-normal values of a first-order autoregressive process with this coefficient.
    Autoregressive(f64),
    /// The times that customers spend in an M/M/1 queue with this utilisation, from arrival to departure, in units of the mean service time.
    Queue(f64),
}

impl Process {
    pub fn name(self) -> String {
        match self {
            Process::Exponential => "independent, exponential".into(),
            Process::Autoregressive(phi) => format!("AR(1), phi {phi}, log-normal"),
            Process::Queue(load) => format!("M/M/1, utilisation {load}"),
        }
    }

    pub fn mean(self) -> f64 {
        match self {
            Process::Exponential => 1.0,
            Process::Autoregressive(_) => (SIGMA * SIGMA / 2.0).exp(),
            Process::Queue(load) => 1.0 / (1.0 - load),
        }
    }

    /// The true `p` quantile. `p` and `normal` are a pair of [`QUANTILES`]: `normal` is the `p` quantile of the normal distribution.
    pub fn quantile(self, p: f64, normal: f64) -> f64 {
        match self {
            Process::Exponential => -(1.0 - p).ln(),
            Process::Autoregressive(_) => (SIGMA * normal).exp(),
            Process::Queue(load) => -(1.0 - p).ln() / (1.0 - load),
        }
    }

    /// Draws successive values, starting in the stationary state.
    pub fn draw(self, count: usize, random: &mut Random) -> Vec<f64> {
        match self {
            Process::Exponential => (0..count).map(|_| random.exponential()).collect(),
            Process::Autoregressive(phi) => {
                autoregressive(count, phi, random).into_iter().map(|it| (SIGMA * it).exp()).collect()
            }
            Process::Queue(load) => {
                let mut stay = random.exponential() / (1.0 - load);
                let next = |_| {
                    let value = stay;
                    stay = (stay - random.exponential() / load).max(0.0) + random.exponential();
                    value
                };
                (0..count).map(next).collect()
            }
        }
    }
}

/// Standard normal values. Each value has the correlation `phi` with the previous one.
pub fn autoregressive(count: usize, phi: f64, random: &mut Random) -> Vec<f64> {
    let mut state = random.normal();
    let next = |_| {
        let value = state;
        state = phi * state + (1.0 - phi * phi).sqrt() * random.normal();
        value
    };
    (0..count).map(next).collect()
}

/// How a level changes while time goes from 0 to 1. The level multiplies the values of a process.
#[derive(Clone, Copy, Debug)]
pub enum Course {
    Level,
    /// The level rises linearly by this share from start to end.
    Ramp(f64),
    /// (share, time): the level rises by this share at this time.
    Step(f64, f64),
    /// (excess, time constant): the level starts higher by this multiple, and the excess decays with this time constant.
    Decay(f64, f64),
    /// (amplitude, number of periods): the level oscillates like a sine.
    Period(f64, f64),
    /// (factor, from, to): the level is multiplied by this factor between these times.
    Stall(f64, f64, f64),
}

impl Course {
    pub fn name(self) -> String {
        match self {
            Course::Level => "level".into(),
            Course::Ramp(by) => format!("ramp, {:+.0} %", by * 100.0),
            Course::Step(by, at) => format!("step by {:+.0} % at {:.0} %", by * 100.0, at * 100.0),
            Course::Decay(by, constant) => {
                format!("warm-up, {:.0} times the level, time constant {:.0} %", by + 1.0, constant * 100.0)
            }
            Course::Period(by, periods) => format!("{periods} periods of +/-{:.0} %", by * 100.0),
            Course::Stall(times, from, to) => {
                format!("{times} times the level from {:.0} to {:.0} %", from * 100.0, to * 100.0)
            }
        }
    }

    pub fn at(self, time: f64) -> f64 {
        match self {
            Course::Level => 1.0,
            Course::Ramp(by) => 1.0 + by * time,
            Course::Step(by, at) => 1.0 + if time < at { 0.0 } else { by },
            Course::Decay(by, constant) => 1.0 + by * (-time / constant).exp(),
            Course::Period(by, periods) => 1.0 + by * (std::f64::consts::TAU * periods * time).sin(),
            Course::Stall(times, from, to) => {
                if from <= time && time < to {
                    times
                } else {
                    1.0
                }
            }
        }
    }

    /// Draws pairs of time (from 0 to 1) and value, for a process with this course.
    pub fn draw(self, process: Process, count: usize, random: &mut Random) -> Vec<(f64, f64)> {
        let values = process.draw(count, random).into_iter().enumerate();
        values
            .map(|(place, value)| {
                let time = (place as f64 + 0.5) / count as f64;
                (time, value * self.at(time))
            })
            .collect()
    }
}
