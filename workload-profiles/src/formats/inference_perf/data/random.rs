//! `data.type: random` and `synthetic`: independent prompts of random lengths.

use crate::{
    formats::inference_perf::lengths::{self, Sampler},
    reader::Section,
    workload::{LengthDistribution, PromptText, RequestSource},
};

/// Reads the lengths. `recorded` states whether the lengths come from a trace.
pub(super) fn read(section: &Section, text: PromptText, recorded: bool) -> Option<RequestSource> {
    if recorded && section.value("input_distribution").is_none() && section.value("output_distribution").is_none() {
        // If the lengths come from a trace, every row of its file has both lengths, so these two fixed lengths are never used.
        let (input, output) = (LengthDistribution::fixed(1), LengthDistribution::fixed(1));
        return Some(RequestSource::random(input, output, text));
    }
    section.require(
        "input_distribution",
        "give the length of prompts, such as {min: 256, max: 512, mean: 384, std_dev: 10}",
    );
    section.require(
        "output_distribution",
        "give the length of answers, such as {min: 10, max: 100, mean: 50, std_dev: 10}",
    );
    let input = lengths::read(section, "input_distribution", Sampler::Lists);
    let output = lengths::read(section, "output_distribution", Sampler::Lists);
    Some(RequestSource::random(input?, output?, text))
}
