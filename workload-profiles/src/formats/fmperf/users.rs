//! The scenarios with users who send requests in rounds.

use std::{collections::BTreeMap, ops::RangeInclusive};

use crds::units::{RequestRate, Span};

use super::{lmbenchmark::NamedRate, scenario::UsersScenario};
use crate::{
    formats::common::{
        bounds::{MAX_CONCURRENCY, MAX_STAGE_SECONDS, MAX_TOKENS},
        times::span,
    },
    reader::{Section, ValueType},
    workload::{
        Conversations, History, LengthDistribution, Load, Margin, PrefixPlace, Prefixes, RequestSource, Stage,
        TurnLengths,
    },
};

/// Number of words per question.
const QUESTION: u32 = 15;
/// Maximum rounds per user.
const MAX_ROUNDS: u64 = 10_000;
/// Default rounds per user.
const ROUNDS: u32 = 20;
/// Default seconds per rate.
const SECONDS: u32 = 100;
/// Default number of users in the warm-up. The warm-up takes half a second per user.
const WARM_UP_USERS: u32 = 20;
/// The pause after each rate in the scenario long-input, in seconds.
const PAUSE: f64 = 10.0;

/// Reads the requests and the stages. Returns `None` if at least one problem was reported.
pub(super) fn read(
    root: &Section,
    scenario: UsersScenario,
    rates: Option<&[NamedRate]>,
) -> Option<(RequestSource, Vec<Stage>)> {
    root.ignored("dataset_file", ValueType::Text);
    let number = |key, range: RangeInclusive<u64>, default: u32| number(root, scenario, key, range, default);
    let users = number("num_users", 1..=MAX_CONCURRENCY, scenario.users);
    let rounds = number("num_rounds", 1..=MAX_ROUNDS, ROUNDS);
    let answer = number("answer_len", 1..=MAX_TOKENS, scenario.answer);
    let shared = number("system_prompt", 0..=MAX_TOKENS, scenario.texts.0);
    let own = number("chat_history", 0..=MAX_TOKENS, scenario.texts.1);
    let duration = number("test_duration", 1..=MAX_STAGE_SECONDS, SECONDS);
    let warm_up = root.or_default("num_users_warmup", WARM_UP_USERS, |it, key| it.count_u32(key, 0..=MAX_CONCURRENCY));
    let rates = rates?;
    let (users, rounds, duration) = (users?, rounds?, duration?);
    // The warm-up takes half a second per user, rounded down to whole seconds.
    let (warm_up, pause) = if scenario.hard_coded { (0, 0.0) } else { (warm_up? / 2, PAUSE) };
    if scenario.hard_coded && root.value("num_users_warmup").is_some() {
        root.notice("num_users_warmup", format!("is not used: the script of {} does not read it", scenario.name));
    }
    if let Some((name, _)) = rates.iter().find(|(_, rate)| rate.per_second() * f64::from(duration) < 1.0) {
        root.problem(
            "qps_values",
            format!("holds {name}, less than one request within the {duration} s of test_duration; raise one of them"),
        );
    }
    let requests = conversations(rounds, shared?, own?, answer?);
    let stages = rates.iter().flat_map(|rate| {
        let warm_up = (warm_up > 0).then(|| warm_up_stage(&rate.0, warm_up));
        warm_up.into_iter().chain([stage(rate, users, rounds, duration, pause)])
    });
    let stages = distinct(stages.collect());
    notices(root, warm_up > 0);
    Some((requests, stages))
}

/// Reads a number from the profile. If the scenario ignores the profile, or the key is absent, returns the scenario's own number.
fn number(
    root: &Section,
    scenario: UsersScenario,
    key: &'static str,
    range: RangeInclusive<u64>,
    default: u32,
) -> Option<u32> {
    let found = root.or_default(key, default, |it, key| it.count_u32(key, range))?;
    if scenario.hard_coded && found != default {
        let (name, unit) = (scenario.name, if matches!(key, "system_prompt" | "chat_history") { " word" } else { "" });
        root.notice(key, format!("is {found}, which is used here; the script of {name} ignores it and has {default}{unit} in every run, so that figures of the original belong to another load"));
    }
    Some(found)
}

fn conversations(rounds: u32, shared: u32, own: u32, answer: u32) -> RequestSource {
    let fixed = LengthDistribution::fixed;
    RequestSource::Conversations(Box::new(Conversations {
        count: None,
        turns: fixed(rounds),
        // The shared text comes before each user's own text, so that all users share it as a prefix.
        prefixes: Prefixes::shared(shared, PrefixPlace::System),
        own_system: (own > 0).then(|| fixed(own)),
        first_turn: None,
        turn: TurnLengths { input: fixed(QUESTION), output: fixed(answer) },
        think_time: None,
        history: History::Answers,
        max_context: None,
        seed: None,
    }))
}

fn warm_up_stage(rate: &str, length: u32) -> Stage {
    let duration = span(f64::from(length));
    let two = RequestRate::try_from(2.0).expect("2 is a rate");
    let load = Load::Users { users: 1, rate: two, turns: 2, duration, count: None };
    Stage { warm_up: Some(Margin::All), ..Stage::new(format!("warm-up-r{rate}"), load) }
}

fn stage((name, rate): &NamedRate, users: u32, turns: u32, duration: u32, pause: f64) -> Stage {
    let duration = span(f64::from(duration));
    let load = Load::Users { users, rate: *rate, turns, duration, count: None };
    Stage { pause_after: span(pause).unwrap_or_default(), ..Stage::new(format!("r{name}"), load) }
}

/// Makes the names of the stages distinct with suffixes such as `-2`. Removes the pause after the last stage.
pub(super) fn distinct(mut stages: Vec<Stage>) -> Vec<Stage> {
    let mut times = BTreeMap::new();
    for stage in &mut stages {
        let time = times.entry(stage.name.clone()).or_insert(0_u32);
        *time += 1;
        if *time > 1 {
            stage.name = format!("{}-{time}", stage.name);
        }
    }
    if let Some(last) = stages.last_mut() {
        last.pause_after = Span::default();
    }
    stages
}

fn notices(root: &Section, warm_up: bool) {
    root.notice("qps_values", "gives the rates at which turns are due, whatever the answers; the original sends nothing for a user whose request is still open, so that its load falls when the server is slow. Here such a turn is sent when the answer has come, and its latency counts from the time at which it was due");
    root.notice("scenarios", "sends texts of random words in a system message; the original repeats the word hi as many times, in the first user message. Reports of llm-d-benchmark about such runs hold seconds under the unit ms: multiply their times by 1000");
    if warm_up {
        root.notice("num_users_warmup", "gives the length of the warm-up before each rate, which is in no figure. In the original the user of the warm-up is also the first measured user, and finds its text in the prefix cache; here all users of a rate are new");
    }
}
