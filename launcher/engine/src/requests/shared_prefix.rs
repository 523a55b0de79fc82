//! Groups of prompts that begin with the same text, to measure a prefix cache.
//!
//! Each group has one prefix and `prompts_per_group` questions. All prompts are shuffled once. Request i sends prompt i modulo the number
//! of prompts.

use std::sync::OnceLock;

use crds::units::Seed;
use rand::seq::SliceRandom as _;

use workload_profiles::workload::{LengthDistribution, PromptReuse, RequestSource};

use super::{
    RequestedLengths, RequestsError, Seeds, Texts, draws,
    lengths::{LengthDraws, Sampler},
    text_seed::SharedTextSeed,
};

/// Maximum total number of prompts in all groups. Their order takes four bytes each.
const MAX_PROMPTS: u32 = 16_000_000;
/// Maximum total size of the prefixes kept in memory, in bytes. Other prefixes are generated again for each request.
const MAX_KEPT: u64 = 64 << 20;
/// Estimated length of a common word and its space.
const BYTES_PER_TOKEN: u64 = 6;

#[derive(Debug)]
pub(crate) struct SharedPrefix {
    prompts_per_group: u32,
    /// The prompts in shuffled order. A prompt is the number group x prompts_per_group + question.
    order: Vec<u32>,
    prefix_len: LengthDraws,
    question_len: LengthDraws,
    output_len: LengthDraws,
    prefix_texts: SharedTextSeed,
    question_texts: SharedTextSeed,
    /// The prefixes of the first groups, and whether each has exactly its length. Each text is generated when it is first needed. Empty if
    /// every stage has different texts.
    kept: Vec<OnceLock<(Box<str>, bool)>>,
}

impl SharedPrefix {
    pub(super) fn new(
        (groups, prompts_per_group): (u32, u32),
        prefix_len: LengthDraws,
        question_len: LengthDraws,
        output_len: LengthDraws,
        order_seed: Seed,
        [prefix_texts, question_texts]: [SharedTextSeed; 2],
    ) -> Result<SharedPrefix, RequestsError> {
        let too_many = RequestsError::TooManyPrompts { groups, prompts_per_group, most: MAX_PROMPTS };
        let size = groups.checked_mul(prompts_per_group).filter(|it| *it <= MAX_PROMPTS).ok_or(too_many)?;
        let mut order: Vec<u32> = (0..size.max(1)).collect();
        order.shuffle(&mut draws(order_seed, 0));
        let mut bytes = 0;
        let kept = (0..groups).take_while(|group| {
            bytes += u64::from(prefix_len.get(u64::from(*group))) * BYTES_PER_TOKEN;
            bytes <= MAX_KEPT
        });
        Ok(SharedPrefix {
            prompts_per_group: prompts_per_group.max(1),
            order,
            kept: kept.filter(|_| !prefix_texts.is_of_stage()).map(|_| OnceLock::new()).collect(),
            prefix_len,
            question_len,
            output_len,
            prefix_texts,
            question_texts,
        })
    }

    /// Creates the prompts of a workload whose request source is shared prefixes. For other sources the prompts have no text.
    ///
    /// # Errors
    /// There are too many prompts.
    pub(crate) fn from_source(
        source: &RequestSource,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
    ) -> Result<SharedPrefix, RequestsError> {
        let none = LengthDistribution::fixed(0);
        let (sizes, [prefix, question, output], own) = match source {
            RequestSource::SharedPrefix {
                groups,
                prompts_per_group,
                system_prompt_len,
                question_len,
                output_len,
                seed,
                ..
            } => ((*groups, *prompts_per_group), [system_prompt_len, question_len, output_len], *seed),
            _ => ((1, 1), [&none; 3], None),
        };
        // If the source has its own seed, the order is the same in every run, as in inference-perf.
        let seed = own.unwrap_or(seeds.run);
        let texts = |name| SharedTextSeed::new(name, Seeds { run: seed, ..seeds }, prompts, own.is_some());
        let lengths = |distribution, name| LengthDraws::new(distribution, Sampler::Plain, seed.derive(name));
        SharedPrefix::new(
            sizes,
            lengths(prefix, "requests/prefix-lengths"),
            lengths(question, "requests/question-lengths"),
            lengths(output, "requests/output-lengths"),
            seed.derive("requests/order"),
            [texts("requests/prefix-texts"), texts("requests/question-texts")],
        )
    }

    /// Returns the number of distinct prompts.
    pub(crate) fn count(&self) -> u64 {
        self.order.len() as u64
    }

    /// Returns the index of a request's group.
    pub(super) fn group(&self, number: u64) -> u32 {
        self.prompt(number) / self.prompts_per_group
    }

    fn prompt(&self, number: u64) -> u32 {
        let place = usize::try_from(number % self.order.len() as u64).expect("below the length of a Vec");
        self.order[place]
    }

    /// Appends the prompt of a request to `text`, which must be empty. Returns its lengths.
    pub(crate) fn write(&self, texts: &Texts, stage: usize, number: u64, text: &mut String) -> RequestedLengths {
        let prompt = self.prompt(number);
        let group = prompt / self.prompts_per_group;
        let prefix = self.prefix_len.get(u64::from(group));
        let mut is_exact = match self.kept.get(group as usize) {
            Some(kept) => {
                let (kept, is_exact) = kept.get_or_init(|| self.prefix(texts, stage, group, prefix));
                text.push_str(kept);
                *is_exact
            }
            None => {
                let (made, is_exact) = self.prefix(texts, stage, group, prefix);
                text.push_str(&made);
                is_exact
            }
        };
        let prompt = u64::from(prompt);
        let question = self.question_len.get(prompt);
        is_exact &= texts.words(question, &mut self.question_texts.draws(stage, prompt), text);
        RequestedLengths {
            input: Some(prefix.saturating_add(question)),
            is_exact,
            output: Some(self.output_len.get(prompt)),
        }
    }

    fn prefix(&self, texts: &Texts, stage: usize, group: u32, tokens: u32) -> (Box<str>, bool) {
        let mut text = String::with_capacity(tokens as usize * BYTES_PER_TOKEN as usize);
        let is_exact = texts.words(tokens, &mut self.prefix_texts.draws(stage, u64::from(group)), &mut text);
        (text.into_boxed_str(), is_exact)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use workload_profiles::workload::{LengthDistribution, PromptReuse};

    use super::{super::lengths::Sampler, *};

    fn check(groups: u32, prompts_per_group: u32, prefix: u32) -> Result<SharedPrefix, RequestsError> {
        let fixed = |length| LengthDraws::new(&LengthDistribution::fixed(length), Sampler::Plain, Seed(1));
        SharedPrefix::new(
            (groups, prompts_per_group),
            fixed(prefix),
            fixed(3),
            fixed(9),
            Seed(7),
            [8, 9].map(|it| SharedTextSeed::new("", Seed(it).into(), PromptReuse::Repeated, false)),
        )
    }

    fn prompts(source: &SharedPrefix, numbers: std::ops::Range<u64>) -> Vec<String> {
        numbers
            .map(|number| {
                let mut text = String::new();
                assert_eq!(
                    source.write(&Texts::default(), 0, number, &mut text),
                    RequestedLengths { input: Some(23), is_exact: false, output: Some(9) }
                );
                text
            })
            .collect()
    }

    #[test]
    fn every_group_has_its_prefix_and_every_prompt_its_question() {
        let all = prompts(&check(4, 5, 20).unwrap(), 0..20);
        assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 20);
        let mut groups = BTreeMap::new();
        for prompt in &all {
            let words: Vec<&str> = prompt.split(' ').collect();
            assert_eq!(words.len(), 23);
            *groups.entry(words[..20].join(" ")).or_insert(0) += 1;
        }
        assert_eq!(groups.values().collect::<Vec<_>>(), [&5, &5, &5, &5]);
    }

    #[test]
    fn prompts_come_in_shuffled_order_and_then_again() {
        let source = check(4, 5, 20).unwrap();
        assert_eq!(prompts(&source, 0..20), prompts(&source, 20..40));
        assert!(!source.order.is_sorted());
    }

    #[test]
    fn prefixes_that_are_not_kept_are_the_same() {
        let kept = check(4, 5, 20).unwrap();
        let mut bare = check(4, 5, 20).unwrap();
        bare.kept.clear();
        assert_eq!(prompts(&kept, 0..20), prompts(&bare, 0..20));
        // A prefix has 2,000,000 tokens of 6 bytes, so five prefixes fit into 64 MiB.
        assert_eq!(check(100, 1, 2_000_000).unwrap().kept.len(), 5);
    }

    #[test]
    fn too_many_prompts_are_refused() {
        let error = check(1_000_000, 1_000, 20).unwrap_err().to_string();
        assert!(error.contains("1000000 groups of 1000"), "{error}");
    }
}
