//! Section `data`: what the requests hold.

use crds::units::Seed;

use super::{
    lengths::{self, Sampler},
    trace::Recording,
    values::unsupported,
};
use crate::{
    formats::common::{bounds::MAX_PROMPTS, prompts::check_prompt_count},
    reader::{Section, ValueType},
    workload::{LengthDistribution, PromptText, RequestSource},
};

const SUPPORTED: [&str; 4] = ["random", "synthetic", "shared_prefix", "mock"];
/// Types that only the original supports.
const UNSUPPORTED: [&str; 8] = [
    "shareGPT",
    "cnn_dailymail",
    "infinity_instruct",
    "billsum_conversations",
    "visionarena",
    "conversation_replay",
    "otel_trace_replay",
    "weka_trace_replay",
];
/// Keys that hold the settings of one type of data each.
const SETTINGS: [&str; 4] = ["shared_prefix", "conversation_replay", "otel_trace_replay", "weka_trace_replay"];

#[derive(Clone, Copy, PartialEq)]
enum Type {
    Mock,
    Random(PromptText),
    SharedPrefix,
    Unsupported(&'static str),
}

/// The section as it was read.
pub(super) struct DataSection {
    pub requests: RequestSource,
    /// The file with the lengths, where they do not come from distributions.
    pub trace: Option<Recording>,
}

/// Reads the section; `None` goes with at least one problem.
pub(super) fn read(section: Section) -> Option<DataSection> {
    section.require("type", "write one of random, synthetic and shared_prefix, or mock for the mock prompts that inference-perf sends without a type");
    let mut types = vec![
        ("random", Type::Random(PromptText::Words)),
        ("synthetic", Type::Random(PromptText::Prose)),
        ("shared_prefix", Type::SharedPrefix),
        ("mock", Type::Mock),
    ];
    types.extend(UNSUPPORTED.map(|it| (it, Type::Unsupported(it))));
    let kind = section.choice("type", &types);
    if let Some(Type::Unsupported(name)) = kind {
        section.problem("type", unsupported(name, &SUPPORTED));
        // Problems with the other keys would not help: they belong to that type.
        return None;
    }
    refuse(&section, kind?);
    let trace = Recording::read(&section, "trace");
    if section.value("trace").is_some() && !matches!(kind, Some(Type::Random(_))) {
        section.problem("trace", "belongs to data of type random or synthetic; take it out");
    }
    let source = match kind? {
        Type::Random(text) => random(&section, text, trace.is_some()),
        Type::SharedPrefix => {
            section.require("shared_prefix", "write num_groups, num_prompts_per_group and the lengths under it");
            section.section("shared_prefix").and_then(shared_prefix)
        }
        Type::Mock | Type::Unsupported(_) => Some(RequestSource::Mock),
    };
    note_unused(&section, kind?);
    section.finish();
    Some(DataSection { requests: source?, trace })
}

fn refuse(section: &Section, kind: Type) {
    if section.value("multimodal").is_some() {
        section.problem("multimodal", "is not supported yet; take it out");
    }
    if section.bool("use_chat_template") == Some(true) {
        section.problem(
            "use_chat_template",
            "is not supported yet; set api.type to chat, and the server applies its template",
        );
    }
    if section.text("corpus_file_path").is_some() && kind == Type::Random(PromptText::Prose) {
        section.problem("corpus_file_path", "is not supported yet; take it out to use the built-in text");
    }
}

/// Notices for settings of other types of data, which the original ignores too.
fn note_unused(section: &Section, kind: Type) {
    section.ignored("path", ValueType::Text);
    let mut unused: Vec<&'static str> = SETTINGS.to_vec();
    unused.retain(|it| !(*it == "shared_prefix" && kind == Type::SharedPrefix));
    if !matches!(kind, Type::Random(_)) {
        unused.extend(["input_distribution", "output_distribution"]);
    }
    for key in unused {
        if section.ignored(key, ValueType::Mapping) {
            section.notice(key, "is not used: it does not belong to this data.type");
        }
    }
}

fn random(section: &Section, text: PromptText, recorded: bool) -> Option<RequestSource> {
    if recorded && section.value("input_distribution").is_none() && section.value("output_distribution").is_none() {
        // Every row of the file has both lengths, so these are never used.
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

fn shared_prefix(section: Section) -> Option<RequestSource> {
    if section.bool("enable_multi_turn_chat") == Some(true) {
        section.problem(
            "enable_multi_turn_chat",
            "is true, which is not supported yet; set it to false to send each question once",
        );
    }
    if section.value("multimodal").is_some() {
        section.problem("multimodal", "is not supported yet; take it out");
    }
    let groups = either(&section, "num_groups", "num_unique_system_prompts");
    let prompts = either(&section, "num_prompts_per_group", "num_users_per_system_prompt");
    check_prompt_count(&section, "num_groups", groups, prompts);
    let system = length_or(&section, "system_prompt_len", 100);
    let question = either_length(&section, "question_len", "question_distribution");
    let output = either_length(&section, "output_len", "output_distribution");
    let seed = section.seed("seed").map(Seed);
    section.finish();
    Some(RequestSource::SharedPrefix {
        groups: groups?,
        prompts_per_group: prompts?,
        system_prompt_len: system?,
        question_len: question?,
        output_len: output?,
        seed,
        multi_turn: false,
    })
}

/// A count under one of two names; 10 when both are absent, as in the original.
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

/// A length, or an older key that holds only a distribution; 50 when both are absent, as in the original.
fn either_length(section: &Section, name: &'static str, older: &'static str) -> Option<LengthDistribution> {
    if section.value(older).is_none() {
        return length_or(section, name, 50);
    }
    if section.value(name).is_some() {
        section.problem(older, format!("is set, and so is {name}; keep {name}"));
    }
    lengths::read(section, older, Sampler::Single)
}

fn length_or(section: &Section, key: &'static str, default: u32) -> Option<LengthDistribution> {
    match section.value(key) {
        None => Some(LengthDistribution::fixed(default)),
        Some(_) => lengths::length(section, key),
    }
}
