//! The data sets: what the requests contain, and how many there are.

mod data;
mod files;
mod images;
mod random;
mod trace;

use crds::benchmark_run::Api;

use super::original::Original;
use crate::{
    formats::common::{fields::request_count, flags::word},
    problem::{listed, quoted, suggestion},
    reader::Section,
};

pub(super) use data::{Data, Times};

/// Default number of requests, as in the tool.
const DEFAULT_COUNT: u64 = 1_000;

#[derive(Clone, Copy, PartialEq)]
enum Name {
    Random,
    RandomImages,
    PrefixRepetition,
    Sonnet,
    ShareGpt,
    Custom,
    SpecBench,
    SpeedBench,
    TimedTrace,
    BurstGpt,
}

const NAMES: [(&str, Name); 10] = [
    ("random", Name::Random),
    ("random-mm", Name::RandomImages),
    ("prefix_repetition", Name::PrefixRepetition),
    ("sonnet", Name::Sonnet),
    ("sharegpt", Name::ShareGpt),
    ("custom", Name::Custom),
    ("spec_bench", Name::SpecBench),
    ("speed_bench", Name::SpeedBench),
    ("timed_trace", Name::TimedTrace),
    ("burstgpt", Name::BurstGpt),
];

/// Data sets of the tool that are not supported, with the reason.
const OTHERS: [(&str, &str); 5] = [
    ("random-rerank", "ranks texts, which generates no tokens to measure; choose random"),
    (
        "custom_image",
        "adds the images of files to prompts, which this engine does not; choose random-mm for generated images",
    ),
    (
        "custom_mm",
        "adds the images of files to prompts, which this engine does not; choose random-mm for generated images",
    ),
    ("custom_audio", "sends recorded speech, which this engine does not; choose another data set"),
    (
        "bfcl",
        "sends tools with each request, which this engine does not; write its questions into a JSONL file, and choose custom",
    ),
];

/// Reads the flags of the data set. Returns `None` if at least one problem was reported.
pub(super) fn read(root: &Section, original: Original, api: Api) -> Option<Data> {
    let count = root.or_default("num-prompts", DEFAULT_COUNT, request_count);
    let name = name(root, original);
    check_self_timed(root, name);
    let (name, count) = (name?, count?);
    match name {
        Name::Random => random::random(root, original, count),
        Name::RandomImages => images::random_images(root, original, api, count),
        Name::PrefixRepetition => random::prefix_repetition(root, count),
        Name::Sonnet => random::sonnet(root, count),
        Name::ShareGpt => files::share_gpt(root, original, count),
        Name::Custom => files::custom(root, api, count),
        Name::SpecBench => files::spec_bench(root, count),
        Name::SpeedBench => files::speed_bench(root, count),
        Name::TimedTrace => trace::timed_trace(root, api, count),
        Name::BurstGpt => trace::burst_gpt(root, count),
    }
}

/// Reads the name of the data set. Returns `None` if a problem was reported.
fn name(root: &Section, original: Original) -> Option<Name> {
    let default = match original {
        Original::VllmBenchServe => Name::Random,
        Original::InferenceMax => Name::ShareGpt,
    };
    let Some(found) = word(root, "dataset-name") else { return Some(default) };
    if let Some((_, name)) = NAMES.iter().find(|(name, _)| *name == found) {
        return Some(*name);
    }
    let message = if let Some((_, why)) = OTHERS.iter().find(|(name, _)| *name == found) {
        format!("is {found}, which {why}")
    } else if found == "hf" {
        hugging_face(root)
    } else {
        let names = NAMES.iter().map(|(name, _)| *name);
        let all: Vec<&str> = names.clone().chain(OTHERS.iter().map(|(name, _)| *name)).collect();
        match suggestion(&found, all.iter().copied()) {
            near if near.starts_with("did you mean") => format!("is {}, which is no data set; {near}", quoted(&found)),
            _ => format!("is {}; choose one of {}", quoted(&found), listed(&names.collect::<Vec<_>>())),
        }
    };
    root.problem("dataset-name", message);
    None
}

/// The message about a Hugging Face data set: how to download it, and which flags then name the file.
fn hugging_face(root: &Section) -> String {
    let id = word(root, "hf-name").or_else(|| word(root, "dataset-path")).unwrap_or_else(|| "NAME".to_owned());
    format!(
        "is hf, which downloads {} from the Hugging Face Hub; a run reads only files: download it with `hf download --repo-type dataset {id}`, \
         write its prompts into a JSONL file with the column prompt, and set dataset-name to custom and dataset-path to that file",
        quoted(&id)
    )
}

/// Adds a problem if these flags are set for a data set other than `timed_trace`. The tool refuses this, too.
fn check_self_timed(root: &Section, name: Option<Name>) {
    for flag in ["self-timed", "no-self-timed"] {
        if root.bool(flag) == Some(true) && name.is_some_and(|it| it != Name::TimedTrace) {
            root.problem(flag, "belongs to dataset-name timed_trace; take it out");
        }
    }
}
