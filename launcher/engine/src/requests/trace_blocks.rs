//! Prompts built from the blocks of a trace. Equal hashes yield equal texts, so the prompts share the same prefixes as the recorded
//! prompts.

use std::sync::Arc;

use workload_profiles::workload::PromptReuse;

use super::{
    RecordedLengths, RequestedLengths, Seeds, Texts,
    text_seed::{SharedTextSeed, TextSeed},
};
use crate::trace::Blocks;

/// Generates prompts from blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockTexts {
    /// Number of tokens per block.
    block_size: u32,
    /// The seed of the block texts. The hash of a block selects its text.
    block_texts: SharedTextSeed,
    /// The seed of the text after the last block, which belongs to one request.
    own_texts: TextSeed,
}

impl BlockTexts {
    pub(crate) fn new(block_size: u32, seeds: Seeds<'_>, prompts: PromptReuse) -> BlockTexts {
        BlockTexts {
            block_size: block_size.max(1),
            block_texts: SharedTextSeed::new("requests/block-texts", seeds, prompts, false),
            own_texts: TextSeed::new("requests/texts", seeds, prompts),
        }
    }

    /// Returns the block texts for one recording. Another recording has different texts for the same hashes.
    pub(crate) fn of_recording(self, block_size: u32, name: &str) -> BlockTexts {
        BlockTexts {
            block_size: block_size.max(1),
            block_texts: self.block_texts.derive(name),
            own_texts: self.own_texts.derive(name),
        }
    }

    /// Appends `tokens` tokens. Returns whether the number is exact. If the blocks have fewer tokens, the rest of the text belongs to this
    /// request alone. If they have more, the surplus is omitted.
    pub(crate) fn write(
        &self,
        texts: &Texts,
        (stage, number): (usize, u64),
        hashes: &[u64],
        tokens: u32,
        text: &mut String,
    ) -> bool {
        let (mut left, mut is_exact) = (tokens, true);
        for hash in hashes {
            let block = left.min(self.block_size);
            if block == 0 {
                break;
            }
            is_exact &= texts.words(block, &mut self.block_texts.draws(stage, *hash), text);
            left -= block;
        }
        if left > 0 {
            is_exact &= texts.words(left, &mut self.own_texts.draws(stage, number, left), text);
        }
        is_exact
    }

    /// Returns the number of tokens in this many whole blocks.
    fn whole(&self, blocks: usize) -> u32 {
        u32::try_from(blocks).unwrap_or(u32::MAX).saturating_mul(self.block_size)
    }
}

/// The prompts of the traces that the stages replay.
#[derive(Debug)]
pub(super) struct TraceBlocks {
    texts: BlockTexts,
    /// The block hashes per stage.
    stages: Vec<Arc<Blocks>>,
}

impl TraceBlocks {
    pub(super) fn new(block_size: u32, seeds: Seeds<'_>, prompts: PromptReuse) -> TraceBlocks {
        TraceBlocks { texts: BlockTexts::new(block_size, seeds, prompts), stages: Vec::new() }
    }

    pub(super) fn with_stages(self, stages: Vec<Arc<Blocks>>) -> TraceBlocks {
        TraceBlocks { stages, ..self }
    }

    /// Appends the prompt of a request, and returns its lengths. If the trace has no prompt length, the prompt consists of whole blocks.
    pub(super) fn write(
        &self,
        texts: &Texts,
        (stage, number): (usize, u64),
        recorded: RecordedLengths,
        text: &mut String,
    ) -> RequestedLengths {
        let hashes = self.stages.get(stage).map_or(&[][..], |it| it.hashes(number));
        let tokens = recorded.input().unwrap_or_else(|| self.texts.whole(hashes.len())).max(1);
        let is_exact = self.texts.write(texts, (stage, number), hashes, tokens, text);
        RequestedLengths { input: Some(tokens), is_exact, output: None }
    }
}

#[cfg(test)]
mod tests {
    use crds::units::Seed;

    use super::*;

    fn prompt(source: &TraceBlocks, stage: usize, number: u64, input: u32) -> Vec<String> {
        let mut text = String::new();
        let requested =
            source.write(&Texts::default(), (stage, number), RecordedLengths { input, output: 0 }, &mut text);
        let words: Vec<_> = text.split(' ').map(str::to_owned).collect();
        assert_eq!(requested.input, Some(words.len() as u32));
        words
    }

    fn source(salt: &str, prompts: PromptReuse) -> TraceBlocks {
        let mut blocks = Blocks::default();
        [vec![7, 8, 9], vec![7, 8, 5], vec![], vec![7]].into_iter().for_each(|it| blocks.push(it));
        let blocks = Arc::new(blocks);
        let seeds = Seeds { run: Seed(3), prompt_salt: salt };
        TraceBlocks::new(20, seeds, prompts).with_stages(vec![Arc::clone(&blocks), blocks])
    }

    #[test]
    fn equal_hashes_are_equal_texts_and_the_last_block_is_shorter() {
        let source = source("a", PromptReuse::Fresh);
        let (first, second) = (prompt(&source, 0, 0, 50), prompt(&source, 1, 1, 55));
        assert_eq!((first.len(), second.len()), (50, 55));
        assert_eq!(first[..40], second[..40]);
        assert_ne!(first[40..50], second[40..50]);
        assert_eq!(prompt(&source, 0, 0, 60)[..50], first);
        assert_eq!(prompt(&source, 1, 0, 50), first);
    }

    #[test]
    fn lengths_and_hashes_need_not_fit_each_other() {
        let source = source("a", PromptReuse::Fresh);
        let whole = prompt(&source, 0, 0, 0);
        assert_eq!(whole.len(), 60);
        // A prompt longer than its blocks: the rest of the text belongs to the request alone.
        let longer = prompt(&source, 0, 3, 30);
        assert_eq!((&longer[..20], longer.len()), (&whole[..20], 30));
        // A prompt shorter than its blocks.
        assert_eq!(prompt(&source, 0, 0, 15), whole[..15]);
        // A prompt without blocks.
        assert_eq!((prompt(&source, 0, 2, 9).len(), prompt(&source, 0, 2, 0).len()), (9, 1));
    }

    #[test]
    fn a_run_has_texts_of_its_own_unless_they_repeat() {
        let of = |salt, prompts| prompt(&source(salt, prompts), 0, 0, 50);
        assert_ne!(of("a", PromptReuse::Fresh), of("b", PromptReuse::Fresh));
        assert_eq!(of("a", PromptReuse::Repeated), of("b", PromptReuse::Repeated));
    }
}
