//! The seeds that prompt texts are drawn from. Pure.

use crds::units::Seed;
use rand::SeedableRng as _;
use rand_chacha::ChaCha8Rng;
use workload_profiles::workload::PromptReuse;

use super::{
    seeds::{Seeds, draws},
    text::{Texts, words},
};

/// The seed of texts that belong to one request each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextSeed {
    /// Depends only on the request number, so the text is the same in every stage.
    Repeated(Seed),
    /// Also depends on stage and length, and on the salt if the texts must differ from those of other runs. No two requests share random
    /// numbers, so their beginnings are equal only by chance. A server's prefix cache therefore hardly ever contains the beginning of a
    /// prompt.
    Fresh(Seed),
}

impl TextSeed {
    pub(crate) fn new(purpose: &str, seeds: Seeds<'_>, prompts: PromptReuse) -> TextSeed {
        match prompts {
            PromptReuse::Repeated => TextSeed::Repeated(seeds.run.derive(purpose)),
            PromptReuse::PerStage => TextSeed::Fresh(seeds.run.derive(purpose)),
            PromptReuse::Fresh => TextSeed::Fresh(seeds.salted(purpose)),
        }
    }

    /// Derives the seed of the texts with this name.
    pub(super) fn derive(self, name: &str) -> TextSeed {
        match self {
            TextSeed::Repeated(seed) => TextSeed::Repeated(seed.derive(name)),
            TextSeed::Fresh(seed) => TextSeed::Fresh(seed.derive(name)),
        }
    }

    /// Whether each text should differ from all other texts right from its beginning.
    pub(crate) fn is_fresh(self) -> bool {
        matches!(self, TextSeed::Fresh(_))
    }

    /// Returns the random numbers for a text with this many tokens.
    pub(super) fn draws(self, stage: usize, number: u64, tokens: u32) -> ChaCha8Rng {
        match self {
            TextSeed::Repeated(seed) => draws(seed, number),
            TextSeed::Fresh(seed) => {
                let mut key = [0; 32];
                let parts = [seed.0, stage as u64, u64::from(tokens)];
                for (place, part) in key.chunks_exact_mut(8).zip(parts) {
                    place.copy_from_slice(&part.to_le_bytes());
                }
                let mut rng = ChaCha8Rng::from_seed(key);
                rng.set_stream(number);
                rng
            }
        }
    }
}

/// The seed of texts that several requests share, such as prefixes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SharedTextSeed {
    seed: Seed,
    is_of_stage: bool,
}

impl SharedTextSeed {
    /// `is_of_profile` states whether the seed comes from the profile, so that the texts are the same in every run.
    pub(super) fn new(purpose: &str, seeds: Seeds<'_>, prompts: PromptReuse, is_of_profile: bool) -> SharedTextSeed {
        let seed = match prompts {
            PromptReuse::Fresh if !is_of_profile => seeds.salted(purpose),
            PromptReuse::Fresh | PromptReuse::PerStage | PromptReuse::Repeated => seeds.run.derive(purpose),
        };
        SharedTextSeed { seed, is_of_stage: prompts == PromptReuse::PerStage }
    }

    /// Derives the seed of the texts with this name.
    pub(super) fn derive(self, name: &str) -> SharedTextSeed {
        SharedTextSeed { seed: self.seed.derive(name), ..self }
    }

    /// Whether each stage has different texts.
    pub(super) fn is_of_stage(self) -> bool {
        self.is_of_stage
    }

    /// Returns the random numbers for the text with this index.
    pub(super) fn draws(self, stage: usize, index: u64) -> ChaCha8Rng {
        match self.is_of_stage {
            true => draws(self.seed.derive(&format!("stage/{stage}")), index),
            false => draws(self.seed, index),
        }
    }
}

/// Appends `count` random words. They are always the same for the same stage and number.
pub(crate) fn words_of(texts: TextSeed, stage: usize, number: u64, count: u32, text: &mut String) {
    words(count, &mut texts.draws(stage, number, count), text);
}

/// Appends random words with this many tokens. They are always the same for the same stage and number.
pub(crate) fn tokens_of(texts: &Texts, seed: TextSeed, stage: usize, number: u64, tokens: u32, text: &mut String) {
    // The result is ignored, because lengths of prompts with a history are never exact.
    let _ = texts.words(tokens, &mut seed.draws(stage, number, tokens), text);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::Rng as _;

    use super::*;

    fn check(prompts: PromptReuse, distinct: usize) {
        let mut seen = BTreeSet::new();
        for salt in ["u-a1", "u-a2", "v-a1"] {
            let seed = TextSeed::new("texts", Seeds { run: Seed(42), prompt_salt: salt }, prompts);
            for stage in 0..4 {
                for number in 0..5 {
                    for tokens in [480, 400] {
                        let first = seed.draws(stage, number, tokens).next_u64();
                        assert_eq!(first, seed.draws(stage, number, tokens).next_u64());
                        seen.insert(first);
                    }
                }
            }
        }
        assert_eq!(seen.len(), distinct, "{prompts:?}");
    }

    #[test]
    fn a_shared_text_is_of_its_run_and_of_its_stage_where_stages_differ() {
        for (prompts, is_of_profile, distinct) in [
            (PromptReuse::Fresh, false, 2),
            (PromptReuse::Fresh, true, 1),
            (PromptReuse::PerStage, false, 3),
            (PromptReuse::PerStage, true, 3),
            (PromptReuse::Repeated, false, 1),
        ] {
            let mut seen = BTreeSet::new();
            for salt in ["u-a1", "u-a2"] {
                let seeds = Seeds { run: Seed(42), prompt_salt: salt };
                let seed = SharedTextSeed::new("texts", seeds, prompts, is_of_profile);
                seen.extend((0..3).map(|stage| seed.draws(stage, 7).next_u64()));
            }
            assert_eq!(seen.len(), distinct, "{prompts:?} {is_of_profile}");
        }
    }

    #[test]
    fn a_fresh_text_is_of_its_run_attempt_stage_number_and_length_alone() {
        check(PromptReuse::Fresh, 3 * 4 * 5 * 2);
        check(PromptReuse::PerStage, 4 * 5 * 2);
        check(PromptReuse::Repeated, 5);
    }
}
