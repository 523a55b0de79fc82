//! Whether figures settle: where the warm-up ends, and whether there is a plateau after it.
//!
//! The words are those of MLPerf Endpoints. The rule is our own: that of Endpoints is not public.

use crate::{
    Interval,
    bins::{FEWEST, Point},
    median,
    mser::mser,
    trend::{Trend, trend},
};

/// A figure drifts where it changes by this share of its median or more over the window, and in that direction with 99 %.
pub const DRIFT: f64 = 0.10;
/// A figure is on a plateau where it changes by less than [`DRIFT`], and a change by this share of its median over the window can be ruled
/// out with 95 %.
pub const RULED_OUT: f64 = 0.30;
/// What lies this many times the usual deviation from the median, and a half of the median away, is no part of a plateau.
const OUTLIER: f64 = 6.0;
/// The share of the median, see [`OUTLIER`].
const FAR: f64 = 0.5;
/// Outliers in a row that make an anomaly: a single one may be chance.
const IN_A_ROW: usize = 2;
/// Median absolute deviation x this is the standard deviation of normal values.
const NORMAL_DEVIATIONS: f64 = 1.4826;

/// What one figure does within the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Plateau,
    DriftingUp,
    DriftingDown,
    /// Parts of the window lie far from the rest.
    Anomaly,
    /// The figure varies too much to tell a drift from none.
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

/// What the deciding figures do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// All are on a plateau.
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

/// One figure within the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    pub state: State,
    /// `None` where the window holds too few bins of it, or its median is 0.
    pub trend: Option<Trend>,
}

/// Where the warm-up of these figures ends: the start of the first bin of the window, the latest of all figures. `None` where no figure has a point.
///
/// What is left out has a median that is [`DRIFT`] or more away from that of the rest, and the rest does not drift. A figure that does not
/// settle in its first half has no warm-up: its trend shows what it does.
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

/// What a figure does in the bins that begin at `start` or later.
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

/// Whether bins in a row lie far from the others.
fn has_anomaly(points: &[Point]) -> bool {
    let values: Vec<f64> = points.iter().map(|it| it.value).collect();
    let Some(level) = median(&values) else { return false };
    let deviations: Vec<f64> = values.iter().map(|it| (it - level).abs()).collect();
    let usual = median(&deviations).unwrap_or(0.0) * NORMAL_DEVIATIONS;
    let bound = (OUTLIER * usual).max(FAR * level.abs());
    deviations.windows(IN_A_ROW).any(|it| it.iter().all(|deviation| *deviation > bound))
}

/// The verdict on figures that decide together. A drift of one is a drift of all, up before down.
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
