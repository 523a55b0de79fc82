//! The prompt of all requests. The engine generates its own texts, so only the lengths and the shared parts of the prompts matter.

use std::collections::BTreeSet;

use crds::units::Seed;

use crate::{
    formats::common::bounds::MAX_TOKENS,
    workload::{LengthDistribution, PrefixPlace, Prefixes, PromptText, RequestSource},
};

/// Placeholders that llm-d-benchmark replaces with the number of the request.
const NUMBERS: [&str; 2] = ["{variation}", "{request_index}"];
/// The placeholder that llm-d-benchmark replaces with the name of the class.
const CLASS: &str = "{traffic_class}";
/// Number of words in llm-d-benchmark's default prompt.
const DEFAULT_WORDS: u32 = 7;

/// The prompt of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prompt<'a> {
    /// The text that is repeated. Empty for llm-d-benchmark's default text.
    text: &'a str,
    words: u32,
    varies: Varies,
}

/// Which prompts differ from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Varies {
    Never,
    /// The prompts of different classes differ.
    ByClass,
    /// All prompts differ, after this number of words.
    After(u32),
}

impl<'a> Prompt<'a> {
    /// A template whose placeholders are filled in, repeated. `None` if it has no words or too many.
    pub fn template(text: &'a str, repeat: u32) -> Option<Prompt<'a>> {
        let places = || NUMBERS.into_iter().chain([CLASS]).filter_map(|it| text.find(it));
        let varies = match places().min() {
            None => Varies::Never,
            Some(_) if NUMBERS.iter().all(|it| !text.contains(it)) => Varies::ByClass,
            Some(first) => Varies::After(u32::try_from(words(&text[..first])).ok()?),
        };
        Prompt::new(text, words(text), repeat, varies)
    }

    /// A text that is repeated without changes. `None` if it has no words or too many.
    pub fn text(text: &'a str, repeat: u32) -> Option<Prompt<'a>> {
        Prompt::new(text, words(text), repeat, Varies::Never)
    }

    /// llm-d-benchmark's default prompt, repeated; `None` if it has too many words.
    pub fn default(repeat: u32) -> Option<Prompt<'a>> {
        Prompt::new("", u64::from(DEFAULT_WORDS), repeat, Varies::Never)
    }

    fn new(text: &'a str, words: u64, repeat: u32, varies: Varies) -> Option<Prompt<'a>> {
        let words = words.saturating_mul(u64::from(repeat));
        let words = u32::try_from(words).ok().filter(|it| (1..=MAX_TOKENS).contains(&u64::from(*it)))?;
        Some(Prompt { text, words, varies })
    }

    /// Returns the length in words, for a message.
    pub fn length(&self) -> String {
        if self.words == 1 { "1 word".to_owned() } else { format!("{} words", self.words) }
    }

    /// Whether prompts differ only in the name of the class.
    pub fn varies_by_class(&self) -> bool {
        self.varies == Varies::ByClass
    }
}

fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// Returns the requests with this prompt. `outputs` are the output lengths of all classes.
pub(super) fn requests(prompt: &Prompt, classes: usize, outputs: &BTreeSet<u32>) -> RequestSource {
    let output = between(outputs);
    let random = |input, prefixes| {
        let input = LengthDistribution::fixed(input);
        RequestSource::Random { input, output: output.clone(), text: PromptText::Words, prefixes }
    };
    let groups = match prompt.varies {
        Varies::After(same) => {
            let shared = same.min(prompt.words - 1);
            return random(prompt.words - shared, Prefixes::shared(shared, PrefixPlace::Prompt));
        }
        // A repeated prompt is split into a prefix and a question, so it needs at least two words. A prefix cache does not store a single word
        // anyway.
        Varies::Never | Varies::ByClass if prompt.words == 1 => return random(1, Prefixes::default()),
        Varies::Never => 1,
        Varies::ByClass => u32::try_from(classes).unwrap_or(u32::MAX),
    };
    RequestSource::SharedPrefix {
        groups,
        prompts_per_group: 1,
        system_prompt_len: LengthDistribution::fixed(prompt.words - 1),
        question_len: LengthDistribution::fixed(1),
        output_len: output,
        seed: Some(Seed(0)),
        multi_turn: false,
    }
}

/// Returns a uniform distribution from the shortest to the longest length.
fn between(lengths: &BTreeSet<u32>) -> LengthDistribution {
    match (lengths.first().copied(), lengths.last().copied()) {
        (Some(min), Some(max)) if min < max => LengthDistribution::uniform(min, max),
        (first, _) => LengthDistribution::fixed(first.unwrap_or(1)),
    }
}
