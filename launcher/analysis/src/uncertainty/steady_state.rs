//! Whether a stage was in a steady state, and its figures during the steady state.

use std::fmt::{self, Display, Formatter};

use statistics::{
    Estimate,
    bins::FEWEST,
    steady_state::{Judged, State, Verdict, judge, verdict, window_start},
};

use super::{
    input::{Input, Series, Span},
    latencies::{self, Figure, Latencies},
    rates::{self, Rate, Rates},
    whole::Whole,
};

/// A stage and its window must last at least this many times the median latency.
const LATENCIES: f64 = 10.0;

/// Whether a stage was long enough for a steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    Windowable,
    /// The stage without its warm-up is shorter than ten times the median latency.
    InsufficientDuration,
    /// The stage without its warm-up has fewer than 200 answers.
    InsufficientSamples,
}

impl Status {
    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Status::Windowable => "windowable",
            Status::InsufficientDuration => "insufficientDuration",
            Status::InsufficientSamples => "insufficientSamples",
        }
    }
}

/// A quantity whose trend is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The median.
    P50(Figure),
    P90(Figure),
    Rate(Rate),
}

/// The trend of a figure in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JudgedFigure {
    pub measure: Measure,
    /// Whether the verdict depends on this figure.
    pub decides: bool,
    /// The trend. Times are in seconds and latencies in milliseconds.
    pub judged: Judged,
}

/// Prints the trend, such as `TTFT p90 by +34 % (+20 % to +48 %)`.
impl Display for JudgedFigure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let of = |figure| match figure {
            Figure::Ttft => "TTFT",
            Figure::Tpot => "TPOT",
            Figure::Ntpot => "NTPOT",
            Figure::Latency => "latency",
        };
        match self.measure {
            Measure::P50(figure) => write!(f, "{} p50", of(figure))?,
            Measure::P90(figure) => write!(f, "{} p90", of(figure))?,
            Measure::Rate(Rate::Requests) => f.write_str("requests/s")?,
            Measure::Rate(Rate::OutputTokens) => f.write_str("output tokens/s")?,
        }
        let percent = |share: f64| format!("{:+.0} %", share * 100.0);
        let Some(trend) = self.judged.trend else { return Ok(()) };
        write!(f, " by {}", percent(trend.change))?;
        let interval = trend.interval.map(|it| format!(" ({} to {})", percent(it.low), percent(it.high)));
        f.write_str(&interval.unwrap_or_default())
    }
}

/// Whether a stage was in a steady state.
#[derive(Clone, Debug, PartialEq)]
pub struct SteadyState {
    pub status: Status,
    pub verdict: Verdict,
    /// The trends of the figures. Empty unless the status is [`Status::Windowable`].
    pub judged: Vec<JudgedFigure>,
    /// The window after the warm-up; `None` unless the status is [`Status::Windowable`].
    pub window: Option<Window>,
}

impl SteadyState {
    /// The figures that kept rising or falling, such as `drifting up: TTFT p90 by +34 % (+20 % to +48 %)`. `None` if no figure did.
    pub fn drift(&self) -> Option<String> {
        let (state, how) = match self.verdict {
            Verdict::DriftingUp => (State::DriftingUp, "drifting up"),
            Verdict::DriftingDown => (State::DriftingDown, "drifting down"),
            Verdict::Steady | Verdict::Anomaly | Verdict::NotFound => return None,
        };
        let drifts = self.judged.iter().filter(|it| it.decides && it.judged.state == state);
        let drifts: Vec<String> = drifts.map(ToString::to_string).collect();
        Some(format!("{how}: {}", drifts.join(", ")))
    }
}

/// The figures of requests that were due within the window. A figure that was not on a plateau has its state instead of an estimate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Window {
    /// Due time of the first request in the window, in seconds from the start of the run.
    pub from: f64,
    pub to: f64,
    /// Number of requests that succeeded.
    pub requests: u64,
    pub ttft: Option<Result<Latencies, State>>,
    pub tpot: Option<Result<Latencies, State>>,
    pub latency: Option<Result<Latencies, State>>,
    pub requests_per_second: Option<Result<Estimate, State>>,
    pub output_tokens_per_second: Option<Result<Estimate, State>>,
}

/// Results that are needed to compute the figures of the window.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) status: Status,
    pub(super) verdict: Verdict,
    pub(super) judged: Vec<JudgedFigure>,
    pub(super) window: Option<Span>,
}

impl Found {
    fn too_short(status: Status) -> Found {
        Found { status, verdict: Verdict::NotFound, judged: Vec::new(), window: None }
    }

    /// The state of a latency. It is on a plateau if both its p50 and its p90 are on a plateau.
    fn state(&self, figure: Figure) -> State {
        let of_figure = [Measure::P50(figure), Measure::P90(figure)].map(|it| self.state_of(it));
        of_figure.into_iter().find(|it| *it != State::Plateau).unwrap_or(State::Plateau)
    }

    fn state_of(&self, measure: Measure) -> State {
        self.judged.iter().find(|it| it.measure == measure).map_or(State::Unclear, |it| it.judged.state)
    }
}

/// Finds the steady state by the p50 and p90 of TTFT and TPOT. If neither has enough values, the latency decides instead. The window begins when the
/// deciding figures and the rate of answers have settled.
pub(super) fn find(stage: &Whole) -> Found {
    let latency = stage.get(Figure::Latency);
    let over_time = |figure: Figure| {
        let [p50, p90] = &stage.get(figure).over_time;
        [(Measure::P50(figure), p50), (Measure::P90(figure), p90)].into_iter().filter(|(_, it)| !it.is_empty())
    };
    let mut deciding: Vec<_> = [Figure::Ttft, Figure::Tpot].into_iter().flat_map(over_time).collect();
    let mut beside: Vec<_> = over_time(Figure::Latency).collect();
    if deciding.is_empty() {
        deciding.append(&mut beside);
    }
    let median = latency.estimates.and_then(|it| it.percentiles[0].value);
    let (Some(due), Some(median_ms), false) = (stage.due, median, deciding.is_empty()) else {
        return Found::too_short(Status::InsufficientSamples);
    };
    let is_long_enough = |open: f64| due.close - open >= LATENCIES * median_ms / 1e3;
    if !is_long_enough(due.open) {
        return Found::too_short(Status::InsufficientDuration);
    }
    let [requests, output_tokens] = &stage.rates_over_time;
    let settle: Vec<_> = deciding.iter().map(|it| it.1.as_slice()).chain([requests.as_slice()]).collect();
    let open = window_start(&settle).unwrap_or(due.open);
    if !is_long_enough(open) {
        return Found::too_short(Status::InsufficientDuration);
    }
    let bins_left = deciding.iter().map(|(_, it)| it.iter().filter(|it| it.start >= open).count());
    if bins_left.min().unwrap_or(0) < FEWEST {
        return Found::too_short(Status::InsufficientSamples);
    }
    beside.extend([(Measure::Rate(Rate::Requests), requests), (Measure::Rate(Rate::OutputTokens), output_tokens)]);
    let judged = |decides: bool| {
        move |(measure, series): (Measure, &Series)| JudgedFigure { measure, decides, judged: judge(series, open) }
    };
    let deciding: Vec<JudgedFigure> = deciding.into_iter().map(judged(true)).collect();
    let states: Vec<State> = deciding.iter().map(|it| it.judged.state).collect();
    Found {
        status: Status::Windowable,
        verdict: verdict(&states),
        judged: deciding.into_iter().chain(beside.into_iter().map(judged(false))).collect(),
        window: Some(Span { open, close: due.close }),
    }
}

/// The figures within the window, for each stage that has a window.
pub(super) fn within(input: &Input<'_>, stages: &[Whole], found: &[Found]) -> Vec<Option<Window>> {
    // A window that covers the whole stage has the same figures as the stage.
    let is_whole = |stage: &Whole, window: Span| stage.due.is_some_and(|due| window.open <= due.open);
    let later = |(stage, found): (&Whole, &Found)| {
        found.window.filter(|window| !is_whole(stage, *window)).map_or(f64::INFINITY, |window| window.open)
    };
    let from: Vec<f64> = stages.iter().zip(found).map(later).collect();
    let mut windows: Vec<Option<Window>> = found.iter().map(|it| it.window.map(Window::new)).collect();
    for figure in [Figure::Ttft, Figure::Tpot, Figure::Latency] {
        for (stage, values) in latencies::values(input, figure, &from).into_iter().enumerate() {
            let Some(window) = &mut windows[stage] else { continue };
            let whole = || stages[stage].get(figure).estimates;
            let estimates = if from[stage].is_finite() { Latencies::new(values) } else { whole() };
            window.set(figure, estimates, found[stage].state(figure));
        }
    }
    let bins = windows.iter().zip(found).map(|(it, found)| rates::fine(found.window?, it.as_ref()?.requests));
    let over_time = rates::over_time(input, &bins.collect::<Vec<_>>(), &[]);
    for ((window, found), over_time) in windows.iter_mut().zip(found).zip(over_time) {
        let Some(window) = window else { continue };
        let rates = Rates::new(&over_time);
        let told = |rate, estimate: Option<Estimate>| {
            let state = found.state_of(Measure::Rate(rate));
            estimate.map(|it| if state == State::Plateau { Ok(it) } else { Err(state) })
        };
        window.requests_per_second = told(Rate::Requests, rates.requests);
        window.output_tokens_per_second = told(Rate::OutputTokens, rates.output_tokens);
    }
    windows
}

impl Window {
    fn new(span: Span) -> Window {
        Window {
            from: span.open,
            to: span.close,
            requests: 0,
            ttft: None,
            tpot: None,
            latency: None,
            requests_per_second: None,
            output_tokens_per_second: None,
        }
    }

    fn set(&mut self, figure: Figure, estimates: Option<Latencies>, state: State) {
        let told = estimates.map(|it| if state == State::Plateau { Ok(it) } else { Err(state) });
        match figure {
            Figure::Ttft => self.ttft = told,
            Figure::Tpot => self.tpot = told,
            Figure::Latency => {
                self.requests = estimates.map_or(0, |it| it.count);
                self.latency = told;
            }
            Figure::Ntpot => {}
        }
    }
}
