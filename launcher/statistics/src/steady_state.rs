//! Whether figures become steady: where the warm-up ends, and whether there is a plateau after it.
//!
//! The terms come from MLPerf Endpoints. The rule is our own, because the rule of MLPerf Endpoints is not published.

use crate::{
    Interval,
    bins::{FEWEST, Point},
    median,
    mser::mser,
    trend::{Trend, trend},
};

/// A figure drifts if it changes over the window by at least this share of its median, and if the direction of the change is certain at a level of 99
/// %.
pub const DRIFT: f64 = 0.10;
/// A figure is on a plateau under two conditions: it changes by less than [`DRIFT`], and its interval at 95 % excludes a change over the window by
/// more than this share of its median.
pub const RULED_OUT: f64 = 0.30;
/// A value is an outlier if its distance from the median exceeds both this number of typical deviations (see [`NORMAL_DEVIATIONS`]) and [`FAR`] times
/// the median.
const OUTLIER: f64 = 6.0;
/// Minimum distance of an outlier, as a share of the median, see [`OUTLIER`].
const FAR: f64 = 0.5;
/// Number of consecutive outliers that make an anomaly. A single outlier can be chance.
const IN_A_ROW: usize = 2;
/// Factor that converts the median absolute deviation to the standard deviation, for normally distributed values.
const NORMAL_DEVIATIONS: f64 = 1.4826;

/// The trend of one figure within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Plateau,
    DriftingUp,
    DriftingDown,
    /// Parts of the window are far from the rest.
    Anomaly,
    /// The figure varies too much to decide whether it drifts.
    Unclear,
}

impl State {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            State::Plateau => "plateau",
            State::DriftingUp => "driftingUp",
            State::DriftingDown => "driftingDown",
            State::Anomaly => "anomaly",
            State::Unclear => "unclear",
        }
    }
}

/// The combined result of the figures that decide about a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All figures are on a plateau.
    Steady,
    DriftingUp,
    DriftingDown,
    Anomaly,
    NotFound,
}

impl Verdict {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Steady => "steady",
            Verdict::DriftingUp => "driftingUp",
            Verdict::DriftingDown => "driftingDown",
            Verdict::Anomaly => "anomaly",
            Verdict::NotFound => "notFound",
        }
    }
}

/// The result for one figure in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub state: State,
    /// `None` if the window contains too few bins of the figure, or if its median is 0.
    pub trend: Option<Trend>,
}

/// The end of the warm-up, which is the start of the first bin of the window. If figures differ, the latest end counts. `None` if no figure has any
/// points.
///
/// Values at the start are warm-up if their median differs by [`DRIFT`] or more from the median of the rest, and if the rest does not drift. If a
/// figure does not become steady in its first half, no warm-up is removed, and its trend shows the drift.
pub fn window_start(figures: &[&[Point]]) -> Option<f64> {
    figures.iter().filter_map(|it| Some(it.get(warm_up(it))?.start)).max_by(f64::total_cmp)
}

fn warm_up(points: &[Point]) -> usize {
    let values: Vec<f64> = points.iter().map(|it| it.value).collect();
    let place = mser(&values).unwrap_or(0);
    let (before, after) = values.split_at(place);
    let differs = |(before, after): (f64, f64)| (before - after).abs() >= DRIFT * after.abs();
    let settles = || matches!(judge(&points[place..], f64::NEG_INFINITY).state, State::Plateau | State::Unclear);
    if median(before).zip(median(after)).is_some_and(differs) && settles() { place } else { 0 }
}

/// Judges a figure in the bins that begin at `start` or later.
pub fn judge(points: &[Point], start: f64) -> Judged {
    let window: Vec<Point> = points.iter().filter(|it| it.start >= start).copied().collect();
    let trend = trend(&window).filter(|_| window.len() >= FEWEST);
    let state = trend.map_or(State::Unclear, |trend| {
        let surely = |sign: f64| trend.wide_interval.is_some_and(|it| (it.low * sign).min(it.high * sign) > 0.0);
        let within = |it: Interval| it.low >= -RULED_OUT && it.high <= RULED_OUT;
        if trend.change >= DRIFT && surely(1.0) {
            State::DriftingUp
        } else if trend.change <= -DRIFT && surely(-1.0) {
            State::DriftingDown
        } else if has_anomaly(&window) {
            State::Anomaly
        } else if trend.change.abs() < DRIFT && trend.interval.is_some_and(within) {
            State::Plateau
        } else {
            State::Unclear
        }
    });
    Judged { state, trend }
}

/// Whether consecutive bins are far from the other bins.
fn has_anomaly(points: &[Point]) -> bool {
    let values: Vec<f64> = points.iter().map(|it| it.value).collect();
    let Some(level) = median(&values) else { return false };
    let deviations: Vec<f64> = values.iter().map(|it| (it - level).abs()).collect();
    let usual = median(&deviations).unwrap_or(0.0) * NORMAL_DEVIATIONS;
    let bound = (OUTLIER * usual).max(FAR * level.abs());
    deviations.windows(IN_A_ROW).any(|it| it.iter().all(|deviation| *deviation > bound))
}

/// The combined verdict of several figures. If any figure drifts, the verdict is a drift; if figures drift in both directions, it is upward.
pub fn verdict(states: &[State]) -> Verdict {
    let any = |state| states.contains(&state);
    if any(State::DriftingUp) {
        Verdict::DriftingUp
    } else if any(State::DriftingDown) {
        Verdict::DriftingDown
    } else if any(State::Anomaly) {
        Verdict::Anomaly
    } else if states.is_empty() || any(State::Unclear) {
        Verdict::NotFound
    } else {
        Verdict::Steady
    }
}
