//! When the requests are sent.

use crds::units::{RequestRate, Span};

use super::{data::Data, lists};
use crate::{
    formats::common::{
        bounds::{MAX_CONCURRENCY, MAX_PAUSE_SECONDS, MAX_STAGE_SECONDS},
        flags::word,
        stage_names::StageNames,
        times::{goal_millis, span},
    },
    reader::Section,
    workload::{
        Abandonment, Arrivals, Departure, Goodput, Load, MAX_REQUESTS, Margin, Rate, RatePoint, RateShape, Stage, Trace,
    },
};

/// The number of requests if no flag ends the load, as in AIPerf.
const DEFAULT_COUNT: u64 = 10;
/// The number of distinct prompts if no flag sets the number of requests, as in AIPerf.
const DEFAULT_ENTRIES: u64 = 100;
/// Default time for requests to finish after the end of the stage's duration, in seconds, as in AIPerf.
const DEFAULT_GRACE: f64 = 30.0;
/// Maximum turns of a session.
const MAX_TURNS: f64 = 10_000.0;
/// Time between two steps while AIPerf raises a rate, in seconds.
const RAMP_STEP: f64 = 0.1;

/// What decides when the next request is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Concurrency,
    Rate,
    Users,
    /// The recorded times of a trace.
    Schedule,
}

/// What ends a stage, and how its requests are grouped into sessions.
pub(super) struct Counts {
    pub kind: Kind,
    /// Requests per stage; sessions per stage if the flags count sessions.
    pub count: Option<u64>,
    /// Requests per warm-up stage; sessions per warm-up stage if the flags count sessions.
    pub warm_up_count: Option<u64>,
    pub duration: Option<Span>,
    /// Whether `count` and `warm_up_count` are numbers of sessions. Otherwise they are numbers of requests.
    pub counts_sessions: bool,
    /// Mean and standard deviation of the number of turns per session.
    pub turns: (f64, f64),
    /// Number of distinct sessions. Set only if a stage starts more sessions than that. `None` means that each session is new.
    pub pool: Option<u32>,
}

impl Counts {
    /// Whether every session has one turn.
    pub fn is_single_turn(&self) -> bool {
        self.turns.0 <= 1.0 && self.turns.1 <= 0.0
    }
}

/// Reads the settings that the data and the load both need. Returns `None` if a problem was reported.
pub(super) fn counts(root: &Section) -> Option<Counts> {
    let kind = kind(root);
    let turns = (
        lists::one(root, "conversation-turn-mean", 1.0..=MAX_TURNS)?.unwrap_or(1.0),
        root.number("conversation-turn-stddev", 0.0..=MAX_TURNS).unwrap_or(0.0),
    );
    let is_single_turn = turns.0 <= 1.0 && turns.1 <= 0.0;
    let requests = root.count("request-count", 1..=MAX_REQUESTS);
    let sessions = lists::one(root, "conversation-num", 1.0..=MAX_REQUESTS as f64)?.map(|it| it as u64);
    let duration = seconds(root, "benchmark-duration", MAX_STAGE_SECONDS as f64);
    let has_end = requests.is_some() || sessions.is_some() || root.value("benchmark-duration").is_some();
    let default = if has_end || kind == Kind::Schedule { None } else { Some(DEFAULT_COUNT) };
    if !is_single_turn && kind == Kind::Rate {
        let remedy = "set concurrency, or user-centric-rate and num-users";
        root.problem(
            "conversation-turn-mean",
            format!("gives sessions of several turns, which request-rate cannot start here; {remedy}"),
        );
    }
    let per_session = turns.0.round().max(1.0) as u64;
    let counts_sessions = !is_single_turn && kind == Kind::Concurrency;
    let warm_up = root.count("warmup-request-count", 1..=MAX_REQUESTS);
    let warm_up_count = match warm_up {
        Some(requests) if counts_sessions => Some(whole_sessions(root, "warmup-request-count", requests, per_session)),
        requests => requests,
    };
    let count = match (counts_sessions, requests.or(default), sessions) {
        (true, None, sessions) => sessions,
        (true, Some(requests), sessions) => {
            let whole = whole_sessions(root, "request-count", requests, per_session);
            Some(sessions.map_or(whole, |it| it.min(whole)))
        }
        (false, requests, sessions) => {
            let of_sessions = sessions.map(|it| it.saturating_mul(per_session).min(MAX_REQUESTS));
            requests.into_iter().chain(of_sessions).min()
        }
    };
    let entries =
        root.count("num-dataset-entries", 1..=MAX_REQUESTS).or(sessions).or(requests).unwrap_or(DEFAULT_ENTRIES);
    let sessions_of_stage = if counts_sessions { count } else { count.map(|it| it.div_ceil(per_session)) };
    let pool = if sessions_of_stage.is_some_and(|it| it <= entries) { None } else { u32::try_from(entries).ok() };
    Some(Counts { kind, count, warm_up_count, duration, counts_sessions, turns, pool })
}

/// Converts a flag's number of requests to a number of whole sessions, with a notice.
fn whole_sessions(root: &Section, key: &'static str, requests: u64, per_session: u64) -> u64 {
    let whole = requests.div_ceil(per_session);
    let message = format!("is {requests}, and whole conversations are sent here: {whole} of about {per_session} turns");
    root.notice(key, message);
    whole
}

fn kind(root: &Section) -> Kind {
    let is_trace = word(root, "custom-dataset-type")
        .is_some_and(|it| ["mooncake_trace", "burst_gpt_trace"].contains(&it.as_str()));
    let asked = root.bool("fixed-schedule") == Some(true);
    if asked && !is_trace {
        root.problem(
            "fixed-schedule",
            "needs a trace; set custom-dataset-type to mooncake_trace or burst_gpt_trace, and input-file to the trace",
        );
    }
    if is_trace && root.bool("no-fixed-schedule") == Some(true) {
        root.problem("no-fixed-schedule", "sends the prompts of a trace at other times, which is not supported; take it out to send them at the recorded times");
    }
    if is_trace {
        return Kind::Schedule;
    }
    if root.value("user-centric-rate").is_some() {
        return Kind::Users;
    }
    if root.value("request-rate").is_some() { Kind::Rate } else { Kind::Concurrency }
}

/// Reads the stages. Each concurrency or rate of a list becomes a warm-up stage, if the flags request one, and a load stage.
pub(super) fn read(root: &Section, counts: &Counts, data: Option<&Data>) -> Option<Vec<Stage>> {
    let most = MAX_CONCURRENCY as u32;
    let concurrency = lists::counts(root, "concurrency", 1..=most)?;
    let rates = lists::numbers(root, "request-rate", 1e-6..=RequestRate::MAX)?;
    if concurrency.len() > 1 && (rates.len() > 1 || matches!(counts.kind, Kind::Users | Kind::Schedule)) {
        root.problem(
            "concurrency",
            "is a list, which can be combined only with a single request-rate or with none; write a profile for each value",
        );
        return None;
    }
    let grace = grace(root, counts);
    note_differences(root, counts, &concurrency);
    let (mut names, mut warm_ups, mut stages) = (StageNames::default(), 0, Vec::new());
    let limits: Vec<Option<u32>> =
        if concurrency.is_empty() { vec![None] } else { concurrency.iter().copied().map(Some).collect() };
    let rates: Vec<Option<f64>> = if rates.is_empty() { vec![None] } else { rates.into_iter().map(Some).collect() };
    for limit in limits {
        for rate in &rates {
            let load = load(root, counts, data, limit, *rate)?;
            if let Some(warm_up) = warm_up(root, counts, limit, *rate)? {
                warm_ups += 1;
                let name = if warm_ups == 1 { "warm-up".to_owned() } else { format!("warm-up-{warm_ups}") };
                stages.push(Stage { name, ..warm_up });
            }
            stages.push(Stage { grace, ..Stage::new(names.name(&load), load) });
        }
    }
    Some(stages)
}

fn note_differences(root: &Section, counts: &Counts, concurrency: &[u32]) {
    if counts.kind == Kind::Rate {
        root.notice("request-rate", "a late request is sent immediately, and its latencies count from the scheduled time; AIPerf begins its schedule anew when it is more than 10 ms late");
        if !concurrency.is_empty() {
            root.notice("concurrency", "lets requests wait in the client, and their latency includes this wait; AIPerf measures from the end of the wait");
        }
    }
    for (flag, kind) in [
        ("request-rate", Kind::Rate),
        ("concurrency-ramp-duration", Kind::Concurrency),
        ("request-rate-ramp-duration", Kind::Rate),
    ] {
        if counts.kind != kind && root.value(flag).is_some() {
            root.problem(flag, "belongs to another kind of load; take it out");
        }
    }
}

/// Returns the load of one stage.
fn load(root: &Section, counts: &Counts, data: Option<&Data>, limit: Option<u32>, rate: Option<f64>) -> Option<Load> {
    let (count, duration) = (counts.count, counts.duration);
    match (counts.kind, rate) {
        (Kind::Schedule, _) => {
            let (file, speed) = data?.trace.as_ref()?;
            Some(Load::Trace {
                trace: Trace::File(file.clone()),
                speed: *speed,
                count,
                lengths: true,
                max_concurrency: limit,
            })
        }
        (Kind::Users, _) => users(root, counts),
        (Kind::Rate, Some(rate)) => {
            let arrivals = arrivals(root, "arrival-pattern")?;
            let rate = ramped(root, rate)?;
            Some(Load::Open { arrivals, rate, duration, count, max_concurrency: limit })
        }
        (Kind::Rate | Kind::Concurrency, _) => {
            let ramp_up = seconds(root, "concurrency-ramp-duration", MAX_PAUSE_SECONDS as f64).unwrap_or_default();
            Some(Load::Closed { concurrency: limit.unwrap_or(1), count, duration, ramp_up, start_rate: None })
        }
    }
}

fn users(root: &Section, counts: &Counts) -> Option<Load> {
    root.require("num-users", "write the number of concurrent users");
    if counts.turns.0 < 2.0 {
        root.problem(
            "conversation-turn-mean",
            "is below 2, and user-centric-rate needs sessions of several turns; raise it, or set request-rate",
        );
        return None;
    }
    if counts.turns.1 > 0.0 {
        root.notice("conversation-turn-stddev", "is not used: each user has the mean number of turns");
    }
    if root.value("concurrency").is_some() {
        root.problem("concurrency", "cannot be combined with user-centric-rate here; take it out");
    }
    let rate =
        root.positive_number("user-centric-rate", RequestRate::MAX).and_then(|it| RequestRate::try_from(it).ok());
    let users = root.count_u32("num-users", 1..=MAX_CONCURRENCY);
    let turns = counts.turns.0.round() as u32;
    Some(Load::Users { users: users?, rate: rate?, turns, duration: counts.duration, count: counts.count })
}

/// Reads the distribution of the gaps between requests. The first request is sent after a gap, too.
fn arrivals(root: &Section, key: &'static str) -> Option<Arrivals> {
    let smoothness = root.number("arrival-smoothness", 1e-3..=1e6);
    let gamma = Arrivals::Gamma { burstiness: smoothness.unwrap_or(1.0) };
    let patterns = [("poisson", Arrivals::Poisson), ("constant", Arrivals::ConstantAfterGap), ("gamma", gamma)];
    let default = if root.value("arrival-smoothness").is_some() { gamma } else { Arrivals::Poisson };
    let arrivals = root.or_default(key, default, |it, key| it.choice(key, &patterns))?;
    if root.value("arrival-smoothness").is_some() && !matches!(arrivals, Arrivals::Gamma { .. }) {
        root.problem(
            "arrival-smoothness",
            "belongs to arrival-pattern gamma; take it out, or set arrival-pattern to gamma",
        );
    }
    Some(arrivals)
}

/// Returns the rate. With a ramp-up it rises from the rate of AIPerf's first step to the full rate.
fn ramped(root: &Section, rate: f64) -> Option<Rate> {
    let target = RequestRate::try_from(rate).ok()?;
    if root.value("request-rate-ramp-duration").is_none() {
        return Some(Rate::Steady(target));
    }
    let length = seconds(root, "request-rate-ramp-duration", MAX_STAGE_SECONDS as f64)?;
    let start = rate * (RAMP_STEP / length.0.as_secs_f64()).min(1.0);
    let point = |at, rate| RatePoint { at, rate };
    Some(Rate::Varying(RateShape::Points(vec![point(Span::default(), start), point(length, rate)])))
}

/// Reads how long requests can run after the end of the stage's duration.
fn grace(root: &Section, counts: &Counts) -> Option<Span> {
    let is_infinite = word(root, "benchmark-grace-period").is_some_and(|it| it.eq_ignore_ascii_case("inf"));
    if root.value("benchmark-duration").is_none() {
        if root.value("benchmark-grace-period").is_some() {
            root.notice("benchmark-grace-period", "is not used: it needs benchmark-duration");
        }
        return None;
    }
    if is_infinite || counts.duration.is_none() {
        return None;
    }
    let read = |it: &Section, key| it.number(key, 0.0..=MAX_PAUSE_SECONDS as f64);
    let grace = root.or_default("benchmark-grace-period", DEFAULT_GRACE, read)?;
    span(grace)
}

/// Returns the warm-up stage of a load. `Some(None)` if there is none. Returns `None` if a problem was reported.
fn warm_up(root: &Section, counts: &Counts, concurrency: Option<u32>, rate: Option<f64>) -> Option<Option<Stage>> {
    const FLAGS: [&str; 4] =
        ["warmup-concurrency", "warmup-request-rate", "warmup-arrival-pattern", "warmup-grace-period"];
    let count = counts.warm_up_count;
    let duration = seconds(root, "warmup-duration", MAX_STAGE_SECONDS as f64);
    if root.value("warmup-request-count").is_none() && root.value("warmup-duration").is_none() {
        for flag in FLAGS.iter().filter(|flag| root.value(flag).is_some()) {
            root.notice(flag, "is not used: it needs warmup-request-count or warmup-duration");
        }
        return Some(None);
    }
    if count.is_none() && duration.is_none() {
        return None;
    }
    if matches!(counts.kind, Kind::Users | Kind::Schedule) {
        let key = if count.is_some() { "warmup-request-count" } else { "warmup-duration" };
        root.problem(key, "cannot be combined with user-centric-rate or a trace here; take the warm-up out");
        return None;
    }
    let own = root.count_u32("warmup-concurrency", 1..=MAX_CONCURRENCY);
    if counts.counts_sessions && root.value("warmup-request-rate").is_some() {
        let remedy = "take it out, or set warmup-concurrency";
        root.problem("warmup-request-rate", format!("cannot start sessions of several turns here; {remedy}"));
        return None;
    }
    let rate = root.positive_number("warmup-request-rate", RequestRate::MAX).or(rate);
    let limit = own.or(concurrency);
    let load = match rate {
        Some(rate) => {
            let key = if root.value("warmup-arrival-pattern").is_some() {
                "warmup-arrival-pattern"
            } else {
                "arrival-pattern"
            };
            let rate = Rate::Steady(RequestRate::try_from(rate).ok()?);
            Load::Open { arrivals: arrivals(root, key)?, rate, duration, count, max_concurrency: limit }
        }
        None => Load::Closed {
            concurrency: limit.unwrap_or(1),
            count,
            duration,
            ramp_up: Span::default(),
            start_rate: None,
        },
    };
    let grace = root.number("warmup-grace-period", 0.0..=MAX_PAUSE_SECONDS as f64);
    let grace = grace.filter(|_| duration.is_some()).and_then(span);
    Some(Some(Stage { warm_up: Some(Margin::All), grace, ..Stage::new("warm-up", load) }))
}

/// Reads a flag with a number of seconds above 0.
fn seconds(root: &Section, key: &'static str, most: f64) -> Option<Span> {
    root.positive_number(key, most).and_then(span)
}

/// Reads the settings for clients that disconnect early: their share in percent, and the seconds until they disconnect.
pub(super) fn abandonment(root: &Section) -> Option<Abandonment> {
    let share = root.number("request-cancellation-rate", 0.0..=100.0).filter(|it| *it > 0.0);
    let delay = root.number("request-cancellation-delay", 0.0..=MAX_PAUSE_SECONDS as f64);
    if share.is_none() && root.value("request-cancellation-delay").is_some() {
        root.notice("request-cancellation-delay", "is not used: it needs request-cancellation-rate");
    }
    let after = span(delay.unwrap_or(0.0))?;
    share.map(|it| Abandonment { share: it / 100.0, after: Departure::Uniform { min: after, max: after } })
}

/// Reads the latency limits that a good request must meet. The flags are in milliseconds.
pub(super) fn goodput(root: &Section) -> Goodput {
    let mut goodput = Goodput::default();
    let Some(section) = root.section("goodput") else { return goodput };
    // AIPerf's inter-token latency is the mean over an answer, which is our TPOT.
    let goal = |key| goal_millis(&section, key);
    goodput = Goodput {
        ttft: goal("time_to_first_token"),
        tpot: goal("inter_token_latency"),
        latency: goal("request_latency"),
        ..Goodput::default()
    };
    section.finish();
    goodput
}
