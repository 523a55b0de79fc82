//! Selects the requests of a stage whose output is kept. Pure.

use std::iter;

use measurement::phase::Phase;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum KeepOutputs {
    /// No request.
    #[default]
    None,
    /// All requests.
    All,
    /// The requests with these numbers.
    Some(Numbers),
}

impl KeepOutputs {
    /// Returns the requests of a phase whose output is kept.
    pub(super) fn of_phase(phase: &dyn Phase) -> KeepOutputs {
        let count = u32::try_from(phase.request_count()).unwrap_or(u32::MAX);
        let kept = || (0..count).filter(|it| phase.keeps_output(u64::from(*it)));
        match kept().count() as u64 {
            0 => KeepOutputs::None,
            all if all == phase.request_count() => KeepOutputs::All,
            _ => KeepOutputs::Some(kept().collect()),
        }
    }

    pub fn keeps(&self, number: u64) -> bool {
        match self {
            KeepOutputs::None => false,
            KeepOutputs::All => true,
            KeepOutputs::Some(numbers) => numbers.contains(number),
        }
    }
}

/// A set of request numbers, as a bitmap.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numbers(Vec<u64>);

impl Numbers {
    pub fn contains(&self, number: u64) -> bool {
        let word = usize::try_from(number / 64).ok().and_then(|it| self.0.get(it));
        word.is_some_and(|it| it >> (number % 64) & 1 == 1)
    }
}

impl FromIterator<u32> for Numbers {
    fn from_iter<T: IntoIterator<Item = u32>>(numbers: T) -> Self {
        let mut words = Vec::new();
        for number in numbers {
            let word = number as usize / 64;
            if word >= words.len() {
                words.extend(iter::repeat_n(0, word + 1 - words.len()));
            }
            words[word] |= 1 << (number % 64);
        }
        Numbers(words)
    }
}

#[cfg(test)]
mod tests {
    use std::{net::Ipv4Addr, sync::Arc};

    use crds::{
        benchmark_run::{Api, SimulatorPreset},
        units::Seed,
    };
    use tokio::net::TcpListener;
    use workload_profiles::{Workload, workload::Load};

    use super::*;
    use crate::{
        client::Target,
        issue::{plan::LoadPlan, runner, shared::Shared, worker::Worker},
        stop::Stop,
    };
    use clock::Clock;
    use measurement::{
        record::RequestOutcome,
        recorder::{Keep, Recorder},
    };
    use simulator::{SimOptions, Simulator};

    #[test]
    fn the_numbers_are_those_that_were_given() {
        let numbers: Numbers = [5, 64, 0, 5, 1_000].into_iter().collect();
        let keep = KeepOutputs::Some(numbers.clone());
        for number in (0..2_000).chain([u64::MAX]) {
            assert_eq!(keep.keeps(number), [0, 5, 64, 1_000].contains(&number), "{number}");
            assert!(KeepOutputs::All.keeps(number) && !KeepOutputs::None.keeps(number));
        }
        assert!(!Numbers::default().contains(0));
    }

    fn workload(streaming: bool, count: u64) -> Workload {
        let load = Load::closed(4, count);
        serde_json::from_value(serde_json::json!({
            "api": "OpenAICompletions", "streaming": streaming, "requests": "mock",
            "stages": [{"name": "c4", "load": load, "pauseAfter": "0s"}],
            "sampling": {"ignoreEos": true, "extra": {"return_token_ids": false}},
        }))
        .unwrap()
    }

    /// Runs one stage against a simulator over loopback.
    async fn run(streaming: bool, keep: KeepOutputs) -> Recorder {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let options = SimOptions { model: "m".into(), ..SimOptions::preset(SimulatorPreset::Instant) };
        let server = Simulator::new(options);
        tokio::spawn(async move { server.serve(listener, std::future::pending()).await });
        let target = Target::new(&url, Api::Completions, None, None, &Default::default()).unwrap();
        let workload = workload(streaming, 40);
        let mut plan = LoadPlan::new(&workload, &[], &[], "m", Api::Completions, Seed(1).into()).unwrap();
        plan.stages[0].outputs = keep;
        let mut all = plan.recorder(Keep::Records);
        let shared = Arc::new(Shared::new(plan, Clock::start(), 1, Stop::default(), Arc::default()));
        all.add(runner::run(Worker::new(0, shared, target, Keep::Records)).await.recorder);
        let records = all.records.as_ref().unwrap();
        assert!(records.len() == 40 && records.iter().all(|it| it.outcome == RequestOutcome::Ok), "{records:?}");
        all
    }

    #[tokio::test]
    async fn the_requests_that_were_chosen_leave_their_output_and_no_others() {
        let chosen = [3, 17, 39];
        for streaming in [true, false] {
            let numbers = KeepOutputs::Some(chosen.into_iter().collect());
            let recorder = run(streaming, numbers).await;
            let mut found: Vec<_> = recorder.outputs.iter().map(|it| (it.stage, it.number)).collect();
            found.sort_unstable();
            assert_eq!(found, chosen.map(|it| (0, u64::from(it))));
            assert!(recorder.outputs.is_sorted_by_key(|it| it.ended));
            for kept in &recorder.outputs {
                let record = recorder.records.iter().flatten().find(|it| it.number == kept.number).unwrap();
                assert_eq!(kept.output.token_ids.len(), record.output_tokens.unwrap() as usize);
                assert_eq!(kept.output.text.split(' ').count(), kept.output.token_ids.len());
                assert_eq!(kept.output.first, if streaming { 1 } else { kept.output.token_ids.len() });
                assert_eq!(kept.ended, record.ended);
            }
            assert_eq!(run(streaming, KeepOutputs::All).await.outputs.len(), 40);
            assert_eq!(run(streaming, KeepOutputs::None).await.outputs, []);
        }
    }
}
