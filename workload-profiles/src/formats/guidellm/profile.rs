//! `spec.profile`: the strategies, which run one after the other.

use crds::units::{RequestRate, Span};

use super::{
    phases::{self, Phase},
    values::{counts, is_null, numbers, span, unsupported},
};
use crate::{
    formats::common::{
        bounds::{MAX_STAGE_SECONDS, MAX_STAGES},
        fields::concurrency,
    },
    reader::Section,
};

/// Default concurrency limit: GuideLLM's default for all its processes together.
pub(super) const MAX_UNDER_WAY: u32 = 10_240;
/// Default number of strategies in a sweep.
const DEFAULT_SWEEP: u64 = 10;
/// Default concurrency limit in a sweep.
const SWEEP_CONCURRENCY: u32 = 512;
/// Maximum factor by which a replay is slower or faster than the recording.
const MAX_TIME_SCALE: f64 = 1e6;

/// The strategies, and the settings that all of them share.
pub(super) struct Profile<'a> {
    pub section: Section<'a>,
    pub strategies: Vec<Strategy>,
    pub ramp_up: Span,
    pub warm_up: Option<Phase>,
    pub cool_down: Option<Phase>,
}

/// A strategy: GuideLLM's word for a stage. Each strategy becomes one stage.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Strategy {
    /// One request at a time.
    Synchronous,
    /// A closed loop with this concurrency.
    Concurrent(u32),
    /// All requests are due immediately, with this concurrency limit.
    Throughput(u32),
    /// Requests at a fixed rate.
    Open { rate: RequestRate, poisson: bool, max_concurrency: u32 },
    /// Requests at a rate between the measured rates of the first two strategies. `position` is the place between them, 0 to 1.
    Swept { position: f64, poisson: bool, max_concurrency: u32 },
    /// Requests at recorded times, slowed down by the factor `time_scale`. With `idle_gap`, later turns keep their recorded gap to the previous turn.
    /// Otherwise they keep their own recorded times.
    Replay { time_scale: f64, idle_gap: bool },
}

#[derive(Clone, Copy)]
enum Kind {
    Synchronous,
    Concurrent,
    Throughput,
    Open { poisson: bool },
    Sweep,
    Replay,
    Unsupported(&'static str),
}

/// Reads the section. Returns `None` if at least one problem was reported.
pub(super) fn read<'a>(spec: &Section<'a>) -> Option<Profile<'a>> {
    spec.require("profile", "write how requests are sent, such as {kind: concurrent, streams: 8}");
    let section = spec.section("profile")?;
    section.require("kind", "write one of synchronous, concurrent, throughput, constant, poisson, sweep and replay");
    let kinds = [
        ("synchronous", Kind::Synchronous),
        ("concurrent", Kind::Concurrent),
        ("throughput", Kind::Throughput),
        ("constant", Kind::Open { poisson: false }),
        ("async", Kind::Open { poisson: false }),
        ("poisson", Kind::Open { poisson: true }),
        ("sweep", Kind::Sweep),
        ("replay", Kind::Replay),
        ("goodput", Kind::Unsupported("goodput")),
        ("knee", Kind::Unsupported("knee")),
    ];
    let kind = section.choice("kind", &kinds)?;
    if let Kind::Unsupported(name) = kind {
        // A profile of this kind chooses each strategy from the results of earlier ones, by rules that only GuideLLM has.
        let remedy = "write a profile of kind concurrent with a list of streams, and read the knee or the goodput from its report";
        section.problem("kind", unsupported(&format!("{name}, a search"), remedy));
        return None;
    }
    let ramp_up = section.number("rampup_duration", 0.0..=MAX_STAGE_SECONDS as f64).unwrap_or(0.0);
    let warm_up = phases::read(&section, "warmup");
    let cool_down = phases::read(&section, "cooldown");
    let strategies = strategies(&section, kind, ramp_up);
    Some(Profile { strategies: strategies?, ramp_up: span(ramp_up)?, warm_up, cool_down, section })
}

fn strategies(section: &Section, kind: Kind, ramp_up: f64) -> Option<Vec<Strategy>> {
    let no_ramp_up = |why: &str| {
        if ramp_up > 0.0 {
            section.notice("rampup_duration", format!("has no effect, in GuideLLM too: {why}"));
        }
    };
    match kind {
        Kind::Synchronous => {
            no_ramp_up("one request is in flight at a time");
            Some(vec![Strategy::Synchronous])
        }
        Kind::Concurrent => {
            section.require("streams", "write how many requests are in flight, such as 8 or [1, 8, 64]");
            let streams = counts(section, "streams", u64::from(MAX_UNDER_WAY))?;
            // The cast is exact, because the numbers are at most MAX_UNDER_WAY.
            Some(streams.into_iter().map(|it| Strategy::Concurrent(it as u32)).collect())
        }
        Kind::Throughput => {
            let written = max_concurrency(section);
            if written.is_none() {
                no_ramp_up("max_concurrency is not given");
            }
            Some(vec![Strategy::Throughput(written.unwrap_or(MAX_UNDER_WAY))])
        }
        Kind::Open { poisson } => {
            section.require("rate", "write the requests per second, such as 5 or [1, 2, 4]");
            let wanted = format!("a number of requests per second above 0 and at most {}", RequestRate::MAX);
            let rates = numbers(section, "rate", &wanted, |it| RequestRate::try_from(it).is_ok());
            let max_concurrency = max_concurrency(section).unwrap_or(MAX_UNDER_WAY);
            if poisson {
                no_ramp_up("poisson ignores it");
                poisson_notice(section);
            }
            let open =
                |rate| RequestRate::try_from(rate).ok().map(|rate| Strategy::Open { rate, poisson, max_concurrency });
            rates?.into_iter().map(open).collect()
        }
        Kind::Sweep => sweep(section),
        Kind::Replay => {
            let scale =
                section.or_default("time_scale", 1.0, |it, key| it.number(key, 1.0 / MAX_TIME_SCALE..=MAX_TIME_SCALE));
            no_ramp_up("the data gives the times");
            let turns = [("idle_gap", true), ("timestamp", false)];
            let idle_gap = section.or_default("schedule_turn", true, |it, key| it.choice(key, &turns));
            Some(vec![Strategy::Replay { time_scale: scale?, idle_gap: idle_gap? }])
        }
        Kind::Unsupported(_) => None,
    }
}

fn max_concurrency(section: &Section) -> Option<u32> {
    concurrency(section, "max_concurrency").map(|it| it.min(MAX_UNDER_WAY))
}

/// Returns the synchronous strategy, the throughput strategy, and strategies with evenly spaced rates between the rates of these two. The lowest
/// spaced rate is above the synchronous rate, and the highest one is the throughput.
fn sweep(section: &Section) -> Option<Vec<Strategy>> {
    let size = section.or_default("sweep_size", DEFAULT_SWEEP, |it, key| it.count(key, 2..=MAX_STAGES as u64));
    let types = [("constant", false), ("poisson", true)];
    let poisson = section.or_default("strategy_type", false, |it, key| it.choice(key, &types));
    let default = if is_null(section, "max_concurrency") { MAX_UNDER_WAY } else { SWEEP_CONCURRENCY };
    let max_concurrency = max_concurrency(section).unwrap_or(default);
    let (size, poisson) = (size?, poisson?);
    if poisson && size > 2 {
        poisson_notice(section);
    }
    let rates = size - 2;
    let position = |at: u64| at as f64 / rates as f64;
    let swept = (1..=rates).map(|at| Strategy::Swept { position: position(at), poisson, max_concurrency });
    Some([Strategy::Synchronous, Strategy::Throughput(max_concurrency)].into_iter().chain(swept).collect())
}

fn poisson_notice(section: &Section) {
    section.notice("kind", "draws one sequence of exponential gaps; GuideLLM draws the same gaps in each of its processes, so that its requests come in groups, and restarts the sequence with each strategy");
}
