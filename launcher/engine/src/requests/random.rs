//! Random prompts of drawn lengths, unrelated to each other. They can begin with shared texts.

use workload_profiles::workload::{LengthDistribution, PrefixPlace, Prefixes, PromptReuse, PromptText};

use super::{
    Draft, RecordedLengths, RequestedLengths, RequestsError, Seeds, TextSeed, Texts,
    lengths::{LengthDraws, Sampler},
    prefixes::PrefixTexts,
    token_ids,
};

#[derive(Debug)]
pub(super) struct Random {
    input: LengthDraws,
    output: LengthDraws,
    text: PromptText,
    texts: TextSeed,
    prefixes: Option<PrefixTexts>,
}

impl Random {
    pub(super) fn new(
        [input, output]: [&LengthDistribution; 2],
        text: PromptText,
        prefixes: &Prefixes,
        seeds: Seeds<'_>,
        prompts: PromptReuse,
    ) -> Result<Random, RequestsError> {
        let lengths = |lengths, name| LengthDraws::new(lengths, Sampler::Shifted, seeds.run.derive(name));
        Ok(Random {
            input: lengths(input, "requests/input-lengths"),
            output: lengths(output, "requests/output-lengths"),
            text,
            texts: TextSeed::new("requests/texts", seeds, prompts),
            prefixes: PrefixTexts::new(prefixes, seeds, prompts)?,
        })
    }

    /// Returns the index of a request's prefix; `None` if it has none.
    pub(super) fn group(&self, number: u64) -> Option<u32> {
        self.prefixes.as_ref().map(|it| it.index(number))
    }

    /// Writes a request to the draft. `has_messages` states whether a prefix can be a separate chat message.
    pub(super) fn write(
        &self,
        texts: &Texts,
        has_messages: bool,
        (stage, number): (usize, u64),
        recorded: RecordedLengths,
        draft: &mut Draft,
    ) -> RequestedLengths {
        let tokens = recorded.input().unwrap_or_else(|| self.input.get(number));
        let mut rng = self.texts.draws(stage, number, tokens);
        let prefix = self.prefixes.as_ref().map(|it| (it, it.index(number)));
        let mut is_exact = true;
        let Draft { prompt, system, .. } = draft;
        if let PromptText::TokenIds(ids) = self.text {
            prompt.push('[');
            if let Some((prefixes, index)) = prefix {
                prefixes.write_ids(ids, stage, index, prompt);
            }
            token_ids::append(tokens, ids, &mut rng, prompt);
            prompt.push(']');
        } else {
            if let Some((prefixes, index)) = prefix {
                let has_own_message = has_messages && prefixes.place() == PrefixPlace::System;
                is_exact &= prefixes.write(texts, stage, index, if has_own_message { system } else { &mut *prompt });
            }
            is_exact &= match self.text {
                PromptText::Prose if self.texts.is_fresh() => texts.fresh_prose(tokens, &mut rng, prompt),
                PromptText::Prose => texts.prose(tokens, &mut rng, prompt),
                PromptText::Words | PromptText::TokenIds(_) => texts.words(tokens, &mut rng, prompt),
            };
        }
        let before = prefix.map_or(0, |(prefixes, index)| prefixes.tokens(index));
        RequestedLengths { input: Some(before.saturating_add(tokens)), is_exact, output: Some(self.output.get(number)) }
    }
}
