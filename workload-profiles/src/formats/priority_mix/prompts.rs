//! The prompt of all requests. The engine generates its own texts, so only lengths and shared parts are kept.

use std::collections::BTreeSet;

use crds::units::Seed;

use crate::{
    formats::common::bounds::MAX_TOKENS,
    workload::{LengthDistribution, PrefixPlace, Prefixes, PromptText, RequestSource},
};

/// Placeholders that the original replaces with the request's number.
const NUMBERS: [&str; 2] = ["{variation}", "{request_index}"];
/// The text in a prompt that the original replaces with the class name.
const CLASS: &str = "{traffic_class}";
/// The number of words in the original's default prompt.
const DEFAULT_WORDS: u32 = 7;

/// The prompt of a class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Prompt<'a> {
    /// The text that is repeated; empty: the original's.
    text: &'a str,
    words: u32,
    varies: Varies,
}

/// Which prompts differ from each other.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Varies {
    Never,
    /// Prompts of different classes.
    ByClass,
    /// All, after this number of words.
    After(u32),
}

impl<'a> Prompt<'a> {
    /// A template that is filled in and repeated; `None` if it has no words or too many.
    pub fn template(text: &'a str, repeat: u32) -> Option<Prompt<'a>> {
        let places = || NUMBERS.into_iter().chain([CLASS]).filter_map(|it| text.find(it));
        let varies = match places().min() {
            None => Varies::Never,
            Some(_) if NUMBERS.iter().all(|it| !text.contains(it)) => Varies::ByClass,
            Some(first) => Varies::After(u32::try_from(words(&text[..first])).ok()?),
        };
        Prompt::new(text, words(text), repeat, varies)
    }

    /// A text that is repeated unchanged; `None` if it has no words or too many.
    pub fn text(text: &'a str, repeat: u32) -> Option<Prompt<'a>> {
        Prompt::new(text, words(text), repeat, Varies::Never)
    }

    /// The original's default prompt, repeated; `None` if it has too many words.
    pub fn default(repeat: u32) -> Option<Prompt<'a>> {
        Prompt::new("", u64::from(DEFAULT_WORDS), repeat, Varies::Never)
    }

    fn new(text: &'a str, words: u64, repeat: u32, varies: Varies) -> Option<Prompt<'a>> {
        let words = words.saturating_mul(u64::from(repeat));
        let words = u32::try_from(words).ok().filter(|it| (1..=MAX_TOKENS).contains(&u64::from(*it)))?;
        Some(Prompt { text, words, varies })
    }

    /// The length, for a message.
    pub fn length(&self) -> String {
        if self.words == 1 { "1 word".to_owned() } else { format!("{} words", self.words) }
    }

    /// Whether the classes' texts differ only in the class name.
    pub fn varies_by_class(&self) -> bool {
        self.varies == Varies::ByClass
    }
}

fn words(text: &str) -> u64 {
    u64::try_from(text.split_whitespace().count()).unwrap_or(u64::MAX)
}

/// Requests with this prompt. `outputs`: the answer lengths; each class has one of them.
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
        // A repeated prompt has at least two words: a prefix and a question. A prefix cache keeps no prompt of one word.
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

/// All lengths from the shortest to the longest.
fn between(lengths: &BTreeSet<u32>) -> LengthDistribution {
    match (lengths.first().copied(), lengths.last().copied()) {
        (Some(min), Some(max)) if min < max => LengthDistribution::uniform(min, max),
        (first, _) => LengthDistribution::fixed(first.unwrap_or(1)),
    }
}
