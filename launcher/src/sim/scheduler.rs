//! Which sequences take part in a step: first come, first served, with chunked prefill, as in vLLM. Pure.
//!
//! Running sequences go on in the order in which they were admitted: one token each, or the next piece of their prompt.
//! What is left of the step's tokens goes to waiting sequences while fewer than the allowed number run. The step that
//! computes the last token of a prompt yields the first token of the answer.

use std::collections::VecDeque;
use std::time::Duration;

use super::latency::StepLoad;

/// A request in the engine. Times are those of the simulation.
#[derive(Debug)]
pub struct Sequence<T> {
    /// Whose it is.
    pub owner: T,
    /// Length of the prompt in tokens, at least 1.
    pub prompt_tokens: u32,
    /// Length of the answer in tokens, at least 1.
    pub output_tokens: u32,
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
    computed: u32,
    scheduled: u32,
}

impl<T> Sequence<T> {
    /// A sequence that came at `arrived`.
    pub fn new(owner: T, prompt_tokens: u32, output_tokens: u32, arrived: Duration) -> Self {
        let (admitted, first_token, last_token) = (arrived, arrived, arrived);
        let (generated, computed, scheduled) = (0, 0, 0);
        Sequence {
            owner,
            prompt_tokens,
            output_tokens,
            arrived,
            admitted,
            first_token,
            last_token,
            generated,
            computed,
            scheduled,
        }
    }

    /// Whether its answer is complete.
    pub fn is_finished(&self) -> bool {
        self.generated >= self.output_tokens
    }
}

/// The sequences of an engine. Their number is bounded by the callers: one for each open request.
#[derive(Debug)]
pub struct Scheduler<T> {
    max_num_seqs: usize,
    max_num_batched_tokens: u32,
    running: Vec<Sequence<T>>,
    waiting: VecDeque<Sequence<T>>,
}

impl<T> Scheduler<T> {
    /// An empty one with its limits.
    pub fn new(max_num_seqs: u32, max_num_batched_tokens: u32) -> Self {
        Scheduler {
            max_num_seqs: max_num_seqs as usize,
            max_num_batched_tokens,
            running: Vec::new(),
            waiting: VecDeque::new(),
        }
    }

    /// Puts a sequence at the end of the queue.
    pub fn add(&mut self, sequence: Sequence<T>) {
        self.waiting.push_back(sequence);
    }

    /// Takes out the sequences whose owners do not want them any more.
    pub fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        self.running.retain(|it| keep(&it.owner));
        self.waiting.retain(|it| keep(&it.owner));
    }

    /// Takes out everything.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.running.drain(..).chain(self.waiting.drain(..)).map(|it| it.owner)
    }

    /// Sequences in the batch.
    pub fn running(&self) -> usize {
        self.running.len()
    }

    /// Sequences in the queue.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Decides what the step that begins now computes; `None` when there is nothing to do.
    pub fn begin_step(&mut self, now: Duration) -> Option<StepLoad> {
        let mut budget = self.max_num_batched_tokens;
        let mut load = StepLoad::default();
        for sequence in &mut self.running {
            schedule(sequence, &mut budget, &mut load);
        }
        while self.running.len() < self.max_num_seqs && budget > 0 {
            let Some(mut sequence) = self.waiting.pop_front() else { break };
            sequence.admitted = now.max(sequence.arrived);
            schedule(&mut sequence, &mut budget, &mut load);
            self.running.push(sequence);
        }
        (load.sequences > 0).then_some(load)
    }

    /// Ends the step that began last: `on_token` sees each sequence that got a token, with its counters brought up to
    /// date but `last_token` still that of the token before. Complete sequences leave. Returns the tokens that the
    /// others hold in the KV cache.
    pub fn end_step(&mut self, now: Duration, mut on_token: impl FnMut(&Sequence<T>)) -> u64 {
        let mut held = 0;
        self.running.retain_mut(|sequence| {
            sequence.computed += std::mem::take(&mut sequence.scheduled);
            if sequence.computed >= sequence.prompt_tokens + sequence.generated {
                sequence.generated += 1;
                if sequence.generated == 1 {
                    sequence.first_token = now;
                }
                on_token(sequence);
                sequence.last_token = now;
            }
            let stays = !sequence.is_finished();
            held += if stays { u64::from(sequence.computed) } else { 0 };
            stays
        });
        held
    }
}

/// Gives the sequence its part of the step: the rest of its prompt as far as the budget allows, or one token.
fn schedule<T>(sequence: &mut Sequence<T>, budget: &mut u32, load: &mut StepLoad) {
    let prompt_left = sequence.prompt_tokens.saturating_sub(sequence.computed);
    sequence.scheduled = prompt_left.max(1).min(*budget);
    if sequence.scheduled == 0 {
        return;
    }
    *budget -= sequence.scheduled;
    load.sequences += 1;
    load.context_tokens += u64::from(sequence.computed);
    if prompt_left > 0 {
        load.prefill_tokens += sequence.scheduled;
        load.prompts += u32::from(sequence.computed == 0);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn scheduler(max_num_seqs: u32, max_num_batched_tokens: u32, sequences: &[(u32, u32)]) -> Scheduler<usize> {
        let mut scheduler = Scheduler::new(max_num_seqs, max_num_batched_tokens);
        for (owner, (prompt, output)) in sequences.iter().enumerate() {
            scheduler.add(Sequence::new(owner, *prompt, *output, NOW));
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
