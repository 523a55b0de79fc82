//! What the requests hold.

use crds::units::Seed;

use crate::{
    formats::common::{
        bounds::MAX_PROMPTS,
        prompts::{NormalMean, check_prompt_count, required_length, text},
    },
    reader::Section,
    workload::{PromptText, RequestSource},
};

/// Reads `requests`; `None` goes with at least one problem.
pub(super) fn read(root: &Section) -> Option<RequestSource> {
    root.require("requests", "write what to send, such as {random: {input: 512, output: 128}}");
    let (name, holder) = root.variant("requests", &["random", "sharedPrefix", "mock"])?;
    if name == "mock" {
        if let Some(holder) = holder {
            holder.problem("mock", "takes no settings; write requests: mock");
        }
        return Some(RequestSource::Mock);
    }
    let section = root.with_value("requests", name, holder)?.section(name)?;
    if name == "random" { random(section) } else { shared_prefix(section) }
}

fn random(section: Section) -> Option<RequestSource> {
    let input = required_length(&section, "input", NormalMean::WithinBounds);
    let output = required_length(&section, "output", NormalMean::WithinBounds);
    let text = section.or_default("text", PromptText::Words, text);
    section.finish();
    Some(RequestSource::random(input?, output?, text?))
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
    section.finish();
    Some(RequestSource::SharedPrefix {
        groups: groups?,
        prompts_per_group: prompts?,
        system_prompt_len: system_prompt_len?,
        question_len: question_len?,
        output_len: output_len?,
        seed,
        multi_turn: false,
    })
}
