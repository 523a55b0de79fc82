//! Which sequences take part in a step: first come, first served, with chunked prefill, as in vLLM. Pure.
//!
//! Running sequences go on in the order in which they were admitted: one token each, or the next piece of their prompt.
//! What is left of the step's tokens goes to waiting sequences while fewer than the allowed number run. The step that
//! computes the last token of a prompt yields the first token of the answer.
//!
//! A waiting sequence is admitted only if the KV cache has room for all its tokens, less the leading blocks that the
//! prefix cache has: those are not computed again, but for the last token of a prompt. A running one that finds no room
//! for its next token takes that of the sequence that was admitted last, which waits and computes its tokens again.

use std::collections::VecDeque;
use std::time::Duration;

use super::kv_cache::{HeldBlocks, KvCache};
use super::latency::StepLoad;
use super::options::SimOptions;
use super::text;
use super::work::Work;

/// A request in the engine. Times are those of the simulation.
#[derive(Debug)]
pub struct Sequence<T> {
    /// Whose it is.
    pub owner: T,
    /// What it asks.
    pub work: Work,
    /// When it came.
    pub arrived: Duration,
    /// When it was admitted to the batch.
    pub admitted: Duration,
    /// When its first token was ready.
    pub first_token: Duration,
    /// When its newest token was ready.
    pub last_token: Duration,
    /// Tokens of the answer so far.
    pub generated: u32,
    /// Prompt tokens that came from the prefix cache when it was admitted first.
    pub cached: u32,
    /// How often it had to give its place up.
    pub preemptions: u32,
    computed: u32,
    scheduled: u32,
    held: HeldBlocks,
    /// Tokens of the answer whose digests are known.
    hashed: u32,
}

impl<T> Sequence<T> {
    /// A sequence that came at `arrived`.
    pub fn new(owner: T, work: Work, arrived: Duration) -> Self {
        Sequence {
            owner,
            work,
            arrived,
            admitted: arrived,
            first_token: arrived,
            last_token: arrived,
            generated: 0,
            cached: 0,
            preemptions: 0,
            computed: 0,
            scheduled: 0,
            held: HeldBlocks::default(),
            hashed: 0,
        }
    }

    /// Whether its answer is complete.
    pub fn is_finished(&self) -> bool {
        self.generated >= self.work.output_tokens
    }

    /// Tokens of the prompt and of the answer so far.
    fn tokens(&self) -> u32 {
        self.work.prompt_tokens + self.generated
    }

    /// Gives the full blocks among the first `tokens` tokens to the prefix cache.
    fn seal(&mut self, cache: &mut KvCache, tokens: u32) {
        let full = (tokens / cache.block_size()) as usize;
        while self.work.blocks.full().len() < full {
            self.work.blocks.push(text::word_id(self.work.words, self.hashed));
            self.hashed += 1;
        }
        cache.seal(&mut self.held, &self.work.blocks.full()[..full]);
    }
}

/// What the prefix cache and the KV cache did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Tokens that were looked up.
    pub queries: u64,
    /// Tokens that were found.
    pub hits: u64,
    /// Sequences that had to give their place up.
    pub preemptions: u64,
}

/// The sequences of an engine. Their number is bounded by the callers: one for each open request.
#[derive(Debug)]
pub struct Scheduler<T> {
    max_num_seqs: usize,
    max_num_batched_tokens: u32,
    running: Vec<Sequence<T>>,
    waiting: VecDeque<Sequence<T>>,
    cache: KvCache,
    stats: CacheStats,
}

impl<T> Scheduler<T> {
    /// An empty one with its limits.
    pub fn new(options: &SimOptions) -> Self {
        Scheduler {
            max_num_seqs: options.max_num_seqs as usize,
            max_num_batched_tokens: options.max_num_batched_tokens,
            running: Vec::new(),
            waiting: VecDeque::new(),
            cache: KvCache::new(options.block_size, options.num_gpu_blocks, options.prefix_caching),
            stats: CacheStats::default(),
        }
    }

    /// Puts a sequence at the end of the queue.
    pub fn add(&mut self, sequence: Sequence<T>) {
        self.waiting.push_back(sequence);
    }

    /// Takes out the sequences whose owners do not want them any more.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let cache = &mut self.cache;
        let mut stays = |sequence: &mut Sequence<T>| {
            let stays = keep(&sequence.owner);
            if !stays {
                cache.release(&mut sequence.held);
            }
            stays
        };
        self.running.retain_mut(&mut stays);
        self.waiting.retain_mut(stays);
    }

    /// Takes out everything.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        let cache = &mut self.cache;
        self.running.drain(..).chain(self.waiting.drain(..)).map(|mut sequence| {
            cache.release(&mut sequence.held);
            sequence.owner
        })
    }

    /// Sequences in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Sequences in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Blocks of the KV cache that sequences hold.
    pub fn used_blocks(&self) -> u32 {
        self.cache.used()
    }

    /// What the caches did so far.
    pub fn cache_stats(&self) -> CacheStats {
        self.stats
    }

    /// Decides what the step that begins now computes; `None` when there is nothing to do.
    pub fn begin_step(&mut self, now: Duration) -> Option<StepLoad> {
        let mut budget = self.max_num_batched_tokens;
        let mut load = StepLoad::default();
        let preempted = self.continue_running(&mut budget, &mut load);
        // Who gave its place up comes before others, and not in the same step.
        while !preempted && self.running.len() < self.max_num_seqs && budget > 0 {
            let Some(sequence) = self.waiting.front_mut() else { break };
            if !admit(&mut self.cache, sequence, &mut self.stats, now) {
                break;
            }
            if !schedule(&mut self.cache, sequence, &mut budget, &mut load) {
                break;
            }
            load.prompts += 1;
            self.running.extend(self.waiting.pop_front());
        }
        (load.sequences > 0).then_some(load)
    }

    /// Lets the running sequences go on; whether one of them had to give its place up.
    fn continue_running(&mut self, budget: &mut u32, load: &mut StepLoad) -> bool {
        let mut preempted = false;
        let mut next = 0;
        while let Some(sequence) = self.running.get_mut(next) {
            if schedule(&mut self.cache, sequence, budget, load) {
                next += 1;
                continue;
            }
            // It may be that sequence itself.
            let Some(mut last) = self.running.pop() else { break };
            self.cache.release(&mut last.held);
            last.computed = 0;
            last.scheduled = 0;
            last.preemptions += 1;
            self.stats.preemptions += 1;
            self.waiting.push_front(last);
            preempted = true;
        }
        preempted
    }

    /// Ends the step that began last: `on_token` sees each sequence that got a token, with its counters brought up to
    /// date but `last_token` still that of the token before. Complete sequences leave.
    pub fn end_step(&mut self, now: Duration, mut on_token: impl FnMut(&Sequence<T>)) {
        let cache = &mut self.cache;
        self.running.retain_mut(|sequence| {
            sequence.computed += std::mem::take(&mut sequence.scheduled);
            if sequence.computed >= sequence.tokens() {
                sequence.generated += 1;
                if sequence.generated == 1 {
                    sequence.first_token = now;
                }
                on_token(sequence);
                sequence.last_token = now;
            }
            let stays = !sequence.is_finished();
            if !stays {
                cache.release(&mut sequence.held);
            }
            stays
        });
    }
}

/// Gives a waiting sequence the leading blocks that the prefix cache has; `false`: the KV cache has no room for it.
fn admit<T>(cache: &mut KvCache, sequence: &mut Sequence<T>, stats: &mut CacheStats, now: Duration) -> bool {
    let tokens = sequence.tokens();
    // The last token is always computed: what it yields is the next one.
    let full = sequence.work.blocks.full();
    let reusable = full.len().min(((tokens - 1) / cache.block_size()) as usize);
    let found = cache.lookup(&full[..reusable]);
    if !cache.admit(&mut sequence.held, &full[..found as usize], tokens) {
        return false;
    }
    sequence.computed = found * cache.block_size();
    if sequence.preemptions == 0 {
        sequence.admitted = now.max(sequence.arrived);
        sequence.cached = sequence.computed;
        if cache.is_caching() {
            stats.queries += u64::from(tokens);
            stats.hits += u64::from(sequence.cached);
        }
    }
    true
}

/// Gives the sequence its part of the step: the tokens that are not computed yet, as far as the budget allows; `false`:
/// the KV cache has no room for them.
fn schedule<T>(cache: &mut KvCache, sequence: &mut Sequence<T>, budget: &mut u32, load: &mut StepLoad) -> bool {
    let left = sequence.tokens() - sequence.computed;
    let scheduled = left.min(*budget);
    if scheduled == 0 {
        return true;
    }
    let tokens = sequence.computed + scheduled;
    if !cache.grow(&mut sequence.held, tokens) {
        return false;
    }
    if cache.is_caching() {
        sequence.seal(cache, tokens);
    }
    sequence.scheduled = scheduled;
    *budget -= scheduled;
    load.sequences += 1;
    load.context_tokens += u64::from(sequence.computed);
    if left > 1 || sequence.computed < sequence.work.prompt_tokens {
        load.prefill_tokens += scheduled;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::blocks::BlockHashes;
    use crate::work::Finish;

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
        let options =
            SimOptions { max_num_seqs, max_num_batched_tokens, prefix_caching: false, ..SimOptions::default() };
        let mut scheduler = Scheduler::new(&options);
        for (owner, (prompt, output)) in sequences.iter().enumerate() {
            scheduler.add(Sequence::new(owner, work(0..*prompt, *output), NOW));
        }
        scheduler
    }

    /// A scheduler with blocks of 4 tokens, so many of them, and a prefix cache.
    fn caching(num_gpu_blocks: u32, sequences: Vec<Work>) -> Scheduler<usize> {
        let options = SimOptions { block_size: 4, num_gpu_blocks, ..SimOptions::default() };
        let mut scheduler = Scheduler::new(&options);
        for (owner, work) in sequences.into_iter().enumerate() {
            scheduler.add(Sequence::new(owner, work, NOW));
        }
        scheduler
    }

    /// What a step computed, as (prompts, prefill tokens, sequences, context), and who got a token.
    type Step = ((u32, u32, u32, u64), Vec<usize>);

    /// The steps to the end.
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
        // 12 tokens again: the block with the last one is computed. 14: the rest. Another first token: all.
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
        // 6 and 6 of the answer's tokens were computed, the last one never.
        let tokens: Vec<u32> = (0..6).chain((0..7).map(|place| text::word_id(7, place))).chain([1, 2, 3]).collect();
        scheduler.add(Sequence::new(1, work(tokens.into_iter(), 1), NOW));
        assert_eq!(steps(&mut scheduler), vec![((1, 4, 1, 12), vec![1])]);
    }

    #[test]
    fn a_full_cache_takes_the_place_of_who_came_last_and_computes_it_again() {
        // Six blocks. Both fit at first, with 2 blocks each; the first one needs 4 in the end, the second one 4 too.
        let mut scheduler = caching(7, vec![work(0..8, 8), work(100..108, 6)]);
        let steps = steps(&mut scheduler);
        let of = |owner| steps.iter().filter(|(_, owners)| owners.contains(&owner)).count();
        assert_eq!((of(0), of(1)), (8, 6));
        assert_eq!(scheduler.cache_stats(), CacheStats { queries: 16, hits: 0, preemptions: 1 });
        assert_eq!(scheduler.used_blocks(), 0);
        // The second one begins twice: its prompt, and later its prompt with what it had, less what the cache kept.
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
}
