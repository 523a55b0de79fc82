//! What the requests hold.

use crds::units::Seed;

use super::{KEYS, named};
use crate::{
    formats::common::{
        bounds::MAX_PROMPTS,
        prompts::{NormalMean, required_length, text},
    },
    reader::Section,
    workload::{PromptText, RequestSource},
};

/// Reads `requests`; `None` goes with at least one problem.
pub(super) fn read(root: &Section) -> Option<RequestSource> {
    root.missing("requests", "write what to send, such as {random: {input: 512, output: 128}}");
    let (kind, within) = root.variant("requests", &["random", "sharedPrefix", "mock"])?;
    if kind == "mock" {
        if let Some(within) = within {
            within.problem("mock", "has no settings; write requests: mock");
        }
        return Some(RequestSource::Mock);
    }
    let within = named(root, "requests", kind, within)?;
    match kind {
        "random" => within.section("random").and_then(random),
        _ => within.section("sharedPrefix").and_then(shared_prefix),
    }
}

fn random(section: Section) -> Option<RequestSource> {
    let input = required_length(&section, "input", NormalMean::WithinBounds, &KEYS);
    let output = required_length(&section, "output", NormalMean::WithinBounds, &KEYS);
    let text = section.value("text").map_or(Some(PromptText::Words), |_| text(&section, &KEYS));
    section.finish(&KEYS);
    Some(RequestSource::Random { input: input?, output: output?, text: text? })
}

fn shared_prefix(section: Section) -> Option<RequestSource> {
    section.missing("groups", "write how many distinct prefixes there are");
    section.missing("promptsPerGroup", "write how many distinct questions each prefix has");
    let count = |key| section.count(key, 1..=MAX_PROMPTS).and_then(|it| u32::try_from(it).ok());
    let (groups, prompts) = (count("groups"), count("promptsPerGroup"));
    if let (Some(groups), Some(prompts)) = (groups, prompts)
        && u64::from(groups) * u64::from(prompts) > MAX_PROMPTS
    {
        let message =
            format!("is {groups}, which with {prompts} prompts each is more than {MAX_PROMPTS} prompts; lower one");
        section.problem("groups", message);
    }
    let system_prompt_len = required_length(&section, "systemPromptLen", NormalMean::Anywhere, &KEYS);
    let question_len = required_length(&section, "questionLen", NormalMean::Anywhere, &KEYS);
    let output_len = required_length(&section, "outputLen", NormalMean::Anywhere, &KEYS);
    let seed = section.seed("seed").map(Seed);
    section.finish(&KEYS);
    Some(RequestSource::SharedPrefix {
        groups: groups?,
        prompts_per_group: prompts?,
        system_prompt_len: system_prompt_len?,
        question_len: question_len?,
        output_len: output_len?,
        seed,
    })
}
