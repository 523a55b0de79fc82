//! `data.type: shared_prefix`: groups of prompts that begin with the same text.

use crds::units::Seed;
use serde_json::Value;

use super::multimodal;
use crate::{
    formats::{
        common::{
            bounds::{MAX_PROMPTS, MAX_TOKENS},
            prompts::check_prompt_count,
        },
        inference_perf::lengths::{self, Sampler},
    },
    reader::Section,
    workload::{Images, LengthDistribution, RequestSource},
};

/// Reads the section. The prompts of one group share their images.
pub(super) fn read(section: Section) -> Option<(RequestSource, Option<Images>)> {
    let multi_turn = section.bool("enable_multi_turn_chat").unwrap_or(false);
    let images = section.section("multimodal").and_then(|it| multimodal::read(it, true));
    let groups = either(&section, "num_groups", "num_unique_system_prompts");
    let prompts = either(&section, "num_prompts_per_group", "num_users_per_system_prompt");
    check_prompt_count(&section, "num_groups", groups, prompts);
    let system = length_or(&section, "system_prompt_len", 100);
    let question = either_length(&section, "question_len", "question_distribution");
    let output = either_length(&section, "output_len", "output_distribution");
    let seed = section.seed("seed").map(Seed);
    section.finish();
    let requests = RequestSource::SharedPrefix {
        groups: groups?,
        prompts_per_group: prompts?,
        system_prompt_len: system?,
        question_len: question?,
        output_len: output?,
        seed,
        multi_turn,
    };
    Some((requests, images))
}

/// Reads a count that has two possible names. The default is 10, as in inference-perf.
fn either(section: &Section, name: &'static str, alias: &'static str) -> Option<u32> {
    if section.value(name).is_some() && section.value(alias).is_some() {
        section.problem(alias, format!("means the same as {name}; keep one of them"));
    }
    let key = if section.value(alias).is_some() { alias } else { name };
    match section.value(key) {
        None => Some(10),
        Some(_) => section.count_u32(key, 1..=MAX_PROMPTS),
    }
}

/// Reads a length, which has a newer key and an older one. The older key accepts only a distribution. The default is 50, as in inference-perf. A
/// distribution in the older key overrides a number in the newer one. As in inference-perf, distributions in both keys are refused.
fn either_length(section: &Section, name: &'static str, older: &'static str) -> Option<LengthDistribution> {
    if section.value(older).is_none() {
        return length_or(section, name, 50);
    }
    match section.value(name) {
        None => {}
        Some(Value::Object(_)) => {
            section.problem(older, format!("is set, and {name} is a distribution too; keep {name}"));
        }
        Some(_) => {
            if let Some(number) = section.count_u32(name, 1..=MAX_TOKENS) {
                section.notice(name, format!("is {number}, which {older} replaces, as in inference-perf"));
            }
        }
    }
    lengths::read(section, older, Sampler::Single)
}

fn length_or(section: &Section, key: &'static str, default: u32) -> Option<LengthDistribution> {
    match section.value(key) {
        None => Some(LengthDistribution::fixed(default)),
        Some(_) => lengths::length(section, key),
    }
}
