use proptest::prelude::*;

use super::*;
use crate::blocks::BlockHashes;
use crate::text;
use crate::work::{Finish, Work};

const NOW: Duration = Duration::ZERO;

fn work(tokens: impl ExactSizeIterator<Item = u32>, output_tokens: u32) -> Work {
    let prompt_tokens = tokens.len() as u32;
    let mut blocks = BlockHashes::new(4, 0);
    tokens.for_each(|id| blocks.push(id));
    Work {
        prompt_tokens,
        output_tokens,
        max_tokens: output_tokens,
        finish: Finish::Length,
        words: 7,
        blocks,
        siblings: None,
    }
}

fn scheduler(max_num_seqs: u32, max_num_batched_tokens: u32, sequences: &[(u32, u32)]) -> Scheduler<usize> {
    let options = SimOptions { max_num_seqs, max_num_batched_tokens, prefix_caching: false, ..SimOptions::default() };
    let mut scheduler = Scheduler::new(&options);
    for (owner, (prompt, output)) in sequences.iter().enumerate() {
        scheduler.add(Sequence::new(owner, work(0..*prompt, *output), NOW));
    }
    scheduler
}

/// A scheduler with a prefix cache and `num_gpu_blocks` blocks of 4 tokens.
fn caching(num_gpu_blocks: u32, sequences: Vec<Work>) -> Scheduler<usize> {
    let options = SimOptions { block_size: 4, num_gpu_blocks, ..SimOptions::default() };
    let mut scheduler = Scheduler::new(&options);
    for (owner, work) in sequences.into_iter().enumerate() {
        scheduler.add(Sequence::new(owner, work, NOW));
    }
    scheduler
}

/// The load of a step as (prompts, prefill tokens, sequences, context), and the sequences that got a token.
type Step = ((u32, u32, u32, u64), Vec<usize>);

/// Runs all steps to the end.
fn steps(scheduler: &mut Scheduler<usize>) -> Vec<Step> {
    let mut steps = Vec::new();
    while let Some(load) = scheduler.begin_step(NOW) {
        let mut owners = Vec::new();
        scheduler.end_step(NOW, |sequence| owners.push(sequence.owner));
        steps.push(((load.prompts, load.prefill_tokens, load.sequences, load.context_tokens), owners));
    }
    steps
}

#[test]
fn one_request_is_a_prefill_and_then_a_token_a_step() {
    let expected = vec![((1, 10, 1, 0), vec![0]), ((0, 0, 1, 10), vec![0]), ((0, 0, 1, 11), vec![0])];
    assert_eq!(steps(&mut scheduler(4, 100, &[(10, 3)])), expected);
}

#[test]
fn a_long_prompt_is_cut_into_chunks_and_others_go_on_decoding() {
    let mut scheduler = scheduler(4, 8, &[(3, 4), (17, 1)]);
    let expected = vec![
        ((2, 8, 2, 0), vec![0]),     // 3 of the first, 5 of the second
        ((0, 7, 2, 3 + 5), vec![0]), // a token, and 7 more
        ((0, 5, 2, 4 + 12), vec![0, 1]),
        ((0, 0, 1, 5), vec![0]),
    ];
    assert_eq!(steps(&mut scheduler), expected);
}

#[test]
fn those_above_the_limit_wait_in_order() {
    let mut scheduler = scheduler(1, 100, &[(5, 2), (6, 1), (7, 1)]);
    let owners: Vec<_> = steps(&mut scheduler).into_iter().map(|(_, owners)| owners).collect();
    assert_eq!(owners, vec![vec![0], vec![0], vec![1], vec![2]]);
}

#[test]
fn who_leaves_makes_room() {
    let mut scheduler = scheduler(1, 100, &[(5, 1_000), (6, 1), (7, 1)]);
    scheduler.begin_step(NOW);
    scheduler.end_step(NOW, |_| {});
    scheduler.retain(|owner| *owner == 2);
    assert_eq!((scheduler.running(), scheduler.waiting()), (0, 1));
    assert_eq!(steps(&mut scheduler), vec![((1, 7, 1, 0), vec![2])]);
}

#[test]
fn a_cached_prefix_is_not_computed_again_but_for_its_last_token() {
    let mut scheduler = caching(100, vec![work(0..12, 1)]);
    assert_eq!(steps(&mut scheduler), vec![((1, 12, 1, 0), vec![0])]);
    // With the same 12 tokens, only the block with the last token is computed. With 14 tokens, only the tokens after the cached blocks are computed.
    // With another first token, everything is computed.
    for (tokens, load) in [(0..12, (1, 4, 1, 8)), (0..14, (1, 2, 1, 12)), (1..13, (1, 12, 1, 0))] {
        scheduler.add(Sequence::new(1, work(tokens, 1), NOW));
        assert_eq!(steps(&mut scheduler), vec![(load, vec![1])]);
    }
    assert_eq!(scheduler.cache_stats(), CacheStats { queries: 12 + 12 + 14 + 12, hits: 8 + 12, preemptions: 0 });
    assert_eq!(scheduler.used_blocks(), 0);
}

#[test]
fn prompts_of_one_step_share_their_blocks() {
    let mut scheduler = caching(100, vec![work(0..13, 1), work(0..13, 1)]);
    assert_eq!(steps(&mut scheduler), vec![((2, 13 + 1, 2, 12), vec![0, 1])]);
}

#[test]
fn a_prompt_that_goes_on_after_an_answer_finds_that_too() {
    let mut scheduler = caching(100, vec![work(0..6, 7)]);
    steps(&mut scheduler);
    // 6 prompt tokens and 6 answer tokens were computed. The last token of an answer is never computed.
    let tokens: Vec<u32> = (0..6).chain((0..7).map(|place| text::word_id(7, place))).chain([1, 2, 3]).collect();
    scheduler.add(Sequence::new(1, work(tokens.into_iter(), 1), NOW));
    assert_eq!(steps(&mut scheduler), vec![((1, 4, 1, 12), vec![1])]);
}

#[test]
fn a_full_cache_takes_the_place_of_who_came_last_and_computes_it_again() {
    // There are six usable blocks. Both sequences fit at first, with 2 blocks each. At the end each of them needs 4.
    let mut scheduler = caching(7, vec![work(0..8, 8), work(100..108, 6)]);
    let steps = steps(&mut scheduler);
    let of = |owner| steps.iter().filter(|(_, owners)| owners.contains(&owner)).count();
    assert_eq!((of(0), of(1)), (8, 6));
    assert_eq!(scheduler.cache_stats(), CacheStats { queries: 16, hits: 0, preemptions: 1 });
    assert_eq!(scheduler.used_blocks(), 0);
    // The second sequence has two prefills: its prompt, and after its preemption its prompt and its tokens so far, minus the cached blocks.
    let prefills: Vec<u32> = steps.iter().filter(|it| it.0.0 > 0).map(|it| it.0.1).collect();
    assert_eq!(prefills.len(), 2, "{steps:?}");
    assert_eq!(prefills[0], 16);
}

#[test]
fn who_does_not_fit_waits_for_a_place() {
    let mut scheduler = caching(7, vec![work(0..16, 3), work(100..112, 1)]);
    let owners: Vec<_> = steps(&mut scheduler).into_iter().map(|(_, owners)| owners).collect();
    assert_eq!(owners, vec![vec![0], vec![0], vec![0], vec![1]]);
}

proptest! {
    #[test]
    fn every_request_gets_its_tokens_and_no_step_exceeds_its_limits(
        sequences in prop::collection::vec((1_u32..200, 1_u32..20), 1..30),
        max_num_seqs in 1_u32..8,
        budget in 8_u32..64,
    ) {
        let mut scheduler = scheduler(max_num_seqs, budget, &sequences);
        let steps = steps(&mut scheduler);
        let prefilled: u32 = steps.iter().map(|((_, prefill, _, _), _)| prefill).sum();
        prop_assert_eq!(prefilled, sequences.iter().map(|(prompt, _)| prompt).sum::<u32>());
        for (owner, (_, output)) in sequences.iter().enumerate() {
            let tokens = steps.iter().filter(|(_, owners)| owners.contains(&owner)).count();
            prop_assert_eq!(tokens, *output as usize);
        }
        for ((_, prefill, sequences, _), owners) in &steps {
            prop_assert!(*sequences <= max_num_seqs && *prefill <= budget);
            prop_assert!(owners.len() <= *sequences as usize);
        }
    }
}
