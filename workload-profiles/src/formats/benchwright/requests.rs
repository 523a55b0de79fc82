//! What the requests contain.

use crds::units::Seed;

use super::{conversations, data_set, prefixes, recorded};
use crate::{
    formats::{
        common::{
            bounds::MAX_PROMPTS,
            prompts::{NormalMean, check_prompt_count, required_length, text},
        },
        mmlu,
    },
    reader::Section,
    workload::{PromptText, RequestSource},
};

/// The kinds of requests, in the order that messages use.
const NAMES: [&str; 8] =
    ["random", "sharedPrefix", "conversations", "dataSet", "recorded", "traceBlocks", "questions", "mock"];

/// Reads `requests`; Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section) -> Option<RequestSource> {
    root.require("requests", "write what to send, such as {random: {input: 512, output: 128}}");
    let (name, holder) = root.variant("requests", &NAMES)?;
    if name == "mock" {
        if let Some(holder) = holder {
            holder.problem("mock", "takes no settings; write requests: mock");
        }
        return Some(RequestSource::Mock);
    }
    let section = root.with_value("requests", name, holder)?.section(name)?;
    match name {
        "random" => random(section),
        "sharedPrefix" => shared_prefix(section),
        "conversations" => conversations::read(section),
        "dataSet" => data_set::read(section),
        "recorded" => recorded::read(section),
        "questions" => questions(section),
        _ => trace_blocks(section),
    }
}

fn questions(section: Section) -> Option<RequestSource> {
    let questions = mmlu::questions(&section);
    section.finish();
    Some(RequestSource::Questions(Box::new(questions?)))
}

fn trace_blocks(section: Section) -> Option<RequestSource> {
    section.require("blockSize", "write the tokens of a block, such as 512");
    let block_size = section.count_u32("blockSize", 1..=recorded::MAX_BLOCK);
    section.finish();
    block_size.map(|block_size| RequestSource::TraceBlocks { block_size })
}

fn random(section: Section) -> Option<RequestSource> {
    let input = required_length(&section, "input", NormalMean::WithinBounds);
    let output = required_length(&section, "output", NormalMean::WithinBounds);
    let text = section.or_default("text", PromptText::Words, text);
    let prefixes = prefixes::read(&section);
    section.finish();
    Some(RequestSource::Random { input: input?, output: output?, text: text?, prefixes: prefixes? })
}

fn shared_prefix(section: Section) -> Option<RequestSource> {
    section.require("groups", "write how many distinct prefixes there are");
    section.require("promptsPerGroup", "write how many distinct questions each prefix has");
    let count = |key| section.count_u32(key, 1..=MAX_PROMPTS);
    let (groups, prompts) = (count("groups"), count("promptsPerGroup"));
    check_prompt_count(&section, "groups", groups, prompts);
    let system_prompt_len = required_length(&section, "systemPromptLen", NormalMean::Anywhere);
    let question_len = required_length(&section, "questionLen", NormalMean::Anywhere);
    let output_len = required_length(&section, "outputLen", NormalMean::Anywhere);
    let seed = section.seed("seed").map(Seed);
    let multi_turn = section.bool("multiTurn").unwrap_or(false);
    section.finish();
    Some(RequestSource::SharedPrefix {
        groups: groups?,
        prompts_per_group: prompts?,
        system_prompt_len: system_prompt_len?,
        question_len: question_len?,
        output_len: output_len?,
        seed,
        multi_turn,
    })
}
