//! Synthetic prompts.

use serde_json::Value;

use super::{
    Original,
    data::{Data, file, length, no_file},
};
use crate::{
    formats::common::{
        bounds::{MAX_PROMPTS, MAX_TOKENS},
        flags::word,
    },
    reader::Section,
    workload::{LengthDistribution, PrefixBucket, PrefixChoice, PrefixPlace, Prefixes, PromptText, RequestSource},
    yaml::decimal,
};

/// Reads prompts of random tokens after a shared prefix.
pub(super) fn random(root: &Section, original: Original, count: u64) -> Option<Data> {
    no_file(root, "random");
    if original == Original::InferenceMax && root.bool("use-chat-template") == Some(true) {
        root.notice("use-chat-template", "is not used: prompts have the requested length without a template; set backend to openai-chat to have the server apply its own template");
    }
    let requests = source(root, original)?;
    Some(Data { ignore_eos: original == Original::VllmBenchServe, ..Data::new(requests, count) })
}

/// Reads the prompts of `random` and `random-mm`.
pub(super) fn source(root: &Section, original: Original) -> Option<RequestSource> {
    if root.or_default("random-batch-size", 1, |it, key| it.count(key, 1..=MAX_TOKENS)).is_some_and(|it| it != 1) {
        root.problem(
            "random-batch-size",
            "is not 1; batches are for embeddings, which cannot be measured here, so take it out",
        );
    }
    let input = length(root, "input-len", "random-input-len", 1_024);
    let output = length(root, "output-len", "random-output-len", 128);
    let prefix = root.or_default("random-prefix-len", 0, |it, key| it.count_u32(key, 0..=MAX_TOKENS));
    let (input, output) = match original {
        Original::VllmBenchServe => {
            let (of_input, of_output) = range_ratios(root)?;
            (around(input?, of_input), around(output?, of_output))
        }
        Original::InferenceMax => {
            let least = root.or_default("random-range-ratio", 1.0, |it, key| it.number(key, 0.0..=1.0))?;
            if root.value("random-range-ratio").is_some() && least < 1.0 {
                let message = format!(
                    "lengths range from {least} x the length to the length itself, as in InferenceMAX; vllm bench serve reads this flag differently"
                );
                root.notice("random-range-ratio", message);
            }
            (up_to(input?, least), up_to(output?, least))
        }
    };
    let prefixes = Prefixes::shared(prefix?, PrefixPlace::Prompt);
    Some(RequestSource::Random { input, output, text: PromptText::Words, prefixes })
}

/// Reads the spread of the prompt lengths and of the output lengths: one number for both, or a JSON object with both.
fn range_ratios(root: &Section) -> Option<(f64, f64)> {
    const KEY: &str = "random-range-ratio";
    let wanted = "write a number of at least 0 and below 1, or {\"input\": 0.3, \"output\": 0.5}";
    let accepted = |it: &f64| (0.0..1.0).contains(it);
    let of_value = |it: &Value| match it {
        Value::Number(number) => number.as_f64().filter(accepted),
        Value::String(text) => decimal(text).filter(accepted),
        _ => None,
    };
    let value = root.value(KEY);
    let object = match value {
        None => return Some((0.0, 0.0)),
        Some(Value::String(text)) => serde_json::from_str(text).ok(),
        Some(other) => Some(other.clone()),
    };
    let both = |name: &str| object.as_ref().and_then(|it: &Value| it.get(name)).and_then(of_value);
    let ratios = value.and_then(of_value).map(|it| (it, it)).or_else(|| both("input").zip(both("output")));
    if ratios.is_none() {
        let found = value.map(crate::reader::described).unwrap_or_default();
        root.problem(KEY, format!("is {found}; {wanted}"));
    }
    ratios
}

/// Returns lengths from (1 - ratio) x length, rounded down, to (1 + ratio) x length, rounded up, but at least 1. For a prompt, the tool first
/// subtracts from the length the number of special tokens that its tokenizer adds.
fn around(length: u32, ratio: f64) -> LengthDistribution {
    if ratio == 0.0 {
        return LengthDistribution::fixed(length);
    }
    let length = f64::from(length);
    let (min, max) = ((length * (1.0 - ratio)).floor(), (length * (1.0 + ratio)).ceil());
    LengthDistribution::uniform(min.max(1.0) as u32, max as u32)
}

/// Returns lengths from `least` x `length` to `length`.
fn up_to(length: u32, least: f64) -> LengthDistribution {
    let min = ((f64::from(length) * least).floor() as u32).max(1);
    if min == length { LengthDistribution::fixed(length) } else { LengthDistribution::uniform(min, length) }
}

/// Reads prompts that begin with one of several prefixes. Each prefix has the same number of prompts.
pub(super) fn prefix_repetition(root: &Section, count: u64) -> Option<Data> {
    no_file(root, "prefix_repetition");
    let own = |key, default, least| root.or_default(key, default, |it, key| it.count_u32(key, least..=MAX_TOKENS));
    let prefix = own("prefix-repetition-prefix-len", 256, 0);
    let suffix = own("prefix-repetition-suffix-len", 256, 1);
    let output = length(root, "output-len", "prefix-repetition-output-len", 128);
    let prefixes = root.or_default("prefix-repetition-num-prefixes", 10, |it, key| it.count_u32(key, 1..=MAX_PROMPTS));
    note_ignored(root, &["no-oversample"]);
    if root.bool("disable-shuffle") == Some(true) {
        root.notice("disable-shuffle", "is not used: the prompts of all prefixes are mixed");
    }
    let (prefix, suffix, output, prefixes) = (prefix?, suffix?, output?, prefixes?);
    let of_each = count / u64::from(prefixes);
    if of_each == 0 {
        let remedy = "raise num-prompts, or lower prefix-repetition-num-prefixes";
        root.problem("num-prompts", format!("is {count}, less than one for each of {prefixes} prefixes; {remedy}"));
        return None;
    }
    let sent = of_each * u64::from(prefixes);
    if sent < count {
        root.notice(
            "num-prompts",
            format!("is {count}, of which {sent} are sent, {of_each} for each prefix, as with vllm bench serve"),
        );
    }
    let buckets =
        if prefix == 0 { Vec::new() } else { vec![PrefixBucket { weight: 1.0, count: prefixes, tokens: prefix }] };
    let requests = RequestSource::Random {
        input: LengthDistribution::fixed(suffix),
        output: LengthDistribution::fixed(output),
        text: PromptText::Words,
        prefixes: Prefixes { buckets, choice: PrefixChoice::EqualShares, place: PrefixPlace::Prompt },
    };
    Some(Data::new(requests, sent))
}

/// Reads prompts of prose after a shared prefix. The tool uses whole lines from a file of poems.
pub(super) fn sonnet(root: &Section, count: u64) -> Option<Data> {
    let own = |key, default| root.or_default(key, default, |it, key| it.count_u32(key, 1..=MAX_TOKENS));
    let (input, prefix) = (own("sonnet-input-len", 550), own("sonnet-prefix-len", 200));
    let output = own("sonnet-output-len", 150);
    let corpus = if word(root, "dataset-path").is_some() { Some(file(root, "the file of poems")?) } else { None };
    let text = match corpus {
        Some(_) => "passages of the file, each from a random place",
        None => {
            "passages of the built-in prose; to send vLLM's poems, write the path of its sonnet.txt into dataset-path"
        }
    };
    root.notice(
        "dataset-name",
        format!("is sonnet: vllm bench serve joins random lines of its poems; here prompts are {text}"),
    );
    let (input, prefix, output) = (input?, prefix?, output?);
    if input <= prefix {
        root.problem(
            "sonnet-input-len",
            format!("is {input}, and sonnet-prefix-len is {prefix}; it holds the prefix, so raise it"),
        );
        return None;
    }
    let requests = RequestSource::Random {
        input: LengthDistribution::fixed(input - prefix),
        output: LengthDistribution::fixed(output),
        text: PromptText::Prose,
        prefixes: Prefixes::shared(prefix, PrefixPlace::Prompt),
    };
    Some(Data { corpus, ..Data::new(requests, count) })
}

/// Adds notices for flags that the tool ignores for this data set.
fn note_ignored(root: &Section, flags: &[&'static str]) {
    for flag in flags {
        if root.value(flag).is_some() {
            root.notice(flag, "is not used: vllm bench serve ignores it for this dataset-name too");
        }
    }
}
