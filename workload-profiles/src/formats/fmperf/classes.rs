//! The classes Homogeneous and Heterogeneous of fmperf. Their load is a number of users. Each user sends the next request when the previous one has
//! ended.

use std::{collections::BTreeMap, ops::RangeInclusive};

use crds::{
    benchmark_run::Api,
    units::{Seed, Span},
};
use serde_json::Value;

use super::place::place;
use crate::{
    formats::{
        common::{
            bounds::{MAX_CONCURRENCY, MAX_PAUSE_SECONDS, MAX_PROMPTS, MAX_STAGE_SECONDS, MAX_TOKENS},
            target::model,
            times::span,
        },
        target::Target,
    },
    reader::Section,
    workload::{
        Assignment, Extra, LengthDistribution, Load, PromptText, RequestSource, Sampling, Stage, TrafficClass,
        TrafficClasses, Workload,
    },
};

/// The seed with which fmperf generates its requests.
const SEED: u64 = 42;
/// Defaults for values that fmperf's profiles do not contain: users, duration and grace period in seconds. They come from fmperf's own example.
const USERS: u32 = 1;
const SECONDS: u32 = 30;
const GRACE: u32 = 10;

/// Reads a profile of the class Homogeneous: one prompt, sent again and again. Returns `None` if at least one problem was reported.
pub(super) fn homogeneous(root: Section, target: Target) -> Option<Workload> {
    let input = length(&root, "input_tokens", 500);
    let output = length(&root, "output_tokens", 50);
    let greedy = root.bool("greedy").unwrap_or(true);
    let share = if greedy { 1.0 } else { 0.0 };
    finish(root, target, input?..=input?, output?..=output?, 1, share)
}

/// Reads a profile of the class Heterogeneous: a few prompts, each sent equally often. Returns `None` if at least one problem was reported.
pub(super) fn heterogeneous(root: Section, target: Target) -> Option<Workload> {
    let bounds = |min, max| {
        let (least, most) = (length(&root, min, 10), length(&root, max, 20));
        if let (Some(least), Some(most)) = (least, most)
            && least > most
        {
            root.problem(min, format!("is {least}, above {max}, which is {most}; lower it, or raise {max}"));
        }
        Some(least?..=most?)
    };
    let input = bounds("min_input_tokens", "max_input_tokens");
    let output = bounds("min_output_tokens", "max_output_tokens");
    let share = root.or_default("frac_greedy", 0.5, |it, key| it.number(key, 0.0..=1.0));
    let samples = root.or_default("sample_size", 10, |it, key| it.count_u32(key, 1..=MAX_PROMPTS));
    if let Some(samples) = samples.filter(|it| *it > 1) {
        root.notice("sample_size", format!("is {samples}: all these prompts are sent equally often, in shuffled order; the original draws one for each request"));
        if input.as_ref().is_some_and(|it| *it.start() == 1) {
            root.notice("min_input_tokens", "is 1, but several distinct prompts need at least 2 tokens here");
        }
        if share.is_some_and(|it| 0.0 < it && it < 1.0) {
            root.notice("frac_greedy", "is drawn for each request here; the original draws it for each prompt, whose requests are all greedy or all sampled");
        }
    }
    finish(root, target, input?, output?, samples?, share?)
}

fn length(root: &Section, key: &'static str, default: u32) -> Option<u32> {
    root.or_default(key, default, |it, key| it.count_u32(key, 1..=MAX_TOKENS))
}

fn finish(
    root: Section,
    target: Target,
    input: RangeInclusive<u32>,
    output: RangeInclusive<u32>,
    samples: u32,
    greedy: f64,
) -> Option<Workload> {
    let model = model(&root, "model_name", target);
    place(&root);
    let environment = |key, name, default: u32, unit, range: RangeInclusive<u64>| {
        if root.value(key).is_none() {
            root.notice(key, format!("is missing, so that it is {default}{unit}; the original takes it from the variable {name} of its environment, which a profile does not hold. Write {key} into the profile"));
        }
        root.or_default(key, default, |it, key| it.count_u32(key, range))
    };
    let users = environment("num_users", "NUM_USERS", USERS, "", 1..=MAX_CONCURRENCY);
    let duration = environment("duration", "DURATION", SECONDS, " s", 1..=MAX_STAGE_SECONDS);
    let grace = environment("grace_period", "GRACE_PERIOD", GRACE, " s", 0..=MAX_PAUSE_SECONDS);
    root.notice("num_users", "send the next request immediately after a failure; the original waits for the variable BACKOFF of its environment first");
    root.finish();
    let (users, duration) = (users?, span(f64::from(duration?)));
    let load = Load::Closed { concurrency: users, count: None, duration, ramp_up: Span::default(), start_rate: None };
    let stage = Stage { grace: span(f64::from(grace?)), ..Stage::new(format!("c{users}"), load) };
    Some(Workload {
        model,
        classes: classes(greedy),
        sampling: Sampling { ignore_eos: true, extra: temperature(greedy), ..Sampling::default() },
        ..Workload::new(Api::Completions, prompts(&input, &output, samples), vec![stage])
    })
}

/// Generates one distinct prompt per sample, the same ones in every run. Each prompt is a group of its own, with a prefix and a question of at least
/// one token each. A prompt of a single token cannot be split in this way, so it is a random request. (A prefix cache does not store a single token
/// anyway.)
fn prompts(input: &RangeInclusive<u32>, output: &RangeInclusive<u32>, samples: u32) -> RequestSource {
    let distribution = |range: RangeInclusive<u32>| match range.into_inner() {
        (min, max) if min == max => LengthDistribution::fixed(min),
        (min, max) => LengthDistribution::uniform(min, max),
    };
    let output_len = distribution(output.clone());
    if samples == 1 && *input.end() == 1 {
        return RequestSource::random(LengthDistribution::fixed(1), output_len, PromptText::Words);
    }
    // The last token of a prompt is its question.
    let before_question = (*input.start()).saturating_sub(1).max(1)..=(*input.end()).saturating_sub(1).max(1);
    RequestSource::SharedPrefix {
        groups: samples,
        prompts_per_group: 1,
        system_prompt_len: distribution(before_question),
        question_len: LengthDistribution::fixed(1),
        output_len,
        seed: Some(Seed(SEED)),
        multi_turn: false,
    }
}

/// The temperature of all requests. Empty if the profile mixes greedy and sampled requests, because these have different temperatures.
fn temperature(greedy: f64) -> Extra {
    let all = if greedy >= 1.0 {
        Some(0)
    } else if greedy <= 0.0 {
        Some(1)
    } else {
        None
    };
    all.map(extra).unwrap_or_default()
}

pub(super) fn extra(temperature: i32) -> Extra {
    Extra::try_from(BTreeMap::from([("temperature".to_owned(), Value::from(temperature))])).unwrap_or_default()
}

/// Returns the classes of greedy and sampled requests. Empty if all requests are of one kind.
fn classes(greedy: f64) -> TrafficClasses {
    if greedy <= 0.0 || greedy >= 1.0 {
        return TrafficClasses::default();
    }
    let class = |name: &str, weight, temperature| TrafficClass {
        name: name.to_owned(),
        weight,
        model: None,
        headers: BTreeMap::new(),
        output: None,
        extra: extra(temperature),
    };
    TrafficClasses {
        assignment: Assignment::Random,
        classes: vec![class("greedy", greedy, 0), class("sampled", 1.0 - greedy, 1)],
    }
}
