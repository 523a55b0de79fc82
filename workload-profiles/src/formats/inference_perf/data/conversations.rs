//! `data.type: conversation_replay`: synthetic conversations of several turns.

use crds::units::Seed;

use crate::{
    formats::{
        common::bounds::{MAX_PROMPTS, MAX_TOKENS, MAX_TURNS},
        inference_perf::lengths::{number, seconds},
    },
    reader::Section,
    workload::{Conversations, History, LengthDistribution, PrefixPlace, Prefixes, RequestSource, TurnLengths},
};

/// inference-perf's defaults. Prompts, inputs, outputs and the context are in tokens.
const DEFAULT_CONVERSATIONS: u32 = 200;
const DEFAULT_SHARED_PROMPT: u32 = 8359;
const DEFAULT_TURNS: u32 = 10;
const DEFAULT_INPUT: u32 = 512;
const DEFAULT_OUTPUT: u32 = 256;
const DEFAULT_CONTEXT: u32 = 225_000;
const DEFAULT_SEED: u64 = 42;
/// Number of tokens at the end of the context that inference-perf leaves free.
const FREE_TOKENS: u32 = 200;

/// Reads the section `conversation_replay` of `data`.
pub(super) fn read(data: &Section, several_stages: bool) -> Option<RequestSource> {
    const KEY: &str = "conversation_replay";
    let Some(section) = data.section(KEY) else {
        data.require(KEY, "write num_conversations and the lengths under it");
        return None;
    };
    let seed = section.or_default("seed", DEFAULT_SEED, |it, key| it.seed(key));
    let count =
        section.or_default("num_conversations", DEFAULT_CONVERSATIONS, |it, key| it.count_u32(key, 1..=MAX_PROMPTS));
    let shared = section
        .or_default("shared_system_prompt_len", DEFAULT_SHARED_PROMPT, |it, key| it.count_u32(key, 0..=MAX_TOKENS));
    let of = |key, default, least, most| {
        section.or_default(key, LengthDistribution::fixed(default), |it, key| number(it, key, least..=most))
    };
    let turns = of("turns_per_conversation", DEFAULT_TURNS, 1, MAX_TURNS);
    let input = of("input_tokens_per_turn", DEFAULT_INPUT, 1, MAX_TOKENS);
    let output = of("output_tokens_per_turn", DEFAULT_OUTPUT, 1, MAX_TOKENS);
    let own_system =
        section.or_default("dynamic_system_prompt_len", None, |it, key| number(it, key, 0..=MAX_TOKENS).map(Some));
    let context = section.or_default("max_model_len", DEFAULT_CONTEXT, |it, key| {
        it.count_u32(key, u64::from(FREE_TOKENS) + 1..=MAX_TOKENS)
    });
    let think_time = seconds(&section, "tool_call_latency_sec");
    if think_time.is_some() {
        section.notice(
            "tool_call_latency_sec",
            "is part of no latency, because it delays the next turn; inference-perf adds it to the latency of the turn before",
        );
    }
    if several_stages {
        data.notice(KEY, "has the same shared system prompt in every stage; inference-perf makes a new one for each, and sends the first conversations of a later stage without system prompt and history");
    }
    let fits = shared.zip(context).is_none_or(|(shared, context)| check_context(&section, shared, context));
    let context = context.filter(|_| fits).map(|it| it - FREE_TOKENS);
    let longest = |lengths: &Option<LengthDistribution>| lengths.as_ref().map_or(0, |it| it.max);
    let others = [shared.unwrap_or(0), longest(&input), longest(&output)];
    let own_system = own_system.map(|it| it.map(|it| within_context(&section, it, context, &others)));
    section.finish();
    Some(RequestSource::Conversations(Box::new(Conversations {
        count: Some(count?),
        turns: turns?,
        prefixes: Prefixes::shared(shared?, PrefixPlace::System),
        own_system: own_system?,
        first_turn: None,
        turn: TurnLengths { input: input?, output: output? },
        think_time,
        history: History::Answers,
        max_context: Some(context?),
        seed: Some(Seed(seed?)),
    })))
}

fn check_context(section: &Section, shared: u32, context: u32) -> bool {
    let fits = shared < context - FREE_TOKENS;
    if !fits {
        let message = format!(
            "is {shared}, and max_model_len is {context}, of which {FREE_TOKENS} tokens stay free; lower it, or raise max_model_len"
        );
        section.problem("shared_system_prompt_len", message);
    }
    fits
}

/// Returns the lengths of the system prompts, shortened so that each conversation fits into the context. inference-perf shortens a prompt only when
/// it sends it.
fn within_context(
    section: &Section,
    lengths: LengthDistribution,
    context: Option<u32>,
    others: &[u32],
) -> LengthDistribution {
    let Some(context) = context else { return lengths };
    let room = others.iter().fold(context, |room, it| room.saturating_sub(*it)).max(1);
    if lengths.max <= room {
        return lengths;
    }
    section.notice(
        "dynamic_system_prompt_len",
        format!("is at most {room} tokens, so that the longest turn fits into max_model_len too; inference-perf cuts longer ones for each request"),
    );
    LengthDistribution { min: lengths.min.min(room), max: room, ..lengths }
}
