//! Workloads with one stage, for trials. Pure.

use std::time::Duration;

use crds::{
    benchmark_run::Api,
    units::{RequestRate, Span},
};
use workload_profiles::{
    Workload,
    workload::{
        Arrivals, Conversations, History, LengthDistribution, Load, Prefixes, PromptText, Rate, RequestSource,
        Sampling, Stage, TurnLengths,
    },
};

/// Number of words in each prompt.
const PROMPT: u32 = 10;

/// Returns a workload of streamed completions with short prompts and answers of `tokens` tokens.
fn workload(load: Load, tokens: u32) -> Workload {
    let requests =
        RequestSource::random(LengthDistribution::fixed(PROMPT), LengthDistribution::fixed(tokens), PromptText::Words);
    let sampling = Sampling { ignore_eos: true, ..Sampling::default() };
    Workload { sampling, ..Workload::new(Api::Completions, requests, vec![Stage::new("bench", load)]) }
}

/// Returns a closed loop with this concurrency, and `count` requests in total.
pub fn closed(concurrency: u32, count: u64, tokens: u32) -> Workload {
    let load = Load::closed(concurrency, count);
    workload(load, tokens)
}

/// Returns an open loop with this rate, and `count` requests in total.
pub fn open(arrivals: Arrivals, rate: RequestRate, count: u64, tokens: u32) -> Workload {
    let duration = Some(Span(Duration::from_secs_f64(count as f64 / f64::from(rate))));
    let (rate, count) = (Rate::Steady(rate), Some(count));
    workload(Load::Open { arrivals, rate, duration, count, max_concurrency: None }, tokens)
}

/// Like [`open`], but the requests are the turns of `sessions` conversations with ten turns each.
pub fn conversations(rate: RequestRate, count: u64, tokens: u32, sessions: u32) -> Workload {
    let requests = RequestSource::Conversations(Box::new(Conversations {
        count: Some(sessions),
        turns: LengthDistribution::fixed(10),
        prefixes: Prefixes::default(),
        own_system: None,
        first_turn: None,
        turn: TurnLengths { input: LengthDistribution::fixed(PROMPT), output: LengthDistribution::fixed(tokens) },
        think_time: None,
        history: History::Answers,
        max_context: None,
        seed: None,
    }));
    Workload { requests, ..open(Arrivals::Constant, rate, count, tokens) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_asks_for_as_many_requests_as_it_says() {
        assert_eq!(closed(50, 150, 16).stages[0].load.count(), Some(150));
        let rate = RequestRate::try_from(5_000.0).unwrap();
        let open = open(Arrivals::ConditionedPoisson, rate, 20_000, 4);
        let Load::Open { duration, count, .. } = open.stages[0].load else { panic!("it is closed") };
        assert_eq!((duration, count), (Some(Span(Duration::from_secs(4))), Some(20_000)));
    }
}
