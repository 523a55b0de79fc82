//! The stages: one per strategy, with its limits and its margins.

use crds::units::{RequestRate, Span};

use super::{
    constraints::Limits,
    data::Data,
    profile::{MAX_UNDER_WAY, Profile, Strategy},
    values::span,
};
use crate::{
    formats::common::{bounds::MAX_STAGE_SECONDS, stage_names::StageNames},
    reader::Section,
    workload::{
        Arrivals, Load, MAX_REQUESTS, Margin, MeasuredRate, Rate, RateBound, RatePoint, RateShape, RequestSource,
        Spacing, Stage, Unit,
    },
};

/// The length of a strategy without any limit, in seconds. GuideLLM itself would run the first such strategy forever.
const UNBOUNDED_SECONDS: f64 = 60.0;
/// Maximum requests of an open strategy that ends only when its data is used up.
const UNBOUNDED_REQUESTS: u64 = 100_000;

/// The limits of a stage.
#[derive(Clone, Copy)]
struct Bounds {
    seconds: Option<f64>,
    requests: Option<u64>,
    /// Requests per session, if the load starts sessions. Otherwise 1.
    turns: u32,
    ramp_up: Span,
}

impl Bounds {
    fn duration(self) -> Option<Span> {
        self.seconds.and_then(span)
    }

    /// The number of requests or sessions that the load starts.
    fn count(self) -> Option<u64> {
        self.requests.map(|it| it.div_ceil(u64::from(self.turns)))
    }
}

/// Reads the stages. Returns `None` if at least one problem was reported.
pub(super) fn stages(spec: &Section, profile: Profile, limits: &Limits, data: &Data, unit: Unit) -> Option<Vec<Stage>> {
    let Profile { section, strategies, ramp_up, warm_up, cool_down } = profile;
    check_scope(spec, strategies.len(), limits);
    check_turns(&section, &strategies, limits, data, unit);
    let mut names = StageNames::default();
    let mut stages = Vec::with_capacity(strategies.len());
    let mut requests: u64 = 0;
    for (index, strategy) in strategies.iter().enumerate() {
        let bounds = bounds(spec, index, *strategy, limits, data, ramp_up);
        let named = load(*strategy, Bounds { turns: 1, ..bounds }, data)?;
        let name =
            if matches!(strategy, Strategy::Swept { .. }) { format!("sweep{}", index - 1) } else { names.name(&named) };
        let load = load(*strategy, bounds, data)?;
        requests = requests.saturating_add(load.count().filter(|_| bounds.seconds.is_none()).unwrap_or(0));
        let margin = |phase: Option<super::phases::Phase>| {
            phase?.margin(&section, bounds.seconds, bounds.requests, bounds.turns)
        };
        let (warm_up, cool_down) = (margin(warm_up), margin(cool_down));
        report_empty(&section, index, [warm_up, cool_down], bounds);
        // A strategy cancels its requests in flight when it ends.
        let grace = bounds.seconds.map(|_| Span::default());
        stages.push(Stage { warm_up, cool_down, grace, ..Stage::new(name, load) });
    }
    if requests > MAX_REQUESTS {
        let what = format!("ask for {requests} requests in all; a run sends at most {MAX_REQUESTS}");
        spec.problem("constraints", format!("{what}, so lower max_requests"));
    }
    section.finish();
    Some(stages)
}

/// Adds a problem for each limit with the scope `all` if there are several strategies. GuideLLM would run no further strategy after the first one
/// reaches the limit.
fn check_scope(spec: &Section, strategies: usize, limits: &Limits) {
    if strategies < 2 {
        return;
    }
    for path in &limits.ends_all {
        let key = path.strip_prefix("spec.").unwrap_or(path);
        spec.problem(key, "is all: GuideLLM then sends no further strategy after the first that reaches this bound; write current, or one strategy");
    }
}

/// Reports rates and limits that count turns. This engine starts whole conversations, so it cannot follow them exactly.
fn check_turns(section: &Section, strategies: &[Strategy], limits: &Limits, data: &Data, unit: Unit) {
    if unit == Unit::Request || data.turns == 1 {
        return;
    }
    let turns = data.turns;
    if strategies.iter().any(|it| matches!(it, Strategy::Swept { .. })) {
        section.problem("kind", "is sweep, and the data has conversations, whose rate a sweep cannot set; write turns: 1, or another profile");
    }
    if strategies.iter().any(|it| matches!(it, Strategy::Open { .. })) {
        section.notice("rate", format!("counts turns: conversations of {turns} turns start at rate / {turns}, and each turn follows the answer before it; GuideLLM sends one turn at each time of its schedule"));
    }
    let uneven =
        (0..strategies.len()).filter_map(|it| limits.requests(it)).find(|it| !it.is_multiple_of(u64::from(turns)));
    if let Some(count) = uneven {
        section.notice("kind", format!("sends whole conversations of {turns} turns: for {count} requests it sends {} conversations; GuideLLM cuts the last one short", count.div_ceil(u64::from(turns))));
    }
}

fn bounds(spec: &Section, index: usize, strategy: Strategy, limits: &Limits, data: &Data, ramp_up: Span) -> Bounds {
    let (mut seconds, mut requests) = (limits.seconds(index), limits.requests(index));
    requests = requests.into_iter().chain(data.rows).min();
    if seconds.is_none() && requests.is_none() {
        if data.endless {
            if index == 0 {
                spec.notice("constraints", format!("do not bound a strategy, so GuideLLM would never end the first one; here each strategy takes {UNBOUNDED_SECONDS} s; to change this, write {{kind: max_duration, seconds: 60}} or max_requests"));
            }
            seconds = Some(UNBOUNDED_SECONDS);
        } else if matches!(strategy, Strategy::Open { .. } | Strategy::Swept { .. }) {
            // The schedule is built before the first request. At that time the number of rows is unknown, so a limit is required.
            spec.notice(
                "constraints",
                format!(
                    "do not bound a strategy; it ends with the rows of the data, or here after {} requests if that is earlier",
                    most_at(strategy)
                ),
            );
            requests = Some(most_at(strategy));
        }
    }
    Bounds { seconds, requests, turns: data.turns, ramp_up }
}

/// Maximum requests of a strategy without limits: `UNBOUNDED_REQUESTS`, or the requests within the maximum stage length if these are fewer.
fn most_at(strategy: Strategy) -> u64 {
    match strategy {
        Strategy::Open { rate, .. } => {
            ((rate.per_second() * MAX_STAGE_SECONDS as f64).floor().max(1.0) as u64).min(UNBOUNDED_REQUESTS)
        }
        Strategy::Synchronous
        | Strategy::Concurrent(_)
        | Strategy::Throughput(_)
        | Strategy::Swept { .. }
        | Strategy::Replay { .. } => UNBOUNDED_REQUESTS,
    }
}

fn load(strategy: Strategy, bounds: Bounds, data: &Data) -> Option<Load> {
    let closed = |concurrency: u32, ramp_up| Load::Closed {
        concurrency,
        count: bounds.count(),
        duration: bounds.duration(),
        ramp_up,
        start_rate: None,
    };
    Some(match strategy {
        Strategy::Synchronous => closed(1, Span::default()),
        Strategy::Concurrent(streams) => closed(streams, bounds.ramp_up),
        Strategy::Throughput(most) => {
            let ramp_up = if most < MAX_UNDER_WAY { bounds.ramp_up } else { Span::default() };
            let needed = bounds.count().and_then(|it| u32::try_from(it).ok()).unwrap_or(most);
            closed(most.min(needed.max(1)), ramp_up)
        }
        Strategy::Open { rate, poisson, max_concurrency } => {
            let rate = RequestRate::try_from(rate.per_second() / f64::from(bounds.turns)).ok()?;
            let ramp_up = bounds.ramp_up;
            let (arrivals, rate) = match (poisson, ramp_up.0.is_zero()) {
                (false, false) => (Arrivals::Constant, ramped(rate, ramp_up)?),
                (_, _) => (paced(poisson), Rate::Steady(rate)),
            };
            open(rate, arrivals, max_concurrency, bounds)
        }
        Strategy::Swept { position, poisson, max_concurrency } => {
            let bound = RateBound::Throughput;
            let measured = MeasuredRate { from: bound(0), to: bound(1), position, spacing: Spacing::Linear };
            open(Rate::Varying(RateShape::Measured(measured)), paced(poisson), max_concurrency, bounds)
        }
        Strategy::Replay { time_scale, .. } => match &data.trace {
            Some((trace, scale)) => Load::Trace {
                trace: trace.clone(),
                speed: 1.0 / (time_scale * scale),
                count: bounds.count(),
                lengths: true,
                max_concurrency: Some(MAX_UNDER_WAY),
            },
            // A replay of recorded sessions is a closed loop with the maximum concurrency.
            None => closed(MAX_UNDER_WAY, Span::default()),
        },
    })
}

fn paced(poisson: bool) -> Arrivals {
    if poisson { Arrivals::Poisson } else { Arrivals::ConstantAfterGap }
}

fn open(rate: Rate, arrivals: Arrivals, max_concurrency: u32, bounds: Bounds) -> Load {
    Load::Open {
        arrivals,
        rate,
        duration: bounds.duration(),
        count: bounds.count(),
        max_concurrency: Some(max_concurrency),
    }
}

/// Returns a rate that rises linearly from 0 to `rate` within `ramp_up`, for a process that sends its first request at 0. In GuideLLM, request k is
/// due when the area below the line is k, except for the first request, which is due at 0. To match this, the rate is constant up to the second
/// request, so that the area is 1 when that request is due in GuideLLM. After it, the rate follows the line.
fn ramped(rate: RequestRate, ramp_up: Span) -> Option<Rate> {
    let (rate, length) = (rate.per_second(), ramp_up.0.as_secs_f64());
    let area = rate * length / 2.0;
    let second = if area >= 2.0 { 2.0 * (length / rate).sqrt() } else { length + (2.0 - area) / rate };
    let at = span(second)?;
    let point = |at, rate| RatePoint { at, rate };
    let mut points = vec![point(Span::default(), 1.0 / second), point(at, 1.0 / second)];
    if at < ramp_up {
        points.extend([point(at, rate * second / length), point(ramp_up, rate)]);
    } else {
        points.push(point(at, rate));
    }
    Some(Rate::Varying(RateShape::Points(points)))
}

/// Adds a problem if warm-up and cool-down leave no measured part of a strategy.
fn report_empty(section: &Section, strategy: usize, [warm_up, cool_down]: [Option<Margin>; 2], bounds: Bounds) {
    let what = format!("leaves nothing of strategy {strategy}");
    if leaves_nothing([warm_up, None], bounds) {
        section.problem("warmup", format!("{what}; shorten it"));
    } else if leaves_nothing([None, cool_down], bounds) {
        section.problem("cooldown", format!("{what}; shorten it"));
    } else if leaves_nothing([warm_up, cool_down], bounds) {
        section.problem("warmup", format!("{what} together with the cool-down; shorten one of them"));
    }
}

fn leaves_nothing(margins: [Option<Margin>; 2], bounds: Bounds) -> bool {
    let (mut time, mut count) = (0.0, 0);
    for margin in margins.into_iter().flatten() {
        match margin {
            Margin::Duration(span) => time += span.0.as_secs_f64(),
            Margin::Count(requests) => count += requests,
            Margin::All => return true,
        }
    }
    bounds.seconds.is_some_and(|it| time >= it) || bounds.count().is_some_and(|it| count >= it)
}

/// Returns whether the load starts whole sessions or single requests.
pub(super) fn unit(requests: &RequestSource) -> Unit {
    match requests {
        RequestSource::Conversations(_) | RequestSource::Recorded(_) => Unit::Session,
        RequestSource::Mock
        | RequestSource::Random { .. }
        | RequestSource::SharedPrefix { .. }
        | RequestSource::TraceBlocks { .. }
        | RequestSource::DataSet(_)
        | RequestSource::Questions(_) => Unit::Request,
    }
}
