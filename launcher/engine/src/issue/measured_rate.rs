//! Rates that depend on the results of earlier stages. Holds the counts of those stages, and draws the schedule when the dependent stage
//! begins. Pure, except for counters.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use crds::units::{RequestRate, Seed};
use workload_profiles::workload::{Load, MeasuredRate, Rate, RateBound, RateShape, Stage, Window};

use super::timeline::nanos;
use crate::schedule::{measured, schedule};
use measurement::{load_result::NotMeasured, record::RequestRecord, schedule::Schedule, window::StageWindow};

/// Counts of a stage whose results determine the rates of later stages.
#[derive(Debug, Default)]
pub(super) struct StageCounts {
    succeeded: AtomicU64,
    /// When the last request ended, in nanoseconds on the run's clock.
    last_end: AtomicU64,
    /// Samples of the number of requests in flight, each with its time.
    under_way: Mutex<Vec<(Duration, u64)>>,
}

impl StageCounts {
    pub(super) fn count(&self, record: &RequestRecord) {
        self.succeeded.fetch_add(u64::from(record.outcome.is_success()), Relaxed);
        self.last_end.fetch_max(nanos(record.ended), Relaxed);
    }

    pub(super) fn sample(&self, at: Duration, under_way: u64) {
        self.under_way.lock().unwrap_or_else(PoisonError::into_inner).push((at, under_way));
    }

    /// Returns the throughput in successful requests per second; `None` if none succeeded. `start` is the time when the stage began.
    fn throughput(&self, start: Duration) -> Option<f64> {
        let seconds = Duration::from_nanos(self.last_end.load(Relaxed)).saturating_sub(start).as_secs_f64();
        let rate = self.succeeded.load(Relaxed) as f64 / seconds;
        (rate.is_finite() && rate > 0.0).then_some(rate)
    }

    fn drain_rate(&self, percentile: f64) -> Result<f64, usize> {
        measured::drain_rate(&self.under_way.lock().unwrap_or_else(PoisonError::into_inner), percentile)
    }
}

/// An earlier stage.
pub(super) struct Earlier<'a> {
    pub(super) name: &'a str,
    /// When the stage began, and its counts; `None` if the stage was not run.
    pub(super) run: Option<(Duration, &'a StageCounts)>,
}

/// An open-loop stage with a rate that earlier stages determine.
#[derive(Debug)]
pub(super) struct MeasuredLoad {
    rate: MeasuredRate,
    stage: Stage,
    window: Window,
    seed: Seed,
}

/// The schedule of a stage, drawn when the stage began.
#[derive(Debug)]
pub(super) struct Drawn {
    pub(super) rate: RequestRate,
    pub(super) schedule: Schedule,
    pub(super) window: StageWindow,
}

impl MeasuredLoad {
    /// Returns `None` if the rate of the stage is known before the run. `seed` is the seed of the request times.
    pub(super) fn new(stage: &Stage, window: Window, seed: Seed) -> Option<MeasuredLoad> {
        match &stage.load {
            Load::Open { rate: Rate::Varying(RateShape::Measured(rate)), .. } => {
                Some(MeasuredLoad { rate: rate.clone(), stage: stage.clone(), window, seed })
            }
            _ => None,
        }
    }

    /// Whether the rate depends on measurements in `stage`.
    pub(super) fn needs(&self, stage: u32) -> bool {
        [self.rate.from, self.rate.to].iter().any(|bound| match bound {
            RateBound::Rate(_) => false,
            RateBound::Throughput(of) | RateBound::Drain { stage: of, .. } => *of == stage,
        })
    }

    /// Whether the rate depends on the number of requests in flight in `stage`.
    pub(super) fn needs_samples(&self, stage: u32) -> bool {
        [self.rate.from, self.rate.to].iter().any(|it| matches!(it, RateBound::Drain { stage: of, .. } if *of == stage))
    }

    /// Returns the number of requests; `None` if the duration of the stage determines it.
    pub(super) fn count(&self) -> Option<u64> {
        match &self.stage.load {
            Load::Open { count, duration: None, .. } => *count,
            _ => None,
        }
    }

    /// Returns how long requests are sent; `None` if the number of requests determines it.
    pub(super) fn duration(&self) -> Option<Duration> {
        match &self.stage.load {
            Load::Open { duration, .. } => duration.map(|it| it.0),
            _ => None,
        }
    }

    /// Draws the request times. `earlier` returns an earlier stage by its index.
    ///
    /// # Errors
    /// A bound of the rate could not be measured.
    pub(super) fn draw<'a>(&self, earlier: impl Fn(u32) -> Earlier<'a>) -> Result<Drawn, NotMeasured> {
        let measured_in = |index: u32| {
            let Earlier { name, run } = earlier(index);
            let (start, counts) = run.ok_or_else(|| NotMeasured::NotRun { stage: name.to_owned() })?;
            Ok((name.to_owned(), start, counts))
        };
        let value = |bound: RateBound| match bound {
            RateBound::Rate(rate) => Ok(rate.per_second()),
            RateBound::Throughput(index) => {
                let (stage, start, counts) = measured_in(index)?;
                counts.throughput(start).ok_or(NotMeasured::NoSuccess { stage })
            }
            RateBound::Drain { stage: index, percentile } => {
                let (stage, _, counts) = measured_in(index)?;
                counts.drain_rate(percentile).map_err(|falls| NotMeasured::TooFewFalls { stage, falls })
            }
        };
        let (from, to) = (value(self.rate.from)?, value(self.rate.to)?);
        let rate = measured::between(from, to, self.rate.position, self.rate.spacing);
        let rate = RequestRate::try_from(rate).map_err(|_| NotMeasured::OutOfRange { rate })?;
        let mut stage = self.stage.clone();
        if let Load::Open { rate: unknown, .. } = &mut stage.load {
            *unknown = Rate::Steady(rate);
        }
        let schedule = schedule(&stage.load, &[], self.seed).unwrap_or_default();
        let window = StageWindow::new(&stage, self.window, Some(&schedule));
        Ok(Drawn { rate, schedule, window })
    }
}
