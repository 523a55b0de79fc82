//! Decides which sequences take part in a step: first come, first served, with chunked prefill, as in vLLM. Pure.
//!
//! Running sequences continue in the order of their admission, each with one token or with the next piece of its prompt. The tokens that the step has
//! left go to waiting sequences, up to the maximum number of running sequences. The step that computes the last token of a prompt yields the first
//! token of the answer.
//!
//! A waiting sequence is admitted only if the KV cache has room for all its tokens, minus the leading blocks that are already in the prefix cache.
//! These blocks are not computed again, except for the last token of a prompt. If a running sequence has no room for its next token, it preempts the
//! sequence that was admitted last. The preempted sequence waits, and later computes its tokens again.

mod sequence;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::time::Duration;

use super::kv_cache::KvCache;
use super::latency::StepLoad;
use super::options::SimOptions;
pub use sequence::Sequence;

/// Counts of the prefix cache and the KV cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Number of tokens that were looked up in the prefix cache.
    pub queries: u64,
    /// Number of tokens that were found in the prefix cache.
    pub hits: u64,
    /// Number of preemptions.
    pub preemptions: u64,
}

/// The sequences of an engine. The callers limit their number to one per open request.
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
    /// Creates an empty scheduler with the limits in these options.
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

    /// Removes the sequences for whose owner `keep` returns false.
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

    /// Removes all sequences.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        let cache = &mut self.cache;
        self.running.drain(..).chain(self.waiting.drain(..)).map(|mut sequence| {
            cache.release(&mut sequence.held);
            sequence.owner
        })
    }

    /// Removes the blocks of ended sequences from the prefix cache.
    pub fn forget(&mut self) {
        self.cache.forget();
    }

    /// Number of sequences in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Number of sequences in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Number of KV cache blocks that sequences hold.
    pub fn used_blocks(&self) -> u32 {
        self.cache.used()
    }

    /// Returns the counts of the prefix cache and of preemptions so far.
    pub fn cache_stats(&self) -> CacheStats {
        self.stats
    }

    /// Decides what the step that begins now computes. `None` if there is nothing to do.
    pub fn begin_step(&mut self, now: Duration) -> Option<StepLoad> {
        let mut budget = self.max_num_batched_tokens;
        let mut load = StepLoad::default();
        let preempted = self.continue_running(&mut budget, &mut load);
        // A preempted sequence is resumed before all others, but not in the same step.
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

    /// Continues the running sequences. Returns whether it preempted a sequence.
    fn continue_running(&mut self, budget: &mut u32, load: &mut StepLoad) -> bool {
        let mut preempted = false;
        let mut next = 0;
        while let Some(sequence) = self.running.get_mut(next) {
            if schedule(&mut self.cache, sequence, budget, load) {
                next += 1;
                continue;
            }
            // The popped sequence can be the one that needs room.
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

    /// Ends the current step, and removes complete sequences. Calls `on_token` for each sequence that got a token. The counters of the sequence are
    /// then up to date, but its `last_token` is still the time of the previous token.
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

/// Assigns the leading blocks in the prefix cache to a waiting sequence. Returns `false` if the KV cache has no room for the sequence.
fn admit<T>(cache: &mut KvCache, sequence: &mut Sequence<T>, stats: &mut CacheStats, now: Duration) -> bool {
    let tokens = sequence.tokens();
    // The last token is always computed, because the next token results from it.
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

/// Schedules a sequence's part of the step: the tokens that are not computed yet, up to the budget of the step. Returns `false` if the KV cache has
/// no room for these tokens.
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
