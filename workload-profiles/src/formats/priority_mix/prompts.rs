//! The texts of the classes. The engine writes texts of its own, so that only lengths and shared parts are kept.

use std::collections::BTreeSet;

use crds::units::Seed;

use crate::{
    formats::common::bounds::MAX_TOKENS,
    workload::{LengthDistribution, PrefixBucket, PrefixChoice, PrefixPlace, Prefixes, PromptText, RequestSource},
};

/// What the original puts a different text in place of, in each request.
const VARIATION: &str = "{variation}";

/// The prompt of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prompt {
    /// All words.
    pub words: u32,
    /// The words before the first variation; `None` where all prompts of the class are the same.
    pub same: Option<u32>,
    /// The weight of the class.
    pub weight: f64,
}

impl Prompt {
    /// A text that is repeated; `None` where it has no words, or too many.
    pub fn new(text: &str, repeat: u32) -> Option<Prompt> {
        let count = |text: &str| u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX);
        let words = count(text).saturating_mul(u64::from(repeat));
        let words = u32::try_from(words).ok().filter(|it| (1..=MAX_TOKENS).contains(&u64::from(*it)))?;
        let same = text.split_once(VARIATION).map(|(before, _)| count(before) as u32);
        Some(Prompt { words, same, weight: 1.0 })
    }
}

/// Requests of these prompts. `outputs`: the lengths of answers; each class has one of them.
pub(super) fn requests(prompts: &[Prompt], outputs: &BTreeSet<u32>) -> RequestSource {
    let output = between(outputs.iter().copied());
    if prompts.iter().all(|it| it.same.is_none()) {
        return RequestSource::SharedPrefix {
            groups: prompts.len() as u32,
            prompts_per_group: 1,
            system_prompt_len: between(prompts.iter().map(|it| it.words.saturating_sub(1).max(1))),
            question_len: LengthDistribution::fixed(1),
            output_len: output,
            seed: Some(Seed(0)),
            multi_turn: false,
        };
    }
    let shared = |it: &Prompt| it.same.unwrap_or(it.words.saturating_sub(1)).min(it.words - 1);
    let shared_by_all = prompts.iter().all(|it| shared(it) > 0);
    let bucket = |it: &Prompt| PrefixBucket { weight: it.weight, count: 1, tokens: shared(it) };
    let prefixes = Prefixes {
        buckets: if shared_by_all { prompts.iter().map(bucket).collect() } else { Vec::new() },
        choice: PrefixChoice::Random,
        place: PrefixPlace::Prompt,
    };
    let rest = |it: &Prompt| if shared_by_all { it.words - shared(it) } else { it.words };
    RequestSource::Random { input: between(prompts.iter().map(rest)), output, text: PromptText::Words, prefixes }
}

/// All lengths from the shortest to the longest.
fn between(lengths: impl Iterator<Item = u32> + Clone) -> LengthDistribution {
    let (min, max) = (lengths.clone().min().unwrap_or(1), lengths.max().unwrap_or(1));
    if min == max { LengthDistribution::fixed(min) } else { LengthDistribution::uniform(min, max) }
}
